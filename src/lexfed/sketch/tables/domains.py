# SPDX-License-Identifier: Apache-2.0
"""Domains: the values that a column may hold, as keys of 64 bits; bounds on a person.

    IntegerDomain    a range of whole numbers       key = value - low
    BinDomain        numbers, by declared edges     key = index of the bin
    CategoryDomain   a list of words                key = index in the list
    TextDomain       any text up to a length        key = a hash

Domains are declared before anybody looks at the data. A value outside is refused, by
row and never by value: to leave it out silently would change the meaning of every
answer. Which of a person's items are kept depends on that person's records alone.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import cast

import numpy as np

from lexfed.arrays import Bools, Floats, Integers
from lexfed.canonical import digest
from lexfed.checks import in_range
from lexfed.errors import DataError, Problem
from lexfed.sketch.tables.shape import ItemKeys, string_keys

LONGEST_TEXT = 1000
"""Longer ones are no items: nobody asks how often a page of text occurs."""


@dataclass(frozen=True)
class IntegerDomain:
    """Whole numbers from `low` to `high`, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not -(2**63) <= self.low <= self.high < 2**63:
            raise ValueError("expected -2^63 <= `low` <= `high` < 2^63")

    @property
    def size(self) -> int:
        """Number of values."""
        return self.high - self.low + 1

    @property
    def digest(self) -> str:
        """SHA-256 of the declaration; ends as text, since JSON has no such integers."""
        return digest({"integers": [str(self.low), str(self.high)]})

    def keys(self, values: Integers, where: str = "items") -> ItemKeys:
        """Return value - low for every value, or name the first row outside."""
        if values.dtype != np.int64:
            raise ValueError(f"expected values of int64, got: {values.dtype}")
        _refuse((values < self.low) | (values > self.high), where)
        # Modulo 2^64, where the difference of any two values of 64 bits is exact.
        return values.view(np.uint64) - np.uint64(self.low % 2**64)


@dataclass(frozen=True)
class BinDomain:
    """Numbers by bins: [e_0, e_1), [e_1, e_2), ..., [e_n-1, e_n], the last closed."""

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.edges) < 2 or not all(map(math.isfinite, self.edges)):
            raise ValueError("expected at least two `edges`, all finite")
        if not all(before < after for before, after in pairwise(self.edges)):
            raise ValueError("expected `edges` that rise")

    @property
    def size(self) -> int:
        """Number of bins."""
        return len(self.edges) - 1

    @property
    def digest(self) -> str:
        """SHA-256 of the declaration."""
        return digest({"bins": [float(edge) for edge in self.edges]})

    def keys(self, values: Floats, where: str = "items") -> ItemKeys:
        """Return the bin of every value, or name the first row outside or no number."""
        _refuse(~((values >= self.edges[0]) & (values <= self.edges[-1])), where)
        # In place: columns are long.
        bins = np.searchsorted(self.edges, values, side="right")
        bins -= 1
        np.minimum(bins, self.size - 1, out=bins)
        return bins.view(np.uint64)


@dataclass(frozen=True)
class CategoryDomain:
    """The words of a list."""

    values: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) < len(self.values):
            raise ValueError("expected at least one of `values`, none of them twice")

    @property
    def size(self) -> int:
        """Number of words."""
        return len(self.values)

    @property
    def digest(self) -> str:
        """SHA-256 of the declaration."""
        return digest({"categories": list(self.values)})

    def keys(self, values: Sequence[str], where: str = "items") -> ItemKeys:
        """Return the place of every word in the list, or name the first row outside."""
        place = {value: at for at, value in enumerate(self.values)}
        places = np.fromiter(map(place.get, values, repeat(-1)), np.int64, len(values))
        _refuse(places < 0, where)
        return places.astype(np.uint64)


@dataclass(frozen=True)
class TextDomain:
    """Any text of at most `longest` characters; equal texts have equal keys."""

    longest: int

    def __post_init__(self) -> None:
        in_range(1, LONGEST_TEXT, longest=self.longest)

    @property
    def digest(self) -> str:
        """SHA-256 of the declaration."""
        return digest({"texts": self.longest})

    def keys(self, values: Sequence[str], where: str = "items") -> ItemKeys:
        """Return a key for every text, or name the first row too long or not text."""
        self._check(values, values, where)
        return string_keys(values)

    def counted(
        self, values: Sequence[str], where: str = "items"
    ) -> tuple[ItemKeys, Integers]:
        """Return a key for every different text, as `keys`, and how often it occurs."""
        try:
            counts = Counter(values)
        except TypeError:  # a list in a cell has no hash, and is no text either
            self._check(values, values, where)
            raise
        unique = list(counts)
        self._check(unique, values, where)
        return string_keys(unique), np.fromiter(counts.values(), np.int64, len(unique))

    def _check(
        self, unique: Sequence[object], values: Sequence[object], where: str
    ) -> None:
        kinds = set(map(type, unique))
        if all(issubclass(kind, str) for kind in kinds):
            texts = cast(Sequence[str], unique)
            if max(map(len, texts), default=0) <= self.longest:
                return
        held = [isinstance(text, str) and len(text) <= self.longest for text in values]
        _refuse(~np.array(held, dtype=np.bool_), where)


def _refuse(outside: Bools, where: str) -> None:
    if outside.any():
        row = int(outside.argmax()) + 1
        what = f"row {row} lies outside the declared domain"
        more = int(outside.sum()) - 1
        hint = f"widen the declaration, or clean the data; {more} more rows lie outside"
        raise DataError([Problem(where, what, hint)])


def flattened_values(
    persons: Integers, records: Sequence[Sequence[str]]
) -> tuple[Integers, list[str]]:
    """Return the values of a multi-valued column and the person of each."""
    lengths = [len(record) for record in records]
    return np.repeat(persons, lengths), [value for each in records for value in each]


def bounded_items(
    persons: Integers, items: ItemKeys, most: int, *, once: bool = False
) -> ItemKeys:
    """Keep each person's first `most` items in order, equal ones only `once` if asked.

    Guarantees:
        Nobody contributes more than `most` items.
        What is kept of a person does not depend on others.
    """
    if most < 1:
        raise ValueError(f"expected `most` >= 1, got: {most}")
    if persons.shape != items.shape:
        raise ValueError("expected one person for every item")
    if once:
        persons, items = _first_of_each(persons, items)
    order = np.argsort(persons, kind="stable")
    kept = np.zeros(len(items), dtype=np.bool_)
    kept[order] = _place_in_run(persons[order]) < most
    return items[kept]


def _first_of_each(persons: Integers, items: ItemKeys) -> tuple[Integers, ItemKeys]:
    """Drop items that a person has had before, and keep the order."""
    order = np.lexsort((items, persons))  # stable, so the first of equals is first
    changes = np.ones(len(items), dtype=np.bool_)
    changes[1:] = np.diff(persons[order]) != 0
    changes[1:] |= items[order][1:] != items[order][:-1]
    kept = np.zeros(len(items), dtype=np.bool_)
    kept[order] = changes
    return persons[kept], items[kept]


def _place_in_run(ordered: Integers) -> Integers:
    """Return 0, 1, 2, ... within every run of equal numbers."""
    places = np.arange(len(ordered))
    starts = np.ones(len(ordered), dtype=np.bool_)
    starts[1:] = ordered[1:] != ordered[:-1]
    return places - np.maximum.accumulate(np.where(starts, places, 0))
