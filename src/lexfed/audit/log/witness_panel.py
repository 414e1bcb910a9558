# SPDX-License-Identifier: Apache-2.0
"""Having others vouch for a log while it grows: witnesses and time stamps.

A log asks its witnesses after every commit (`AuditLog.append_all`), whoever appends: a
run, a report, or a person years later. An entry is durable before anybody is asked, and
nothing here can hold a run up for long: a witness that fails is left in peace until
somebody asks again. What was not cosigned is said; it is never a reason to lose a
round, and the next commit or `lexfed log cosign` catches up.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lexfed.audit.entries import Genesis
from lexfed.audit.entries.roster import BlobSource
from lexfed.audit.tree.checkpoint import SignedCheckpoint
from lexfed.audit.tree.trust_policy import parse_policy
from lexfed.audit.witness.client import (
    CheckedCosignature,
    WitnessTarget,
    gather_cosignatures,
    last_seen_checkpoint,
)
from lexfed.audit.witness.time_stamps import (
    MissingTimeStamp,
    TimeStamp,
    load_roots,
    stamp,
)
from lexfed.errors import LexfedError
from lexfed.signing.notes import VerifierKey
from lexfed.toml_text import parse_toml

if TYPE_CHECKING:
    from lexfed.audit.log.audit_log import AuditLog

TIMEOUT_S = 5.0
"""For one request of at most three to a witness, during a run."""


@dataclass
class WitnessPanel:
    """The witnesses and the time-stamp authority that are asked about checkpoints.

    Attributes:
        policy: bytes of the policy file; None without witnesses.
        targets: the witnesses and where they listen.
        authority: where checkpoints are time-stamped, and the certificates its tokens
            must lead to; None without time stamps.
        failed: why a witness or the authority did not sign, by its name.
    """

    policy: bytes | None = None
    targets: tuple[WitnessTarget, ...] = ()
    authority: tuple[str, Path] | None = None
    failed: dict[str, str] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)

    def ask(self, log: "AuditLog", again: bool = False) -> None:
        """Have the checkpoint cosigned; ask those who failed before only if `again`."""
        targets = [t for t in self.targets if again or t.name not in self.failed]
        outcomes = gather_cosignatures(
            targets,
            log.store.checkpoint,
            log.store.tree,
            known_sizes=self._sizes,
            timeout_s=TIMEOUT_S,
        )
        signatures = []
        for name, outcome in outcomes.items():
            if isinstance(outcome, CheckedCosignature):
                signatures.append(outcome.signature)
                self._sizes[name] = log.size
                self.failed.pop(name, None)
            else:
                self.failed[name] = outcome.reason
        if signatures:
            log.store.add_signatures(signatures)
            log.pin()

    def seen(self, origin: str, *log_keys: VerifierKey) -> int:
        """Return the largest size of a log that a witness can prove it has seen."""
        for target in self.targets:
            found = last_seen_checkpoint(target, origin, *log_keys, timeout_s=TIMEOUT_S)
            if isinstance(found, SignedCheckpoint):
                self._sizes[target.name] = found.checkpoint.size
        return max(self._sizes.values(), default=0)

    def stamp(self, log: "AuditLog") -> None:
        """Have the checkpoint time-stamped."""
        if self.authority is None:
            return
        url, roots = self.authority
        try:
            outcome = stamp(log.folder, log.size, url, load_roots(roots))
        except LexfedError as error:  # a file was changed since the run began
            outcome = MissingTimeStamp(error.message)
        if isinstance(outcome, TimeStamp):
            self.failed.pop("time stamp", None)
        else:
            self.failed["time stamp"] = outcome.reason


def panel_named_by(genesis: Genesis, content: BlobSource) -> WitnessPanel:
    """Return the witnesses that entry 0 names, for whoever appends after the run.

    Their keys are in the witness policy, their addresses there or in the configuration;
    both are blobs of the log. Time stamps need files beside it: `lexfed log cosign`.
    """
    if genesis.witnesses is None:
        return WitnessPanel()
    try:
        blob = content.get(genesis.witnesses)
        policy = parse_policy(blob)
        tables = parse_toml(content.get(genesis.config).decode("utf-8-sig"))
        urls = {**policy.urls, **tables.get("audit", {}).get("witnesses", {})}
    except (
        LexfedError,
        ValueError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:  # erased, or another's
        return WitnessPanel(failed={"the witness policy": str(error)})
    return WitnessPanel(
        blob,
        tuple(
            WitnessTarget(name, key, urls[name])
            for name, key in policy.witnesses.items()
            if name in urls
        ),
    )
