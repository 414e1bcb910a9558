# SPDX-License-Identifier: Apache-2.0
"""Mutants of Laplace noise; written like `test_paying_mutants`."""

import numpy as np
from numpy.typing import NDArray

from lexfed.privacy.noise.laplace import two_sided_geometric
from lexfed.randomness import RandomSource
from lexfed.sketch.releases import laplace
from lexfed.sketch.releases.noised_sketch import Sensitivity
from support.mutant import Mutant, Patch, both_tests
from support.sketch import laplace_checks as checks


def _epsilon_of_one_item(patch: Patch) -> None:
    patch.setattr(laplace, "person_moves", lambda *_: Sensitivity(1, 1.0))


def _half_the_scale(patch: Patch) -> None:
    patch.setattr(
        laplace,
        "two_sided_geometric",
        lambda source, scale, count: two_sided_geometric(source, scale / 2, count),
    )


def _one_value_for_two_cells(patch: Patch) -> None:
    def shared(source: RandomSource, scale: float, count: int) -> NDArray[np.int64]:
        return np.repeat(two_sided_geometric(source, scale, count // 2), 2)

    patch.setattr(laplace, "two_sided_geometric", shared)


def _no_noise(patch: Patch) -> None:
    patch.setattr(
        laplace,
        "two_sided_geometric",
        lambda _source, _scale, count: np.zeros(count, dtype=np.int64),
    )


MUTANTS = (
    Mutant(
        "the epsilon of one item for all",
        _epsilon_of_one_item,
        checks.no_outcome_is_likelier_than_stated,
    ),
    Mutant(
        "half the scale", _half_the_scale, checks.no_outcome_is_likelier_than_stated
    ),
    Mutant("no noise at all", _no_noise, checks.no_outcome_is_likelier_than_stated),
    Mutant(
        "one value for two cells",
        _one_value_for_two_cells,
        checks.noise_has_the_stated_variance_in_every_cell,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
