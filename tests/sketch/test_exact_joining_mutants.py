# SPDX-License-Identifier: Apache-2.0
"""Mutants of the exact way of joining; written like `test_paying_mutants`."""

import numpy as np

from lexfed.privacy.noise.laplace import two_sided_geometric
from lexfed.randomness import RandomSource
from lexfed.sketch.joining import exact_count
from lexfed.sketch.joining.exact_count import Agreement
from lexfed.sketch.joining.keys import PersonKeys
from support.mutant import Mutant, Patch, both_tests
from support.sketch import exact_checks as checks


def _noise_forgotten(patch: Patch) -> None:
    patch.setattr(exact_count, "drawn_noise", lambda _agreement, _source: 0)


def _half_the_noise(patch: Patch) -> None:
    patch.setattr(
        exact_count,
        "two_sided_geometric",
        lambda source, scale, count: two_sided_geometric(source, scale / 2.5, count),
    )


def _noise_in_one_direction(patch: Patch) -> None:
    patch.setattr(
        exact_count,
        "two_sided_geometric",
        lambda source, scale, count: np.abs(two_sided_geometric(source, scale, count)),
    )


def _nothing_filled_up(patch: Patch) -> None:
    def bare(
        _agreement: Agreement, people: PersonKeys, made_up: int, _source: RandomSource
    ) -> list[str]:
        return [*people.texts, *(f"made up\0{n}" for n in range(made_up))]

    patch.setattr(exact_count, "_filled", bare)


MUTANTS = (
    Mutant(
        "noise forgotten", _noise_forgotten, checks.no_outcome_is_likelier_than_stated
    ),
    Mutant(
        "less than half the noise",
        _half_the_noise,
        checks.no_outcome_is_likelier_than_stated,
    ),
    Mutant(
        "noise that only adds",
        _noise_in_one_direction,
        checks.no_outcome_is_likelier_than_stated,
    ),
    Mutant(
        "lists not filled up",
        _nothing_filled_up,
        checks.as_many_keys_leave_whoever_is_there,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
