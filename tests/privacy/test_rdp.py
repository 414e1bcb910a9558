# SPDX-License-Identifier: Apache-2.0
"""Rényi divergences against Gauss quadrature, and the bugs we do not inherit."""

import math
from collections.abc import Iterable

import numpy as np
import pytest

from lexfed.privacy.accountants import rdp
from lexfed.privacy.accountants.composition import epsilon
from lexfed.privacy.accountants.gdp import Step
from lexfed.terms import Neighbours

CASES = [
    (0.01, 1.0, 2),
    (0.01, 1.0, 8),
    (0.3, 2.0, 5),
    (0.05, 1.0, 12),
    (0.9, 0.5, 3),
    (0.001, 1.5, 16),
]


def quadrature(rate: float, multiplier: float, order: int, other: int) -> float:
    """D_a of (1-q)N(0)+qN(R) against (1-q)N(0)+qN(-R), or N(0) if other = 0."""
    shift = 1 / multiplier
    edges = np.linspace(-14 - shift, 2 * order * shift + 14, 400)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = np.diff(edges)[:, None] / 2
    x = edges[:-1, None] + half * (1 + nodes)

    def ratio(sign: int) -> np.ndarray:
        if sign == 0:
            return np.ones_like(x)
        return 1 - rate + rate * np.exp(sign * shift * x - shift**2 / 2)

    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    values = density * ratio(1) ** order * ratio(other) ** (1 - order)
    return math.log(float((half * weights * values).sum())) / (order - 1)


@pytest.mark.parametrize(("rate", "multiplier", "order"), CASES)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_one_step_against_quadrature(
    rate: float, multiplier: float, order: int, neighbours: Neighbours
) -> None:
    exact = quadrature(rate, multiplier, order, {"a": 0, "r": -1}[neighbours[0]])
    ours = float(rdp.curve([Step(multiplier, rate)], neighbours, (order,))[0])
    assert exact * (1 - 1e-12) <= ours <= exact * (1 + 1e-9) + 1e-12


def test_unsampled_steps_are_exact() -> None:
    steps = [Step(2.0, 1.0, 3), Step(5.0)]
    square = 3 / 4 + 1 / 25
    assert rdp.curve(steps, "add-remove", (7,))[0] == pytest.approx(7 * square / 2)
    assert rdp.curve(steps, "replace-one", (7,))[0] == pytest.approx(7 * square * 2)


def test_sampling_at_nearly_one_is_nearly_unsampled() -> None:
    for neighbours in ("add-remove", "replace-one"):
        near = rdp.curve([Step(2.0, 1 - 1e-9)], neighbours, (2, 8))
        full = rdp.curve([Step(2.0)], neighbours, (2, 8))
        assert near == pytest.approx(full, rel=1e-6)


def test_windows_that_are_too_long_are_bounded_by_no_sampling() -> None:
    step, order = Step(0.1, 0.01), 1024
    bound = float(rdp.curve([step], "replace-one", (order,))[0])
    assert bound == pytest.approx(2 * order / 0.1**2)


def test_chords_lie_above_the_curve_and_close_to_it() -> None:
    orders = (2, 4, 6, 8, 12, 20)
    steps = [Step(float(z), 0.02) for z in np.geomspace(0.7, 5.0, 200)]
    exact = sum(rdp.curve([step], "add-remove", orders) for step in steps)
    chords = rdp.curve(steps, "add-remove", orders)
    assert np.all(chords >= exact * (1 - 1e-12))

    def best(curve: Iterable[float]) -> float:
        return min(map(rdp.epsilon_at, curve, orders, [1e-6] * len(orders)))

    assert best(chords) <= best(np.asarray(exact)) * 1.001


def test_rounded_levels_lie_above_replace_one() -> None:
    steps = [Step(float(z), 0.02) for z in np.geomspace(0.9, 5.0, 100)]
    orders = (2, 8, 24)
    exact = sum(rdp.curve([step], "replace-one", orders) for step in steps)
    levels = rdp.curve(steps, "replace-one", orders)
    assert np.all(levels >= exact)
    assert np.all(levels <= exact * 1.25)


def test_conversion_and_its_inverse_agree() -> None:
    curve = rdp.curve([Step(1.0, 0.01, 1000)], "add-remove")
    value = rdp.epsilon_from(curve, 1e-5)
    assert value == pytest.approx(2.1, abs=0.02)
    assert rdp.delta_from(curve, value) == pytest.approx(1e-5, rel=1e-9)
    assert rdp.delta_from(curve, 0.0) <= 1.0
    assert rdp.epsilon_at(0.0, 2, 0.9) == 0.0


def test_replace_one_is_not_the_library_that_reports_half() -> None:
    # RdpAccountant(REPLACE_ONE) of dp-accounting 0.6 reports 2.166 at multiplier 2;
    # the exact value is 4.377 (bug B2).
    import dp_accounting
    from dp_accounting import rdp as library

    relation = dp_accounting.NeighboringRelation.REPLACE_ONE
    theirs = library.RdpAccountant(neighboring_relation=relation)
    theirs.compose(dp_accounting.GaussianDpEvent(2.0))
    exact = epsilon([Step(2.0)], 1e-5, "replace-one", "gdp")
    assert exact == pytest.approx(4.3772, abs=1e-4)
    assert theirs.get_epsilon(1e-5) < 0.6 * exact  # if this fails, it was repaired
    assert epsilon([Step(2.0)], 1e-5, "replace-one", "rdp") >= exact


@pytest.mark.no_cover
def test_matches_opacus_where_integer_orders_are_optimal() -> None:
    from opacus.accountants.analysis import rdp as opacus

    for multiplier, rate, count in [(1.0, 0.01, 1000), (2.0, 0.05, 2000)]:
        ours = rdp.curve([Step(multiplier, rate, count)], "add-remove", (2, 5, 20))
        theirs = opacus.compute_rdp(
            q=rate, noise_multiplier=multiplier, steps=count, orders=[2, 5, 20]
        )
        assert ours == pytest.approx(theirs, rel=1e-9)
