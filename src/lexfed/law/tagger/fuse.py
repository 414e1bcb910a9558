# SPDX-License-Identifier: Apache-2.0
"""From evidence to an answer: categories, tiers, a score, and whether to ask a person.

Evidence is added up in log-odds by category and turned into probabilities: those of
the metadata (names, descriptions, packs, the table's role, recognised values). The
semantic network and the statistics of the values give probabilities of their own:

    P  =  alpha * metadata  +  (1 - alpha) * semantics
    semantics  =  statistics * by the values  +  (1 - statistics) * by the network

where a part that is not there takes no share. A tier's probability is the sum of its
categories'; the score is the expected sensitivity, 1 for special and identifying
data, 1/2 for other personal data, 0 for none. `low` and `high` are the bounds of the
score between the tiers; an answer on the wrong side of its bound is in conflict.

Guarantees:
    A column without evidence is never called non-personal, and goes to review.
    A column under review has at least the dominant tier of its table.
    The score is between 0 and 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log

from lexfed.law.tagger.column import (
    CATEGORIES,
    CATEGORIES_OF,
    TIER_OF,
    TIERS,
)
from lexfed.law.tagger.settings import Settings

SENSITIVITY = {"special": 1.0, "identifier": 1.0, "personal": 0.5, "non_personal": 0.0}
TIER_PRIOR = {
    "special": 0.25,
    "identifier": 0.15,
    "personal": 0.32,
    "non_personal": 0.28,
}
"""How common the tiers are, before anything is known."""
_BASE = {
    category: log(TIER_PRIOR[TIER_OF[category]] / len(CATEGORIES_OF[TIER_OF[category]]))
    for category in CATEGORIES
}
NOTHING = 1.0
"""Evidence below this weight is as good as none."""

Distribution = Mapping[str, float]


@dataclass(frozen=True)
class Answer:
    """What the evidence adds up to."""

    tier: str
    category: str
    score: float
    review: bool


def probabilities(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the probabilities of the categories by their log-odds."""
    raised = {c: base + scores.get(c, 0.0) for c, base in _BASE.items()}
    most = max(raised.values())
    odds = {category: exp(score - most) for category, score in raised.items()}
    total = sum(odds.values())
    return {category: one / total for category, one in odds.items()}


def mix(
    first: Distribution | None, second: Distribution | None, share: float
) -> dict[str, float] | None:
    """Return both distributions mixed; one that is missing takes no share."""
    if first is None or second is None:
        known = second if first is None else first
        return None if known is None else dict(known)
    return {c: share * first[c] + (1.0 - share) * second[c] for c in CATEGORIES}


def answer(
    chances: Distribution, strength: float, dominant: str, settings: Settings
) -> Answer:
    """Return the answer that probabilities lead to.

    Args:
        chances: the probabilities of the categories.
        strength: the weight of the strongest evidence.
        dominant: the tier that most columns of the table surely belong to.
        settings: thresholds.
    """
    tiers = {t: sum(chances[c] for c in CATEGORIES_OF[t]) for t in TIERS}
    if settings.tiers == 3:
        tiers["special"], tiers["identifier"] = (
            tiers["special"] + tiers["identifier"], 0.0,
        )  # fmt: skip
    tier = max(TIERS, key=lambda t: tiers[t])
    score = min(1.0, sum(tiers[t] * SENSITIVITY[t] for t in TIERS))
    review = (
        strength < NOTHING
        or tiers[tier] < settings.margin
        or _conflict(tier, score, settings)
    )
    if review:
        floor = min(dominant, "personal", tier, key=TIERS.index)
        tier = floor if TIERS.index(floor) < TIERS.index(tier) else tier
    within = (
        CATEGORIES if settings.tiers == 3 and tier == "special" else CATEGORIES_OF[tier]
    )
    category = max(within, key=lambda c: chances[c])
    return Answer(tier, category, score, review)


def _conflict(tier: str, score: float, settings: Settings) -> bool:
    """Return whether a score lies outside the bounds of its tier."""
    if tier == "non_personal":
        return score >= settings.low
    if tier == "personal":
        return not settings.low <= score < settings.high
    return score < settings.high
