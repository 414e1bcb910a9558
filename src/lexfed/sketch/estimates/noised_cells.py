# SPDX-License-Identifier: Apache-2.0
"""A noised table as estimators see it, Count-Min and Count-Sketch in one form.

Write S for a row of w cells. A Count-Sketch is unbiased as it stands. A Count-Min row
is made so by taking away its mean and stretching what is left by w / (w - 1): the count
of an item x is then (w S[h(x)] - F) / (w - 1), F the sum of the row. With *centred*
rows and this *stretch* (1 for a Count-Sketch) every estimator and every variance has
one formula for both kinds.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lexfed import checks
from lexfed.arrays import Floats, Integers

Items = NDArray[np.uint64]
"""Items as the integers that are hashed."""


class HashedPlaces(Protocol):
    """The places of items in a table; the seed is public."""

    def columns(self, items: Items) -> Integers:
        """Column of each item in each row, [depth, n]."""

    def signs(self, items: Items) -> Integers:
        """Sign of each item in each row, [depth, n], -1 or +1."""


@dataclass(frozen=True)
class NoisedCells:
    """Cells with independent noise of mean zero and known variance.

    Attributes:
        cells: [depth, width], as released.
        noise_variance: of each cell; 0 for a site's own table.
        signed: whether it is a Count-Sketch; otherwise it is a Count-Min sketch.
        kurtosis: of the noise; 3 is Gaussian, Laplace has more (`noise.laplace`).

    Raises:
        ValueError: if the cells are no table of two rows and columns at least, are not
            finite, or the variance is negative or not finite.
    """

    cells: Floats
    noise_variance: float
    signed: bool
    kurtosis: float = 3.0

    def __post_init__(self) -> None:
        if self.cells.ndim != 2 or min(self.cells.shape) < 2:
            raise ValueError(
                "expected `cells` [depth, width] with at least 2 rows and 2 columns, "
                f"got shape: {self.cells.shape}"
            )
        if not np.isfinite(self.cells).all():
            raise ValueError("expected `cells` to be finite")
        checks.in_range(0, np.finfo(float).max, noise_variance=self.noise_variance)

    @property
    def depth(self) -> int:
        """Number of rows."""
        return len(self.cells)

    @property
    def width(self) -> int:
        """Number of cells in a row."""
        return len(self.cells[0])

    @property
    def stretch(self) -> float:
        """Factor that makes centred rows unbiased."""
        return 1.0 if self.signed else self.width / (self.width - 1)

    @property
    def centred(self) -> Floats:
        """Rows less their mean for a Count-Min sketch, as they are otherwise."""
        if self.signed:
            return self.cells
        means: Floats = self.cells.mean(axis=1, keepdims=True)
        return self.cells - means


def same_shape(left: NoisedCells, right: NoisedCells) -> None:
    """Raise unless two tables can be compared cell by cell.

    Their hash seeds must be equal too, which only their shapes' owner can check.
    """
    if left.cells.shape != right.cells.shape or left.signed != right.signed:
        raise ValueError(
            "expected two tables of one shape and kind, got: "
            f"{left.cells.shape} signed={left.signed} and "
            f"{right.cells.shape} signed={right.signed}"
        )
