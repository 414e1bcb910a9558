# SPDX-License-Identifier: Apache-2.0
"""The tables that exist: every job can be measured, every fact and target is real."""

from collections.abc import Container, Mapping
from pathlib import Path

import pytest

from lexfed.errors import ConfigError
from lexfed.evaluate.catalogue import NAMES, quick, table
from lexfed.evaluate.datasets import names
from lexfed.evaluate.datasets.preparation import DERIVED
from lexfed.evaluate.harness.tables import ResultTable
from lexfed.evaluate.measurement.attack_jobs import ATTACKS
from lexfed.evaluate.measurement.job_kinds import ALL_METHODS, case_of
from lexfed.evaluate.measurement.overhead import VARIANTS
from lexfed.evaluate.measurement.setting_search import NAME
from lexfed.evaluate.methods import MECHANISMS, METHODS

METHODS_OF: Mapping[str, Container[str]] = {
    "train": ALL_METHODS,
    "overhead": VARIANTS,
    "search": (NAME,),
}
TABLES = [quick(), *(table(name) for name in NAMES)]


@pytest.mark.parametrize("one", TABLES, ids=lambda one: one.name)
def test_every_job_can_be_measured(one: ResultTable) -> None:
    known = {*names(), *DERIVED}
    for job in one.jobs:
        case_of(job)
        assert job.dataset in known
        assert job.method in METHODS_OF.get(job.kind, MECHANISMS)
        assert job.kind != "attack" or job.setting["attack"] in ATTACKS
    assert one.shows
    assert len({repr(job) for job in one.jobs}) == len(one.jobs)


@pytest.mark.parametrize("one", TABLES, ids=lambda one: one.name)
def test_targets_and_published_figures_belong_to_lines(one: ResultTable) -> None:
    facts = [job.facts for job in one.jobs]
    wanted = [(each.where, each.metric) for each in one.targets]
    wanted += [(each.where, each.metric) for each in one.published]
    for where, metric in wanted:
        assert set(where) <= set(one.across)
        assert metric.removeprefix("gain ") in one.shows
        assert any(
            all(each.get(name) == value for name, value in where.items())
            for each in facts
        )


def test_quick_has_every_method_and_two_seeds() -> None:
    one = quick()
    assert {job.method for job in one.jobs} == set(METHODS)
    assert one.seeds == 2
    assert len({job.dataset for job in one.jobs}) == 1


def test_both_comparisons_are_made() -> None:
    assert {job.setting.get("equal") for job in table("methods").jobs} == {
        "attribute",
        "record",
        None,
    }


def test_what_no_budget_changes_runs_once() -> None:
    jobs = [job for job in quick().jobs if job.method == "none"]
    assert len(jobs) == 2


def test_an_unknown_table_is_named() -> None:
    with pytest.raises(ConfigError, match="there is no table `alhpa`") as caught:
        table("alhpa")
    assert caught.value.hint == "did you mean `alpha`?"
    with pytest.raises(ConfigError) as caught:
        table("zzz")
    assert "equal-record" in caught.value.hint


def test_names_are_files() -> None:
    assert all(Path(name).name == name for name in NAMES)
