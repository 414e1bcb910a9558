# SPDX-License-Identifier: Apache-2.0
import math
from dataclasses import replace

import numpy as np
import pytest

from lexfed.errors import DataError
from lexfed.evaluate.comparison.metrics import Scores, measure, quality, retention


def scores_of(targets: list[float], scores: list[float], **changed: object) -> Scores:
    size = len(targets)
    made = Scores(
        method="m",
        seed=3,
        targets=np.array(targets, dtype=np.float64),
        scores=np.array(scores, dtype=np.float64),
        sites=np.zeros(size, dtype=np.int64),
        groups={},
        record_epsilon=1.0,
        attribute_epsilon=0.1,
        delta=1e-5,
        rounds=1,
        seconds=0.0,
        diverged=False,
        note="",
    )
    return replace(made, **changed)  # type: ignore[arg-type]


def test_metrics_of_a_table_by_hand() -> None:
    found = measure(scores_of([1, 1, 0, 0, 0], [0.9, 0.4, 0.6, 0.2, 0.1]), 0.9)
    assert found["auc"] == pytest.approx(5 / 6)
    assert found["ap"] == pytest.approx((1 + 2 / 3) / 2)
    assert found["accuracy"] == pytest.approx(3 / 5)
    assert found["majority"] == pytest.approx(3 / 5)
    assert found["precision"] == pytest.approx(1 / 2)
    assert found["recall"] == pytest.approx(1 / 2)
    assert found["f1"] == pytest.approx(1 / 2)
    assert found["brier"] == pytest.approx((0.01 + 0.36 + 0.36 + 0.04 + 0.01) / 5)
    assert found["retention"] == pytest.approx((5 / 6 - 0.5) / 0.4)
    # Five rows at one site are too few to speak of a worst one.
    assert math.isnan(found["worst_site_auc"])


def test_nothing_called_positive_has_precision_zero() -> None:
    found = measure(scores_of([1, 0], [0.2, 0.1]), None)
    assert (found["precision"], found["recall"], found["f1"]) == (0.0, 0.0, 0.0)
    assert math.isnan(found["retention"])


def test_worst_site_and_gaps_leave_out_what_says_nothing() -> None:
    generator = np.random.default_rng(0)
    targets = np.tile([1.0, 0.0], 50)
    good = np.where(targets == 1, 0.8, 0.2)
    noise = generator.uniform(size=100)
    here = scores_of(
        [*targets, *targets, 1, 0],
        [*good, *noise, 0.0, 1.0],
        # The third site has two rows, all wrong: too few to count.
        sites=np.repeat([0, 1, 2], [100, 100, 2]),
        groups={"sex": np.repeat(["f", "m", ""], [100, 100, 2])},
    )
    found = measure(here, None)
    second = measure(scores_of([*targets], [*noise]), None)
    assert found["worst_site_auc"] == pytest.approx(second["auc"])
    assert found["gap_auc_sex"] == pytest.approx(1.0 - second["auc"])
    assert found["gap_recall_sex"] == pytest.approx(1.0 - second["recall"])


def test_one_group_has_no_gap() -> None:
    targets = [1.0, 0.0] * 20
    here = scores_of(targets, targets, groups={"sex": np.array(["f"] * 40)})
    assert math.isnan(measure(here, None)["gap_auc_sex"])


@pytest.mark.parametrize("targets", [[1.0, 0.0], [0.3, 0.7]])
def test_a_diverged_run_has_every_metric_and_no_number(targets: list[float]) -> None:
    groups = {"sex": np.array(["f", "m"])}
    lost = scores_of(targets, [math.nan, 0.5], diverged=True, groups=groups)
    kept = measure(replace(lost, diverged=False, scores=np.array([0.9, 0.1])), None)
    found = measure(lost, 0.8)
    assert set(found) == set(kept)
    assert all(math.isnan(value) for value in found.values())


@pytest.mark.parametrize(("targets", "words"), [([], "no test rows"), ([1, 1], "same")])
def test_what_cannot_be_measured_is_refused(targets: list[float], words: str) -> None:
    with pytest.raises(DataError, match=words):
        measure(scores_of(targets, targets), None)


def test_numbers_have_rmse() -> None:
    sites = np.array([0, 0, 1])
    found = measure(scores_of([0.5, -0.5, 0.3], [0.5, -0.5, 0.0], sites=sites), None)
    assert found["rmse"] == pytest.approx((0.09 / 3) ** 0.5)
    assert found["worst_site_rmse"] == pytest.approx(0.3)
    assert 0 < found["r2"] < 1
    same = measure(scores_of([0.5, 0.5], [0.4, 0.5]), None)
    assert math.isnan(same["r2"])


def test_retention_of_no_ceiling_is_no_number() -> None:
    assert math.isnan(retention(0.7, 0.5))
    assert retention(0.7, 0.9) == pytest.approx(0.5)


def test_quality_is_auc_or_rmse_or_nothing() -> None:
    classes, numbers = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.5, -0.5])
    assert quality(classes, np.array([0.1, 0.9, 0.4, 0.6])) == pytest.approx(0.75)
    assert quality(numbers, np.array([0.5, 0.0])) == pytest.approx(math.sqrt(0.125))
    assert math.isnan(quality(classes, np.array([0.1, 0.9, 0.4, math.inf])))
    assert math.isnan(quality(np.ones(3), np.array([0.1, 0.2, 0.3])))
