# SPDX-License-Identifier: Apache-2.0
"""The width of the loss grid: nested, fine enough, and never endless."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from lexfed.privacy.accountants import composition, rdp
from lexfed.privacy.accountants.composition import delta
from lexfed.privacy.accountants.gdp import Step, merged_steps
from lexfed.privacy.accountants.rdp import round_down
from lexfed.terms import Neighbours


@pytest.mark.parametrize("multiplier", [0.05, 0.5, 1.0, 5.0, 300.0])
@pytest.mark.parametrize("rate", [1e-8, 0.001, 0.1, 1.0])
def test_widths_nest_and_grids_are_not_endless(multiplier: float, rate: float) -> None:
    step = Step(multiplier, rate)
    width = composition.discretisation([step], "replace-one")
    assert math.log2(width / 1e-4).is_integer()
    assert (
        composition._longest_loss(step, "replace-one") / width
        <= 2 * composition._POINTS
    )


def test_smaller_losses_get_finer_grids() -> None:
    def width(rate: float) -> float:
        return composition.discretisation([Step(4.0, rate)], "add-remove")

    assert width(0.5) >= width(0.02) > width(0.001)


SCHEDULES = {
    "four times the noise": [Step(float(z), 0.02) for z in np.geomspace(1, 4, 300)],
    "a thousand times": [Step(float(z), 0.5) for z in np.geomspace(1, 1000, 300)],
    "rates that grow with noise": [
        Step(float(z), float(q))
        for z, q in zip(
            np.geomspace(1, 4, 300), np.linspace(0.02, 0.2, 300), strict=True
        )
    ],
}

MOST = dict(zip(SCHEDULES, (1.01, 1.01, 1.02), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_many_levels_cost_little_more(name: str, neighbours: Neighbours) -> None:
    """Against every level by itself, on the same grid: never below, little above."""
    steps = SCHEDULES[name]
    exact: Any = None
    width = composition.discretisation(steps, neighbours)
    for step in steps:
        one = composition._single(
            step.noise_multiplier, step.sampling_rate, width, neighbours
        )
        exact = one if exact is None else exact.compose(one)
    truth = exact.get_epsilon_for_delta(1e-6)
    ours = composition.composed_distribution(steps, neighbours).get_epsilon_for_delta(
        1e-6
    )
    assert truth <= ours <= MOST[name] * truth


@pytest.mark.no_cover
@pytest.mark.parametrize("name", SCHEDULES)
def test_rounded_levels_cost_little_in_divergences_too(name: str) -> None:
    """Control: bands of equal ratio, as many of them, cost several times as much."""
    steps = SCHEDULES[name]

    def cost(some: Sequence[Step]) -> float:
        divergences = [rdp.curve([step], "add-remove") for step in some]
        return rdp.epsilon_from(np.sum(divergences, axis=0), 1e-6)

    exact = cost(steps)
    assert exact <= cost(round_down(steps, 96)) <= MOST[name] * exact
    assert cost(_bands(steps, 96)) > MOST[name] * exact


def _bands(steps: Sequence[Step], limit: int) -> tuple[Step, ...]:
    """Return at most so many levels, in bands of equal ratios of noise and rate."""
    rates = len({step.sampling_rate for step in steps}) > 1
    numbers = (limit // 9, 9) if rates else (limit, 1)
    bands: dict[tuple[int, ...], list[Step]] = {}
    for step in steps:
        place = [
            math.floor(number * math.log(value / least) / math.log(most / least))
            for number, value, least, most in (
                (numbers[0], step.noise_multiplier, 1.0, 1001.0 if not rates else 4.01),
                (numbers[1], step.sampling_rate, 0.01999, 0.5001),
            )
        ]
        bands.setdefault(tuple(place), []).append(step)
    return merged_steps(
        Step(
            min(step.noise_multiplier for step in band),
            max(step.sampling_rate for step in band),
            sum(step.count for step in band),
        )
        for band in bands.values()
    )


def test_a_coarser_grid_is_never_below_a_finer_one() -> None:
    costs = [
        composition._single(1.5, 0.1, width, "add-remove")
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
