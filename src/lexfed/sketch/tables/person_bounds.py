# SPDX-License-Identifier: Apache-2.0
"""Bounds on one person's part in a sketch, before anything is counted.

A person may have many records, and a record many values. The charge for a sketch is
that of a person with `most` items, so nobody may have more. Which items of a person
are kept depends on that person's records alone: whoever joins or leaves changes
nothing of what others contribute.
"""

from collections.abc import Sequence

import numpy as np

from lexfed.arrays import Integers
from lexfed.sketch.tables.hashing import ItemKeys


def flattened_values(
    persons: Integers, records: Sequence[Sequence[str]]
) -> tuple[Integers, list[str]]:
    """Return the values of a multi-valued column one by one, and whose each is."""
    lengths = [len(record) for record in records]
    return np.repeat(persons, lengths), [value for each in records for value in each]


def bounded_items(
    persons: Integers, items: ItemKeys, most: int, *, once: bool = False
) -> ItemKeys:
    """Keep the first items of every person, in the order of records.

    Args:
        persons: whose each item is.
        items: the items.
        most: how many a person may contribute.
        once: whether a person counts once for an item, however often it occurs.

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
