# SPDX-License-Identifier: Apache-2.0
"""Quantiles below exact levels. Error probability: 3e-4 for 95 % in 300 trials."""

import numpy as np
import pytest

from lexfed.sketch.estimates.consistent_trees import NoisedTree
from lexfed.sketch.estimates.fine_quantiles import fine_quantile
from lexfed.sketch.estimates.noised_cells import NoisedCells
from lexfed.sketch.estimates.range_counts import QuantileBin, SketchedLevel, quantile
from lexfed.sketch.tables.hashing import HashRows
from lexfed.sketch.tables.range_tree import RangeTree, TreeShape
from support.sketch_trials import Counts, Trials

TRIALS = 300


def exact_levels(counts: Counts) -> list[Counts]:
    return [counts.reshape(4**level, -1).sum(axis=1) for level in range(1, 5)]


def drawn(counts: Counts, noise: float) -> list[tuple[NoisedTree, list[SketchedLevel]]]:
    levels = exact_levels(counts)
    rng = np.random.default_rng(11)
    sketches = zip(
        Trials(7, 64, noise, True, count=TRIALS, seed=1).draw(levels[2]),
        Trials(7, 64, noise, True, count=TRIALS, seed=2).draw(levels[3]),
        strict=True,
    )
    found = []
    for drawn_levels in sketches:
        nodes = tuple(
            level + noise * rng.standard_normal(len(level)) for level in levels[:2]
        )
        tree = NoisedTree(4, nodes, (noise**2,) * 2)
        finer = [SketchedLevel(table, hashes) for hashes, (table,) in drawn_levels]
        found.append((tree, finer))
    return found


@pytest.mark.parametrize(
    "share",
    [0.5, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.05, 0.9))],
)
def test_fine_quantiles_are_covered(share: float) -> None:
    counts = np.round(40 / (np.arange(256) % 61 + 1.0)) + 5
    truth = int(np.argmax(np.cumsum(counts) >= share * counts.sum()))
    trials = drawn(counts, 5.0)
    answers = [fine_quantile(tree, finer, share) for tree, finer in trials]
    assert all(each.low <= each.bin <= each.high for each in answers)
    assert np.mean([each.low <= truth <= each.high for each in answers]) > 0.9
    # The answer is finer than a leaf of the exact part, 16 values, mostly.
    off = np.abs([each.bin - truth for each in answers])
    assert np.median(off) < 10
    # Control: intervals are not the whole domain, and miss what is far away.
    far = (truth + 128) % 256
    assert np.mean([each.low <= far <= each.high for each in answers]) < 0.1


def test_without_finer_levels_it_is_the_exact_quantile() -> None:
    (tree, _), *_ = drawn(np.full(256, 30.0), 5.0)
    assert fine_quantile(tree, [], 0.3) == quantile(tree, 0.3)


@pytest.mark.parametrize(("share", "value"), [(0.1, 3), (0.5, 200), (0.9, 255)])
def test_a_real_tree_fits_its_estimates(share: float, value: int) -> None:
    """`RangeTree` counts nodes in the order in which estimates read them."""
    shape = TreeShape("0" * 64, 256, 16, HashRows(7, 5, 256))
    values = np.repeat([3, 200, 255], 1000).astype(np.uint64)
    built = RangeTree.build(shape, values)
    assert [table.cells.shape for table in built.levels] == [(1, 16), (1, 256)]
    tree = NoisedTree(
        16, tuple(table.cells[0].astype(float) for table in built.levels), (1e-6, 1e-6)
    )
    assert quantile(tree, share) == QuantileBin(value, value, value)
    assert tree.weighted(np.ones(256)).value == pytest.approx(3000)


def test_sketched_levels_of_a_real_tree_fit_their_estimates() -> None:
    rows = HashRows(7, 9, 512)
    shape = TreeShape("0" * 64, 2**15, 16, rows)
    values = np.repeat([5, 17_001, 32_767], [1000, 2000, 1500]).astype(np.uint64)
    built = RangeTree.build(shape, values)
    exact = [table for table in built.levels if len(table.cells) == 1]
    tree = NoisedTree(
        16,
        tuple(table.cells[0].astype(float) for table in exact),
        (1e-6,) * len(exact),
    )
    finer = [
        SketchedLevel(NoisedCells(table.cells.astype(float), 1e-6, signed=True), rows)
        for table in built.levels[len(exact) :]
    ]
    assert (len(exact), len(finer)) == (3, 1)
    for share, value in ((0.1, 5), (0.5, 17_001), (0.9, 32_767)):
        found = fine_quantile(tree, finer, share)
        assert found.bin == value
        assert found.low <= value <= found.high
