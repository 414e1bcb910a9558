# SPDX-License-Identifier: Apache-2.0
"""What others say about the log: the reader's trust file, witnesses, pins, clocks.

A log that verifies may still be one of two. Only somebody who remembers can tell:
witnesses who cosign one history, or a checkpoint that the reader kept. The witnesses
that a log names by itself are the operator's choice; they count once the reader's own
trust file names them.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from lexfed.audit.log.evidence import Evidence
from lexfed.audit.storage.pins import check_pin
from lexfed.audit.tree.checkpoint import open_checkpoint
from lexfed.audit.tree.quorum import TrustedCheckpoint, TrustPolicy
from lexfed.audit.tree.trust_file import parse_policy
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.audit.witness.signed_times import times_in_order

SPLIT_VIEW = "a split view (another history, shown to others) cannot be excluded"
SKEW_S = 300
"""Seconds by which the clocks of the coordinator and of witnesses may differ."""


def log_key(evidence: Evidence) -> str | Remark:
    """Say where the key comes from that the log is verified with."""
    key = evidence.custody.log_key.key_id.hex()
    if evidence.trusted:
        return f"{key}, by your policy"
    return Remark(
        f"{key}, taken from the log itself: it agrees with itself, but only a policy "
        "(`--policy`) says whose log it is"
    )


def witnesses(evidence: Evidence, policy: TrustPolicy | None) -> str | Remark:
    """Enough witnesses cosigned the checkpoint, by the reader's policy."""
    if policy is not None:
        trusted = _cosigned(evidence, policy)
        if not trusted.quorum_met:
            raise Unsound(trusted.reason)
        if not trusted.witnessed:
            return Remark(trusted.reason)
        return f"{trusted.reason}; last at {_text(max(trusted.witnesses.values()))}"
    named = evidence.genesis.witnesses
    if named is None:
        return Remark(f"none: {SPLIT_VIEW}")
    trusted = _cosigned(evidence, parse_policy(evidence.blobs.get(named)))
    return Remark(
        f"by the policy that the log itself names, {trusted.reason}; give your own "
        f"(`--policy`), else {SPLIT_VIEW}"
    )


def _cosigned(evidence: Evidence, policy: TrustPolicy) -> TrustedCheckpoint:
    # Which keys are the log's was settled when it was read, rotations included.
    policy = replace(policy, logs=(evidence.custody.log_key,))
    return policy.check(evidence.view.signed.note.to_bytes())


def pin(evidence: Evidence, note: bytes | None) -> str | Remark:
    """The log extends the checkpoint that the reader kept."""
    if note is None:
        return Remark("none given: entries cut off at the end would not show")
    kept = open_checkpoint(note, *evidence.custody.log_keys).checkpoint
    check_pin(kept, evidence.origin, evidence.view.tree)
    return f"extends your checkpoint of {kept.size} entries"


def times(
    evidence: Evidence, policy: TrustPolicy | None, skew: int, roots: Path | None
) -> str | Remark:
    """Entries claim times that agree with those that others signed."""
    claimed = [_seconds(record.time, i) for i, record in enumerate(evidence.records)]
    signed: list[tuple[int, int]] = []
    if policy is not None:
        signed = _cosigned_times(evidence, policy)
    if roots is not None:
        signed += _stamps(evidence, roots).items()
    for wrong in times_in_order(claimed, signed, skew):
        raise Unsound(f"{wrong}, give or take {skew} s", wrong.index)
    span = f"{evidence.records[0].time} to {evidence.records[-1].time}"
    back = [i for i in range(1, len(claimed)) if claimed[i] < claimed[i - 1] - skew]
    if back:
        return Remark(f"{span}; the clock went back at entry {back[0]}")
    if not signed:
        return Remark(f"{span}, by the coordinator's clock only")
    return f"{span}, in agreement with {len(signed)} times that others signed"


def _cosigned_times(evidence: Evidence, policy: TrustPolicy) -> list[tuple[int, int]]:
    """Return size and time of every cosignature that the policy counts."""
    every = replace(policy, logs=evidence.custody.log_keys)
    notes = {each.checkpoint.size: each.note for each in evidence.view.cosigned}
    notes[evidence.view.size] = evidence.view.signed.note
    return [
        (size, time)
        for size, note in sorted(notes.items())
        for time in every.check(note.to_bytes()).witnesses.values()
    ]


def _stamps(evidence: Evidence, roots: Path) -> Mapping[int, int]:
    # Imported here: it can also ask for stamps, and verifying must not need a network.
    from lexfed.audit.witness.time_stamps import check_stamps, load_roots

    return check_stamps(evidence.folder / "log", load_roots(roots))


def _seconds(time: str, index: int) -> int:
    try:
        moment = datetime.strptime(time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError as error:
        raise Unsound(f"`{time}` is no time", index) from error
    return int(moment.timestamp())


def _text(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return f"second {seconds}"
