# SPDX-License-Identifier: Apache-2.0
"""A ceiling lets through what its filter does, and never more than it says."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.conftest import DAY, START, release
from lexfed.errors import Refused
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import SCALE, costs_of
from lexfed.privacy.accountants import gdp, rdp
from lexfed.privacy.accountants.gdp import Step, gaussian_mu
from lexfed.terms import CostMeasure

EPSILONS = st.floats(0.05, 50)
DELTAS = st.sampled_from([1e-9, 1e-6, 1e-3])


@given(epsilon=EPSILONS, delta=DELTAS)
def test_a_full_ceiling_costs_what_it_says(epsilon: float, delta: float) -> None:
    kinds: tuple[CostMeasure, ...] = ("gdp", "rdp")
    for kind in kinds:
        try:
            ceiling = Ceiling.of(epsilon, delta, kind)
        except Refused:
            assert epsilon < 0.1
            continue
        full = ceiling.reached(ceiling.bound)
        assert epsilon * (1 - 1e-6) <= full <= epsilon * (1 + 1e-9)
        assert ceiling.reached(2 * ceiling.bound) > epsilon


@given(sigmas=st.lists(st.floats(0.6, 30), min_size=1, max_size=40))
def test_what_passes_costs_no_more(sigmas: list[float]) -> None:
    kinds: tuple[CostMeasure, ...] = ("gdp", "rdp")
    for kind in kinds:
        ceiling = Ceiling.of(3.0, 1e-6, kind)
        orders = {} if ceiling.order is None else {"record": ceiling.order}
        total, passed = 0, list[Step]()
        for sigma in sigmas:
            more = costs_of(
                [(release(sigma), 1)], "record", orders, neighbours="add-remove"
            )[f"record:{kind}"]
            cost = _epsilon(ceiling, [*passed, Step(sigma)])
            if total + more <= ceiling.bound:
                assert cost <= 3.0 * (1 + 1e-9)
                total, passed = total + more, [*passed, Step(sigma)]
            else:
                assert cost > 3.0 * (1 - 1e-6)


def _epsilon(ceiling: Ceiling, steps: list[Step]) -> float:
    if ceiling.order is None:
        return gdp.epsilon_from(gaussian_mu(steps, "add-remove"), ceiling.delta)
    [divergence] = rdp.curve(steps, "add-remove", (ceiling.order,))
    return rdp.epsilon_at(divergence, ceiling.order, ceiling.delta)


def test_a_small_epsilon_has_no_order() -> None:
    with pytest.raises(Refused, match="order 4096 proves nothing") as caught:
        Ceiling.of(1e-4, 1e-6, "rdp")
    assert "kind `gdp`" in caught.value.hint
    with pytest.raises(Refused, match="order 2 proves nothing"):
        Ceiling.of(1.0, 1e-6, "rdp", order=2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0.0},
        {"epsilon": math.nan},
        {"delta": 0.0},
        {"delta": 0.6},
        {"days": 0},
        {"order": 8},
        {"kind": "rdp", "order": 1},
    ],
)
def test_numbers_out_of_range(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Ceiling.of(**{"epsilon": 1.0, "delta": 1e-6, **wrong})  # type: ignore[arg-type]


def test_periods_are_days_of_the_calendar() -> None:
    ceiling = Ceiling.of(1.0, 1e-6, days=7)
    first = START // (7 * DAY)
    assert ceiling.period(first * 7 * DAY) == first
    assert ceiling.period((first + 1) * 7 * DAY - 1) == first
    assert ceiling.period((first + 1) * 7 * DAY) == first + 1
    assert Ceiling.of(1.0, 1e-6).period(START) == 0


def test_what_counts_as_a_raise() -> None:
    old = Ceiling.of(2.0, 1e-6, days=30)
    assert not old.raises(None)
    assert not old.raises(old)
    assert not Ceiling.of(1.0, 1e-6).raises(old)
    assert Ceiling.of(1.0, 1e-6, "rdp").raises(old)
    renyi = Ceiling.of(2.0, 1e-6, "rdp", days=30)
    assert Ceiling.of(1.0, 1e-6, days=30).raises(renyi)
    # A smaller epsilon at its own order, which is larger, stays below the old bound.
    stricter = Ceiling.of(1.0, 1e-6, "rdp", days=30)
    assert (stricter.order or 0) > (renyi.order or 0)
    assert not stricter.raises(renyi)
    assert Ceiling.of(1.9, 1e-6, "rdp", 30, order=11).raises(renyi)
    assert Ceiling.of(2.0, 1e-6, "rdp", 30, order=24).raises(renyi)
    assert Ceiling.of(2.1, 1e-6, days=30).raises(old)
    assert Ceiling.of(2.0, 1e-5, days=30).raises(old)
    assert Ceiling.of(2.0, 1e-6, days=29).raises(old)
    assert Ceiling.of(2.0, 1e-6, days=31).raises(old)
    assert old.raises(Ceiling.of(2.0, 1e-6))


def test_reached_is_never_too_small() -> None:
    ceiling = Ceiling.of(2.0, 1e-6)
    assert ceiling.reached(0) == 0.0
    assert ceiling.reached(SCALE) >= gdp.epsilon_from(1.0, 1e-6)
    assert ceiling.reached(10**400) == math.inf


def test_stored_and_in_words() -> None:
    ceiling = Ceiling.of(2.0, 1e-6, "rdp", 30)
    assert Ceiling.from_json(ceiling.to_json()) == ceiling
    assert str(ceiling) == "ε = 2, δ = 1e-06, by rdp at order 12, in every 30 days"
    assert str(Ceiling.of(2.0, 1e-6)) == "ε = 2, δ = 1e-06, by gdp"
