# SPDX-License-Identifier: Apache-2.0
"""Theorem C in numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.errors import ClaimError
from lexfed.privacy.accountants.gdp import epsilon_from
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.scopes import (
    CountedRelease,
    label_epsilon,
    record_epsilon,
    release_per_person,
    tier_epsilon,
    tier_releases,
)
from lexfed.tiers import Tier

DELTA = 1e-6


def tower(
    reads: Tier | None, sigma: float, count: int, rate: float = 1.0
) -> CountedRelease:
    name = "label" if reads is None else reads.label
    return Release(name, (ReleaseGroup(name, 1.0, sigma),), rate, reads, 10), count


CASCADE = [
    tower(None, 50.0, 1),
    tower(Tier.NON_PERSONAL, 10.0, 20),
    tower(Tier.PERSONAL, 20.0, 20),
    tower(Tier.SPECIAL, 80.0, 20),
]


def test_the_record_pays_for_everything() -> None:
    mu = math.sqrt(1 / 2500 + 20 / 100 + 20 / 400 + 20 / 6400)
    record = record_epsilon(CASCADE, DELTA, "add-remove")
    assert record == pytest.approx(epsilon_from(mu, DELTA), rel=1e-9)
    replace = record_epsilon(CASCADE, DELTA, "replace-one")
    assert replace == pytest.approx(epsilon_from(2 * mu, DELTA), rel=1e-9)
    assert label_epsilon(CASCADE, DELTA) == replace


def test_a_tier_pays_for_its_own_tower_and_those_above() -> None:
    special = tier_epsilon(CASCADE, Tier.SPECIAL, DELTA)
    assert special == pytest.approx(epsilon_from(2 * math.sqrt(20 / 6400), DELTA))
    personal = tier_epsilon(CASCADE, Tier.PERSONAL, DELTA)
    mu = 2 * math.sqrt(20 / 400 + 20 / 6400)
    assert personal == pytest.approx(epsilon_from(mu, DELTA))
    assert tier_epsilon(CASCADE, Tier.IDENTIFIER, DELTA) == 0.0
    names = [release.name for release, _ in tier_releases(CASCADE, Tier.PERSONAL)]
    assert names == ["personal", "special"]


def test_without_towers_a_tier_has_the_records_guarantee() -> None:
    uniform = [tower(Tier.SPECIAL, 10.0, 30)]
    replace = record_epsilon(uniform, DELTA, "replace-one")
    for tier in (Tier.NON_PERSONAL, Tier.PERSONAL, Tier.SPECIAL):
        assert tier_epsilon(uniform, tier, DELTA) == replace


READS = st.sampled_from([None, Tier.NON_PERSONAL, Tier.PERSONAL, Tier.SPECIAL])
PLANS = st.lists(
    st.builds(tower, READS, st.floats(2, 200), st.integers(0, 30)), max_size=6
)


@given(PLANS)
def test_more_sensitive_tiers_never_cost_more(plan: list[CountedRelease]) -> None:
    costs = [tier_epsilon(plan, tier, DELTA) for tier in Tier]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] <= record_epsilon(plan, DELTA, "replace-one")


def test_sampled_towers_compose_too() -> None:
    plan = [tower(Tier.PERSONAL, 2.0, 50, 0.1), tower(Tier.SPECIAL, 8.0, 50, 0.1)]
    special = tier_epsilon(plan, Tier.SPECIAL, DELTA)
    assert 0 < special < tier_epsilon(plan, Tier.PERSONAL, DELTA)
    # Replace-one of dp-accounting doubles the sensitivity itself: 9.997, not halved.
    one = [tower(Tier.SPECIAL, 1.0, 1, 1 - 1e-12)]
    assert tier_epsilon(one, Tier.SPECIAL, 1e-5) == pytest.approx(9.997, rel=2e-3)


def test_a_person_at_several_sites_multiplies_the_sensitivity() -> None:
    plan = [tower(Tier.SPECIAL, 30.0, 10)]
    double = [tower(Tier.SPECIAL, 15.0, 10)]
    assert record_epsilon(plan, DELTA, "add-remove", sites_per_person=2) == (
        pytest.approx(record_epsilon(double, DELTA, "add-remove"))
    )
    assert tier_epsilon(plan, Tier.SPECIAL, DELTA, sites_per_person=2) == pytest.approx(
        tier_epsilon(double, Tier.SPECIAL, DELTA)
    )


def test_a_person_at_several_sites_under_sampling_is_refused() -> None:
    release, _ = tower(Tier.SPECIAL, 30.0, 1, 0.5)
    assert release_per_person(release, 1) == release
    with pytest.raises(ClaimError, match="2 sites"):
        release_per_person(release, 2)
    with pytest.raises(ValueError, match="sites_per_person"):
        release_per_person(release, 0)
