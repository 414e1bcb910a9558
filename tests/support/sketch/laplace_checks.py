# SPDX-License-Identifier: Apache-2.0
"""Checks of Laplace noise on sketches; each passes on the real code only."""

import math

import numpy as np

from lexfed.randomness import SeededSource
from lexfed.sketch.releases import laplace
from lexfed.sketch.releases.laplace import LaplaceColumn, LaplacePlan
from lexfed.sketch.releases.noised_sketch import Contribution

CELLS = 60_000
SCALE = 6.0
PERSON = Contribution(items=3, records=2)
PLAN = LaplacePlan("ages", (LaplaceColumn("age", None, PERSON, CELLS, SCALE),))


def no_outcome_is_likelier_than_stated() -> None:
    """An attacker who knows the cell: P[cell >= t] with and without the person.

    Every cell is a trial. All six of the person's items are in one cell, so that cell
    moves by 6 and epsilon is 1. Shares of 60,000 trials are off by more than 5
    deviations, here 5 sqrt(.25/60000) = .0102, with probability below 1e-6 each; and a
    mechanism that keeps its epsilon has P <= e^epsilon P'.
    """
    occurrences = PERSON.occurrences
    without = np.zeros((1, CELLS), dtype=np.int64)
    (there,) = laplace.add_noise(PLAN, [without + occurrences], SeededSource(1))
    (gone,) = laplace.add_noise(PLAN, [without], SeededSource(2))
    grown = math.exp(PLAN.epsilon("add-remove"))
    slack = 5 * math.sqrt(0.25 / CELLS)
    for least in range(-2, 9, 2):
        share = float(np.mean(there.cells >= least))
        other = float(np.mean(gone.cells >= least))
        assert share - slack <= grown * (other + slack)


def noise_has_the_stated_variance_in_every_cell() -> None:
    """Mean square of 60,000 cells within 6 deviations: wrong with chance below 1e-8.

    Neighbouring cells are independent: their correlation is below 6/sqrt(60000).
    """
    (column,) = PLAN.columns
    exact = np.full((1, CELLS), 9, dtype=np.int64)
    (noised,) = laplace.add_noise(PLAN, [exact], SeededSource(3))
    noise = (noised.cells - exact).ravel()
    assert noised.variance == column.variance
    error = column.variance * math.sqrt((column.kurtosis - 1) / CELLS)
    assert abs(float(np.mean(noise**2)) - noised.variance) < 6 * error
    apart = float(np.corrcoef(noise[1:], noise[:-1])[0, 1])
    assert abs(apart) < 6 / math.sqrt(CELLS)
