# SPDX-License-Identifier: Apache-2.0
"""The width of the loss grid: nested, fine enough, and never endless."""

import math

import numpy as np
import pytest

from lexfed.privacy import pld
from lexfed.privacy.accountant import delta
from lexfed.privacy.steps import Step


@pytest.mark.parametrize("multiplier", [0.05, 0.5, 1.0, 5.0, 300.0])
@pytest.mark.parametrize("rate", [1e-8, 0.001, 0.1, 1.0])
def test_widths_nest_and_grids_are_not_endless(multiplier: float, rate: float) -> None:
    step = Step(multiplier, rate)
    width = pld.discretisation([step], "replace-one")
    assert math.log2(width / 1e-4).is_integer()
    assert pld._longest_loss(step, "replace-one") / width <= 2 * pld._POINTS


def test_smaller_losses_get_finer_grids() -> None:
    def width(rate: float) -> float:
        return pld.discretisation([Step(4.0, rate)], "add-remove")

    assert width(0.5) >= width(0.02) > width(0.001)


def test_many_levels_may_be_coarser() -> None:
    few = [Step(1.0 + i / 100, 0.003) for i in range(20)]
    many = [Step(1.0 + i / 1000, 0.003) for i in range(200)]
    assert pld.discretisation(few, "add-remove") < pld.discretisation(
        many, "add-remove"
    )


def test_a_coarser_grid_is_never_below_a_finer_one() -> None:
    costs = [
        pld._single(1.5, 0.1, width, "add-remove")
        .self_compose(50)
        .get_epsilon_for_delta(1e-6)
        for width in (16e-4, 4e-4, 1e-4)
    ]
    assert costs[0] >= costs[1] >= costs[2]


@pytest.mark.parametrize(("rate", "multiplier"), [(0.1, 1.0), (0.5, 2.0), (0.02, 0.7)])
def test_one_replacement_against_quadrature(rate: float, multiplier: float) -> None:
    # The library doubles the sensitivity itself; halving again would be wrong.
    x = np.linspace(-12, 14, 400_001)
    base = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    def moved(shift: float) -> np.ndarray:
        return base * (1 - rate + rate * np.exp(shift * x - shift**2 / 2))

    for epsilon in (0.1, 0.5, 1.0):
        shift = 1 / multiplier
        gap = np.maximum(0.0, moved(shift) - math.exp(epsilon) * moved(-shift))
        exact = float(np.trapezoid(gap, x))
        ours = delta([Step(multiplier, rate)], epsilon, "replace-one")
        assert exact * (1 - 1e-6) <= ours <= exact * 1.01
