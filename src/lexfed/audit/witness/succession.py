# SPDX-License-Identifier: Apache-2.0
"""After a log's key was stolen: what still counts, and where a new log takes over.

What witnesses cosigned before the theft cannot be changed by it, so the old log counts
up to the largest witnessed checkpoint and not further. A new log, with a new origin and
a new key, cites that checkpoint in its first entry.
"""

from collections.abc import Iterable

from lexfed.audit.tree.checkpoint import Checkpoint
from lexfed.audit.tree.trust_policy import TrustedCheckpoint, TrustPolicy
from lexfed.errors import AuditError
from lexfed.signing.notes import SignedNote


def last_witnessed(
    notes: Iterable[bytes], policy: TrustPolicy
) -> TrustedCheckpoint | None:
    """Return the largest of these checkpoints that a quorum of witnesses vouches for.

    The notes come from anywhere: the log, pins, witnesses.

    Guarantees:
        A checkpoint without a quorum never counts, whoever signed it.
        Cosignatures of one checkpoint count together, in whichever notes they are.
        Notes that are not sound, or of other logs, are passed over.

    Raises:
        AuditError: if a quorum vouches for two histories; then nothing can be trusted.
    """
    known = (*policy.logs, *policy.witnesses.values())
    joined: dict[bytes, SignedNote] = {}
    for note in notes:
        try:
            read = policy.check(note).signed.note
        except AuditError:
            continue  # among what a thief left, most is not sound
        checked = [each for key in known for each in read.signed_by(key)[:1]]
        before = joined.get(read.body, SignedNote(read.body, ()))
        joined[read.body] = before.with_signatures(checked)
    witnessed = [
        trusted
        for note in joined.values()
        if (trusted := policy.check(note.to_bytes())).witnessed
    ]
    roots: dict[tuple[str, int], bytes] = {}
    for head in (trusted.signed.checkpoint for trusted in witnessed):
        if roots.setdefault((head.origin, head.size), head.root) != head.root:
            raise AuditError(
                f"witnesses vouch for two histories of `{head.origin}` at size "
                f"{head.size}",
                "their keys were stolen too, or the policy's quorum is too small",
            )
    return max(witnessed, key=lambda each: each.signed.checkpoint.size, default=None)


def check_succession(
    cited: Checkpoint, notes: Iterable[bytes], policy: TrustPolicy
) -> TrustedCheckpoint:
    """Check that the checkpoint a new log cites is where the old one stops to count.

    Guarantees:
        Entries that no witness saw are not taken over.
        Entries that witnesses saw are not left out.
    """
    last = last_witnessed(notes, policy)
    if last is None:
        raise AuditError(
            f"no checkpoint of `{cited.origin}` has a quorum of witnesses",
            "without witnesses nothing a stolen key signed can be told apart",
        )
    known = last.signed.checkpoint
    if known != cited:
        raise AuditError(
            f"the new log continues `{cited.origin}` after {cited.size} entries with "
            f"root {cited.root.hex()}, but the last witnessed checkpoint is of "
            f"`{known.origin}`, {known.size} entries with root {known.root.hex()}"
        )
    return last
