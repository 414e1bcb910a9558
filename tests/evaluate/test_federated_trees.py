# SPDX-License-Identifier: Apache-2.0
"""The method `boosted-federated`: it learns, and its bins tell nothing of a person."""

from pathlib import Path

import numpy as np
import pytest

from lexfed.data.schema import Column
from lexfed.errors import ConfigError
from lexfed.evaluate.comparison.metrics import measure
from lexfed.evaluate.comparison.split_rows import CodedColumns
from lexfed.evaluate.methods import METHODS, boosted_trees
from support.evaluation.small_dataset import small_case, small_dataset

lightgbm = pytest.importorskip("lightgbm")

COLUMNS = CodedColumns(
    (
        Column("low", "number", range=(-4.0, 4.0)),
        Column("high", "number", range=(-4.0, 4.0)),
        Column("kind", "category", values=("a", "b", "c")),
    ),
    np.zeros((0, 3)),
)


@pytest.mark.parametrize("number", [False, True])
def test_the_method_learns_what_there_is_to_learn(tmp_path: Path, number: bool) -> None:
    # Chance has AUC .5 +- .04 on 180 test rows; .65 is more than three deviations up.
    dataset = small_dataset(tmp_path, number=number)
    scores = METHODS[boosted_trees.FEDERATED](dataset, small_case(sites=2))
    found = measure(scores, None)
    assert found["r2"] > 0.0 if number else found["auc"] > 0.65
    assert scores.record_epsilon is None
    assert "no guarantee" in scores.note
    assert scores.rounds == 150


def test_bins_follow_from_declarations_alone() -> None:
    bins = boosted_trees.public_bins(COLUMNS)
    other = CodedColumns(COLUMNS.columns, np.full((5, 3), 3.3))
    assert np.array_equal(bins, boosted_trees.public_bins(other), equal_nan=True)
    assert np.isnan(bins[-1]).all()
    assert np.unique(bins[:-1, 2]).tolist() == [0.0, 1.0, 2.0]
    assert np.nanmin(bins[:, 0]) == -4.0
    assert np.nanmax(bins[:, 0]) == 4.0
    assert len(np.unique(bins[:-1, 0])) <= 254
    money = CodedColumns(
        (Column("gain", "number", range=(0.0, 1e5)),), np.zeros((0, 1))
    )
    near = boosted_trees.public_bins(money)[:-1]
    # Large ranges are seen from near as well: sums below a hundred have bins.
    assert np.sum((near > 0) & (near < 100)) > 20
    flag = CodedColumns((Column("on", "flag"),), np.zeros((0, 1)))
    assert np.unique(boosted_trees.public_bins(flag)[:-1]).tolist() == [0.0, 1.0]


def test_long_lists_are_no_categories() -> None:
    levels = tuple(str(n) for n in range(256))
    long = CodedColumns((Column("code", "category", values=levels),), np.zeros((0, 1)))
    assert boosted_trees.categories(long) == []
    assert boosted_trees.categories(COLUMNS) == [2]


@pytest.mark.parametrize(
    ("error", "said", "hint"),
    [
        (ImportError(), "`lightgbm` is not installed", "pip install 'lexfed[trees]'"),
        (OSError("libgomp.so.1: no such file"), "cannot be loaded", "libgomp1"),
    ],
)
def test_a_missing_library_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    said: str,
    hint: str,
) -> None:
    def missing(name: str) -> None:
        raise error

    monkeypatch.setattr(boosted_trees, "import_module", missing)
    with pytest.raises(ConfigError, match=said) as found:
        METHODS[boosted_trees.FEDERATED](small_dataset(tmp_path), small_case())
    assert hint in found.value.hint
