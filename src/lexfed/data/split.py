# SPDX-License-Identifier: Apache-2.0
"""Which persons are held back for testing.

Each person's side is a keyed hash of the person key alone (of the row's place in
its file where there is no key). It looks at no feature and no label, so the split
respects the tiers; and one person's presence never moves another person across, so
neighbouring tables have neighbouring training sets. The price is that the size of
the test set is `test_size` on average, not exactly.
"""

from dataclasses import dataclass

import numpy as np

from lexfed.checks import in_range
from lexfed.data.lots import draw_lots
from lexfed.data.problems import refuse
from lexfed.data.table import Ints, Table


@dataclass(frozen=True)
class Split:
    """Positions of the training rows and of the test rows, in ascending order."""

    train: Ints
    test: Ints


def split_by_person(table: Table, test_size: float, seed: int) -> Split:
    """Return a split in which all rows of a person are on one side.

    Guarantees:
        A person's side depends on the person's key, `test_size` and `seed` only.
        Growing `test_size` moves persons from training to test, never back.

    Raises:
        DataError: if a side that should have rows would have none.
    """
    in_range(0.0, 1.0, test_size=test_size)
    drawn = draw_lots(f"split {seed}".encode(), table.person_keys)
    held_back = (drawn < test_size)[table.persons]
    split = Split(np.flatnonzero(~held_back), np.flatnonzero(held_back))
    if not len(split.train) or (test_size > 0 and not len(split.test)):
        side = "training" if not len(split.train) else "testing"
        raise refuse(
            "split-empty",
            f"`test_size` = {test_size} leaves no rows for {side}",
            file=", ".join(table.files[:3]),
        )
    return split
