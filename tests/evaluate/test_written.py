# SPDX-License-Identifier: Apache-2.0
"""Files of an evaluation: each from the journal, none of a table that is not whole."""

import csv
from pathlib import Path
from typing import Any

from lexfed.evaluate.harness.jobs import Job
from lexfed.evaluate.harness.summary import Summary, summarise
from lexfed.evaluate.results.files import (
    ALL,
    PAGE,
    write_all,
    write_page,
    write_results,
)
from support.evaluation import result_of, table_of

JOBS = tuple(Job("train", "small", m, s) for m in ("none", "uniform") for s in (0, 1))
TABLE = table_of(*JOBS, shows=("auc", "brier"), against="none", drawing="radar")
AUC = {"none": 0.9, "uniform": 0.7}


def found(job: Job) -> dict[str, Any]:
    values = {
        "auc": AUC[job.method] + 0.02 * job.seed,
        "accuracy": 0.8,
        "worst_site_auc": 0.6,
        "retention": 0.9,
        "path": [[1, 0.5]],
    }
    key = f"{job.method}{job.seed}"
    return {**result_of(values, note="a, note"), "key": key, "job": job.facts}


def whole() -> Summary:
    return summarise(TABLE, found)


def half() -> Summary:
    return summarise(TABLE, lambda job: found(job) if job.seed else None)


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_lines_of_a_whole_table_are_written_with_their_gains(tmp_path: Path) -> None:
    write_all(tmp_path, [whole()], "a machine")
    none, uniform = rows(tmp_path / "made-up.csv")
    assert [none["method"], uniform["method"]] == ["none", "uniform"]
    assert abs(float(uniform["mean_auc"]) - 0.71) < 1e-9
    assert abs(float(uniform["gain_auc"]) + 0.2) < 1e-9
    assert float(uniform["half_auc"]) > 0.0
    # Nobody measured it.
    assert uniform["mean_brier"] == uniform["gain_brier"] == ""
    assert uniform["seeds"] == "2"
    assert "a machine" in (tmp_path / PAGE).read_text()


def test_without_a_method_to_compare_with_there_are_no_gains(tmp_path: Path) -> None:
    table = table_of(*JOBS)
    write_all(tmp_path, [summarise(table, found)], "a machine")
    assert "gain_auc" not in rows(tmp_path / "made-up.csv")[0]


def test_a_table_that_is_not_whole_loses_its_old_files(tmp_path: Path) -> None:
    write_all(tmp_path, [whole()], "a machine")
    before = {path.name for path in tmp_path.glob("made-up*")}
    assert "made-up.csv" in before
    assert any(name.endswith(".svg") for name in before)
    write_all(tmp_path, [half()], "a machine")
    assert list(tmp_path.glob("made-up*")) == []
    assert "**Not whole**" in (tmp_path / PAGE).read_text()
    # What has run is kept all the same.
    assert len(rows(tmp_path / ALL)) == 2


def test_a_job_of_two_tables_is_one_result_without_paths(tmp_path: Path) -> None:
    write_results(tmp_path, [whole(), half()])
    every = rows(tmp_path / ALL)
    assert [row["key"] for row in every] == ["none0", "none1", "uniform0", "uniform1"]
    assert every[0]["measured_auc"] == "0.9"
    assert every[0]["note"] == "a, note"
    assert "measured_path" not in every[0]


def test_a_page_elsewhere_has_its_figures_beside_it(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "results.md"
    write_page(page, [whole()], "a machine")
    figures = {path.name for path in (tmp_path / "docs" / "results").iterdir()}
    assert figures
    assert all(f"results/{name}" in page.read_text() for name in figures)
