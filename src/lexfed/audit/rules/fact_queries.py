# SPDX-License-Identifier: Apache-2.0
"""Questions that several rules ask of the same facts: protection, changes, documents.

Of documents only digests and dates are known. Nobody opens one, so nobody judges one;
one counts if it was signed into the log in time, issued before, and had not expired.
Dates and times of entries may be of no calendar.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from lexfed.audit.entries import (
    AbortedRoundEntry,
    ChangeEntry,
    Document,
    FeatureTags,
    Governance,
    Party,
    PolicyEntry,
    RoundEntry,
)
from lexfed.audit.rules.catalogue import Missing
from lexfed.audit.rules.facts import DatedEntry, LogFacts
from lexfed.audit.vocabulary import category_code
from lexfed.law.decisions import articles_known
from lexfed.law.tags import Tag, TaggedSchema
from lexfed.tiers import Tier

_LOWERS_RISK = (
    "budget-lowered",
    "feature-removed",
    "site-removed",
    "site-excluded",
    "adaptation-frozen",
)


def protection(facts: LogFacts) -> DatedEntry[PolicyEntry] | str:
    """Return the policy that protects the run, or say why nothing does."""
    policy, genesis = facts.policy, facts.genesis
    if policy is None or genesis is None:
        return "no policy was logged before the first round"
    if policy.entry.mechanism == "none" or policy.entry.epsilon is None:
        return "the run has no noise and no guarantee"
    if policy.entry.randomness != "operating-system" or genesis.entry.test:
        return "the noise was seeded for a test and can be taken off again"
    return policy


def protected(facts: LogFacts) -> DatedEntry[PolicyEntry]:
    """Return the policy that must protect the run."""
    policy = protection(facts)
    if isinstance(policy, str):
        raise Missing(policy, *in_force(facts))
    return policy


def decided(
    at: DatedEntry[Governance] | None, key: str, *evidence: int
) -> DatedEntry[Governance]:
    """Return a statement of decisions, which must state a key."""
    if at is None or getattr(at.entry, key) is None:
        raise Missing(f"not stated: `audit.governance.{key}`", *evidence)
    return at


def tags_at_hand(
    facts: LogFacts, *evidence: int
) -> tuple[DatedEntry[FeatureTags], TaggedSchema]:
    """Return the tags in force before the first round, which must be readable."""
    if facts.features is None or facts.tagged is None:
        raise Missing("the tags of the columns are not at hand", *evidence)
    return facts.features, facts.tagged


def in_force(facts: LogFacts) -> tuple[int, ...]:
    """Return entry 0 and the policy as evidence."""
    return tuple(at.index for at in (facts.genesis, facts.policy) if at is not None)


def gap_free(facts: LogFacts) -> bool:
    """Return True if rounds are numbered 1, 2, 3, ..., lost ones included.

    A round that was logged and then lost has two entries with one number.
    """
    number = 0
    lost: set[int] = set()
    for at in facts.rounds:
        aborted = isinstance(at.entry, AbortedRoundEntry)
        repeats = aborted and at.entry.round == number and number not in lost
        if at.entry.round != number + 1 and not repeats:
            return False
        number = at.entry.round
        if aborted:
            lost.add(number)
    return number > 0


def unlogged_change(facts: LogFacts) -> str | None:
    """Describe the first change without a `change` entry; None if there is none."""
    return (
        _replaced(facts, facts.of(PolicyEntry), "policy")
        or _replaced(facts, facts.of(FeatureTags), "feature tags")
        or _other_tags(facts)
        or _other_purpose(facts)
    )


def _replaced(
    facts: LogFacts,
    logged: tuple[DatedEntry[PolicyEntry], ...] | tuple[DatedEntry[FeatureTags], ...],
    what: str,
) -> str | None:
    for before, after in pairwise(logged):
        if not _change_between(facts, before.index, after.index):
            return f"entry {after.index} replaces the {what} without a change entry"
    return None


def _other_tags(facts: LogFacts) -> str | None:
    for at in facts.of(RoundEntry):
        tags = facts.last(FeatureTags, at.index)
        if tags is None or tags.entry.tags != at.entry.tags:
            return f"the round of entry {at.index} used other tags than those logged"
    return None


def _other_purpose(facts: LogFacts) -> str | None:
    stated = [at for at in facts.of(Governance) if at.entry.purpose is not None]
    for before, after in pairwise(stated):
        same = before.entry.purpose == after.entry.purpose
        if not same and not _change_between(facts, before.index, after.index):
            return f"entry {after.index} states another purpose without a change entry"
    return None


def _change_between(facts: LogFacts, start: int, end: int) -> bool:
    return any(start < at.index < end for at in facts.changes)


def risky_changes(facts: LogFacts) -> tuple[DatedEntry[ChangeEntry], ...]:
    """Return the changes after which risks must be looked at again."""
    return tuple(at for at in facts.changes if at.entry.what not in _LOWERS_RISK)


def all_articles_known(tagged: TaggedSchema) -> bool:
    """Return True if articles were assigned to every column.

    A person who states a tier and no category leaves open which articles apply, so
    that none cited is no finding.
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


def _counting(
    facts: LogFacts, what: str, before: bool, ends: bool
) -> list[DatedEntry[Document]]:
    """Return the documents of a name that were there in time and held to the end.

    With `before` they were logged and issued before the first round, with `ends` they
    have an end date.
    """
    counting = []
    for at in facts.of(Document):
        document = at.entry
        early = facts.first_round is None or at.index < facts.first_round
        if (
            document.what == what
            and document.issued <= at.day
            and (not before or (early and document.issued <= facts.begun))
            and (document.expires is None or document.expires >= facts.ended)
            and not (ends and document.expires is None)
        ):
            counting.append(at)
    return counting


def find_document(
    facts: LogFacts,
    what: str,
    *,
    before: bool = False,
    ends: bool = False,
    about: int | None = None,
) -> DatedEntry[Document] | None:
    """Return the last document of a name that counts for the whole run.

    It may have to be about the entry of an index; see `_counting` for the rest.
    """
    documents = [
        at
        for at in _counting(facts, what, before, ends)
        if at.entry.site is None and (about is None or at.entry.about == about)
    ]
    return documents[-1] if documents else None


def documents_for(
    facts: LogFacts,
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
    common = find_document(facts, what, before=before, ends=ends)
    if common is not None:
        return (common.index,)
    by_site = {at.entry.site: at.index for at in _counting(facts, what, before, ends)}
    keys = [None if party.key is None else party.key.keyid for party in parties]
    indices = [by_site[key] for key in keys if key is not None and key in by_site]
    return tuple(indices) if len(indices) == len(keys) else ()


def document_about(facts: LogFacts, what: str, index: int, prompt: bool) -> int | None:
    """Return the index of a document about an earlier entry; None if there is none.

    With `prompt` it must come before the next round after that entry.
    """
    limit = facts.next_round(index)
    answers = (
        at.index
        for at in facts.of(Document)
        if at.entry.what == what
        and at.entry.about == index < at.index
        and at.entry.issued <= at.day
        and (not prompt or limit is None or at.index < limit)
    )
    return next(answers, None)


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
        first, last = (
            datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
            for text in (start, end)
        )
    except ValueError:
        return None
    return last - first
