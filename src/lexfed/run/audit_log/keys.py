# SPDX-License-Identifier: Apache-2.0
"""The keys of a run: made on first use, kept for the next run, never overwritten.

    keys/coordinator.pem    signs entries of the log
    keys/log.pem            signs checkpoints; another custodian may hold it
    keys/log-2.pem          the same after a rotation; new runs take the newest
    keys/sites/3.pem        signs receipts of the third site (engine `inprocess`)
    keys/pins/              the last checkpoint of every log these keys have written

The keys of sites in a deployment are not here: each keeps its own, and the roster has
their public halves.

Private keys have mode 0600; anybody who can read one can sign in its name.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lexfed.audit.log.access import key_files
from lexfed.audit.log.audit_log import LogKeys
from lexfed.audit.vocabulary import KeyRole
from lexfed.signing.keys import Signer, create_key, load_key


@dataclass(frozen=True)
class RunKeys:
    """The signers of a run.

    Attributes:
        log: of the coordinator and of the log.
        sites: of every site that is in this process, by its name; empty where sites
            are simulated as one, or elsewhere.
        elsewhere: public keys of sites that are not in this process, by their names.
    """

    folder: Path
    log: LogKeys
    sites: Mapping[str, Signer]
    elsewhere: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def public(self) -> dict[str, bytes]:
        """Public key of every site that signs receipts, by its name."""
        return {
            **{name: signer.public for name, signer in self.sites.items()},
            **self.elsewhere,
        }


def run_keys(
    folder: Path, origin: str, sites: Sequence[str], make: bool = True
) -> RunKeys:
    """Return the keys of a run.

    The log's key signs under the name `origin`. Missing keys are made if `make`
    says so, and an error otherwise. `sites` names those that sign receipts in this
    process.

    Raises:
        RunFolderError: if a key cannot be used, or others can read it.
    """
    made = _Keys(folder, make)
    return RunKeys(
        folder,
        LogKeys(
            coordinator=made.newest("coordinator", "coordinator"),
            log=made.newest("log", origin),
        ),
        {
            name: made.signer(folder / "sites" / f"{number}.pem", f"site-{number}")
            for number, name in enumerate(sites, start=1)
        },
    )


@dataclass(frozen=True)
class _Keys:
    folder: Path
    make: bool

    def newest(self, role: KeyRole, name: str) -> Signer:
        files = [self.folder / f"{role}.pem", *key_files(self.folder, role).values()]
        return self.signer(files[-1], name)

    def signer(self, path: Path, name: str) -> Signer:
        missing = self.make and not os.path.lexists(path)
        return Signer(name, create_key(path) if missing else load_key(path))
