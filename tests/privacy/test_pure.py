# SPDX-License-Identifier: Apache-2.0
"""Theorem P: pure epsilon is dominated by one Gaussian, for every accountant."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.errors import ClaimError, Refused
from lexfed.privacy.accountants.composition import delta, epsilon
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.accountants.rdp import ORDERS, curve
from lexfed.privacy.claim.proof import dump_claim, load_claim
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.pure_epsilon import gaussian_of, pure_release
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.run_ledger import Ledger, Limits, RunningTotal
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.terms import Accountant, Neighbours
from lexfed.tiers import Tier
from support.privacy.claims import claim_of

EPSILONS = [1e-6, 1e-3, 0.05, 0.3, 0.999, 1.0, 2.0, 5.0, 20.0, 100.0, 500.0]
ACCOUNTANTS: tuple[Accountant, ...] = ("gdp", "pld", "rdp")


def _exact_mu(pure: float) -> mpmath.mpf:
    """Return mu with 40 digits, by bisection of Phi(-mu/2) = k."""
    kink = 1 / (1 + mpmath.exp(pure))
    low, high = mpmath.mpf(0), mpmath.mpf(200)
    for _ in range(200):
        middle = (low + high) / 2
        if mpmath.ncdf(-middle / 2) > kink:
            low = middle
        else:
            high = middle
    return high


@pytest.mark.no_cover
@pytest.mark.parametrize("pure", EPSILONS)
def test_mu_is_exact_from_above(pure: float) -> None:
    with mpmath.workdps(300):
        exact = _exact_mu(pure)
        assert exact <= gaussian_of(pure) <= exact * (1 + mpmath.mpf(1e-11))


def _miss_of_pure(alarms: mpmath.mpf, pure: float) -> mpmath.mpf:
    grown = mpmath.exp(pure)
    return max(mpmath.mpf(0), 1 - grown * alarms, (1 - alarms) / grown)


def _miss_of_gaussian(alarms: mpmath.mpf, mu: float) -> mpmath.mpf:
    quantile = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * alarms)
    return mpmath.ncdf(quantile - mu)


def _grid(pure: float) -> list[mpmath.mpf]:
    """Points of the whole range, and finer ones around the kink."""
    kink = 1 / (1 + mpmath.exp(pure))
    near = [kink * (1 + mpmath.mpf(step) / 1000) for step in range(-50, 51)]
    far = [mpmath.mpf(step) / 400 for step in range(1, 400)]
    tiny = [mpmath.mpf(10) ** -power for power in range(3, 12)]
    return [at for at in (*near, *far, *tiny, *(1 - t for t in tiny)) if 0 < at < 1]


@pytest.mark.no_cover
@pytest.mark.parametrize("pure", [0.05, 0.3, 1.0, 2.0, 5.0])
def test_the_gaussian_curve_is_nowhere_above(pure: float) -> None:
    mu = gaussian_of(pure)
    with mpmath.workdps(40):
        for alarms in _grid(pure):
            assert _miss_of_gaussian(alarms, mu) <= _miss_of_pure(alarms, pure)


@pytest.mark.parametrize("pure", [0.05, 1.0, 5.0])
def test_a_smaller_gaussian_is_above_at_the_kink(pure: float) -> None:
    """Negative control: the grid would notice a mu that is a ten-thousandth less."""
    mu = gaussian_of(pure) * (1 - 1e-4)
    with mpmath.workdps(40):
        assert any(
            _miss_of_gaussian(alarms, mu) > _miss_of_pure(alarms, pure)
            for alarms in _grid(pure)
        )


def _delta_of_responses(pure: float, times: int, at: float) -> float:
    """Return the exact delta of independent randomised responses of one bit.

    With i of n coins on the likelier side the loss is (2i - n) epsilon.
    """
    truth = 1.0 / (1.0 + math.exp(-pure))
    total = 0.0
    for heads in range(times + 1):
        ways = math.comb(times, heads)
        first = truth**heads * (1 - truth) ** (times - heads)
        second = truth ** (times - heads) * (1 - truth) ** heads
        total += ways * max(0.0, first - math.exp(at) * second)
    return total


@pytest.mark.parametrize("pure", [0.1, 0.7, 2.0])
@pytest.mark.parametrize("times", [1, 3, 20])
@pytest.mark.parametrize("accountant", ACCOUNTANTS)
def test_no_accountant_charges_less_than_the_responses_cost(
    pure: float, times: int, accountant: Accountant
) -> None:
    event = pure_release("bits", pure, None, 0)
    steps = [Step(event.noise_multiplier, 1.0, times)]
    for at in np.linspace(0.0, 1.2 * pure * times, 13):
        exact = _delta_of_responses(pure, times, float(at))
        assert delta(steps, float(at), accountant=accountant) >= exact - 1e-15


def test_half_the_mu_would_charge_less_than_the_responses_cost() -> None:
    """Negative control of the test above."""
    steps = [Step(2.0 / gaussian_of(0.7), 1.0, 3)]
    assert delta(steps, 0.5, accountant="gdp") < _delta_of_responses(0.7, 3, 0.5)


@pytest.mark.parametrize("pure", [0.1, 0.7, 2.0, 8.0])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_renyi_divergences_are_at_least_those_of_the_mechanism(
    pure: float, relation: Neighbours
) -> None:
    """A replacement is two steps: randomised response with twice the epsilon."""
    apart = pure if relation == "add-remove" else 2.0 * pure
    found = curve([Step(1.0 / gaussian_of(pure))], relation)
    truth = 1.0 / (1.0 + math.exp(-apart))
    for order, divergence in zip(ORDERS, found, strict=True):
        logs = [
            order * math.log(truth) + (1 - order) * math.log1p(-truth),
            order * math.log1p(-truth) + (1 - order) * math.log(truth),
        ]
        assert divergence >= float(np.logaddexp(logs[0], logs[1])) / (order - 1)


@given(st.floats(1e-3, 100.0), st.integers(2, 5))
def test_several_steps_apart_are_covered_by_as_many_mu(pure: float, steps: int) -> None:
    assert gaussian_of(steps * pure) <= steps * gaussian_of(pure) * (1 + 1e-11)


@given(st.floats(1e-6, 500.0), st.floats(1e-6, 500.0))
def test_more_epsilon_is_more_mu(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert gaussian_of(low) <= gaussian_of(high)


def test_the_event_says_that_it_is_no_noise_and_is_stored_like_any() -> None:
    event = pure_release("overlap", 1.5, Tier.PERSONAL, 7)
    (group,) = event.groups
    assert group.name == "as dear as pure ε = 1.5"
    assert (event.reads, event.samples, event.noise) == (Tier.PERSONAL, 7, "gaussian")
    assert Release.from_json(event.to_json()) == event


def test_a_ledger_charges_and_refuses_it() -> None:
    event = pure_release("overlap", 0.5, Tier.PERSONAL, 1)
    limits = Limits(5.0, 1e-6)
    ledger = Ledger.filtered(limits, [(event, 2)])
    ledger.charge(event)
    ledger.charge(event)
    with pytest.raises(Refused, match="overlap"):
        ledger.charge(event)
    spent = ledger.spent()
    assert spent.record == record_epsilon([(event, 2)], 1e-6, "add-remove", "gdp")
    assert spent.tiers[Tier.PERSONAL] > spent.record
    running = RunningTotal(1e-6, "add-remove").after(event).after(event)
    assert running.record == pytest.approx(spent.record, rel=1e-6)


def test_a_tier_it_does_not_read_pays_nothing() -> None:
    event = pure_release("people", 0.5, None, 1)
    assert tier_epsilon([(event, 1)], Tier.NON_PERSONAL, 1e-6) == 0.0
    assert epsilon([Step(event.noise_multiplier)], 1e-6) > 0.5


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
def test_a_claim_rests_on_it_like_on_any_release(accountant: Accountant) -> None:
    pure = pure_release("overlap", 0.5, Tier.PERSONAL, 1)
    tower = Release("tower", (ReleaseGroup("all", 1.0, 9.0),), 1.0, Tier.PERSONAL, 10)
    claim = claim_of(
        [(pure, 2), (tower, 3)],
        accountant=accountant,
        rounds=5,
        columns={Tier.PERSONAL: ["age"]},
        grids={"all": Grid(1.0, 9.0, 10, 100)},
        not_covered=["the test rows"],
    )
    assert load_claim(dump_claim(claim)) == claim
    lying = dump_claim(claim)
    lying["releases"][0]["release"]["groups"][0]["clip"] *= 1.5
    with pytest.raises(ClaimError):
        load_claim(lying)


@pytest.mark.parametrize("wrong", [0.0, -1.0, 500.1, math.inf, math.nan])
def test_epsilons_out_of_range_are_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        gaussian_of(wrong)
