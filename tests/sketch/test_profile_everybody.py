# SPDX-License-Identifier: Apache-2.0
"""The number of persons counted. Error probabilities: below 1e-4 for each coverage."""

import math

import numpy as np
import pytest

from lexfed.sketch.profile.cell_spread import PersonTotal, Spread
from lexfed.sketch.profile.federation_profile import ProfiledColumn, build_profile
from lexfed.sketch.profile.value_lists import unlisted_count
from lexfed.tiers import Tier
from support.sketch.profile_tables import Federation
from support.sketch.trials import deviations_off

CODES = np.repeat([0.0, 1.0, np.nan], [500, 300, 200])


def test_the_number_of_persons_is_covered() -> None:
    held = 0
    for seed in range(500):
        draw = Federation(10.0, seed)
        told = (draw.codes("a", [CODES], 2), draw.bins("b", [CODES], (0.0, 1.0)))
        counted = PersonTotal(told).counted
        held += counted.low <= 1000 <= counted.high
        assert counted.variance == pytest.approx(1 / (1 / 400 + 1 / 6700))
    assert 455 < held < 493


def test_a_table_does_not_tell_its_own_sum() -> None:
    draw = Federation(10.0)
    one, two = draw.codes("a", [CODES], 2), draw.codes("b", [CODES], 2)
    everybody = PersonTotal((one, two))
    assert everybody.without(one).value == pytest.approx(float(two.counts.sum()))
    assert math.isinf(PersonTotal((one,)).without(one).variance)


def test_without_noise_the_number_is_exact() -> None:
    exact = PersonTotal((Federation(0.0).codes("a", [CODES], 2),)).counted
    assert (exact.low, exact.high) == (1000.0, 1000.0)


def test_sums_of_cells_allow_for_a_doubtful_number() -> None:
    weights = np.array([1.0, 1.0, 0.0, 0.0])
    counts = np.array([500.0, 300.0, 0.0, 200.0])
    rng = np.random.default_rng(1)
    for doubt in (0.0, 300.0, math.inf):
        values = []
        for _ in range(4000):
            people = 1000.0 + (rng.normal(0, math.sqrt(doubt)) if doubt < 1e9 else 77.0)
            noised = counts + rng.normal(0, 10.0, 4)
            answer = Spread(noised, 100.0, people, doubt).weighted(weights)
            values.append(answer.value)
        assert deviations_off(np.array(values), 800.0) < 6
        assert np.var(values) == pytest.approx(answer.variance, rel=0.15)


@pytest.mark.no_cover
@pytest.mark.parametrize("stated", [500.0, 1000.0, 3000.0])
def test_a_public_number_that_is_wrong_does_no_harm(stated: float) -> None:
    columns = [
        ProfiledColumn("a", "category", Tier.PERSONAL, values=("x", "y")),
        ProfiledColumn("b", "number", Tier.PERSONAL, range=(0.0, 64.0)),
    ]
    numbers = np.append(np.arange(900.0) % 64, np.full(100, np.nan))
    held = np.zeros(3)
    for seed in range(300):
        draw = Federation(8.0, seed)
        told = [draw.codes("a", [CODES], 2), draw.bins("b", [numbers], (0.0, 64.0))]
        first, second = build_profile(told, columns, (), stated).columns
        assert first.missing is not None
        middle = second.quantiles[2].at
        truths = [(first.missing, 0.2), (first.values[0].count, 500), (middle, 31.0)]
        for at, (answer, truth) in enumerate(truths):
            low = -math.inf if answer.low is None else answer.low
            held[at] += low <= truth <= (answer.high or math.inf)
    # Below 89 % of 300 with probability 1e-4.
    assert (held > 267).all(), held


def test_what_nobody_counted_is_not_told() -> None:
    draw = Federation(50.0)
    lost = build_profile(
        [draw.codes("a", [np.empty(0)], 2)],
        [ProfiledColumn("a", "category", Tier.PERSONAL, values=("x", "y"))],
        (),
        100,
    )
    assert lost.columns[0].missing is None
    (first,) = draw.words("b", {})
    assert unlisted_count([first], [], PersonTotal((first,)).without(first)) is None
