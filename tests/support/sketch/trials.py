# SPDX-License-Identifier: Apache-2.0
"""Many sketches of known counts, with fully random hashes and Gaussian noise."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.sketch.estimates.intervals import Estimate
from lexfed.sketch.estimates.noised_cells import Items, NoisedCells

Counts = NDArray[np.float64]

EVERY_KIND = pytest.mark.parametrize(
    ("kind", "signed"),
    [
        ("sets", True),
        ("skewed", False),
        *(
            pytest.param(kind, signed, marks=pytest.mark.slow)
            for kind, signed in (
                ("sets", False),
                ("skewed", True),
                ("correlated", True),
                ("correlated", False),
            )
        ),
    ],
)
"""Kinds of `two_sites` under both sketches; two that differ in both are quick."""


def two_sites(kind: str) -> tuple[Counts, Counts]:
    """Counts of 300 items at two sites: sets, skewed or correlated."""
    item = np.arange(300)
    if kind == "sets":
        return (item < 180).astype(float), (item >= 100).astype(float)
    rng = np.random.default_rng(7)
    zipf = np.round(60 / (item + 1) ** 0.7)
    if kind == "skewed":
        return zipf, rng.permutation(zipf)
    return zipf, np.round(zipf * rng.uniform(0.3, 1.7, len(item)))


@dataclass(frozen=True)
class FixedRows:
    """Hash rows that were drawn: columns and signs [depth, items]."""

    column: NDArray[np.int64]
    sign: NDArray[np.int64]

    def columns(self, items: Items) -> NDArray[np.int64]:
        return self.column[:, items.astype(np.int64)]

    def signs(self, items: Items) -> NDArray[np.int64]:
        return self.sign[:, items.astype(np.int64)]


@dataclass(frozen=True)
class Trials:
    """How tables are drawn; `noise` is the deviation of a cell."""

    depth: int
    width: int
    noise: float
    signed: bool
    count: int = 4000
    seed: int = 1

    def draw(self, *sites: Counts) -> Iterator[tuple[FixedRows, list[NoisedCells]]]:
        """Each time: the hash rows, and one table for each site under them."""
        rng = np.random.default_rng(self.seed)
        items = len(sites[0])
        shape = (self.depth, self.width)
        start = np.arange(self.depth)[:, None] * self.width
        for _ in range(self.count):
            column = rng.integers(0, self.width, (self.depth, items))
            sign = np.ones_like(column)
            if self.signed:
                sign = 2 * rng.integers(0, 2, column.shape) - 1
            tables = []
            for counts in sites:
                plain = np.bincount(
                    (start + column).ravel(),
                    (sign * counts).ravel(),
                    minlength=self.depth * self.width,
                )
                noise = self.noise * rng.standard_normal(shape)
                cells = plain.reshape(shape) + noise
                tables.append(NoisedCells(cells, self.noise**2, self.signed))
            yield FixedRows(column, sign), tables


def coverage(answers: list[Estimate], truth: float) -> float:
    """Share of intervals that hold the truth."""
    return float(np.mean([each.low <= truth <= each.high for each in answers]))


def deviations_off(values: NDArray[np.float64], truth: float) -> float:
    """Distance of the mean from the truth in its standard errors."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    return float(abs(values.mean() - truth) / error)


def pair_answers(
    trials: Trials,
    sites: tuple[Counts, Counts],
    ask: Callable[[NoisedCells, NoisedCells], Estimate],
) -> list[Estimate]:
    """What a question about two tables is answered in every trial."""
    return [ask(left, right) for _, (left, right) in trials.draw(*sites)]
