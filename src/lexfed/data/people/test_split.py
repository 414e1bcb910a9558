# SPDX-License-Identifier: Apache-2.0
"""The choice of persons who are held back for testing.

Each person draws a lot (`lexfed.data.people.lots`). It looks at no feature and no
label, so the split respects the tiers; and one person's presence never moves another
person across, so neighbouring tables have neighbouring training sets. The price is that
the size of the test set is `test_size` on average, not exactly.
"""

from dataclasses import dataclass

import numpy as np

from lexfed.arrays import Integers
from lexfed.checks import in_range
from lexfed.data.people.lots import LotKeys, draw_lots
from lexfed.data.table import Table


@dataclass(frozen=True)
class Split:
    """Positions of the training rows and of the test rows, in ascending order.

    A side may be empty: that it is would tell something about who is there.
    """

    train: Integers
    test: Integers


def split_by_person(table: Table, test_size: float, coins: LotKeys) -> Split:
    """Return a split in which all rows of a person are on one side.

    Guarantees:
        A person's side depends on the person's key, `test_size` and `coins` only.
        Growing `test_size` moves persons from training to test, never back.
    """
    in_range(0.0, 1.0, test_size=test_size)
    drawn = draw_lots(coins.split, table.person_keys)
    held_back = (drawn < test_size)[table.persons]
    return Split(np.flatnonzero(~held_back), np.flatnonzero(held_back))
