# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.budget.allocation import (
    TIER_MULTIPLIER,
    TIER_NOISE,
    TierFacts,
    caps,
    inverse,
    multiplier,
    noise_scale,
    proportions,
)
from lexfed.tiers import MODEL_TIERS, Tier

TIERS = tuple(TierFacts(tier, slots=10) for tier in MODEL_TIERS)

problems = st.integers(1, 4).flatmap(
    lambda size: st.tuples(
        st.lists(st.floats(1.0, 200.0), min_size=size, max_size=size),
        st.lists(
            st.one_of(st.floats(0.01, 4.0), st.just(math.inf)),
            min_size=size - 1,
            max_size=size - 1,
        ),
        st.floats(0.05, 4.0),
    )
)


def suffix_sums(values: tuple[float, ...]) -> list[float]:
    return [math.fsum(values[index:]) for index in range(len(values))]


@given(problems)
def test_caps_respects_every_bound_and_uses_up_the_tightest(
    problem: tuple[list[float], list[float], float],
) -> None:
    costs, upper, total = problem
    bounds = [total, *upper]
    shares = caps(costs, bounds)
    sums = suffix_sums(shares.squares)
    assert all(square > 0 for square in shares.squares)
    for reached, bound, tight in zip(sums, bounds, shares.tight, strict=True):
        assert reached <= bound * (1 + 1e-9)
        if tight:
            assert reached == pytest.approx(bound, rel=1e-9)
    assert any(shares.tight)


@given(problems, st.integers(0, 2**32 - 1))
def test_no_feasible_shares_cost_less(
    problem: tuple[list[float], list[float], float], seed: int
) -> None:
    costs, upper, total = problem
    bounds = [total, *upper]
    best = np.array(caps(costs, bounds).squares)
    generator = np.random.default_rng(seed)
    for size in (1e-3, 0.1, 3.0):
        other = best * np.exp(size * generator.normal(size=len(best)))
        room = [b / s for b, s in zip(bounds, suffix_sums(tuple(other)), strict=True)]
        other *= min(room)
        cheapest = np.sum(np.array(costs) / best)
        assert np.sum(np.array(costs) / other) >= cheapest * (1 - 1e-9)


def test_without_caps_squares_follow_the_square_root_of_the_cost() -> None:
    shares = caps([4.0, 16.0], [3.0, math.inf])
    assert shares.squares == pytest.approx((1.0, 2.0))
    assert shares.tight == (True, False)


def test_a_cap_on_the_top_tier_leaves_the_rest_to_the_lower_ones() -> None:
    shares = caps([1.0, 1.0, 1.0], [3.0, math.inf, 0.1])
    assert shares.squares == pytest.approx((1.45, 1.45, 0.1))
    assert shares.tight == (True, False, True)


@pytest.mark.parametrize(
    "squares",
    [
        inverse(TIERS, alpha=2.0),
        multiplier(TIERS, TIER_MULTIPLIER),
        noise_scale(TIERS),
    ],
)
def test_heuristic_rules_share_all_and_give_less_to_the_more_sensitive(
    squares: tuple[float, ...],
) -> None:
    assert sum(squares) == pytest.approx(1.0)
    assert list(squares) == sorted(squares, reverse=True)


def test_the_published_proportions() -> None:
    mu = [math.sqrt(square) for square in inverse(TIERS, alpha=4.0)]
    assert mu[0] / mu[2] == pytest.approx(4.0)
    mu = [math.sqrt(square) for square in noise_scale(TIERS)]
    assert mu[0] / mu[1] == pytest.approx(2.0)
    assert mu[1] / mu[2] == pytest.approx(2.0)
    important = (TierFacts(Tier.PERSONAL, 3, 2.0), TierFacts(Tier.SPECIAL, 3, 4.0))
    mu = [math.sqrt(square) for square in multiplier(important, TIER_MULTIPLIER)]
    assert mu[0] / mu[1] == pytest.approx((0.5 * 2.0) / (0.25 * 4.0))


def test_a_rule_is_found_by_its_name() -> None:
    settings = (3.0, TIER_MULTIPLIER, TIER_NOISE)
    assert proportions("inverse", TIERS, *settings) == inverse(TIERS, 3.0)
    by_multiplier = multiplier(TIERS, TIER_MULTIPLIER)
    assert proportions("multiplier", TIERS, *settings) == by_multiplier
    assert proportions("noise-scale", TIERS, *settings) == noise_scale(TIERS)
    assert math.fsum(by_multiplier) == pytest.approx(1.0)
