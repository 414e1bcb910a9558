# SPDX-License-Identifier: Apache-2.0
"""The Gaussian that a ledger charges for a search dominates it, exactly computed."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from lexfed.privacy.accountants import gdp, rdp
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.selection import (
    NEGLIGIBLE,
    Distribution,
    Repetitions,
    _most,
    dominating_mu,
    dominating_releases,
    selected_curve,
)
from lexfed.tiers import Tier

LAWS: tuple[Distribution, ...] = ("logarithmic", "geometric", "poisson")


def slope(law: Repetitions, x: np.ndarray) -> np.ndarray:
    """Derivative of the generating function E[x^K]."""
    if law.distribution == "poisson":
        return law.mean * np.exp(law.mean * (x - 1.0))
    gamma = law.gamma
    if law.distribution == "geometric":
        return gamma / (1.0 - (1.0 - gamma) * x) ** 2
    return (1.0 - gamma) / ((1.0 - (1.0 - gamma) * x) * -math.log(gamma))


def exact_delta(law: Repetitions, mu: float, epsilon: float, up: bool) -> float:
    """Delta of the largest of K values, each N(0, 1) or N(mu, 1), by summation.

    A run releases one Gaussian value and is scored by it: as much as a score can tell.
    """
    x = np.linspace(-12.0, 12.0 + mu, 60_001)
    first, second = (mu, 0.0) if up else (0.0, mu)
    p = slope(law, norm.cdf(x - first)) * norm.pdf(x - first)
    q = slope(law, norm.cdf(x - second)) * norm.pdf(x - second)
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum() * (x[1] - x[0]))


@pytest.mark.no_cover
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("mean", [2.0, 10.0])
@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0])
def test_the_gaussian_dominates_the_best_run(
    law: Distribution, mean: float, mu: float
) -> None:
    repetitions = Repetitions(law, mean)
    curve = selected_curve(rdp.curve([Step(1.0 / mu)], "add-remove"), repetitions)
    found = dominating_mu(mu, curve, repetitions)
    assert mu < found < mu * math.sqrt(_most(repetitions, NEGLIGIBLE))
    exceeded = False
    for epsilon in mu * np.array([0.0, 0.1, 0.3, 1.0, 2.0, 3.0, 5.0]):
        exact = max(exact_delta(repetitions, mu, epsilon, up) for up in (True, False))
        assert exact <= gdp.delta_from(found, epsilon) * (1 + 1e-6) + 1e-9
        exceeded |= exact > gdp.delta_from(mu, epsilon) + 1e-6
    # Negative control: one run's Gaussian is not enough.
    assert exceeded


def test_a_run_that_says_nothing_needs_no_gaussian() -> None:
    law = Repetitions("geometric", 5.0)
    assert dominating_mu(0.0, np.zeros(len(rdp.ORDERS)), law) == 0.0


def test_where_orders_do_not_reach_all_runs_are_paid() -> None:
    # Mu so small that no order proves a small delta: as if K were at its largest.
    law, mu = Repetitions("poisson", 3.0), 1e-6
    curve = selected_curve(rdp.curve([Step(1.0 / mu)], "add-remove"), law)
    most = _most(law, NEGLIGIBLE)
    assert dominating_mu(mu, curve, law) == pytest.approx(mu * math.sqrt(most))


@pytest.mark.parametrize("law", LAWS)
def test_more_runs_than_the_most_are_as_rare_as_said(law: Distribution) -> None:
    repetitions = Repetitions(law, 6.0)
    most = _most(repetitions, 1e-6)
    number, chance = repetitions.first()
    total = 0.0
    while number <= most:
        total += float(chance)
        chance *= repetitions.ratio(number)
        number += 1
    assert 0.0 <= 1.0 - total <= 1e-6


def release(multiplier: float, reads: Tier | None) -> Release:
    return Release("sum", (ReleaseGroup("all", 1.0, multiplier),), 1.0, reads, 1)


def test_every_scope_pays_its_own_gaussian() -> None:
    law = Repetitions("geometric", 4.0)
    runs = [
        [(release(30.0, None), 1), (release(40.0, Tier.PERSONAL), 2)],
        [(release(50.0, Tier.SPECIAL), 1)],
    ]
    found = dominating_releases(runs, law)
    assert [one.reads for one in found] == [Tier.SPECIAL, Tier.PERSONAL, None]

    def paid(tier: Tier | None) -> float:
        squares = [
            one.noise_multiplier**-2
            for one in found
            if tier is None or (one.reads is not None and one.reads >= tier)
        ]
        return 2.0 * math.sqrt(sum(squares))

    for tier, mu in (
        (Tier.SPECIAL, 2.0 / 50.0),
        (Tier.PERSONAL, 2.0 * math.sqrt(2.0) / 40.0),
    ):
        curve = selected_curve(rdp.curve([Step(2.0 / mu / 2.0)], "add-remove"), law)
        wanted = dominating_mu(mu, curve, law)
        assert wanted * (1 - 1e-9) <= paid(tier) <= wanted * (1 + 1e-5)
    assert paid(None) > paid(Tier.PERSONAL) == paid(Tier.NON_PERSONAL)


def test_a_person_at_two_sites_pays_for_both() -> None:
    law = Repetitions("geometric", 4.0)
    one = dominating_releases([[(release(30.0, Tier.SPECIAL), 1)]], law)
    two = dominating_releases([[(release(60.0, Tier.SPECIAL), 1)]], law, 2)
    assert [r.noise_multiplier for r in one] == pytest.approx(
        [r.noise_multiplier for r in two]
    )
