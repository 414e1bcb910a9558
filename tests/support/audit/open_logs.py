# SPDX-License-Identifier: Apache-2.0
"""A run folder with a real log in it, its keys in files, open for more entries."""

import json
from dataclasses import dataclass
from pathlib import Path

from lexfed.audit.entries import Genesis
from lexfed.audit.log.access import open_for_appending
from lexfed.audit.log.audit_log import AuditLog, LogKeys
from lexfed.audit.log.evidence import Evidence, read_evidence
from lexfed.audit.storage.pins import pin_path
from lexfed.audit.verify import Status, verify_run
from lexfed.signing.keys import Signer, create_key
from support.audit.worlds import ORIGIN, FakeRun, fake_run, place, public_key


@dataclass(frozen=True)
class Logged:
    """A run that was logged, and where its keys are."""

    run: Path
    keys: Path

    @property
    def log(self) -> Path:
        """The folder of the log."""
        return self.run / "log"

    @property
    def pin(self) -> Path:
        """The pinned checkpoint."""
        return pin_path(self.keys, ORIGIN)

    def open(self) -> AuditLog:
        """Open the log as `lexfed log` does."""
        return open_for_appending(self.run)

    def evidence(self) -> Evidence:
        """Read the log."""
        return read_evidence(self.run)

    def failures(
        self, policy: bytes | None = None, pin: bytes | None = None
    ) -> list[str]:
        """Return the lines of `lexfed verify` that fail."""
        checks = verify_run(self.run, policy, pin).checks
        return [str(check) for check in checks if check.status is Status.FAIL]

    def contents(self) -> dict[Path, bytes]:
        """Return everything in the run folder but locks."""
        files = (path for path in self.run.rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in files if path.name != "lock"}


def logged(
    base: Path, run: FakeRun | None = None, entries: int | None = None
) -> Logged:
    """Make the folder of a run that never happened, with keys of its own.

    Args:
        base: where folder and keys go.
        run: what was logged; by default a sound run with a certificate.
        entries: how many of its entries are in the log; by default all.
    """
    run = run or fake_run()
    made = Logged(base / "run", base / "keys")
    coordinator = Signer("coordinator", create_key(made.keys / "coordinator.pem"))
    log_key = Signer(ORIGIN, create_key(made.keys / "log.pem"))
    run.edit(Genesis, coordinator=public_key(coordinator), log=log_key.verifier.vkey)
    for name, content in run.files.items():
        place(made.run / name, content)
    start = {"type": "start", "log": ORIGIN, "base": "..", "keys": "../keys"}
    place(made.run / "events.jsonl", json.dumps(start).encode() + b"\n")
    log = AuditLog.create(made.log, ORIGIN, LogKeys(coordinator, log_key), made.keys)
    for blob in run.blobs.values():
        log.blobs.put(blob)
    log.append_all([(draft.entry, draft.key) for draft in run.drafts[:entries]])
    log.close()
    return made
