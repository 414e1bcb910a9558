# SPDX-License-Identifier: Apache-2.0
"""Columns as they were read, one number to a slot, for tables that count them.

Training clamps a number to its declared range; a profile looks for that range, so its
numbers must be the ones in the file. Hence slots of their own:

    number                     the number, not clamped
    flag                       0 or 1
    category with a list       place in the list, -1 for another value
    category without a list    LEVELS pairs of letters (`data.encoding.letter_pairs`)

A missing value is NaN; of a text the first slot is.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from lexfed.arrays import Floats
from lexfed.data.encoding.letter_pairs import LEVELS, pairs_of
from lexfed.data.problems import Problems
from lexfed.data.reading.conversion import plain_flags, plain_numbers, plain_texts
from lexfed.data.reading.frames import Frame
from lexfed.data.schema import ColumnKind


class RawDeclaration(Protocol):
    """The part of a column's declaration that reading it needs."""

    @property
    def name(self) -> str:
        """Its name in the file."""

    @property
    def kind(self) -> ColumnKind:
        """Number, flag or category."""

    @property
    def values(self) -> tuple[str, ...] | None:
        """The list of a category, if there is one."""


def raw_places(columns: Sequence[RawDeclaration]) -> dict[str, tuple[int, ...]]:
    """Return the slots of each column, from its declaration alone."""
    places: dict[str, tuple[int, ...]] = {}
    start = 0
    for column in columns:
        stop = start + (LEVELS if _is_open(column) else 1)
        places[column.name] = tuple(range(start, stop))
        start = stop
    return places


def raw_slots(
    columns: Sequence[RawDeclaration], frame: Frame, problems: Problems
) -> Floats:
    """Return the slots of all columns, [rows, slots]; none is a key or a text.

    Guarantees:
        A slot depends on its own column's value in its own row alone.
    """
    parts = [np.empty((len(frame), 0))]
    for column in columns:
        if column.kind == "number":
            parts.append(plain_numbers(column.name, frame, problems)[:, None])
        elif column.kind == "flag":
            parts.append(plain_flags(column.name, frame, problems)[:, None])
        else:
            texts = plain_texts(column.name, frame, problems)
            parts.append(_letters(texts) if _is_open(column) else _codes(column, texts))
    return np.concatenate(parts, axis=1)


def _is_open(column: RawDeclaration) -> bool:
    return column.kind == "category" and column.values is None


def _codes(column: RawDeclaration, texts: Sequence[str | None]) -> Floats:
    codes: dict[str | None, float] = {None: np.nan}
    codes.update({value: float(at) for at, value in enumerate(column.values or ())})
    return np.array([codes.get(text, -1.0) for text in texts]).reshape(-1, 1)


def _letters(texts: Sequence[str | None]) -> Floats:
    # A column has far fewer different texts than rows.
    known = list(dict.fromkeys(texts))
    place = {text: at for at, text in enumerate(known)}
    pairs = [(np.nan,) * LEVELS if text is None else pairs_of(text) for text in known]
    rows = np.fromiter(map(place.__getitem__, texts), np.int64, len(texts))
    return np.array(pairs, dtype=np.float64).reshape(-1, LEVELS)[rows]
