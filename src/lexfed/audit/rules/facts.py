# SPDX-License-Identifier: Apache-2.0
"""Facts of a log for its rules: entries by kind, tags, parties, verifier's findings.

Facts are made of entries 0 to n, of the tags that they cite, and of what a verifier
found out about them. They hold no clock: "now" is the time of the last entry, so that
the same entries give the same answers to everybody, whenever they ask.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from lexfed.audit.entries import (
    AbortedRoundEntry,
    ChangeEntry,
    CompletionEntry,
    Correction,
    Deletion,
    Document,
    Entry,
    Export,
    FeatureTags,
    Genesis,
    Governance,
    Party,
    PolicyEntry,
    PrivacyTest,
    RecordOfProcessing,
    RoundEntry,
)
from lexfed.audit.entries.opening import BlobSource, parties_of
from lexfed.errors import LexfedError
from lexfed.law.tags import TaggedSchema
from lexfed.signing.strict_text import parse_json

_Kind = TypeVar("_Kind", bound=Entry)
_Entry = TypeVar("_Entry", bound=Entry, covariant=True)

# Kinds that a correction takes back. Those that create a duty (withdrawal, incident,
# change) or that others rest on (rounds) stay, or correcting one would end the duty.
_EVIDENCE: tuple[type[Entry], ...] = (
    PolicyEntry, FeatureTags, Governance, RecordOfProcessing, Document, PrivacyTest,
    Export, Deletion, CompletionEntry,
)  # fmt: skip


@dataclass(frozen=True)
class VerifierFindings:
    """Findings of a verifier, which entries alone do not show."""

    log: bool
    """True if tree, signatures and bindings verify."""
    budget: bool | None
    """True if the budgets, recomputed from the logged events, are those that the
    entries state and within their limits; None where nothing was charged."""
    quorum: bool | None = None
    """True if the witnesses' quorum is met; None if nobody looked."""
    sums: bool | None = None
    """True if rounds hid single sites' sums as they state, by the signatures in their
    records; None where they state nothing, or if nobody looked."""


class LoggedEntry(Protocol):
    """An entry as the log holds it; `entries.envelopes.RecordedEntry` is one."""

    @property
    def entry(self) -> Entry:
        """The entry itself."""

    @property
    def time(self) -> str:
        """Time of writing, as its signer states it."""


@dataclass(frozen=True)
class DatedEntry(Generic[_Entry]):
    """An entry, its index and its time."""

    index: int
    time: str
    entry: _Entry

    @property
    def day(self) -> str:
        """The day of its time; days compare as text."""
        return self.time[:10]


DatedRound = DatedEntry[RoundEntry] | DatedEntry[AbortedRoundEntry]


@dataclass(frozen=True)
class LogFacts:
    """Entries of one log, oldest first, and what else is known of them.

    Guarantees:
        An entry that a correction names is no evidence any more.
        A duty that an entry creates cannot be corrected away.
    """

    entries: tuple[DatedEntry[Entry], ...]
    checks: VerifierFindings
    tagged: TaggedSchema | None
    """The columns and their tags; None if they cannot be read."""
    parties: tuple[Party, ...] = ()
    """Nobody if they cannot be read."""

    @cached_property
    def _by_kind(self) -> dict[type[Entry], tuple[DatedEntry[Any], ...]]:
        logged: dict[type[Entry], list[DatedEntry[Any]]] = {}
        for at in self.entries:
            logged.setdefault(type(at.entry), []).append(at)
        corrected = {at.entry.index for at in logged.get(Correction, ())}
        for kind in _EVIDENCE:
            kept = [at for at in logged.get(kind, ()) if at.index not in corrected]
            logged[kind] = kept
        return {kind: tuple(each) for kind, each in logged.items()}

    def of(self, kind: type[_Kind]) -> tuple[DatedEntry[_Kind], ...]:
        """Return the entries of a kind, oldest first."""
        return self._by_kind.get(kind, ())

    def last(
        self, kind: type[_Kind], before: int | None = None
    ) -> DatedEntry[_Kind] | None:
        """Return the last entry of a kind, of those before an index if one is given."""
        logged = [at for at in self.of(kind) if before is None or at.index < before]
        return logged[-1] if logged else None

    @cached_property
    def rounds(self) -> tuple[DatedRound, ...]:
        """Rounds and aborted rounds, in the order of the log."""
        both: list[DatedRound] = [*self.of(RoundEntry), *self.of(AbortedRoundEntry)]
        return tuple(sorted(both, key=lambda at: at.index))

    @property
    def first_round(self) -> int | None:
        """Index of the first round; None before it."""
        return self.rounds[0].index if self.rounds else None

    @property
    def span(self) -> tuple[int, ...]:
        """The rounds as evidence: the first and the last of them stand for all."""
        ends = {at.index for at in (self.rounds[:1] + self.rounds[-1:])}
        return tuple(sorted(ends))

    @property
    def begun(self) -> str:
        """Day of the first round; of the last entry if there is none."""
        return self.rounds[0].day if self.rounds else self.now

    @property
    def ended(self) -> str:
        """Day of the last round; of the last entry if there is none."""
        return self.rounds[-1].day if self.rounds else self.now

    @property
    def now(self) -> str:
        """Day of the last entry."""
        return self.entries[-1].day if self.entries else ""

    @property
    def genesis(self) -> DatedEntry[Genesis] | None:
        """Entry 0."""
        return self.last(Genesis)

    @property
    def start(self) -> tuple[int, ...]:
        """Entry 0 as evidence."""
        return () if self.genesis is None else (self.genesis.index,)

    @property
    def policy(self) -> DatedEntry[PolicyEntry] | None:
        """The policy in force before the first round."""
        return self.last(PolicyEntry, self.first_round)

    @property
    def features(self) -> DatedEntry[FeatureTags] | None:
        """The tags in force before the first round."""
        return self.last(FeatureTags, self.first_round)

    @property
    def governance(self) -> DatedEntry[Governance] | None:
        """The last statement of decisions."""
        return self.last(Governance)

    @property
    def intended(self) -> DatedEntry[Governance] | None:
        """The last statement of decisions before the first round."""
        return self.last(Governance, self.first_round)

    @property
    def changes(self) -> tuple[DatedEntry[ChangeEntry], ...]:
        """Changes of earlier decisions."""
        return self.of(ChangeEntry)

    @property
    def sites(self) -> list[Party]:
        """The parties that are sites."""
        return [party for party in self.parties if party.role == "site"]

    def next_round(self, index: int) -> int | None:
        """Return the index of the first round after an entry; None if there is none."""
        return next((at.index for at in self.rounds if at.index > index), None)


def facts_of(
    records: Sequence[LoggedEntry], content: BlobSource, checks: VerifierFindings
) -> LogFacts:
    """Return the facts of a log from all of its entries, in order."""
    entries = tuple(
        DatedEntry(n, each.time, each.entry) for n, each in enumerate(records)
    )
    known = LogFacts(entries, checks, None)
    genesis, features = known.genesis, known.features
    parties = () if genesis is None else _parties(genesis.entry, content)
    tags = None if features is None else _tags(features.entry.tags, content)
    return LogFacts(entries, checks, tags, parties)


def _parties(genesis: Genesis, content: BlobSource) -> tuple[Party, ...]:
    try:
        return parties_of(genesis, content)
    except LexfedError:
        return ()  # erased or lost: nothing is known of anybody


def _tags(digest: str, content: BlobSource) -> TaggedSchema | None:
    try:
        return TaggedSchema.from_dict(parse_json(content.get(digest)))
    except (LexfedError, ValueError, TypeError, AttributeError, KeyError):
        return None  # erased, lost or another's: nothing is known of the columns
