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

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log

from lexfed.law.tagger.column import CATEGORIES, CATEGORIES_OF, TIER_OF, TIERS
from lexfed.law.tagger.settings import Settings

SENSITIVITY = {"special": 1.0, "identifier": 1.0, "personal": 0.5, "non_personal": 0.0}
TIER_PRIOR = {
    "special": 0.25, "identifier": 0.15, "personal": 0.32, "non_personal": 0.28,
}  # fmt: skip
"""How common the tiers are, before anything is known."""
_BASE = {
    category: log(TIER_PRIOR[TIER_OF[category]] / len(CATEGORIES_OF[TIER_OF[category]]))
    for category in CATEGORIES
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


def answer(odds: Odds, dominant: str, settings: Settings) -> Answer:
    """Return the answer that the evidence leads to.

    Args:
        odds: the log-odds of the categories, all witnesses together.
        dominant: the tier that most columns of the table surely belong to.
        settings: thresholds and number of tiers.
    """
    chances = probabilities(odds)
    within = dict(CATEGORIES_OF)
    if settings.tiers == 3:
        within["special"] = (*within["special"], *within["identifier"])
        within["identifier"] = ()
    tiers = {tier: sum(chances[c] for c in within[tier]) for tier in TIERS}
    tier = max(TIERS, key=lambda t: tiers[t])
    score = min(1.0, sum(tiers[t] * SENSITIVITY[t] for t in TIERS))
    review = (
        max(odds.values(), default=0.0) < NOTHING
        or tiers[tier] < settings.margin
        or _conflict(tier, score, settings)
    )
    if review:
        tier = floored(tier, dominant)
    category = max(within[tier], key=lambda c: chances[c])
    return Answer(tier, category, score, review)


def floored(tier: str, dominant: str) -> str:
    """Return a tier raised to the dominant one of its table, and to personal."""
    return min(tier, dominant, "personal", key=TIERS.index)


def _conflict(tier: str, score: float, settings: Settings) -> bool:
    """Return whether a score lies outside the bounds of its tier."""
    if tier == "non_personal":
        return score >= settings.low
    if tier == "personal":
        return not settings.low <= score < settings.high
    return score < settings.high
