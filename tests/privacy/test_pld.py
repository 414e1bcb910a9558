# SPDX-License-Identifier: Apache-2.0
"""The width of the loss grid: nested, fine enough, and never endless."""

import math

import pytest

from lexfed.privacy import pld
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
