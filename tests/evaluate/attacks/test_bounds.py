# SPDX-License-Identifier: Apache-2.0
"""Bounds on attacks: against closed forms, the exact Gaussian case and a real test."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from lexfed.evaluate.attacks.bounds import (
    TradeOff,
    of_gaussian,
    of_record,
    of_tier,
    with_guesses,
)
from lexfed.privacy.accountants import gdp
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.tiers import Tier

EPSILON = st.floats(0.0, 30.0)
DELTA = st.floats(0.0, 1.0)
PAIR = st.tuples(EPSILON, DELTA)


def release(sigma: float, reads: Tier, rate: float = 1.0) -> Release:
    return Release("sum", (ReleaseGroup("all", 1.0, sigma),), rate, reads, 3)


@given(EPSILON, DELTA)
def test_one_pair_has_its_closed_forms(epsilon: float, delta: float) -> None:
    bound = TradeOff(((epsilon, delta),))
    ratio = math.exp(epsilon)
    assert bound.auc == pytest.approx(1 - (1 - delta) ** 2 / (1 + ratio), abs=1e-12)
    advantage = (ratio - 1 + 2 * delta) / (ratio + 1)
    assert bound.advantage == pytest.approx(advantage, abs=1e-12)


@pytest.mark.parametrize("mu", [0.01, 0.1, 0.3, 0.479, 1.0, 2.0, 4.0, 8.0])
def test_all_pairs_of_a_gaussian_give_its_own_bounds(mu: float) -> None:
    bound = of_gaussian(mu)
    exact = float(norm.cdf(mu / math.sqrt(2)))
    assert 0.0 <= bound.auc - exact <= 1e-3
    assert bound.advantage == pytest.approx(2 * norm.cdf(mu / 2) - 1, abs=1e-9)
    alarms = np.linspace(0.001, 0.999, 999)
    misses = norm.cdf(norm.ppf(1 - alarms) - mu)
    assert (bound.misses(alarms) <= misses + 1e-12).all()
    assert np.abs(bound.misses(alarms) - misses).max() < 1e-2


@given(st.lists(PAIR, min_size=1, max_size=5), PAIR)
def test_a_further_pair_never_makes_a_bound_larger(
    pairs: list[tuple[float, float]], further: tuple[float, float]
) -> None:
    fewer, more = TradeOff(tuple(pairs)), TradeOff((*pairs, further))
    assert more.auc <= fewer.auc + 1e-12
    assert more.advantage <= fewer.advantage + 1e-12


@given(st.lists(PAIR, min_size=1, max_size=4))
def test_the_area_is_that_of_a_fine_sum(pairs: list[tuple[float, float]]) -> None:
    bound = TradeOff(tuple(pairs))
    places = np.linspace(0, 1, 20_001)
    assert bound.auc == pytest.approx(
        1 - np.trapezoid(bound.misses(places), places), abs=1e-4
    )
    assert 0.5 - 1e-12 <= bound.auc <= 1.0


def test_the_advantage_is_attained_on_the_curve() -> None:
    bound = TradeOff(((0.5, 0.01), (2.0, 1e-5)))
    alarms = np.linspace(0, 1, 100_001)
    most = float((1 - bound.misses(alarms) - alarms).max())
    assert bound.advantage == pytest.approx(most, abs=1e-4)


def test_randomised_response_attains_its_bound() -> None:
    # It tells the truth with probability e^eps/(1 + e^eps): AUC is that very share.
    epsilon = 1.3
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert TradeOff(((epsilon, 0.0),)).auc == pytest.approx(truth)


def test_no_guarantee_allows_everything_and_no_release_nothing() -> None:
    assert TradeOff(((math.inf, 0.0),)).auc == 1.0
    assert TradeOff(((math.inf, 0.0),)).advantage == pytest.approx(1.0)
    assert TradeOff(((0.0, 1.0),)).auc == 1.0
    assert of_record((), "add-remove").auc == 0.5
    assert of_record((), "add-remove").advantage == 0.0


@pytest.mark.parametrize("pairs", [(), ((-1.0, 0.1),), ((1.0, 2.0),)])
def test_pairs_that_are_none_are_refused(
    pairs: tuple[tuple[float, float], ...],
) -> None:
    with pytest.raises(ValueError, match="expected"):
        TradeOff(pairs)


def test_a_run_is_bounded_by_the_gaussian_that_it_is() -> None:
    releases = [(release(5.0, Tier.SPECIAL), 9)]
    joined = of_record(releases, "add-remove")
    assert joined.auc == pytest.approx(of_gaussian(0.6).auc, abs=1e-9)
    replaced = of_record(releases, "replace-one")
    assert replaced.auc == pytest.approx(of_gaussian(1.2).auc, abs=1e-9)
    twice = of_record(releases, "add-remove", sites_per_person=2)
    assert twice.auc == pytest.approx(of_gaussian(1.2).auc, abs=1e-9)


def test_a_tier_is_bounded_by_the_releases_that_read_it() -> None:
    releases = [
        (release(2.0, Tier.PERSONAL), 4),
        (release(20.0, Tier.SPECIAL), 4),
    ]
    assert of_tier(releases, Tier.SPECIAL).auc == pytest.approx(
        of_gaussian(0.2).auc, abs=1e-9
    )
    assert of_tier(releases, Tier.PERSONAL).auc > of_gaussian(1.9).auc


def test_a_sampled_run_is_bounded_by_its_pairs_and_not_by_one_alone() -> None:
    releases = [(release(1.0, Tier.SPECIAL, rate=0.05), 50)]
    bound = of_record(releases, "add-remove")
    assert (
        0.5 < bound.auc < of_record([(release(1.0, Tier.SPECIAL), 1)], "add-remove").auc
    )
    one = TradeOff((bound.pairs[20],))
    assert bound.auc <= one.auc


def test_the_pair_of_a_claim_allows_much_more_than_its_curve() -> None:
    mu = gdp.mu_from(1.9, 1e-5)
    assert TradeOff(((1.9, 1e-5),)).auc > 0.86
    assert of_gaussian(mu).auc < 0.64


def test_guessing_adds_to_what_a_release_allows() -> None:
    # A binormal guess of AUC .7 beside a Gaussian release: together they compose to
    # sqrt(a^2 + mu^2), which the bound must hold.
    mu, guess = 0.2, 0.7
    of_guess = math.sqrt(2) * float(norm.ppf(guess))
    together = float(norm.cdf(math.hypot(of_guess, mu) / math.sqrt(2)))
    assert together <= with_guesses(of_gaussian(mu), guess) <= 0.79
    assert with_guesses(of_gaussian(5.0), guess) == 1.0


def test_people_of_one_release_can_be_ranked_better_and_that_is_attained() -> None:
    # Two people, a release of the difference of their coins: whoever is there is
    # ranked above the other with probability Phi(mu), not Phi(mu/sqrt(2)).
    mu, generator = 0.8, np.random.default_rng(7)
    released = 1.0 + generator.normal(size=400_000) / mu
    ranked = float((released > 0).mean())
    bound = of_gaussian(mu)
    # Standard error .0007: five of them with probability below 1e-6.
    assert ranked == pytest.approx(bound.ranking, abs=0.0035 + 2e-3)
    assert ranked > bound.auc + 0.05
    assert bound.ranking == pytest.approx(float(norm.cdf(mu)), abs=2e-3)
    assert bound.ranking >= float(norm.cdf(mu))


@given(st.lists(PAIR, min_size=1, max_size=4))
def test_ranking_people_of_one_release_is_never_bounded_below_advantage(
    pairs: list[tuple[float, float]],
) -> None:
    bound = TradeOff(tuple(pairs))
    assert 0.5 <= bound.ranking <= 1.0
    assert bound.ranking <= 0.5 + bound.advantage + 1e-12
