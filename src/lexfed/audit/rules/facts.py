# SPDX-License-Identifier: Apache-2.0
"""Facts of a log for its rules: entries by kind, tags, parties, verifier's findings.

They hold no clock: "now" is the time of the last entry, so that the same entries give
the same answers to everybody, whenever they ask. Of documents only digests and dates
are known, so nobody judges one; it counts if it was signed into the log in time, issued
before, and had not expired. Dates and times of entries may be of no calendar.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
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
from lexfed.audit.entries.fields import moment
from lexfed.audit.entries.opening import BlobSource, parties_of
from lexfed.audit.rules.catalogue import Missing
from lexfed.audit.vocabulary import category_code
from lexfed.errors import LexfedError
from lexfed.law.decisions import articles_known
from lexfed.law.tags import Tag, TaggedSchema
from lexfed.signing.strict_text import parse_json
from lexfed.tiers import Tier

_Kind = TypeVar("_Kind", bound=Entry)
_Entry = TypeVar("_Entry", bound=Entry, covariant=True)

# Kinds that a correction takes back. Those that create a duty (withdrawal, incident,
# change) or that others rest on (rounds) stay, or correcting one would end the duty.
_EVIDENCE: tuple[type[Entry], ...] = (
    PolicyEntry, FeatureTags, Governance, RecordOfProcessing, Document, PrivacyTest,
    Export, Deletion, CompletionEntry,
)  # fmt: skip

_LOWERS_RISK = (
    "budget-lowered", "feature-removed", "site-removed", "site-excluded",
    "adaptation-frozen",
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

    @property
    def protection(self) -> DatedEntry[PolicyEntry] | str:
        """The policy that protects the run, or why nothing does."""
        policy, genesis = self.policy, self.genesis
        if policy is None or genesis is None:
            return "no policy was logged before the first round"
        if policy.entry.mechanism == "none" or policy.entry.epsilon is None:
            return "the run has no noise and no guarantee"
        if policy.entry.randomness != "operating-system" or genesis.entry.test:
            return "the noise was seeded for a test and can be taken off again"
        return policy

    def protected(self) -> DatedEntry[PolicyEntry]:
        """Return the policy that must protect the run."""
        policy = self.protection
        if isinstance(policy, str):
            raise Missing(policy, *self.in_force)
        return policy

    def tags_at_hand(
        self, *evidence: int
    ) -> tuple[DatedEntry[FeatureTags], TaggedSchema]:
        """Return the tags in force before the first round, which must be readable."""
        if self.features is None or self.tagged is None:
            raise Missing("the tags of the columns are not at hand", *evidence)
        return self.features, self.tagged

    @property
    def in_force(self) -> tuple[int, ...]:
        """Entry 0 and the policy as evidence."""
        return tuple(at.index for at in (self.genesis, self.policy) if at is not None)

    @property
    def gap_free(self) -> bool:
        """True if rounds are numbered 1, 2, 3, ..., lost ones included.

        A round that was logged and then lost has two entries with one number.
        """
        number, lost = 0, set[int]()
        for at in self.rounds:
            aborted = isinstance(at.entry, AbortedRoundEntry)
            repeats = aborted and at.entry.round == number and number not in lost
            if at.entry.round != number + 1 and not repeats:
                return False
            number = at.entry.round
            if aborted:
                lost.add(number)
        return number > 0

    @property
    def unlogged_change(self) -> str | None:
        """The first change without an entry of its own, in words; None if none."""
        return next(self._unlogged_changes(), None)

    def _unlogged_changes(self) -> Iterator[str]:
        decided: dict[str, Sequence[DatedEntry[Entry]]] = {
            "policy": self.of(PolicyEntry),
            "feature tags": self.of(FeatureTags),
        }
        for what, logged in decided.items():
            for before, after in pairwise(logged):
                if not self._change_between(before, after):
                    entry = f"entry {after.index}"
                    yield f"{entry} replaces the {what} without a change entry"
        for at in self.of(RoundEntry):
            tags = self.last(FeatureTags, at.index)
            if tags is None or tags.entry.tags != at.entry.tags:
                yield f"the round of entry {at.index} used other tags than those logged"
        stated = [at for at in self.of(Governance) if at.entry.purpose is not None]
        for old, new in pairwise(stated):
            same = old.entry.purpose == new.entry.purpose
            if not same and not self._change_between(old, new):
                yield f"entry {new.index} states another purpose without a change entry"

    def _change_between(
        self, before: DatedEntry[Entry], after: DatedEntry[Entry]
    ) -> bool:
        return any(before.index < at.index < after.index for at in self.changes)

    @property
    def risky_changes(self) -> tuple[DatedEntry[ChangeEntry], ...]:
        """The changes after which risks must be looked at again."""
        return tuple(at for at in self.changes if at.entry.what not in _LOWERS_RISK)

    def _counting_documents(
        self, what: str, before: bool, ends: bool
    ) -> list[DatedEntry[Document]]:
        """Return the documents of a name that were there in time and held to the end.

        With `before` they were logged and issued before the first round, with `ends`
        they have an end date.
        """
        first, counting = self.first_round, []
        begun = self.rounds[0].day if self.rounds else self.now
        for at in self.of(Document):
            issued, expires = at.entry.issued, at.entry.expires
            early = (first is None or at.index < first) and issued <= begun
            in_time = issued <= at.day and (early or not before)
            holds = not ends if expires is None else expires >= self.ended
            if at.entry.what == what and in_time and holds:
                counting.append(at)
        return counting

    def document(
        self,
        what: str,
        *,
        before: bool = False,
        ends: bool = False,
        about: int | None = None,
    ) -> DatedEntry[Document] | None:
        """Return the last document of a name that counts for the whole run.

        With `before` it was logged and issued before the first round, with `ends` it
        has an end date, with `about` it is about the entry of that index.
        """
        documents = [
            at
            for at in self._counting_documents(what, before, ends)
            if at.entry.site is None and (about is None or at.entry.about == about)
        ]
        return documents[-1] if documents else None

    def documents_for(
        self,
        what: str,
        parties: Sequence[Party],
        *,
        before: bool = False,
        ends: bool = False,
    ) -> tuple[int, ...]:
        """Return the documents that cover some parties: one for all, or one for each.

        Empty if a party is left out. A simulated site has no key that a document could
        name, so only a document for all covers it.
        """
        common = self.document(what, before=before, ends=ends)
        if common is not None:
            return (common.index,)
        by_site = {
            at.entry.site: at.index
            for at in self._counting_documents(what, before, ends)
        }
        keys = [None if party.key is None else party.key.keyid for party in parties]
        indices = [by_site[key] for key in keys if key is not None and key in by_site]
        return tuple(indices) if len(indices) == len(keys) else ()

    def document_about(self, what: str, index: int, prompt: bool) -> int | None:
        """Return the index of a document about an earlier entry; None if there is none.

        With `prompt` it must come before the next round after that entry.
        """
        limits = [at.index for at in self.rounds if prompt and at.index > index]
        answers = (
            at.index
            for at in self.of(Document)
            if at.entry.what == what
            and at.entry.about == index < at.index < min(limits, default=math.inf)
            and at.entry.issued <= at.day
        )
        return next(answers, None)


def facts_of(
    records: Sequence[LoggedEntry], content: BlobSource, checks: VerifierFindings
) -> LogFacts:
    """Return the facts of a log from all of its entries, in order."""
    entries = tuple(
        DatedEntry(n, each.time, each.entry) for n, each in enumerate(records)
    )
    known = LogFacts(entries, checks, None)
    parties: tuple[Party, ...] = ()
    tagged = None
    if known.genesis is not None:
        with suppress(LexfedError):  # erased or lost: nothing is known of anybody
            parties = parties_of(known.genesis.entry, content)
    if known.features is not None:
        # Erased, lost or another's: nothing is known of the columns.
        with suppress(LexfedError, ValueError, TypeError, AttributeError, KeyError):
            tags = parse_json(content.get(known.features.entry.tags))
            tagged = TaggedSchema.from_dict(tags)
    return LogFacts(entries, checks, tagged, parties)


def decided(
    at: DatedEntry[Governance] | None, key: str, *evidence: int
) -> DatedEntry[Governance]:
    """Return a statement of decisions, which must state a key."""
    if at is None or getattr(at.entry, key) is None:
        raise Missing(f"not stated: `audit.governance.{key}`", *evidence)
    return at


def all_articles_known(tagged: TaggedSchema) -> bool:
    """Return True if articles were assigned to every column.

    A person who states a tier and no category leaves open which ones apply.
    """
    return all(articles_known(tag, tagged.asked) for tag in tagged.tags.values())


def cites(tag: Tag, reference: str) -> bool:
    """Return True if a column's tag names an article of the GDPR that begins so."""
    return any(
        obligation.jurisdiction == "gdpr"
        and obligation.reference.startswith(f"GDPR {reference}")
        for obligation in tag.obligations
    )


def categories(tags: Iterable[Tag]) -> dict[str, str]:
    """Return the categories of tags: by code word, as tags name them.

    A category without letters or digits has the empty code word.
    """
    return {category_code(tag.category): tag.category for tag in tags}


def tags_in(tagged: TaggedSchema, *tiers: Tier) -> tuple[Tag, ...]:
    """Return the tags of the columns of some tiers."""
    names = [name for tier in tiers for name in tagged.columns_in(tier)]
    return tuple(tagged.tags[name] for name in names if name in tagged.tags)


def years_after(day: str, years: int, months: int = 0) -> tuple[int, int, int]:
    """Return year, month and day so much later; compare with `date_parts`.

    >>> years_after("2026-11-15", 6), years_after("2026-11-15", 0, 6)
    ((2032, 11, 15), (2027, 5, 15))
    """
    year, month, rest = date_parts(day)
    total = (month - 1) + months
    return year + years + total // 12, total % 12 + 1, rest


def date_parts(day: str) -> tuple[int, int, int]:
    """Return year, month and day as numbers."""
    year, month, rest = day.split("-")
    return int(year), int(month), int(rest)


def days_between(start: str, end: str) -> int | None:
    """Return the number of days from `start` to `end`; None if one is no day."""
    try:
        return (date.fromisoformat(end) - date.fromisoformat(start)).days
    except ValueError:
        return None


def time_between(start: str, end: str) -> timedelta | None:
    """Return the time from one to the other; None if one is no time."""
    try:
        return moment(end) - moment(start)
    except ValueError:
        return None
