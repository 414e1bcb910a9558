# SPDX-License-Identifier: Apache-2.0
"""The target of an attack, for columns of every kind."""

import numpy as np
import pytest

from lexfed.errors import DataError
from lexfed.evaluate.attacks.target_value import find_target_value
from support.federation.worlds import encoding, rows_of

CODE = encoding()
ROWS = rows_of(CODE, 300, np.random.default_rng(5))


@pytest.mark.parametrize("column", CODE.columns)
def test_candidates_hold_what_they_are_asked_for(column: str) -> None:
    about = find_target_value(CODE, column, ROWS)
    others = np.setdiff1d(np.arange(CODE.width), about.slots)
    assert about.shares.sum() == pytest.approx(1.0)
    for candidate in range(len(about.candidates)):
        filled = about.filled(ROWS, candidate)
        assert about.known(filled).all()
        assert (about.has(filled) == (candidate == about.wanted)).all()
        assert (filled[:, others] == ROWS[:, others]).all()
    assert about.rival != about.wanted


def test_missing_values_are_nobodys_target() -> None:
    for column in ("age", "ill"):
        about = find_target_value(CODE, column, ROWS)
        missing = ROWS[:, about.slots[1]] == 1
        assert missing.any()
        assert (about.known(ROWS) == ~missing).all()
    about = find_target_value(CODE, "sex", ROWS)
    gone = ROWS.copy()
    gone[:7, about.slots] = 0.0
    assert (~about.known(gone)).sum() == 7


def test_a_category_is_asked_for_its_value_nearest_to_a_half() -> None:
    about = find_target_value(CODE, "ward", ROWS)
    shares = ROWS[:, about.slots].mean(axis=0)
    assert about.wanted == np.abs(shares - 0.5).argmin()
    assert about.shares == pytest.approx(shares)


def test_halves_of_a_number_are_halves_also_where_most_hold_the_largest() -> None:
    rows = ROWS.copy()
    [slot] = find_target_value(CODE, "dose", ROWS).slots
    assert find_target_value(CODE, "dose", ROWS).shares == pytest.approx([0.5, 0.5])
    rows[:, slot] = 1.0
    rows[:60, slot] = np.linspace(-1.0, 0.0, 60)
    about = find_target_value(CODE, "dose", rows)
    assert about.shares == pytest.approx([0.2, 0.8])
    assert about.has(rows).sum() == 240


def test_a_column_that_nobody_can_be_told_apart_by_is_refused() -> None:
    rows = np.zeros_like(ROWS)
    for column in ("dose", "ward", "ill"):
        with pytest.raises(DataError, match="fewer than 10 auxiliary people"):
            find_target_value(CODE, column, rows)
    with pytest.raises(DataError, match="fewer than 10 auxiliary people"):
        find_target_value(CODE, "dose", rows[:0])
    with pytest.raises(DataError, match="does not read it"):
        find_target_value(CODE, "y", ROWS)
