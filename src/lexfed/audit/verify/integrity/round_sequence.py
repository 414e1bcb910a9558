# SPDX-License-Identifier: Apache-2.0
"""Is every round there, once, in order, and is what was lost said to be lost?

Rounds are numbered from 1. A number is used by one `round` entry, or by one
`round-aborted` entry where the round was charged and never became part of the model.
A round may also be aborted after it was logged, if its release was lost in a crash.
"""

from dataclasses import dataclass

from lexfed.audit.entries import (
    AbortedRoundEntry,
    BudgetPlan,
    CompletionEntry,
    Entry,
    FeatureTags,
    PolicyEntry,
    RefusalEntry,
    ResumptionEntry,
    RoundEntry,
)
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.verify.verdict import Remark, Unsound

_TRAINING = (
    RoundEntry,
    AbortedRoundEntry,
    RefusalEntry,
    ResumptionEntry,
    CompletionEntry,
)
_BEFORE = (PolicyEntry, FeatureTags, BudgetPlan)


@dataclass
class _Count:
    """Progress of training so far: last round, lost rounds, rounds at completion."""

    last: int = 0
    lost: frozenset[int] = frozenset()
    completed: int | None = None


def decided_first(evidence: Evidence) -> str:
    """Policy, tags and plan were logged once, before the first round."""
    first = next(
        (i for i, r in enumerate(evidence.records) if isinstance(r.entry, _TRAINING)),
        len(evidence.records),
    )
    for kind in _BEFORE:
        found = evidence.of(kind)
        if not found and first == len(evidence.records):
            continue
        if not found or found[0].index > first:
            raise Unsound(f"training began without a `{kind.kind}` entry", first)
        if len(found) > 1:
            raise Unsound(f"a second `{kind.kind}` entry", found[1].index)
    return "policy, tags and plan before the first round"


def gap_free(evidence: Evidence) -> str | Remark:
    """Rounds are numbered without gaps, and nothing is lost silently."""
    count = _Count()
    for index, record in enumerate(evidence.records):
        if isinstance(record.entry, _TRAINING):
            _follow(count, record.entry, index)
    released = count.last - len(count.lost)
    completed = evidence.last(CompletionEntry)
    if completed is None:
        return Remark(f"{count.last} rounds so far; the run is not completed")
    _ending(evidence, completed, count, released)
    lost = f", {len(count.lost)} of them lost" if count.lost else ""
    return f"rounds 1 to {count.last}, no gap{lost}" if count.last else "no round"


def _follow(count: _Count, entry: Entry, index: int) -> None:
    if count.completed is not None:
        raise Unsound(f"`{entry.kind}` after the run was completed", index)
    if isinstance(entry, RoundEntry):
        _next(count, entry.round, index)
    elif isinstance(entry, AbortedRoundEntry):
        if entry.round != count.last or count.last in count.lost:
            _next(count, entry.round, index)
        count.lost |= {entry.round}
    elif isinstance(entry, RefusalEntry):
        # A site may refuse what was charged already, and aborted for that reason.
        if entry.round not in (count.last, count.last + 1):
            raise Unsound(f"refuses round {entry.round} after {count.last}", index)
    elif isinstance(entry, ResumptionEntry):
        if entry.rounds not in (count.last, count.last - 1):
            raise Unsound(
                f"resumed after {entry.rounds} rounds, the log lists {count.last}",
                index,
            )
    else:
        count.completed = index


def _next(count: _Count, number: int, index: int) -> None:
    if number != count.last + 1:
        what = "twice" if number <= count.last else "out of order"
        raise Unsound(f"round {number} {what}: expected round {count.last + 1}", index)
    count.last = number


def _ending(
    evidence: Evidence, completed: CompletionEntry, count: _Count, released: int
) -> None:
    plan = evidence.last(BudgetPlan)
    planned = 0 if plan is None else plan.rounds
    stated = (completed.rounds, completed.released, completed.early)
    found = (count.last, released, count.last < planned)
    if stated != found:
        raise Unsound(
            "states (rounds, released, early) = "
            f"({', '.join(map(str, stated))}), the log shows "
            f"({', '.join(map(str, found))})",
            count.completed,
        )
