# SPDX-License-Identifier: Apache-2.0
"""From evidence to an answer: categories, tiers, a score, and the call for a person.

Names, descriptions, packs, values and the table's role speak in log-odds, which are
added up and turned into probabilities of the categories. The semantic network gives
probabilities of its own. They are mixed by their shares:

    P          =  alpha * metadata  +  (1 - alpha) * semantics
    semantics  =  statistics * facts  +  (1 - statistics) * network

Facts are what is recognised in values, and evidence that says outright what a column is
(`TagEvidence.outright`). They speak in both parts, so that no network can talk over a
check digit. A part that is not there takes no share.

A tier's probability is the sum of its categories'. The score is the expected
sensitivity: 1 for special and identifying data, 1/2 for other personal data, 0 for
none. If the chance that a column is special or identifying is neither below `low` nor
from `high` on, a person has to look; and also if nothing but the table and the network
speaks, which then know only the neighbours of an unreadable name.

Guarantees:
    A column without evidence is never called non-personal, and goes to review.
    A column under review has at least the dominant tier of its table.
    The score is between 0 and 1.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import exp, log

from lexfed.law.tagger.suggestions import (
    CATEGORIES,
    CATEGORIES_OF,
    TIERS,
    TaggerSettings,
)

SENSITIVITY = {"special": 1.0, "identifier": 1.0, "personal": 0.5, "non_personal": 0.0}
TIER_PRIOR = {
    "special": 0.25, "identifier": 0.15, "personal": 0.32, "non_personal": 0.28,
}  # fmt: skip
"""Frequencies of the tiers before anything is known."""
WITHIN_TIER = {
    "health": 3.9, "genetic": 1.4, "biometric": 1.0, "religion": 1.0, "ethnicity": 1.4,
    "political": 1.4, "union": 0.7, "sex_life": 1.0, "criminal": 1.4,
    "precise_geolocation": 1.0, "citizenship_immigration": 1.2,
    "communication_content": 1.0,
    "direct_identifier": 2.2, "person_key": 2.4, "contact": 1.7,
    "online_identifier": 1.4, "account_credential": 1.2,
    "demographic": 2.8, "location": 2.2, "financial": 2.8, "employment_education": 2.6,
    "behavioural": 2.4, "other_personal": 2.2,
    "technical": 3.2, "business": 2.8, "environment": 2.0, "reference": 2.0,
}  # fmt: skip
"""Odds within a tier: the square roots of how common its categories are."""
_BASE = {
    category: log(
        TIER_PRIOR[tier] * WITHIN_TIER[category] / sum(WITHIN_TIER[c] for c in within)
    )
    for tier, within in CATEGORIES_OF.items()
    for category in within
}
NOTHING = 1.0
"""Evidence below this weight is as good as none."""

Odds = Mapping[str, float]
Chances = Mapping[str, float]


@dataclass(frozen=True)
class FusedTag:
    """The answer that all evidence about a column adds up to."""

    tier: str
    category: str
    score: float
    review: bool


def fused_probabilities(
    odds: Odds, facts: Odds, network: Chances | None, settings: TaggerSettings
) -> Chances:
    """Return the probabilities of the categories by all witnesses.

    `odds` has the log-odds by everything but the network, `facts` those by facts alone.
    """
    if network is None:
        return probabilities(odds)
    if any(weight >= NOTHING for weight in facts.values()):
        network = _mix(probabilities(facts), network, settings.statistics)
    return _mix(probabilities(odds), network, settings.alpha)


def probabilities(odds: Odds) -> Chances:
    """Return the probabilities of the categories by their log-odds."""
    raised = {c: base + odds.get(c, 0.0) for c, base in _BASE.items()}
    most = max(raised.values())
    powers = {category: exp(score - most) for category, score in raised.items()}
    total = sum(powers.values())
    return {category: one / total for category, one in powers.items()}


def fused_tag(chances: Chances, strongest: float, settings: TaggerSettings) -> FusedTag:
    """Return the answer that probabilities lead to, before the table is asked.

    `strongest` is the largest log-odds by the column itself for any category.
    """
    within = _within(settings)
    tiers = {tier: sum(chances[c] for c in within[tier]) for tier in within}
    tier = max(tiers, key=lambda t: tiers[t])
    sensitive = tiers["special"] + tiers.get("identifier", 0.0)
    return FusedTag(
        tier,
        max(within[tier], key=lambda c: chances[c]),
        min(1.0, sum(tiers[t] * SENSITIVITY[t] for t in tiers)),
        strongest < NOTHING or settings.low <= sensitive < settings.high,
    )


def dominant_tier(answers: Iterable[FusedTag]) -> str:
    """Return the commonest tier of sure answers; keys say nothing of other columns."""
    sure = [one.tier for one in answers if not one.review and one.tier != "identifier"]
    return max(TIERS, key=sure.count) if sure else "personal"


def raised_to_table_tier(
    found: FusedTag, chances: Chances, dominant: str, settings: TaggerSettings
) -> FusedTag:
    """Return an answer under review with at least its table's dominant tier.

    An identifier stays what it is: nothing is protected more.
    """
    tier = min(found.tier, dominant, "personal", key=TIERS.index)
    if not found.review or found.tier in (tier, "identifier"):
        return found
    category = max(_within(settings)[tier], key=lambda c: chances[c])
    return replace(found, tier=tier, category=category)


def _within(settings: TaggerSettings) -> Mapping[str, tuple[str, ...]]:
    """Return the categories of each tier; of three, identifiers are special."""
    if settings.tiers == 4:
        return CATEGORIES_OF
    merged = dict(CATEGORIES_OF)
    merged["special"] += merged.pop("identifier")
    return merged


def _mix(first: Chances, second: Chances, share: float) -> Chances:
    return {c: share * first[c] + (1.0 - share) * second[c] for c in CATEGORIES}
