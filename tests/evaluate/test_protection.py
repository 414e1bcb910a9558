# SPDX-License-Identifier: Apache-2.0
"""Attacks as jobs: ends that hold together, and gradients that come back or do not."""

from pathlib import Path

import pytest

from lexfed.evaluate.catalogue import table
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.measurement import attack_jobs
from lexfed.evaluate.measurement.attack_jobs import (
    LINES,
    attribute,
    invert_gradients,
    membership,
)
from support.evaluation.small_dataset import small_case, small_dataset


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder: Path = tmp_path_factory.mktemp("table")
    return small_dataset(folder, rows=400)


@pytest.mark.parametrize("name", ["attribute-inference", "reconstruction", "inversion"])
def test_no_table_has_more_judged_lines_than_ends_hold_for(name: str) -> None:
    judged = [job for job in table(name).jobs if job.method != "none"]
    assert 0 < len(judged) <= LINES


def test_the_gain_of_a_line_is_lowered_for_everything_that_was_tried(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without privacy a model is the same each time.
    case = small_case()
    strict = attribute(dataset, case, "none")
    monkeypatch.setattr(attack_jobs, "LINES", 1)
    one = attribute(dataset, case, "none")
    assert strict["columns"] == one["columns"] >= 1
    assert strict["gain_low"] < one["gain_low"] <= one["gain"]
    assert strict["leak_low"] < strict["leak"]


@pytest.mark.no_cover
def test_membership_is_attacked_where_sites_have_one_person(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Half of the models have nobody at such a site, which the plan must not notice.
    # That some of 9 lack the person, and some do not, fails with probability 2^-8.
    monkeypatch.setattr(attack_jobs, "SHADOWS", 8)
    case = small_case(sites=20, partition="dirichlet", alpha=0.05, equal="record")
    sizes = [len(site.train) for site in rows_of(dataset, case).population.sites]
    assert min(sizes) == 1
    found = membership(dataset, case, "cascade")
    assert found["low"] <= found["auc"] <= found["high"]


@pytest.mark.slow
def test_gradients_tell_the_trusted_coordinator_what_they_do_not_tell_others(
    dataset: Dataset,
) -> None:
    # Ends hold for all lines of a table: fails with probability below .0025.
    case = small_case(attribute_epsilon=0.3, equal="attribute", model="mlp:16")
    released = invert_gradients(dataset, case, "uniform", "round")
    exact = invert_gradients(dataset, case, "uniform", "central")
    assert released["excess"] <= 0.0
    assert 0.5 < released["bound"] < 0.6
    # Negative control: the same attack, before the noise.
    assert exact["low"] > released["bound"]
