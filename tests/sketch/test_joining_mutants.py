# SPDX-License-Identifier: Apache-2.0
"""Mutants of sketches for joining; written like `test_paying_mutants`."""

from collections.abc import Iterable

from lexfed.sketch.joining import keys, terms
from lexfed.sketch.joining.keys import PersonKeys
from lexfed.sketch.joining.terms import JoiningNoise
from support.mutant import Mutant, Patch, both_tests
from support.sketch import joining_checks as checks


def _rows_instead_of_people(patch: Patch) -> None:
    def every_row(texts: Iterable[str]) -> PersonKeys:
        found = tuple(sorted(texts))
        return PersonKeys(found, len(found), 0)

    patch.setattr(keys, "people_of", every_row)


def _keys_as_written(patch: Patch) -> None:
    patch.setattr(keys, "one_form", lambda text: text)


def _the_whole_budget_for_each(patch: Patch) -> None:
    def twice(epsilon: float, _delta: float | None, _cells: int) -> JoiningNoise:
        return JoiningNoise("laplace", 0.3 / epsilon, 0.3 / epsilon)

    patch.setattr(terms.JoiningNoise, "within", staticmethod(twice))


MUTANTS = (
    Mutant(
        "rows are counted, not people",
        _rows_instead_of_people,
        checks.one_person_moves_one_cell_and_the_count_by_one,
    ),
    Mutant(
        "keys are compared as they are written",
        _keys_as_written,
        checks.one_person_moves_one_cell_and_the_count_by_one,
    ),
    Mutant(
        "table and count each spend more than everything",
        _the_whole_budget_for_each,
        checks.no_outcome_is_likelier_than_stated,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
