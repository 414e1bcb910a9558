# SPDX-License-Identifier: Apache-2.0
"""When a checkpoint is to be believed: a listed log signed it, and witnesses saw it.

Anyone can run a log that shows two histories to two readers; each verifies. A witness
cosigns only one history, so a quorum of witnesses on a checkpoint shows that everyone
who asks for the same quorum sees the same log. `lexfed.audit.tree.trust_file` reads a
`TrustPolicy` from the auditor's file.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from lexfed.audit.tree.checkpoint import SignedCheckpoint, open_checkpoint
from lexfed.audit.tree.cosignature import verify_cosignature
from lexfed.signing.notes import VerifierKey

NO_QUORUM = "none"


@dataclass(frozen=True)
class WitnessGroup:
    """So many of these count as one."""

    threshold: int
    members: tuple[str, ...]


@dataclass(frozen=True)
class TrustedCheckpoint:
    """A checkpoint that a listed log signed, and who else vouches for it."""

    signed: SignedCheckpoint
    witnesses: Mapping[str, int]
    """When each witness saw it, in seconds since 1970, by its name in the policy."""
    quorum_met: bool
    witnessed: bool
    """Whether witnesses were asked for and enough of them cosigned."""
    reason: str
    """What the cosignatures show, or what is missing, in words."""


@dataclass(frozen=True)
class TrustPolicy:
    """What an auditor trusts; read it with `parse_policy`."""

    logs: tuple[VerifierKey, ...]
    witnesses: Mapping[str, VerifierKey]
    groups: Mapping[str, WitnessGroup]
    quorum: str
    urls: Mapping[str, str]
    """Where witnesses take checkpoints, by name, for those that give it."""

    def met_by(self, names: Collection[str]) -> bool:
        """Whether these witnesses, by their names in the policy, are a quorum."""
        if self.quorum == NO_QUORUM:
            return True
        counted = set(names) & set(self.witnesses)
        for name, group in self.groups.items():  # members come before their group
            if len(counted.intersection(group.members)) >= group.threshold:
                counted.add(name)
        return self.quorum in counted

    def check(self, data: bytes, *log_keys: VerifierKey) -> TrustedCheckpoint:
        """Check the signatures of a checkpoint and whether its witnesses suffice.

        Args:
            data: the signed note.
            log_keys: keys of the log, used only if the policy lists no log.

        Guarantees:
            Nothing is returned unless a listed log signed the checkpoint.
            A wrong signature of a listed log or witness refuses the checkpoint.
            Cosignatures of others are ignored.

        Raises:
            AuditError: if so. A quorum that is not met is no error here: the result
                says which it is, and why.
        """
        signed = open_checkpoint(data, *(self.logs or log_keys))
        times = {}
        for name, key in self.witnesses.items():
            for signature in signed.note.signed_by(key)[:1]:
                times[name] = verify_cosignature(signed.note.body, signature, key)
        met = self.met_by(times)
        asked = self.quorum != NO_QUORUM
        return TrustedCheckpoint(
            signed, times, met, met and asked, self._words(times, met)
        )

    def _words(self, times: Mapping[str, int], met: bool) -> str:
        seen = ", ".join(f"`{name}`" for name in sorted(times)) or "no witness"
        if self.quorum == NO_QUORUM:
            return (
                f"the policy asks for no witness (cosigned by {seen}): "
                "a split view cannot be excluded"
            )
        if met:
            return f"quorum `{self.quorum}` met: cosigned by {seen}"
        return (
            f"quorum `{self.quorum}` not met: cosigned by {seen}; "
            "a split view cannot be excluded"
        )
