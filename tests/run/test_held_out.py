# SPDX-License-Identifier: Apache-2.0
"""Test rows in groups of like score: whole, large enough, and paid for where asked."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.report.held_out_scores import read_held_out
from lexfed.run import PricedRun, start, train
from lexfed.run.results.held_out import (
    LEAST_ROWS,
    MOST_GROUPS,
    _alike,
    _binary,
    _binary_of_histogram,
    _classes,
    _regression,
)
from support.configurations import configuration

PricedOf = Callable[..., PricedRun]
CLASSES = ("no", "yes")


@given(st.lists(st.integers(0, 60), min_size=1, max_size=900))
def test_groups_are_whole_and_large_enough(values: list[int]) -> None:
    score = np.array(values) / 60.0
    groups = list(_alike(score))
    assert sorted(np.concatenate(groups)) == list(range(len(values)))
    assert len(groups) <= MOST_GROUPS
    if len(values) >= LEAST_ROWS:
        assert min(map(len, groups)) >= LEAST_ROWS
    for lower, upper in pairwise(groups):
        assert score[lower].max() < score[upper].min(), "equal scores were parted"


def test_two_classes_are_counted(tmp_path: Path) -> None:
    score = np.repeat([0.2, 0.5, 0.9], 30)
    positive = np.array([*[False] * 40, *[True] * 50])
    found = _binary(score, positive, CLASSES)
    assert found["confusion"] == [[30, 10], [0, 50]]
    assert found["groups"] == [[0.2, 30, 0], [0.5, 10, 20], [0.9, 0, 30]]
    assert found["majority"] == pytest.approx(5 / 9)
    assert read_held_out(found) is not None


def test_many_classes_are_not_listed() -> None:
    names = tuple(map(str, range(13)))
    truth = np.arange(13).repeat(2)
    found = _classes(truth, truth, names)
    assert (found["classes"], found["confusion"]) == ([], [])
    assert found["majority"] == pytest.approx(1 / 13)
    assert read_held_out(found) is not None


def test_a_number_is_compared_in_groups() -> None:
    truth = np.linspace(0.0, 1.0, 60)
    found = _regression(truth + 0.001, truth)
    assert [rows for *_, rows in found["groups"]] == [20, 20, 20]
    assert read_held_out(found) is not None


def test_a_paid_histogram_is_read_without_negative_counts() -> None:
    histogram = np.zeros(40)
    histogram[[0, 9, 10, 19]] = [7.4, -3.0, 2.6, 0.2]
    histogram[[20, 39]] = [1.0, 5.0]
    found = _binary_of_histogram(histogram, CLASSES)
    assert found["confusion"] == [[7, 3], [1, 5]]
    assert found["groups"] == [[0.025, 7, 1], [0.525, 3, 0], [0.975, 0, 5]]
    assert read_held_out(found) is not None


@pytest.mark.parametrize("metrics", ["outside-guarantee", "paid"])
def test_a_run_keeps_them_beside_its_log(
    metrics: str, tmp_path: Path, priced_of: PricedOf, monkeypatch: Any
) -> None:
    text = configuration({"evaluation.metrics": metrics})
    priced = priced_of(text)
    result = train(priced, start(priced, tmp_path / "run", text))
    found = read_held_out(result.held_out)
    assert found is not None
    assert found.rows == sum(map(sum, found.confusion))
    assert found.rows == sum(group.rows for group in found.groups)
    if metrics == "paid":
        # The bins of the released histogram, wherever rows may be.
        assert all((group.score * 40) % 2 == 1 for group in found.groups)
        return
    (kept, _), (_, hit) = found.confusion
    assert (kept + hit) / found.rows == pytest.approx(result.metrics["accuracy"])
    blobs = b"".join(path.read_bytes() for path in (tmp_path / "run/log").rglob("*")
                     if path.is_file())  # fmt: skip
    assert b"held_out" not in blobs
    assert b"confusion" not in blobs
