# SPDX-License-Identifier: Apache-2.0
"""Simpler rules, dropped columns, the best in hindsight, courses, charged searches."""

from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexfed.errors import DataError
from lexfed.evaluate.catalogue import table
from lexfed.evaluate.comparison.case import Case
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.harness.paired_lines import (
    LENGTHS,
    PARTS,
    over_the_best,
    reach,
    schedule_lines,
)
from lexfed.evaluate.harness.summary import summarise
from lexfed.evaluate.harness.tables import Job, Result
from lexfed.evaluate.measurement.job_kinds import ALL_METHODS, measure
from lexfed.evaluate.measurement.setting_search import RATES, measure_search
from lexfed.evaluate.methods import ablations, product, simple_uniform
from lexfed.evaluate.methods.ablations import COURSES, PLANNED
from lexfed.evaluate.methods.baseline_claims import affordable_mu
from support.evaluation.results import result_of, table_of
from support.evaluation.small_dataset import small_case, small_dataset

BUDGET = {"record_epsilon": 4.0, "attribute_epsilon": 1.0}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return small_dataset(tmp_path_factory.mktemp("table"), rows=400)


@pytest.mark.parametrize("method", [*simple_uniform.SIMPLE, *COURSES])
def test_every_method_keeps_the_budget(dataset: Dataset, method: str) -> None:
    settings = {"settings": {"rounds": 3, "learning_rate": 1.0}}
    extra = settings if method in COURSES else {}
    found = measure(
        Job("train", "small", method, 0, None, {**BUDGET, **extra}), dataset
    )
    assert found["status"] == "done"
    assert 0.0 < found["values"]["attribute_epsilon"] <= 1.0
    assert 0.0 < found["values"]["record_epsilon"] <= 4.0


@pytest.mark.parametrize("equal", ["record", "attribute"])
def test_a_simple_rule_spends_all_of_its_budget_and_no_more(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, equal: Any
) -> None:
    case = replace(small_case(), equal=equal)
    seen: list[dict[str, tuple[float, int]]] = []
    learn = simple_uniform._learn

    def kept(*given: Any) -> Any:
        seen.append(dict((found := learn(*given))[1]))
        return found

    monkeypatch.setattr(simple_uniform, "_learn", kept)
    for name in ("uniform-simple", "uniform-simple-paid"):
        ALL_METHODS[name](dataset, case)
        total = sqrt(sum(moved**2 * times for moved, times in seen[-1].values()))
        assert total == pytest.approx(affordable_mu(dataset, case))
    assert [set(one) for one in seen] == [
        {"labels", "gradients"},
        {"labels", "means", "gradients"},
    ]


def test_a_simple_rule_learns_with_much_budget(dataset: Dataset) -> None:
    rich = {"record_epsilon": 60.0, "attribute_epsilon": 60.0}
    for method in simple_uniform.SIMPLE:
        job = Job("train", "small", method, 0, None, rich)
        assert measure(job, dataset)["values"]["auc"] > 0.7


def test_a_simple_rule_needs_two_classes(tmp_path: Path) -> None:
    number = small_dataset(tmp_path, rows=100, number=True)
    with pytest.raises(DataError, match="two classes"):
        simple_uniform.SIMPLE["uniform-simple"](number, small_case())


def test_dropped_reads_no_sensitive_column(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[Dataset, Any]] = []

    def kept(given: Dataset, case: Case, name: str, keys: Any, note: str) -> Any:
        found.append((given, keys))
        return product.train(given, case, name, keys, note)

    monkeypatch.setattr(ablations, "train", kept)
    scores = ALL_METHODS["dropped"](dataset, small_case())
    ((read, keys),) = found
    tiers = {name: tag["tier"] for name, tag in read.tables["law"]["columns"].items()}
    assert tiers["marker"] == tiers["smoker"] == "identifier"
    assert (tiers["age"], tiers["ill"]) == ("personal", "special")
    assert keys["budget"] == {"caps": {}}
    assert scores.attribute_epsilon == 0.0
    assert scores.record_epsilon is not None
    assert 0.0 < scores.record_epsilon <= small_case().record_epsilon


def test_the_best_in_hindsight_is_chosen_in_each_cell() -> None:
    values = {
        ("a", "x"): (0.6, 0.7),
        ("a", "y"): (0.8, 0.6),
        ("a", "own"): (0.9, 0.9),
        ("b", "x"): (0.9, 0.9),
        ("b", "y"): (0.1, 0.2),
        ("b", "own"): (0.8, 0.7),
    }
    jobs = [Job("train", data, m, s) for data, m in values for s in (0, 1)]
    lines = over_the_best(("x", "y"), "over the best in hindsight")
    one = table_of(*jobs, lines=lines)

    def result(job: Job) -> Result:
        return result_of({"auc": values[job.dataset, job.method][job.seed]})

    found = summarise(one, result).lines
    over = {
        (line.facts["dataset"], line.facts["method"]): round(estimate.mean, 6)
        for line in found
        if (estimate := line.values.get("over the best in hindsight"))
    }
    # Only methods outside the choice have it: y is the best of a, x of b.
    assert over == {("a", "own"): 0.2, ("b", "own"): -0.15}
    nothing = summarise(one, lambda _: result_of({"auc": None}, "diverged"))
    assert all(line.values == {} for line in nothing.lines)


def test_reach_is_interpolated_and_ends_with_the_grid() -> None:
    grid = (1.0, 0.8, 0.6)
    assert reach(grid, np.array([0.8, 0.8, 0.8]), 0.7) == 0.6
    assert reach(grid, np.array([0.6, 0.8, 0.8]), 0.7) == 1.0
    assert reach(grid, np.array([0.8, 0.8, 0.6]), 0.7) == pytest.approx(0.7)


def test_what_a_course_saves_is_read_off_its_grid() -> None:
    cells = [(p, 1.0) for p in PARTS] + [(1.0, n) for n in LENGTHS[1:]]
    jobs = [
        Job("train", "t", method, seed, None, {"part": part, "length": length})
        for method in ("constant", "better")
        for part, length in cells
        for seed in (0, 1, 2)
    ]

    def result(job: Job) -> Result:
        part, length = job.setting["part"], job.setting["length"]
        # Constant noise needs all of its budget and its rounds, the other half.
        least = 1.0 if job.method == "constant" else 0.4
        most = 1.0 if job.method == "constant" else 2.0
        good = part >= least and length <= most
        auc = (0.8 if good else 0.6) + 0.01 * job.seed
        return result_of({"auc": auc, "rounds": 40.0 * length})

    one = table_of(*jobs, against="constant", lines=schedule_lines)
    constant, better = summarise(one, result).lines
    assert constant.gains == {}
    assert better.gains["auc"].mean == pytest.approx(0.0)
    # A drop of .2 in one step of the grid: .005 below is a fortieth of the step.
    assert constant.values["less_budget"].mean == pytest.approx(0.2 / 40)
    assert better.values["less_budget"].mean == pytest.approx(0.6 + 0.15 / 40)
    assert constant.values["more_rounds"].mean == pytest.approx(0.25 / 40)
    assert better.values["more_rounds"].mean == pytest.approx(1.0 + 1.0 / 40)
    assert better.values["rounds"].mean == 40.0
    assert better.seeds == 3


def test_every_course_has_a_whole_grid() -> None:
    jobs = table("schedules").jobs
    cells = {(p, 1.0) for p in PARTS} | {(1.0, n) for n in LENGTHS}
    for method, rounds in PLANNED.items():
        own = [job for job in jobs if job.method == method and job.seed == 0]
        assert {(j.setting["part"], j.setting["length"]) for j in own} == cells
        assert min(j.setting["settings"]["rounds"] for j in own) == rounds


def test_a_search_chooses_one_step_or_nothing(tmp_path: Path) -> None:
    many = small_dataset(tmp_path, rows=2000)
    case = replace(
        small_case(), equal="record", record_epsilon=8.0, attribute_epsilon=8.0
    )
    found = measure_search(many, case)
    assert 0.0 < found["part"] < 1.0
    names = [*(f"chose_{rate:g}" for rate in RATES), "chose_nothing"]
    assert sum(found[name] for name in names) == 1.0
