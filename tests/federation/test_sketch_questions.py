# SPDX-License-Identifier: Apache-2.0
"""The next question follows from the releases about the same column."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lexfed.data.letter_pairs import PAIRS, pairs_of
from lexfed.federation.programme.sketch_schedule import (
    ANY_ENDS,
    are_follow_ups,
    next_question,
)
from lexfed.sketch.queries.requested_tables import (
    DOUBLES,
    ReleasedTable,
    RequestedTable,
)
from support.federation.sketch_worlds import TABLES

Floats = NDArray[np.float64]


def told_of(
    table: RequestedTable, counts: Floats, asked: Floats | None = None
) -> ReleasedTable:
    given = np.zeros(0) if asked is None else asked
    return ReleasedTable(table, given, counts.reshape(table.shape), 1.0)


def test_columns_of_which_nothing_was_found_go_along_with_others() -> None:
    loud = np.zeros(DOUBLES + 1)
    loud[200:210] = 1000.0
    silent = replace(TABLES["doubles"], column="height", slots=(2,))
    told = (
        told_of(TABLES["doubles"], loud),
        told_of(silent, np.zeros(DOUBLES + 1)),
        told_of(TABLES["letters"], np.zeros(PAIRS + 2)),
    )
    asked = (TABLES["bins"], replace(TABLES["bins"], column="height"),
             TABLES["letters 2"])  # fmt: skip
    found = next_question(asked, told)
    assert found is not None
    assert found.keys() == {"ends.0", "ends.1", "prefixes.2"}
    assert tuple(found["ends.1"]) == ANY_ENDS
    assert not np.array_equal(found["ends.0"], found["ends.1"])
    assert (found["prefixes.2"] == -1).all()
    assert are_follow_ups(asked, found)
    assert next_question(asked[1:], told) is None
    assert next_question((), told) is None
    # A first look is always asked, whatever was found of others.
    assert next_question((TABLES["codes"], *asked[1:]), told) is not None


def test_letters_go_on_from_the_level_before() -> None:
    third = replace(TABLES["letters 2"], slots=(3, 4, 5))
    first = np.zeros(PAIRS + 2)
    first[pairs_of("Ulm")[0]] = 1000.0
    told = (told_of(TABLES["letters"], first),)
    assert next_question((third,), told) is None
    second = next_question((TABLES["letters 2"],), told)
    assert second is not None
    assert second["prefixes.0"][0] == pairs_of("Ulm")[0]
    other = replace(TABLES["letters 2"], column="street")
    assert next_question((other,), told) is None
    bins_of_a_text = replace(TABLES["bins"], column="town")
    assert next_question((bins_of_a_text,), told) is None


def test_what_is_asked_of_a_column_follows_from_that_column_alone() -> None:
    """Nothing of a lower tier may depend on what a higher one released."""
    loud = np.zeros(DOUBLES + 1)
    loud[200:210] = 1000.0
    own = told_of(TABLES["doubles"], loud)
    found = next_question((TABLES["bins"],), (own,))
    assert found is not None
    for value in (0.0, 1e9):
        column = replace(TABLES["doubles"], column="illness")
        others = told_of(column, np.full(DOUBLES + 1, value))
        text = told_of(TABLES["letters"], np.full(PAIRS + 2, value))
        again = next_question((TABLES["bins"],), (others, own, text, others))
        assert again is not None
        assert np.array_equal(again["ends.0"], found["ends.0"])
