# SPDX-License-Identifier: Apache-2.0
"""Files of an evaluation: each from the journal, none of a table that is not whole."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lexfed.evaluate.harness.summary import Summary, summarise
from lexfed.evaluate.harness.tables import Job
from lexfed.evaluate.results.extract import EXTRACT, measured_table, read_extract
from lexfed.evaluate.results.files import (
    ALL,
    PAGE,
    pages,
    write_all,
    write_pages,
    write_results,
)
from support.evaluation.results import result_of, table_of

JOBS = tuple(Job("train", "small", m, s) for m in ("none", "uniform") for s in (0, 1))
TABLE = table_of(*JOBS, shows=("auc", "brier"), against="none", drawing="radar")
OTHER = replace(TABLE, name="another", title="Another")
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


def write(summaries: list[Summary], folder: Path) -> None:
    write_all(folder, summaries, [measured_table(s, "a machine") for s in summaries])


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_lines_of_a_whole_table_are_written_with_their_gains(tmp_path: Path) -> None:
    write([whole()], tmp_path)
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
    write([summarise(table, found)], tmp_path)
    assert "gain_auc" not in rows(tmp_path / "made-up.csv")[0]


def test_a_table_that_is_not_whole_loses_its_old_files(tmp_path: Path) -> None:
    write([whole()], tmp_path)
    before = {path.name for path in tmp_path.glob("made-up*")}
    assert "made-up.csv" in before
    assert any(name.endswith(".svg") for name in before)
    write([half()], tmp_path)
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


def publish(index: Path, summary: Summary) -> None:
    measured = [measured_table(summary, "a machine")]
    write_pages(index, [summary], measured, [summary.table, OTHER])


def test_pages_elsewhere_are_an_index_and_a_page_for_each_table(tmp_path: Path) -> None:
    index = tmp_path / "docs" / "results.md"
    publish(index, whole())
    folder = tmp_path / "docs" / "results"
    text = (folder / "made-up.md").read_text()
    assert "(made-up.svg)" in text
    assert (folder / "made-up.svg").exists()
    assert f"configuration `{TABLE.digest}`" in text
    assert "- [Made up](results/made-up.md)" in index.read_text()
    assert "- Another: not measured yet, 4 runs" in index.read_text()
    assert not (folder / "another.md").exists()
    assert "0.710" not in index.read_text()


def test_an_extract_keeps_what_was_measured_earlier(tmp_path: Path) -> None:
    index = tmp_path / "results.md"
    publish(index, whole())
    before = (tmp_path / "results" / "made-up.md").read_text()
    publish(index, summarise(OTHER, found))
    assert (tmp_path / "results" / "made-up.md").read_text() == before
    assert (tmp_path / "results" / "another.md").exists()
    # What is not whole replaces nothing.
    publish(index, half())
    assert (tmp_path / "results" / "made-up.md").read_text() == before
    extract = tmp_path / "results" / EXTRACT
    assert len(extract.read_text().splitlines()) == 2
    (one,) = read_extract(extract, [TABLE]).values()
    kept, exact = one.lines[1].values["auc"], whole().lines[1].values["auc"]
    assert (kept.mean, kept.half) == pytest.approx((exact.mean, exact.half), abs=1e-6)
    assert kept.count == exact.count == 2
    assert one.current


def test_a_table_that_changed_since_says_so(tmp_path: Path) -> None:
    index = tmp_path / "results.md"
    publish(index, whole())
    more = replace(TABLE, jobs=(*JOBS, Job("train", "small", "none", 2)))
    text = pages(index, [more])[tmp_path / "results" / "made-up.md"]
    assert "**Measured before the table changed**" in text
    assert f"configuration `{TABLE.digest}`" in text


def test_without_an_extract_nothing_was_measured(tmp_path: Path) -> None:
    assert read_extract(tmp_path / EXTRACT, [TABLE]) == {}
    (text,) = pages(tmp_path / "results.md", [TABLE]).values()
    assert "not measured yet" in text
