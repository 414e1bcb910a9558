# SPDX-License-Identifier: Apache-2.0
"""The value an attack is after: its slots, and the candidates for their content.

An attacker tries *candidates*, each a filling of the column's slots, and asks of every
person whether they have the one that is *wanted*:

    flag       0 and 1; wanted is 1
    category   every declared value; wanted is the one whose share is nearest to a half
    number     a usual low and a usual high value; wanted is the upper half

Shares, halves and usual values are those of *auxiliary* people, whom no attacked model
was trained on. A person without a value is no target.
"""

from dataclasses import dataclass

import numpy as np

from lexfed.arrays import Bools, Floats, Integers
from lexfed.data.encoding import Encoding, SlotKind
from lexfed.errors import DataError, Problem

LEAST = 10
"""Auxiliary people of each kind: fewer teach an attacker nothing."""


@dataclass(frozen=True)
class TargetValue:
    """A column that is attacked.

    Attributes:
        kind: of its first slot: `flag`, `number` or `onehot`.
        candidates: contents of the slots to try, [candidates, slots].
        wanted: place of the candidate that is asked for.
        shares: frequency of each candidate among auxiliary people.
        threshold: the slot of somebody who has the wanted value lies above it.
    """

    column: str
    kind: SlotKind
    slots: Integers
    candidates: Floats
    wanted: int
    shares: Floats
    threshold: float

    def known(self, inputs: Floats) -> Bools:
        """Return a mask of the rows that hold a value; inputs are [..., slots]."""
        return _known(self.kind, inputs[..., self.slots])

    def has(self, inputs: Floats) -> Bools:
        """Return a mask of the rows that hold the wanted value."""
        place = self.wanted if self.kind == "onehot" else 0
        return np.asarray(inputs[..., self.slots[place]] > self.threshold)

    def filled(self, inputs: Floats, candidate: int) -> Floats:
        """Return the rows with a candidate in the column's slots."""
        changed = inputs.copy()
        changed[..., self.slots] = self.candidates[candidate]
        return changed

    @property
    def rival(self) -> int:
        """The most frequent candidate that is not wanted."""
        shares = self.shares.copy()
        shares[self.wanted] = -1.0
        return int(np.argmax(shares))


def find_target_value(
    encoding: Encoding, column: str, auxiliary: Floats
) -> TargetValue:
    """Return the target of an attack on a column, from rows of auxiliary people.

    Raises:
        DataError: if the column has no slots, or auxiliary people hardly differ in it.
    """
    where = f"column `{column}`"
    slots = encoding.slots_of_column(column).astype(np.int64)
    if not len(slots):
        raise DataError([Problem(where, "has no inputs: the model does not read it")])
    kind = encoding.slots[int(slots[0])].kind
    own = auxiliary[:, slots]
    own = own[_known(kind, own)]
    threshold = _middle(own[:, 0]) if kind == "number" else 0.5
    if kind == "onehot":
        candidates, counts = np.eye(len(slots)), own.sum(axis=0)
    else:
        upper = own[:, 0] > threshold
        counts = np.array([float((~upper).sum()), float(upper.sum())])
    shares = counts / max(1.0, counts.sum())
    wanted = int(np.argmin(np.abs(shares - 0.5))) if kind == "onehot" else 1
    if min(counts[wanted], counts.sum() - counts[wanted]) < LEAST:
        what = f"fewer than {LEAST} auxiliary people have a value, or another one"
        raise DataError([Problem(where, what, "take more rows, or another column")])
    if kind != "onehot":
        # The mean of a flag's halves is 0 and 1; a missing flag's slot stays 0.
        candidates = np.stack([own[~upper].mean(axis=0), own[upper].mean(axis=0)])
    return TargetValue(column, kind, slots, candidates, wanted, shares, threshold)


def _known(kind: SlotKind, own: Floats) -> Bools:
    """Return a mask of rows with a value in their slots, [..., slots of the column]."""
    if kind == "onehot":
        return np.asarray(own.sum(axis=-1) > 0)
    return np.asarray((own[..., 1:] == 0).all(axis=-1))


def _middle(values: Floats) -> float:
    """Return a number that about half of the values lie above; some, if they differ."""
    middle = float(np.median(values)) if len(values) else 0.0
    below = values[values < middle]
    # Where more than half hold the largest value, the others are the lower half.
    if len(below) and middle == values.max():
        return float(below.max())
    return middle
