# SPDX-License-Identifier: Apache-2.0
"""The table of the made-up suite: its references, distances and drawing."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lexfed.config.drafting.first_draft import PERSONAL_SHARE, SPECIAL_SHARE
from lexfed.errors import DataError
from lexfed.evaluate.catalogue import table
from lexfed.evaluate.comparison.case import Case, configuration
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset, prepare
from lexfed.evaluate.datasets.synthetic.suite import TABLES
from lexfed.evaluate.harness.paired_lines import beside
from lexfed.evaluate.harness.summary import Summary, summarise
from lexfed.evaluate.harness.tables import Job, Result
from lexfed.evaluate.measurement.job_kinds import measure, split_overlap
from lexfed.evaluate.methods import additive
from lexfed.evaluate.results.figures import draw
from support.evaluation.results import result_of, table_of
from support.evaluation.small_dataset import small_case, small_dataset

FLAG, NUMBER = "suite-tiny-plain", "suite-number-small"
CAPPED = {
    "record_epsilon": 8.0,
    "attribute_epsilon": 8.0 * SPECIAL_SHARE,
    "personal_epsilon": 8.0 * PERSONAL_SHARE,
    "equal": "attribute",
}


@pytest.fixture(scope="module")
def flag(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return prepare(FLAG, tmp_path_factory.mktemp("flag"))


@pytest.fixture(scope="module")
def number(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return prepare(NUMBER, tmp_path_factory.mktemp("number"))


@pytest.mark.parametrize("method", ["truth", "additive", "none", "boosted"])
def test_references_without_privacy_are_measured(method: str, flag: Dataset) -> None:
    found = measure(Job("train", FLAG, method, 0), flag)
    assert found["status"] == "done"
    assert found["values"]["auc"] > 0.6
    assert found["values"]["record_epsilon"] is None


def test_the_truth_is_the_best(flag: Dataset, number: Dataset) -> None:
    for dataset, metric in ((flag, "auc"), (number, "r2")):
        best, learned = (
            measure(Job("train", dataset.name, method, 0), dataset)["values"][metric]
            for method in ("truth", "additive")
        )
        assert 0.6 < best < 0.95
        assert best > learned


def test_the_truth_is_on_the_scale_of_the_targets(number: Dataset) -> None:
    scores = additive.read_truth(number, Case(0))
    noise = 10.0 * 2.0 * (scores.targets - scores.scores)  # of a range of 40
    assert abs(noise.std() - 1.0) < 0.05
    assert abs(noise.mean()) < 0.1


def test_nobody_knows_the_truth_about_other_tables(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nobody knows the truth"):
        additive.read_truth(small_dataset(tmp_path), small_case())


@pytest.mark.parametrize("name", [FLAG, NUMBER])
def test_splines_stand_in_for_explainable_boosting(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = request.getfixturevalue({FLAG: "flag", NUMBER: "number"}[name])
    rows = rows_of(dataset, Case(0))

    def missing(wanted: str) -> None:
        raise ImportError(wanted)

    with_library, note = additive.predictions(rows, 0)
    assert "explainable boosting" in note
    monkeypatch.setattr(additive, "import_module", missing)
    splines, note = additive.predictions(rows, 0)
    assert "splines" in note
    assert splines.shape == with_library.shape == rows.test.targets.shape
    assert np.corrcoef(splines, with_library)[0, 1] > 0.6


def test_both_know_gaps_lists_and_three_classes(tmp_path: Path) -> None:
    dataset = prepare("suite-classes-curved", tmp_path, rows=1500)
    rows = rows_of(dataset, Case(0), most_classes=3)
    for predicted in (additive.by_splines(rows, 0), additive.predictions(rows, 0)[0]):
        assert predicted.shape == (len(rows.test.targets), 3)
        np.testing.assert_allclose(predicted.sum(axis=1), 1.0, atol=1e-6)
    with pytest.raises(DataError, match="3 classes"):
        rows_of(dataset, Case(0))


@pytest.mark.parametrize("method", ["uniform", "cascade", "dropped"])
def test_private_methods_keep_the_caps(method: str, flag: Dataset) -> None:
    found = measure(Job("train", FLAG, method, 0, None, CAPPED), flag)["values"]
    assert 0.0 < found["record_epsilon"] <= 8.0
    assert found["attribute_epsilon"] <= 8.0 * SPECIAL_SHARE
    if method == "dropped":
        # It reads personal columns by one noise, so their cap is that of everything.
        assert found["record_epsilon"] <= 8.0 * PERSONAL_SHARE
        assert found["attribute_epsilon"] == 0.0


def test_the_personal_tier_has_a_cap_of_its_own(flag: Dataset) -> None:
    case = Case(0, record_epsilon=2.0, attribute_epsilon=0.3, personal_epsilon=1.2)
    keys = {"privacy": {"mechanism": "cascade"}}
    config = configuration(flag, case, keys)
    caps = config.budget.caps.model_dump(exclude_none=True)
    assert caps == {"special": 0.3, "personal": 1.2}
    config = configuration(flag, replace(case, personal_epsilon=None), keys)
    assert config.budget.caps.model_dump(exclude_none=True) == {"special": 0.3}
    # Rows do not depend on budgets: one split serves them all.
    assert rows_of(flag, case) is rows_of(flag, replace(case, personal_epsilon=0.7))


def test_few_shared_training_rows_widen_intervals_little(tmp_path: Path) -> None:
    dataset = small_dataset(tmp_path)
    for test_size, overlap in ((0.3, 3 / 7), (0.5, 1.0), (0.96, 1 / 24)):
        dataset.tables["data"]["test_size"] = test_size
        assert split_overlap(dataset) == pytest.approx(overlap)


def test_the_table_has_every_table_with_one_outcome() -> None:
    one = table("made-suite")
    assert {job.dataset for job in one.jobs} == {
        name for name, each in TABLES.items() if each.outcome != "three classes"
    }
    private = [job for job in one.jobs if job.method == "cascade" and job.seed == 0]
    assert {job.setting["record_epsilon"] for job in private} == {0.1, 1.0, 2.0, 8.0}
    for job in private:
        assert job.setting["attribute_epsilon"] == pytest.approx(
            0.15 * job.setting["record_epsilon"]
        )
    # What no budget changes runs once, and says nothing of budgets.
    known = [job for job in one.jobs if job.method == "additive"]
    assert len(known) == one.seeds * len({job.dataset for job in one.jobs})
    assert not any(job.setting for job in known)


def summary_of(**changed: float | None) -> Summary:
    """Return a summary of two tables; scores of methods may be changed."""
    scores = {"truth": 0.9, "additive": 0.8, "none": 0.815, "cascade": 0.5}
    jobs = [
        *(
            Job("train", name, method, seed, None, {"record_epsilon": epsilon})
            for name in (FLAG, NUMBER)
            for method in ("uniform", "cascade")
            for epsilon in (0.1, 8.0)
            for seed in (0, 1)
        ),
        *(
            Job("train", name, method, seed)
            for name in (FLAG, NUMBER)
            for method in ("truth", "additive", "none")
            for seed in (0, 1)
        ),
    ]

    def result(job: Job) -> Result:
        score = {**scores, **changed}.get(job.method, 0.7)
        if score is None:
            return {**result_of({"auc": None}, "diverged"), "job": job.facts}
        metric = "auc" if job.dataset == FLAG else "r2"
        moved = score + 0.01 * job.seed
        return {**result_of({metric: moved}), "job": job.facts}

    made = table_of(
        *jobs,
        across=("dataset", "record_epsilon", "method"),
        shows=("auc", "r2", "over additive"),
        drawing="distance",
        lines=beside(("additive",)),
    )
    return summarise(made, result)


def test_distances_are_paired_by_split_whatever_the_budget() -> None:
    found = {
        (one.facts["dataset"], one.facts["record_epsilon"], one.facts["method"]): one
        for one in summary_of().lines
    }
    for name in (FLAG, NUMBER):
        for epsilon in (0.1, 8.0):
            over = found[name, epsilon, "cascade"].values["over additive"]
            assert over.mean == pytest.approx(-0.3)
            assert over.half == pytest.approx(0.0)
        assert found[name, None, "truth"].values["over additive"].mean > 0.09
        assert "over additive" not in found[name, None, "additive"].values


def test_without_numbers_there_is_no_distance() -> None:
    lost = summary_of(cascade=None).lines
    assert any("over additive" in one.values for one in lost)
    assert not any(
        "over additive" in one.values
        for one in lost
        if one.facts["method"] == "cascade"
    )
    assert not any(
        "over additive" in one.values for one in summary_of(additive=None).lines
    )


def test_the_map_has_a_number_in_every_cell() -> None:
    svg = draw(summary_of())["made-up.svg"]
    root = ET.fromstring(svg)  # noqa: S314 - our own file
    space = "{http://www.w3.org/2000/svg}"
    said = [each.text for each in root.iter(f"{space}text")]
    # Two budgets of two tables, each of two methods, and two methods without any.
    assert said.count("−.300") == 4
    assert said.count("−.100") == 4
    assert said.count("+.015") == said.count("+.100") == 2
    assert {"corners", "other outcomes", FLAG, NUMBER, "0.1", "8"} <= set(said)
    # The method that is last among those with budgets stands first.
    assert said.index("cascade") < said.index("uniform") < said.index("none")
    boxes = [each.get("class") for each in root.iter(f"{space}rect")]
    assert boxes.count("shade5") == 4 + 1
    assert boxes.count("above") == 4 + 1
    style = root.find(f"{space}style")
    assert style is not None
    assert ".shade5{" in str(style.text)


def test_a_large_loss_keeps_its_digits() -> None:
    svg = draw(summary_of(cascade=-9.2))["made-up.svg"].decode()
    assert "−10.000" in svg


def test_a_map_of_nothing_is_still_a_drawing() -> None:
    (svg,) = draw(summary_of(additive=None)).values()
    assert ET.fromstring(svg).tag.endswith("svg")  # noqa: S314 - our own file
