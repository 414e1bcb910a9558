# SPDX-License-Identifier: Apache-2.0
"""Every kind of job on a small table: what is measured is plain, finite and proven."""

import json
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import pytest

from lexfed.errors import DataError
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.harness.tables import Job
from lexfed.evaluate.measurement import attack_jobs, job_kinds
from lexfed.evaluate.measurement.attack_jobs import (
    attribute,
    audit_claims,
    reconstruction,
)
from lexfed.evaluate.measurement.job_kinds import case_of, measure
from lexfed.evaluate.methods import MECHANISMS
from lexfed.evaluate.methods.ablations import ABLATIONS, MULTIPLIERS
from lexfed.evaluate.methods.product import POINTS
from lexfed.evaluate.own.questions import CANARIES
from support.evaluation.small_dataset import small_case, small_dataset

BUDGET = {"record_epsilon": 4.0, "attribute_epsilon": 1.0}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return small_dataset(tmp_path_factory.mktemp("table"), rows=400)


@pytest.mark.parametrize("method", [*ABLATIONS, *MULTIPLIERS])
def test_ablations_and_factors_keep_the_budget(dataset: Dataset, method: str) -> None:
    found = measure(Job("train", "small", method, 0, None, BUDGET), dataset)
    assert found["status"] == "done"
    assert found["values"]["attribute_epsilon"] <= 1.0
    assert found["values"]["record_epsilon"] <= 4.0
    json.dumps(found, allow_nan=False)


def test_without_privacy_there_is_no_epsilon(dataset: Dataset) -> None:
    values = measure(Job("train", "small", "none", 0), dataset)["values"]
    assert values["record_epsilon"] is None
    assert values["auc"] > 0.7


@pytest.mark.parametrize(
    "method", ["uniform", "cascade", "cascade-plain", "fedavg", "dp-ftrl"]
)
def test_a_path_ends_in_the_model_that_is_measured(
    dataset: Dataset, method: str
) -> None:
    values = measure(Job("train", "small", method, 0, None, BUDGET), dataset)["values"]
    rounds = [number for number, _, _ in values["path"]]
    assert rounds == sorted(set(rounds))
    assert 1 < len(rounds) <= POINTS + 1
    assert values["path"][-1][:2] == [values["rounds"], values["auc"]]
    # Before the last round the model was another one: AUCs of a path differ.
    assert len({auc for _, auc, _ in values["path"]}) > 1
    budget = values["record_epsilon"] / values["rounds"]
    assert values["budget_per_round"] == pytest.approx(budget)


@pytest.mark.parametrize("method", ["uniform", "cascade"])
def test_what_is_spent_grows_to_the_claim(dataset: Dataset, method: str) -> None:
    values = measure(Job("train", "small", method, 0, None, BUDGET), dataset)["values"]
    spent = [after for _, _, after in values["path"]]
    assert spent == sorted(set(spent))
    assert spent[-1] == pytest.approx(values["record_epsilon"], rel=1e-6)


def test_without_rounds_there_is_no_path(dataset: Dataset) -> None:
    for method in ("none", "boosted", "local"):
        job = Job("train", "small", method, 0, None, BUDGET)
        values = measure(job, dataset)["values"]
        assert values["path"] == []
        assert "noise_sensitive" not in values


def test_sensitive_columns_have_the_noise_that_the_plan_says(dataset: Dataset) -> None:
    plan = measure(Job("plan", "small", "cascade", 0, None, BUDGET), dataset)["values"]
    run = measure(Job("train", "small", "cascade", 0, None, BUDGET), dataset)["values"]
    assert run["noise_sensitive"] == pytest.approx(plan["noise_special"])
    others = fmean(plan["noise"][name] for name in ("dose", "ward", "age"))
    assert run["noise_others"] == pytest.approx(others)
    assert run["noise_sensitive"] > 2 * run["noise_others"]


def test_settings_fill_the_base_cell() -> None:
    case = case_of(Job("attack", "a", "b", 3, None, {"tiers": 2, "attack": "rounds"}))
    assert (case.seed, case.tiers, case.equal) == (3, 2, "attribute")


@pytest.mark.parametrize("method", [name for name in MECHANISMS if name != "none"])
def test_a_plan_spends_up_to_its_budgets(dataset: Dataset, method: str) -> None:
    values = measure(Job("plan", "small", method, 0, None, BUDGET), dataset)["values"]
    for scope, path in values["rounds_by_scope"].items():
        assert len(path) == values["rounds"]
        assert all(a <= b + 1e-9 for a, b in pairwise(path))
        assert path[-1] <= BUDGET["record_epsilon"] if scope == "record" else True
    assert values["rounds_by_scope"]["special"][-1] <= 1.0 + 1e-9
    assert set(values["noise"]) == {"dose", "ward", "age", "marker", "smoker"}


def test_a_cascade_has_less_noise_where_less_is_at_stake(dataset: Dataset) -> None:
    job = Job("plan", "small", "cascade", 0, None, BUDGET)
    cascade = measure(job, dataset)["values"]
    assert cascade["noise_special"] > cascade["noise_personal"]
    assert cascade["noise_personal"] >= cascade["noise_non_personal"]
    job = Job("plan", "small", "uniform", 0, None, BUDGET)
    uniform = measure(job, dataset)["values"]
    assert uniform["noise_special"] == pytest.approx(uniform["noise_non_personal"])


@pytest.mark.parametrize(
    "method", [pytest.param("none", marks=pytest.mark.slow), "cascade"]
)
def test_attacks_come_with_interval_and_bound(
    dataset: Dataset, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attack_jobs, "SHADOWS", 8)
    for attack in ("membership", "attribute"):
        setting = {**BUDGET, "equal": "record", "attack": attack}
        job = Job("attack", "small", method, 0, None, setting)
        values = measure(job, dataset)["values"]
        assert values["low"] <= values["auc"] <= values["high"]
        assert values["bound"] <= 1.0
        # At ε 8 nothing is left of the bound on a value that is guessed well anyway.
        if attack == "membership":
            assert (values["bound"] == 1.0) == (method == "none")


@pytest.mark.slow
def test_rounds_tell_the_trusted_coordinator_more(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attack_jobs, "SPLITS", 2)  # the same games, of fewer runs
    case = small_case(attribute_epsilon=0.3, equal="attribute")
    released = reconstruction(dataset, case, "cascade", "round")
    exact = reconstruction(dataset, case, "cascade", "central")
    assert released["bound"] < 0.6
    # Both ends hold for all lines of a table: fails with probability below .0025.
    assert released["excess"] <= 0.0
    assert 0.5 < released["surest"] <= released["bound"]
    assert released["noise"] == pytest.approx(1.0, abs=0.1)
    # What the coordinator is trusted with is more than any release may tell.
    assert exact["low"] > released["bound"]


def test_a_tier_in_which_nobody_differs_is_refused(tmp_path: Path) -> None:
    dataset = small_dataset(tmp_path, rows=400)
    path = tmp_path / "table.csv"
    lines = path.read_text().splitlines()
    head = lines[0].split(",")
    same = {head.index("marker"): "0.5", head.index("smoker"): "1"}
    rows = [
        ",".join(same.get(place, cell) for place, cell in enumerate(line.split(",")))
        for line in lines[1:]
    ]
    path.write_text("\n".join([lines[0], *rows]) + "\n")
    with pytest.raises(DataError, match="do not differ"):
        attribute(dataset, small_case(), "none")


@pytest.mark.slow
def test_an_audit_stays_below_its_claims(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sound mechanism fails at most 1 in 20 audits, with any number of canaries.

    There are as many as an evaluation of one's own table has. That unsound code is
    caught, and with how many canaries, is for the tests of the audit itself.
    """
    few = partial(audit_claims, canaries=CANARIES)
    monkeypatch.setattr(job_kinds, "audit_claims", few)
    values = measure(
        Job("audit", "small", "uniform", 0, None, {**BUDGET, "equal": "record"}),
        dataset,
    )["values"]
    assert values["canaries"] == CANARIES
    assert values["refuted"] == 0.0
    assert values["record_found"] <= values["record_claimed"]
