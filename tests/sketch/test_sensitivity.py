# SPDX-License-Identifier: Apache-2.0
"""Sensitivities: bounds for every person and hash, and a person who reaches them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lexfed.sketch.releases.noised_sketch import (
    MOST,
    Contribution,
    Sensitivity,
    person_moves,
    root_above,
)
from lexfed.terms import Neighbours

WIDTH = 8
RELATIONS: tuple[Neighbours, ...] = ("add-remove", "replace-one")
CONTRIBUTIONS = st.builds(
    Contribution,
    depth=st.integers(1, 4),
    items=st.integers(1, 3),
    records=st.integers(1, 3),
    signed=st.booleans(),
)


def _person(
    table: Contribution, rng: np.random.Generator, cells: int = WIDTH
) -> NDArray[np.int64]:
    """Return the vector of a person whose items a hash puts into few cells."""
    result = np.zeros((table.depth, WIDTH), dtype=np.int64)
    for row in result:
        columns = rng.integers(0, cells, table.occurrences)
        signs = rng.choice([-1, 1], table.occurrences) if table.signed else 1
        np.add.at(row, columns, signs)
    return result


def _one_cell(table: Contribution, column: int, sign: int) -> NDArray[np.int64]:
    """Return the vector of n times the same item, in the same cell of every row."""
    result = np.zeros((table.depth, WIDTH), dtype=np.int64)
    result[:, column] = sign * table.occurrences
    return result


def _lengths(moves: list[NDArray[np.int64]]) -> tuple[int, int]:
    flat = np.concatenate([move.ravel() for move in moves])
    return int(np.abs(flat).sum()), int((flat**2).sum())


@given(
    st.lists(CONTRIBUTIONS, min_size=1, max_size=3),
    st.integers(0, 2**32),
    st.integers(1, WIDTH),
)
def test_nobody_moves_tables_further(
    tables: list[Contribution], seed: int, cells: int
) -> None:
    rng = np.random.default_rng(seed)
    before = [_person(table, rng, cells) for table in tables]
    after = [_person(table, rng, cells) for table in tables]
    replaced = [there - here for here, there in zip(before, after, strict=True)]
    for relation, moves in zip(RELATIONS, (before, replaced), strict=True):
        bound = person_moves(tables, relation)
        length, square = _lengths(moves)
        assert length <= bound.l1
        assert square <= Fraction(bound.l2) ** 2


@given(st.lists(CONTRIBUTIONS, min_size=1, max_size=3))
def test_somebody_reaches_the_bounds(tables: list[Contribution]) -> None:
    joins = [_one_cell(table, 0, 1) for table in tables]
    # The worst other person: the same cells and other signs, or else other cells.
    others = [
        _one_cell(table, 0, -1) if table.signed else _one_cell(table, 1, 1)
        for table in tables
    ]
    replaced = [there - here for here, there in zip(joins, others, strict=True)]
    for relation, moves in zip(RELATIONS, (joins, replaced), strict=True):
        bound = person_moves(tables, relation)
        length, square = _lengths(moves)
        assert length == bound.l1
        assert bound.l2 == root_above(square)


def test_the_root_of_two_is_too_little_where_items_have_signs() -> None:
    # Negative control of the bound for unsigned tables.
    signed = Contribution(depth=5, signed=True)
    _, square = _lengths([_one_cell(signed, 0, 1) - _one_cell(signed, 0, -1)])
    unsigned = person_moves([Contribution(depth=5)], "replace-one")
    assert math.sqrt(square) > unsigned.l2 * 1.4
    assert math.sqrt(square) <= person_moves([signed], "replace-one").l2


@given(CONTRIBUTIONS)
def test_ledgers_charge_enough_for_a_replacement(table: Contribution) -> None:
    # `steps.sensitivity`: twice the event's clip.
    replaced = person_moves([table], "replace-one").l2
    assert replaced <= 2.0 * person_moves([table], "add-remove").l2


def test_several_columns_and_items() -> None:
    tables = [Contribution(5), Contribution(4, items=3, records=2)]
    assert person_moves(tables, "add-remove") == Sensitivity(
        5 + 24, root_above(5 + 36 * 4)
    )
    assert person_moves(tables, "replace-one") == Sensitivity(
        2 * (5 + 24), root_above(2 * (5 + 36 * 4))
    )


@given(st.integers(1, 2**104))
def test_a_root_is_never_rounded_down(square: int) -> None:
    root = root_above(square)
    assert Fraction(root) ** 2 >= square
    assert Fraction(math.nextafter(root, 0.0)) ** 2 < square * (1 + Fraction(2, 2**52))


def test_some_roots_would_be_rounded_down() -> None:
    down = [n for n in range(1, 200) if Fraction(math.sqrt(n)) ** 2 < n]
    assert down
    assert all(root_above(n) > math.sqrt(n) for n in down)


@pytest.mark.parametrize("value", [0, -1, MOST + 1])
def test_contributions_out_of_range_are_refused(value: int) -> None:
    with pytest.raises(ValueError, match="`depth`"):
        Contribution(depth=value)
    with pytest.raises(ValueError, match="`items`"):
        Contribution(items=value)
    with pytest.raises(ValueError, match="`records`"):
        Contribution(records=value)


def test_nothing_and_unknown_relations_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one table"):
        person_moves([], "add-remove")
    with pytest.raises(ValueError, match="unknown `neighbours`"):
        person_moves([Contribution()], "swap")  # type: ignore[arg-type]
