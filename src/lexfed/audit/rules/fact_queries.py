# SPDX-License-Identifier: Apache-2.0
"""Questions that several rules ask of the same facts."""

from collections.abc import Iterable
from itertools import pairwise

from lexfed.audit.entries import (
    AbortedRoundEntry,
    ChangeEntry,
    FeatureTags,
    Governance,
    PolicyEntry,
    RoundEntry,
)
from lexfed.audit.rules.facts import DatedEntry, LogFacts
from lexfed.audit.vocabulary import category_code
from lexfed.law.decisions import articles_known as known_of
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
        again = isinstance(at.entry, AbortedRoundEntry) and at.entry.round == number
        if at.entry.round != number + 1 and not (again and number not in lost):
            return False
        number = at.entry.round
        if isinstance(at.entry, AbortedRoundEntry):
            lost.add(number)
    return number > 0


def unlogged_change(facts: LogFacts) -> str | None:
    """Describe the first change without a `change` entry; None if there is none."""
    return (
        _replaced(facts, facts.of(PolicyEntry), "policy")
        or _replaced(facts, facts.of(FeatureTags), "feature tags")
        or _tags_of_rounds(facts)
        or _purpose(facts)
    )


def _replaced(
    facts: LogFacts,
    found: tuple[DatedEntry[PolicyEntry], ...] | tuple[DatedEntry[FeatureTags], ...],
    what: str,
) -> str | None:
    for before, after in pairwise(found):
        if not _change_between(facts, before.index, after.index):
            return f"entry {after.index} replaces the {what} without a change entry"
    return None


def _tags_of_rounds(facts: LogFacts) -> str | None:
    for at in facts.of(RoundEntry):
        tags = facts.last(FeatureTags, at.index)
        if tags is None or tags.entry.tags != at.entry.tags:
            return f"the round of entry {at.index} used other tags than those logged"
    return None


def _purpose(facts: LogFacts) -> str | None:
    found = [at for at in facts.of(Governance) if at.entry.purpose is not None]
    for before, after in pairwise(found):
        same = before.entry.purpose == after.entry.purpose
        if not same and not _change_between(facts, before.index, after.index):
            return f"entry {after.index} states another purpose without a change entry"
    return None


def _change_between(facts: LogFacts, start: int, end: int) -> bool:
    return any(start < at.index < end for at in facts.changes)


def risky_changes(facts: LogFacts) -> tuple[DatedEntry[ChangeEntry], ...]:
    """Return the changes after which risks must be looked at again."""
    return tuple(at for at in facts.changes if at.entry.what not in _LOWERS_RISK)


def articles_known(tagged: TaggedSchema) -> bool:
    """Return True if articles were assigned to every column.

    A person who states a tier and no category leaves open which articles apply, so
    that none cited is no finding.
    """
    return all(known_of(tag, tagged.asked) for tag in tagged.tags.values())


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
