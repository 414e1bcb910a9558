# SPDX-License-Identifier: Apache-2.0
"""From evidence to an answer: categories, tiers, a score, and whether to ask a person.

Three witnesses speak in log-odds by category: the metadata (names, descriptions,
packs, the table's role), the values where there are any, and the semantic network.
Their log-odds are added, each with its share:

    metadata     2 alpha
    semantics    2 (1 - alpha)         of which, where there are values,
        values       2 statistics
        network      2 (1 - statistics)

A share of one half counts a witness in full, and one who knows nothing changes
nothing: that is why log-odds are added and not probabilities. A tier's probability is
the sum of its categories'; the score is the expected sensitivity, 1 for special and
identifying data, 1/2 for other personal data, 0 for none. `low` and `high` are the
bounds of the score between the tiers; an answer beyond its bounds is in conflict.

Guarantees:
    A column without evidence is never called non-personal, and goes to review.
    A column under review has at least the dominant tier of its table.
    The score is between 0 and 1.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import exp, log

from lexfed.law.tagger.column import CATEGORIES, CATEGORIES_OF, TIERS
from lexfed.law.tagger.settings import Settings

SENSITIVITY = {"special": 1.0, "identifier": 1.0, "personal": 0.5, "non_personal": 0.0}
TIER_PRIOR = {
    "special": 0.25, "identifier": 0.15, "personal": 0.32, "non_personal": 0.28,
}  # fmt: skip
"""How common the tiers are before anything is known."""
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


@dataclass(frozen=True)
class Answer:
    """What the evidence adds up to."""

    tier: str
    category: str
    score: float
    review: bool


def pool(metadata: Odds, values: Odds, network: Odds, settings: Settings) -> Odds:
    """Return the log-odds of all witnesses, added with their shares.

    Args:
        metadata: what names, descriptions, packs and the table say.
        values: what the values say; empty if there are none.
        network: what the semantic network says; empty if there is none.
        settings: the shares.
    """
    if not values and not network:
        return metadata
    share = 2.0 * (1.0 - settings.alpha)
    of_values = share * 2.0 * settings.statistics
    of_network = share * (2.0 * (1.0 - settings.statistics) if values else 1.0)
    return {
        category: 2.0 * settings.alpha * metadata.get(category, 0.0)
        + of_values * values.get(category, 0.0)
        + of_network * network.get(category, 0.0)
        for category in CATEGORIES
    }


def probabilities(odds: Odds) -> dict[str, float]:
    """Return the probabilities of the categories by their log-odds."""
    raised = {c: base + odds.get(c, 0.0) for c, base in _BASE.items()}
    most = max(raised.values())
    powers = {category: exp(score - most) for category, score in raised.items()}
    total = sum(powers.values())
    return {category: one / total for category, one in powers.items()}


def answer(odds: Odds, settings: Settings) -> Answer:
    """Return the answer that the evidence leads to, before its table is asked.

    Args:
        odds: the log-odds of the categories, all witnesses together.
        settings: thresholds and number of tiers.
    """
    chances = probabilities(odds)
    within = _within(settings)
    tiers = {tier: sum(chances[c] for c in within[tier]) for tier in within}
    tier = max(tiers, key=lambda t: tiers[t])
    score = min(1.0, sum(tiers[t] * SENSITIVITY[t] for t in tiers))
    review = (
        max(odds.values(), default=0.0) < NOTHING
        or tiers[tier] < settings.margin
        or _conflict(tier, score, settings)
    )
    category = max(within[tier], key=lambda c: chances[c])
    return Answer(tier, category, score, review)


def dominant_tier(answers: Iterable[Answer]) -> str:
    """Return the commonest tier of sure answers; keys say nothing of other columns."""
    sure = [one.tier for one in answers if not one.review and one.tier != "identifier"]
    return max(TIERS, key=sure.count) if sure else "personal"


def floored(found: Answer, odds: Odds, dominant: str, settings: Settings) -> Answer:
    """Return an answer under review with at least its table's dominant tier."""
    tier = min(found.tier, dominant, "personal", key=TIERS.index)
    if not found.review or tier == found.tier:
        return found
    chances = probabilities(odds)
    category = max(_within(settings)[tier], key=lambda c: chances[c])
    return replace(found, tier=tier, category=category)


def _within(settings: Settings) -> Mapping[str, tuple[str, ...]]:
    """Return the categories of each tier; of three, identifiers are special."""
    if settings.tiers == 4:
        return CATEGORIES_OF
    merged = dict(CATEGORIES_OF)
    merged["special"] += merged.pop("identifier")
    return merged


def _conflict(tier: str, score: float, settings: Settings) -> bool:
    """Return whether a score lies outside the bounds of its tier."""
    if tier == "non_personal":
        return score >= settings.low
    if tier == "personal":
        return not settings.low <= score < settings.high
    return score < settings.high
