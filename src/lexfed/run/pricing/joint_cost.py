# SPDX-License-Identifier: Apache-2.0
"""What releases of several runs on the same persons cost together, scope by scope."""

from collections.abc import Sequence

from lexfed.budget.noise_plan import Budget
from lexfed.privacy.accountants.composition import Accountant
from lexfed.privacy.scopes import CountedRelease, record_epsilon, tier_epsilon
from lexfed.tiers import Tier

RECORD = "the record"


def joint_prices(
    releases: Sequence[CountedRelease],
    budget: Budget,
    tiers: Sequence[Tier],
    accountant: Accountant,
) -> dict[str, float]:
    """Return the epsilon of the record and of every tier, by their names in words.

    Args:
        releases: of all runs.
        budget: for delta, neighbours and sites per person.
        tiers: those that are read.
        accountant: who counts.
    """
    delta, sites = budget.delta, budget.sites_per_person
    record = record_epsilon(releases, delta, budget.neighbours, accountant, sites)
    return {RECORD: record} | {
        tier.label: tier_epsilon(releases, tier, delta, accountant, sites)
        for tier in tiers
    }
