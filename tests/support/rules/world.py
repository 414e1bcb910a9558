# SPDX-License-Identifier: Apache-2.0
"""A log on paper in which every rule finds all it looks for, to be spoiled by tests.

`World()` states everything; a test takes something away and asks what a rule says then.
Nothing is signed: rules are told what a verifier found.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from lexfed.audit.entries import (
    BudgetPlan,
    ChangeEntry,
    CompletionEntry,
    Document,
    Entry,
    Export,
    FeatureTags,
    Genesis,
    Governance,
    Incident,
    PolicyEntry,
    PrivacyTest,
    RecordOfProcessing,
    ResumptionEntry,
    RoundEntry,
    Withdrawal,
)
from lexfed.audit.rules import Judgement, LogFacts, VerifierFindings, evaluate, facts_of
from lexfed.canonical import canonical_bytes, digest
from lexfed.errors import AuditError
from lexfed.law.tags import TaggedSchema
from support.rules import statements as stated
from support.rules.statements import ATTACKS, MODEL, ONE, ZERO, Values

START = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
ANSWERS = ("exclusion", "model-impact-decision", "dpia-review", "ccpa-risk-review")


@dataclass(frozen=True)
class Paper:
    """An entry and its time."""

    entry: Entry
    time: str


@dataclass
class Content:
    """Blobs in memory."""

    blobs: dict[str, bytes]

    def get(self, wanted: str) -> bytes:
        if wanted not in self.blobs:
            raise AuditError("erased")
        return self.blobs[wanted]


@dataclass
class World:
    """Everything stated; most fields are keyword arguments of entries.

    Attributes:
        late: documents that are logged after the last round.
        answers: which documents are written about changes and withdrawals.
        late_answers: whether a round comes before these.
        more: entries at the end.
        last_time: time of the last entry, if not a minute after the one before it.
    """

    tags: TaggedSchema = field(default_factory=stated.tagged)
    checks: VerifierFindings = field(
        default=VerifierFindings(log=True, budget=True, quorum=True)
    )
    genesis: Values = field(default_factory=stated.genesis)
    policy: Values = field(default_factory=stated.policy)
    features: Values = field(default_factory=stated.features)
    governance: Values = field(default_factory=stated.governance)
    record: Values = field(default_factory=stated.record)
    processor: Values = field(default_factory=stated.processor)
    documents: dict[str, Values] = field(default_factory=stated.documents)
    late: dict[str, Values] = field(default_factory=dict)
    round: Values = field(default_factory=stated.a_round)
    completed: Values = field(default_factory=stated.completed)
    attacks: list[str] = field(default_factory=lambda: list(ATTACKS))
    early_attack: bool = True
    withdrawals: list[Any] = field(default_factory=lambda: ["consent", "limit"])
    changes: list[Any] = field(default_factory=lambda: ["budget-raised"])
    answers: set[str] = field(default_factory=lambda: set(ANSWERS))
    late_answers: bool = False
    incidents: list[Values] = field(default_factory=stated.incidents)
    exports: list[Values] = field(default_factory=stated.exports)
    rounds: list[int] = field(default_factory=lambda: [1, 2, 3])
    more: list[Entry] = field(default_factory=list)
    last_time: str = ""
    blobs: dict[str, bytes] = field(default_factory=dict)
    readable: bool = True
    papers: list[Paper] = field(default_factory=list)

    def add(self, entry: Entry) -> int:
        """Append an entry and return its index."""
        index = len(self.papers)
        now = (START + timedelta(minutes=index)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.papers.append(Paper(entry, now))
        return index

    def build(self) -> list[Paper]:
        """Return the entries; an entry whose values are empty is left out."""
        self.papers = []
        plain = self.tags.to_dict()
        if self.readable:
            self.blobs[digest(plain)] = canonical_bytes(plain)
        self.features.setdefault("tags", digest(plain))
        self.round.setdefault("tags", digest(plain))
        for kind, values in (
            (Genesis, self.genesis),
            (PolicyEntry, self.policy),
            (FeatureTags, self.features if "inputs" in self.features else {}),
            (BudgetPlan, stated_plan()),
            (Governance, self.governance),
            (RecordOfProcessing, self.record),
            (RecordOfProcessing, self.processor),
        ):
            if values:
                self.add(kind(**values))
        self._write(self.documents)
        self._rounds(self.rounds[:1])
        self._between()
        self._rounds(self.rounds[1:])
        self._write(self.late)
        if self.completed:
            self.add(CompletionEntry(**self.completed))
        for attack in self.attacks:
            self._attack(attack, MODEL)
        for incident in self.incidents:
            self.add(Incident(**incident))
        for export in self.exports:
            self.add(Export(**export))
        for entry in self.more:
            self.add(entry)
        if self.last_time:
            self.papers[-1] = Paper(self.papers[-1].entry, self.last_time)
        return self.papers

    def _write(self, documents: dict[str, Values]) -> None:
        for what, values in documents.items():
            self.add(Document(**{"what": what.split("/")[0], "digest": ONE, **values}))

    def _rounds(self, numbers: list[int]) -> None:
        for number in numbers:
            self.add(RoundEntry(round=number, **self.round))

    def _attack(self, attack: Any, model: str) -> None:
        self.add(
            PrivacyTest(
                attack=attack,
                tool="tool-1",
                model=model,
                metric="auc",
                value="0.5",
                report=None,
            )
        )

    def _between(self) -> None:
        """Add what happens between the first round and the second."""
        if self.early_attack:
            self._attack("membership", ONE)
        self.add(ResumptionEntry(rounds=1))
        asked: list[tuple[int, str]] = []
        for what in self.changes:
            index = self.add(ChangeEntry(what=what, before=ZERO, after=ONE))
            asked += [(index, "dpia-review"), (index, "ccpa-risk-review")]
        for ground in self.withdrawals:
            index = self.add(Withdrawal(commitment=ONE, ground=ground))
            asked += [(index, "exclusion"), (index, "model-impact-decision")]
        if self.late_answers:
            self._rounds([2])
            self.rounds = [1, 3]
        for index, what in asked:
            if what in self.answers:
                self.add(
                    Document(what=what, digest=ONE, issued="2026-11-15", about=index)
                )

    def facts(self) -> LogFacts:
        """Return what rules are told."""
        return facts_of(self.build(), Content(self.blobs), self.checks)

    def judged(self, rule: str) -> Judgement:
        """Return what one rule gives."""
        return next(j for j in evaluate(self.facts()) if j.rule.id == rule)


def stated_plan() -> Values:
    return {
        "plan": ZERO, "releases": ZERO, "rounds": 3, "epsilon": "1.9", "filter": "F0",
        "delta": "1e-06", "tiers": {}, "profiles": None, "classes": {},
    }  # fmt: skip


Spoil = Callable[[World], None]
Case = tuple[str, str, tuple[Spoil, ...]]
"""What is wrong, the outcome then, and how to get there."""


def put(where: str, **values: Any) -> Spoil:
    """Change values of an entry."""

    def spoil(world: World) -> None:
        getattr(world, where).update(values)

    return spoil


def state(**values: Any) -> Spoil:
    """Change what people state."""
    return put("governance", **values)


def let(**values: Any) -> Spoil:
    """Change the world itself."""

    def spoil(world: World) -> None:
        for name, value in values.items():
            setattr(world, name, value)

    return spoil


def without(*names: str) -> Spoil:
    """Take documents away."""

    def spoil(world: World) -> None:
        for name in names:
            del world.documents[name]

    return spoil


def late(name: str) -> Spoil:
    """Log a document after the last round only."""

    def spoil(world: World) -> None:
        world.late[name] = world.documents.pop(name)

    return spoil


def dated(name: str, **values: Any) -> Spoil:
    """Change dates or subject of a document."""

    def spoil(world: World) -> None:
        world.documents[name].update(values)

    return spoil


def then(*entries: Entry) -> Spoil:
    """Append entries."""

    def spoil(world: World) -> None:
        world.more += entries

    return spoil
