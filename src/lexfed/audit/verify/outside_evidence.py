# SPDX-License-Identifier: Apache-2.0
"""Evidence from outside the log: the reader's trust file, witnesses, pins, clocks.

A log that verifies may still be one of two. The witnesses that a log names by itself
are the operator's choice; they count once the reader's own trust file names them.

An entry's time is the operator's word. A cosignature says that at time t a witness saw
the first `size` entries and no more; a time stamp says the same of its checkpoint. So
entry i belongs between two signed times:

    latest t with size <= i   <=   time of entry i   <=   earliest t with size > i

give or take a skew for clocks and for the time a witness needs to answer. The order of
entries is their index and never depends on a clock.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

from lexfed.audit.entries.fields import TIME_FORMAT, moment
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.storage.pins import check_pin
from lexfed.audit.tree.checkpoint import open_checkpoint
from lexfed.audit.tree.trust_policy import TrustedCheckpoint, TrustPolicy, parse_policy
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.errors import RunFolderError, system_reason

SPLIT_VIEW = "a split view (another history, shown to others) cannot be excluded"
SKEW_S = 300
"""Seconds by which the clocks of the coordinator and of witnesses may differ."""
_MOST = 1 << 20  # bytes of a trust file or checkpoint; real ones have a few hundred


def log_key(evidence: Evidence) -> str | Remark:
    """Return in words where the key comes from that the log is verified with."""
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
        # Imported here: it can also ask for stamps, and verifying needs no network.
        from lexfed.audit.witness.time_stamps import check_stamps, load_roots

        signed += check_stamps(evidence.folder / "log", load_roots(roots)).items()
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


def _seconds(time: str, index: int) -> int:
    try:
        return int(moment(time).timestamp())
    except ValueError as error:
        raise Unsound(f"`{time}` is no time", index) from error


def _text(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime(TIME_FORMAT)
    except (OverflowError, ValueError, OSError):
        return f"second {seconds}"


@dataclass(frozen=True)
class MistimedEntry:
    """An entry whose time lies outside what others signed, in seconds since 1970."""

    index: int
    time: int
    earliest: int | None
    """Latest signed time before it, or None."""
    latest: int | None
    """Earliest signed time after it, or None."""

    def __str__(self) -> str:
        """The line a person reads."""
        low = "any time" if self.earliest is None else str(self.earliest)
        high = "any time" if self.latest is None else str(self.latest)
        return (
            f"entry {self.index} claims time {self.time}, "
            f"signed times allow {low} to {high}"
        )


def times_in_order(
    entry_times: Sequence[int], signed_times: Sequence[tuple[int, int]], skew: int
) -> tuple[MistimedEntry, ...]:
    """Return the entries whose times disagree with signed pairs (size, time), in order.

    Guarantees:
        An entry claimed later than a signature that covers it, plus skew, is returned.
        An entry claimed earlier than a signature made without it, less skew, is too.
        Without signatures nothing is returned: there is nothing to compare with.
    """
    signed = sorted(signed_times)
    sizes = [size for size, _ in signed]
    times = [time for _, time in signed]
    latest_of_smaller = list(accumulate(times, max))
    earliest_of_larger = list(accumulate(reversed(times), min))[::-1]
    mistimed = []
    for index, time in enumerate(entry_times):
        smaller = bisect_right(sizes, index)
        earliest = latest_of_smaller[smaller - 1] if smaller else None
        latest = earliest_of_larger[smaller] if smaller < len(sizes) else None
        too_early = earliest is not None and time < earliest - skew
        too_late = latest is not None and time > latest + skew
        if too_early or too_late:
            mistimed.append(MistimedEntry(index, time, earliest, latest))
    return tuple(mistimed)


def read_small(path: Path | str | None) -> bytes | None:
    """Return a trust file or checkpoint, which is small; None if no path is given."""
    if path is None:
        return None
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MOST + 1)
    except OSError as error:
        raise RunFolderError(
            f"cannot read `{path}`: {system_reason(error)}", "give the path of a file"
        ) from error
    if len(content) > _MOST:
        raise RunFolderError(
            f"`{path}` has more than {_MOST} bytes", "it is not a trust file or pin"
        )
    return content
