# SPDX-License-Identifier: Apache-2.0
"""Union, Jaccard, cosine and distance: intervals that cover, refusals where none can.

Error probabilities: 1e-8 for a coverage of 95 %, 2e-9 for a mean.
"""

import numpy as np
import pytest

from lexfed.errors import DataError
from lexfed.sketch.estimates import noised_cells
from lexfed.sketch.estimates.intervals import Estimate, from_variance
from lexfed.sketch.estimates.noised_cells import NoisedCells
from support.sketch.trials import (
    EVERY_KIND,
    Trials,
    coverage,
    deviations_off,
    pair_answers,
    two_sites,
)

SIGNED = pytest.mark.parametrize(
    "signed", [False, pytest.param(True, marks=pytest.mark.slow)]
)


@SIGNED
def test_union_is_unbiased_and_covered(signed: bool) -> None:
    sites = two_sites("sets")
    answers = pair_answers(Trials(8, 64, 2.0, signed), sites, noised_cells.union_size)
    assert deviations_off(np.array([each.value for each in answers]), 300) < 6
    assert 0.93 < coverage(answers, 300) < 0.97
    # Negative control: the sum of both sizes is not the union.
    assert coverage(answers, 380) < 0.93


def test_a_count_min_sketch_sizes_sets_better() -> None:
    sites = two_sites("sets")
    spread = [
        np.std(
            [
                each.value
                for each in pair_answers(
                    Trials(8, 64, 2.0, signed, count=500),
                    sites,
                    noised_cells.union_size,
                )
            ]
        )
        for signed in (True, False)
    ]
    # About 0.6; the ratio of two deviations of 500 values errs by 4.5 %.
    assert spread[1] < spread[0]


@SIGNED
def test_jaccard_is_covered(signed: bool) -> None:
    sites = two_sites("sets")
    answers = pair_answers(Trials(8, 64, 1.0, signed), sites, noised_cells.jaccard)
    assert 0.93 < coverage(answers, 80 / 300) < 0.97
    assert all(0 <= each.low <= each.value <= each.high <= 1 for each in answers)
    # Negative control: the share of the smaller set is another value.
    assert coverage(answers, 80 / 180) < 0.93


@EVERY_KIND
def test_cosine_is_covered(kind: str, signed: bool) -> None:
    f, g = two_sites(kind)
    truth = float(f @ g / np.sqrt((f @ f) * (g @ g)))
    answers = pair_answers(Trials(8, 64, 1.0, signed), (f, g), noised_cells.cosine)
    assert 0.93 < coverage(answers, truth) < 0.97
    # Negative control: a value two deviations away is not covered so often.
    away = truth - 2 * np.sqrt(np.mean([each.variance for each in answers]))
    assert coverage(answers, away) < 0.93


@EVERY_KIND
def test_distance_is_covered_with_public_and_noised_totals(
    kind: str, signed: bool
) -> None:
    relative = 0.04 if signed else 0.0
    f, g = two_sites(kind)
    totals = float(f.sum()), float(g.sum())
    truth = float(((f / totals[0] - g / totals[1]) ** 2).sum())
    rng = np.random.default_rng(3)

    def total(exact: float) -> Estimate:
        deviation = relative * exact
        return from_variance(exact + deviation * rng.standard_normal(), deviation**2)

    def ask(left: NoisedCells, right: NoisedCells) -> Estimate:
        return noised_cells.distance(left, right, total(totals[0]), total(totals[1]))

    answers = pair_answers(Trials(8, 64, 2.0, signed), (f, g), ask)
    assert 0.93 < coverage(answers, truth) < 0.97
    # Negative control: a value two deviations away is not covered so often.
    away = truth + 2 * np.sqrt(np.mean([each.variance for each in answers]))
    assert coverage(answers, away) < 0.93


def test_what_is_lost_in_the_noise_is_refused() -> None:
    rng = np.random.default_rng(1)
    left, right = (
        NoisedCells(9 * rng.standard_normal((5, 64)), 81.0, True) for _ in range(2)
    )
    for ask in (noised_cells.jaccard, noised_cells.cosine):
        with pytest.raises(DataError, match="cannot be told from zero"):
            ask(left, right)
    with pytest.raises(DataError, match="a total"):
        noised_cells.distance(left, right, from_variance(5, 0), from_variance(5, 9))
