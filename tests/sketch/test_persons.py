# SPDX-License-Identifier: Apache-2.0
"""Contributions: nobody has more than allowed, and nobody changes another's."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.sketch.tables.domains import bounded_items, flattened_values

_rows = st.lists(st.tuples(st.integers(-2, 4), st.integers(0, 3)), max_size=40)


def _kept(rows: list[tuple[int, int]], most: int, once: bool) -> list[int]:
    persons = np.array([person for person, _ in rows], dtype=np.int64)
    items = np.array([item for _, item in rows], dtype=np.uint64)
    kept: list[int] = bounded_items(persons, items, most, once=once).tolist()
    return kept


def _one_by_one(rows: list[tuple[int, int]], most: int, once: bool) -> list[int]:
    """The definition, without vectors."""
    had: dict[int, list[int]] = defaultdict(list)
    kept = []
    for person, item in rows:
        if len(had[person]) < most and not (once and item in had[person]):
            had[person].append(item)
            kept.append(item)
    return kept


@given(_rows, st.integers(1, 4), st.booleans())
def test_the_first_items_of_every_person_are_kept(
    rows: list[tuple[int, int]], most: int, once: bool
) -> None:
    assert _kept(rows, most, once) == _one_by_one(rows, most, once)


@given(_rows, st.integers(1, 4), st.booleans())
def test_one_person_more_adds_at_most_so_many_items_and_changes_no_others(
    rows: list[tuple[int, int]], most: int, once: bool
) -> None:
    without = Counter(_kept([row for row in rows if row[0] != 4], most, once))
    with_them = Counter(_kept(rows, most, once))
    assert not without - with_them
    assert (with_them - without).total() <= most


def test_values_of_records_are_taken_one_by_one() -> None:
    records = [["a", "b"], [], ["c"]]
    persons, values = flattened_values(np.array([7, 8, 7]), records)
    assert persons.tolist() == [7, 7, 7]
    assert values == ["a", "b", "c"]


def test_bounds_and_lengths_that_make_no_sense_are_refused() -> None:
    persons, items = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.uint64)
    with pytest.raises(ValueError, match="`most` >= 1, got: 0"):
        bounded_items(persons, items, 0)
    with pytest.raises(ValueError, match="one person for every item"):
        bounded_items(persons[:1], items, 1)
