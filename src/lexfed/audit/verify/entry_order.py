# SPDX-License-Identifier: Apache-2.0
"""Are these entries this log's, signed by whom they must be, in order and complete?

The tree does not prove that an entry belongs here: a valid envelope of another run
could be copied in, or one of this run twice. So every entry names its log, run, index
and predecessor.

Rounds are numbered from 1. A number is used by one `round` entry, or by one
`round-aborted` entry where the round was charged and never became part of the model.
A round may also be aborted after it was logged, if its release was lost in a crash.
"""

from lexfed.audit.entries import (
    AbortedRoundEntry,
    BudgetPlan,
    Certificate,
    CompletionEntry,
    Correction,
    Document,
    FeatureTags,
    Genesis,
    PolicyEntry,
    RefusalEntry,
    ResumptionEntry,
    RoundEntry,
)
from lexfed.audit.log.evidence import Evidence, IndexedEntry, raw_key
from lexfed.audit.log.logged_files import require_signed
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.counted_words import counted
from lexfed.errors import AuditError

_TRAINING = (
    RoundEntry, AbortedRoundEntry, RefusalEntry, ResumptionEntry, CompletionEntry,
)  # fmt: skip


def entry_signatures(evidence: Evidence) -> str:
    """Every entry is signed by the coordinator in force; a rotation by more.

    Guarantees:
        An entry with a signature too many is as wrong as one with too few.
    """
    for index in range(len(evidence.records)):
        try:
            require_signed(evidence, index)
        except AuditError as error:
            raise Unsound(error.message, index) from error
    rotations = len(evidence.custody.extra)
    entries = counted(len(evidence.records), "entry")
    return f"{entries}, {counted(rotations, 'key rotation')}"


def separate_keys(evidence: Evidence) -> str:
    """The coordinator's key, the log's and every party's are different keys."""
    named = [(key, "the coordinator's") for _, key in evidence.custody.coordinators]
    named += [(key.public, "the log's") for key in evidence.custody.log_keys]
    for number, party in enumerate(evidence.parties):
        if party.key is not None:
            where = f"`parties.{number}`"
            named.append((raw_key(party.key, f"entry 0, {where}"), where))
    seen: dict[bytes, str] = {}
    for key, whose in named:
        if key in seen:
            raise Unsound(f"{whose} key and {seen[key]} key are the same", 0)
        seen[key] = whose
    return f"{counted(len(seen), 'key')}, all different"


def bindings(evidence: Evidence) -> str:
    """Every entry names this log, this run, its place and the entry before it."""
    previous, keys = "", dict[str, int]()
    for index, record in enumerate(evidence.records):
        stated = {
            "log": (record.origin, evidence.origin),
            "run": (record.run, evidence.run),
            "index": (record.index, index),
            "previous": (record.previous, previous),
        }
        for name, (value, expected) in stated.items():
            if value != expected:
                raise Unsound(
                    f"`{name}` is `{value}`, expected: `{expected}`: it was written "
                    "for another place",
                    index,
                )
        if record.key in keys:
            raise Unsound(
                f"has the key `{record.key}` of entry {keys[record.key]}: an event "
                "is logged once",
                index,
            )
        keys[record.key] = index
        previous = record.leaf.hex()
    return f"log `{evidence.origin}`, {len(keys)} different events"


def one_genesis(evidence: Evidence) -> str:
    """Entry 0 and no other is the genesis."""
    for second in evidence.of(Genesis)[1:]:
        raise Unsound("a second genesis", second.index)
    old, continued = evidence.genesis.previous, ""
    if old is not None:
        continued = (
            f", continues `{old.origin}` after its first {counted(old.size, 'entry')}"
        )
    return f"written by {evidence.genesis.software}{continued}"


def references(evidence: Evidence) -> str:
    """Every index that an entry cites is of an earlier entry."""
    count = 0
    for index, record in enumerate(evidence.records):
        entry = record.entry
        cited: int | None = None
        if isinstance(entry, Correction):
            cited = entry.index
        elif isinstance(entry, Document):
            cited = entry.about
        elif isinstance(entry, Certificate):
            if entry.first > entry.last:
                raise Unsound("is about no entries", index)
            cited = entry.last
            for result in entry.results:
                outside = [n for n in result.evidence if n > entry.last]
                if outside:
                    raise Unsound(
                        f"rule `{result.rule}` cites entry {outside[0]}, which it is "
                        "not about",
                        index,
                    )
        if cited is not None:
            if cited >= index:
                raise Unsound(f"cites entry {cited}, which is not before it", index)
            count += 1
    return f"{counted(count, 'entry')} citing earlier ones"


def decided_first(evidence: Evidence) -> str:
    """Policy, tags and plan were logged once, before the first round."""
    size = len(evidence.records)
    training = (isinstance(record.entry, _TRAINING) for record in evidence.records)
    first = next((index for index, is_one in enumerate(training) if is_one), size)
    for kind in (PolicyEntry, FeatureTags, BudgetPlan):
        logged = evidence.of(kind)
        if not logged and first == size:
            continue
        if not logged or logged[0].index > first:
            raise Unsound(f"training began without a `{kind.kind}` entry", first)
        if len(logged) > 1:
            raise Unsound(f"a second `{kind.kind}` entry", logged[1].index)
    return "policy, tags and plan before the first round"


def gap_free(evidence: Evidence) -> str | Remark:
    """Rounds are numbered without gaps, and nothing is lost silently."""
    last, lost = 0, set[int]()
    completed: IndexedEntry[CompletionEntry] | None = None
    for index, record in enumerate(evidence.records):
        entry = record.entry
        if isinstance(entry, _TRAINING) and completed is not None:
            raise Unsound(f"`{entry.kind}` after the run was completed", index)
        if isinstance(entry, RoundEntry | AbortedRoundEntry):
            aborted = isinstance(entry, AbortedRoundEntry)
            if not aborted or entry.round != last or last in lost:
                if entry.round != last + 1:
                    raise Unsound(
                        f"round {entry.round} "
                        f"{'twice' if entry.round <= last else 'out of order'}: "
                        f"expected round {last + 1}",
                        index,
                    )
                last = entry.round
            if aborted:
                lost.add(entry.round)
        elif isinstance(entry, RefusalEntry):
            # A site may refuse what was charged already, and aborted for that reason.
            if entry.round not in (last, last + 1):
                raise Unsound(f"refuses round {entry.round} after {last}", index)
        elif isinstance(entry, ResumptionEntry):
            if entry.rounds not in (last, last - 1):
                what = (
                    f"resumed after {counted(entry.rounds, 'round')}, the log lists "
                    f"{last}"
                )
                raise Unsound(what, index)
        elif isinstance(entry, CompletionEntry):
            completed = IndexedEntry(index, entry)
    if completed is None:
        return Remark(f"{counted(last, 'round')} so far; the run is not completed")
    plan, end = evidence.last(BudgetPlan), completed.entry
    planned = 0 if plan is None else plan.rounds
    stated = (end.rounds, end.released, end.early)
    shown = (last, last - len(lost), last < planned)
    if stated != shown:
        raise Unsound(
            "states (rounds, released, early) = "
            f"({', '.join(map(str, stated))}), the log shows "
            f"({', '.join(map(str, shown))})",
            completed.index,
        )
    gone = f", {len(lost)} of them lost" if lost else ""
    return f"rounds 1 to {last}, no gap{gone}" if last else "no round"
