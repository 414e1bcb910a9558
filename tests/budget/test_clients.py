# SPDX-License-Identifier: Apache-2.0
"""Budgets of sites: the projection is exact, the ascent ends at the optimum."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize

from lexfed.budget import sites
from lexfed.budget.sites import best_budgets, project
from lexfed.errors import ConfigError

Floats = NDArray[np.float64]


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[float], list[float], list[float], float]:
    sites = draw(st.integers(1, 8))
    numbers = st.floats(0.05, 2.0)
    lows = [draw(numbers) for _ in range(sites)]
    highs = [low + draw(st.floats(0.0, 6.0)) for low in lows]
    gammas = [draw(st.floats(0.2, 5.0)) for _ in range(sites)]
    part = draw(st.floats(0.0, 1.2))
    total = math.fsum(lows) + part * (math.fsum(highs) - math.fsum(lows))
    return gammas, lows, highs, max(total, math.fsum(lows))


def gains(gammas: list[float], budgets: Floats) -> float:
    return float(np.sum(-np.expm1(-np.array(gammas) * budgets)))


def by_kkt(
    gammas: list[float], lows: list[float], highs: list[float], total: float
) -> Floats:
    """Solve by the multiplier of the total: epsilon = ln(gamma/m)/gamma, clipped."""
    gamma, low, high = np.array(gammas), np.array(lows), np.array(highs)
    if math.fsum(high) <= total:
        return high
    if math.fsum(low) >= total:
        return low

    def budgets(log_m: float) -> Floats:
        return np.asarray(np.clip((np.log(gamma) - log_m) / gamma, low, high))

    bottom = float((np.log(gamma) - gamma * high).min()) - 1.0
    top = float((np.log(gamma) - gamma * low).max()) + 1.0
    root: float = brentq(lambda x: budgets(x).sum() - total, bottom, top, xtol=1e-14)
    return np.asarray(budgets(root))


@settings(max_examples=60, deadline=None)
@given(problems())
def test_the_ascent_ends_at_the_closed_form(
    problem: tuple[list[float], list[float], list[float], float],
) -> None:
    gammas, lows, highs, total = problem
    found = np.array(best_budgets(*problem))
    assert (found >= lows).all()
    assert (found <= highs).all()
    assert math.fsum(found) <= total
    expected = by_kkt(*problem)
    assert found == pytest.approx(expected, abs=1e-6)
    assert gains(gammas, found) >= gains(gammas, expected) * (1 - 1e-9)


@settings(max_examples=15, deadline=None)
@given(problems())
def test_no_other_solver_does_better(
    problem: tuple[list[float], list[float], list[float], float],
) -> None:
    gammas, lows, highs, total = problem
    found = np.array(best_budgets(*problem))
    other = minimize(
        lambda x: -gains(gammas, x),
        project(np.full(len(lows), total), np.array(lows), np.array(highs), total),
        bounds=list(zip(lows, highs, strict=True)),
        constraints=[{"type": "ineq", "fun": lambda x: total - x.sum()}],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    inside = other.x.sum() <= total + 1e-9
    assert not inside or gains(gammas, found) >= -other.fun - 1e-7


@st.composite
def points(draw: st.DrawFn) -> tuple[Floats, Floats, Floats, float]:
    size = draw(st.integers(1, 12))
    coordinates = st.floats(-1e3, 1e3)
    low = np.array([draw(coordinates) for _ in range(size)])
    high = low + np.array([draw(st.floats(0.0, 100.0)) for _ in range(size)])
    point = np.array([draw(coordinates) for _ in range(size)])
    least, most = math.fsum(low), math.fsum(high)
    total = max(least, least + draw(st.floats(0.0, 1.0)) * (most - least))
    return point, low, high, total


@settings(max_examples=300, deadline=None)
@given(points())
def test_the_projection_is_feasible_and_of_the_one_form(
    problem: tuple[Floats, Floats, Floats, float],
) -> None:
    point, low, high, total = problem
    found = project(point, low, high, total)
    assert math.fsum(found) <= total
    assert (found >= low).all()
    assert (found <= high).all()
    clipped = np.clip(point, low, high)
    if math.fsum(clipped) <= total:
        assert (found == clipped).all()
        return
    # KKT: one theta for all coordinates that are at no bound, and the sum is the total.
    assert math.fsum(found) == pytest.approx(total, abs=1e-9)
    inner = (found > low + 1e-9) & (found < high - 1e-9)
    thetas = (point - found)[inner]
    if len(thetas):
        assert thetas.max() - thetas.min() <= 1e-9
        assert ((point - low)[found > low + 1e-9] >= thetas.min() - 1e-9).all()
        assert ((point - high)[found < high - 1e-9] <= thetas.max() + 1e-9).all()


@given(points(), st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_no_feasible_point_is_nearer(
    problem: tuple[Floats, Floats, Floats, float], seed: int
) -> None:
    point, low, high, total = problem
    found = project(point, low, high, total)
    generator = np.random.default_rng(seed)
    for _ in range(20):
        other = low + generator.random(len(low)) * (high - low)
        if other.sum() > total:
            room = total - low.sum()
            other = low + (other - low) * (room / max((other - low).sum(), 1e-300))
        assert np.linalg.norm(point - found) <= np.linalg.norm(point - other) + 1e-6


def test_enough_for_all_gives_everyone_the_most() -> None:
    assert best_budgets([1.0, 2.0], [0.1, 0.1], [1.0, 2.0], 3.0) == (1.0, 2.0)


def test_an_ascent_cut_short_is_feasible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "_MOST_STEPS", 3)
    found = best_budgets([1.0, 3.0], [0.1, 0.2], [5.0, 4.0], 2.0)
    assert math.fsum(found) <= 2.0
    assert 0.1 <= found[0] <= 5.0
    assert 0.2 <= found[1] <= 4.0


def test_lows_that_use_up_the_total_are_what_everyone_gets() -> None:
    lows = [0.05, 0.05, 0.1]
    found = best_budgets([1.0] * 3, lows, [0.05, 1.05, 7.0], math.fsum(lows))
    assert found == pytest.approx(tuple(lows), abs=1e-15)
    assert math.fsum(found) <= math.fsum(lows)


def test_equal_sites_share_equally() -> None:
    assert best_budgets([1.0] * 4, [0.1] * 4, [5.0] * 4, 2.0) == pytest.approx(
        (0.5,) * 4
    )


def test_a_box_below_its_total_is_refused() -> None:
    with pytest.raises(ConfigError, match="3 sites with at least their `low` need 3 "):
        best_budgets([1.0] * 3, [1.0] * 3, [2.0] * 3, 2.5)


def test_bounds_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(ConfigError, match="at least 2 and at most 1"):
        best_budgets([1.0], [2.0], [1.0], 2.5)


@pytest.mark.parametrize("gamma", [0.0, -1.0, math.inf, math.nan])
def test_a_gain_that_never_saturates_is_refused(gamma: float) -> None:
    with pytest.raises(ValueError, match="gamma"):
        best_budgets([gamma], [0.1], [1.0], 1.0)
