# SPDX-License-Identifier: Apache-2.0
"""Lines of tables: what is averaged, what is compared, what is said and not shown."""

import math
import re
from collections.abc import Mapping
from typing import Any

import pytest

from lexfed.evaluate.harness.summary import (
    Summary,
    TargetVerdict,
    estimate,
    summarise,
    verdicts,
)
from lexfed.evaluate.harness.tables import (
    Job,
    PublishedFigure,
    Result,
    TableTarget,
    unique_jobs,
)
from lexfed.evaluate.results.extract import measured_table
from lexfed.evaluate.results.page import page
from support.evaluation.results import result_of, table_of

JOBS = tuple(
    Job("train", "small", method, seed)
    for method in ("uniform", "cascade")
    for seed in (0, 1, 2)
)
AUC = {"uniform": (0.6, 0.7, 0.8), "cascade": (0.7, 0.8, 0.9)}


def found(job: Job) -> Result:
    return result_of({"auc": AUC[job.method][job.seed]})


def whole(**more: Any) -> Summary:
    return summarise(table_of(*JOBS, **more), found)


def test_an_interval_is_students() -> None:
    values = estimate([0.6, 0.7, 0.8])
    assert values is not None
    assert values.mean == pytest.approx(0.7)
    assert values.half == pytest.approx(4.303 * 0.1 / math.sqrt(3), rel=1e-3)
    assert values.low == pytest.approx(0.7 - (values.half or 0))
    assert values.high == pytest.approx(0.7 + (values.half or 0))


def test_a_single_seed_has_no_interval_and_none_has_no_mean() -> None:
    one = estimate([0.5, math.nan])
    assert one is not None
    assert (one.mean, one.half, one.low) == (0.5, None, 0.5)
    assert estimate([math.nan]) is None


def test_gains_are_paired_by_seed() -> None:
    uniform, cascade = whole(against="uniform").lines
    assert uniform.gains == {}
    gain = cascade.gains["auc"]
    assert gain.mean == pytest.approx(0.1)
    # Paired by seed the spread between seeds cancels; unpaired it would not.
    assert gain.half == pytest.approx(0.0, abs=1e-9)


def page_of(summary: Summary, machine: str) -> str:
    return page([measured_table(summary, machine)], ".")


def test_a_table_with_a_missing_job_has_no_lines() -> None:
    table = table_of(*JOBS, targets=(TableTarget({}, "auc", at_least=0.1),))
    summary = summarise(table, lambda job: None if job == JOBS[-1] else found(job))
    assert (summary.done, summary.whole, summary.lines) == (5, False, ())
    assert verdicts(summary.table, summary.lines) == ()
    text = page_of(summary, "a machine")
    assert "5 of 6 runs" in text
    assert "0.7" not in text


def test_what_diverged_is_said_and_not_averaged() -> None:
    def diverged(job: Job) -> Result:
        if job.seed == 0:
            return result_of({"auc": None}, "diverged", "a note")
        return found(job)

    summary = summarise(table_of(*JOBS), diverged)
    assert summary.lines[0].values["auc"].count == 2
    assert summary.lines[0].notes == ("diverged in 1 of 3", "a note")
    assert "- uniform, cascade: diverged in 1 of 3" in page_of(summary, "m")


def test_a_refusal_stands_in_the_table() -> None:
    summary = summarise(
        table_of(*JOBS), lambda _: result_of({}, "refused", "no library")
    )
    assert summary.whole
    text = page_of(summary, "m")
    assert "refused: no library" in text


def test_retention_is_against_the_same_model_and_split() -> None:
    jobs = (Job("train", "small", "none", 0), Job("train", "small", "cascade", 0))
    values: Mapping[str, float] = {"none": 0.9, "cascade": 0.7}
    table = table_of(*jobs, shows=("retention",))
    lines = summarise(table, lambda job: result_of({"auc": values[job.method]})).lines
    assert lines[1].values["retention"].mean == pytest.approx(0.5)
    other = (Job("train", "small", "none", 1), jobs[1])
    lines = summarise(
        table_of(*other, shows=("retention",)),
        lambda job: result_of({"auc": values[job.method]}),
    ).lines
    assert "retention" not in lines[1].values


def test_a_target_is_reached_in_the_first_round_that_has_nine_tenths() -> None:
    jobs = tuple(
        Job("train", "small", method, seed)
        for method in ("none", "cascade")
        for seed in (0, 1, 2)
    )
    # Chance is .5, so 90 % of .9 above it is .86.
    paths = (
        [[1, 0.5, 0.1], [4, 0.87, 0.4], [8, 0.8, 0.8]],
        [[1, 0.5, 0.1], [4, 0.859, 0.4], [8, 0.861, 0.8]],
        [[1, 0.5, 0.1], [4, 0.6, 0.4], [8, 0.859, 0.8]],
    )

    def told(job: Job) -> Result:
        if job.method == "none":
            return result_of({"auc": 0.9, "path": []})
        path = paths[job.seed]
        return result_of({"auc": path[-1][1], "path": path})

    shows = ("rounds_to_target", "target_reached", "budget_to_target")
    none, cascade = summarise(table_of(*jobs, shows=shows), told).lines
    assert none.values == {}
    assert cascade.values["target_reached"].mean == pytest.approx(2 / 3)
    # The run that never reached it has no round, so the mean is of 4 and 8.
    assert cascade.values["rounds_to_target"].mean == pytest.approx(6.0)
    assert cascade.values["rounds_to_target"].count == 2
    assert cascade.values["budget_to_target"].mean == pytest.approx(0.6)


def test_without_a_ceiling_there_is_no_target() -> None:
    table = table_of(*JOBS, shows=("target_reached",))
    lines = summarise(
        table, lambda _: result_of({"auc": 0.9, "path": [[1, 0.9, None]]})
    )
    assert all(line.values == {} for line in lines.lines)


def test_targets_are_judged_by_the_worst_line() -> None:
    targets = (
        TableTarget({}, "auc", at_least=0.65),
        TableTarget({}, "auc", at_least=0.75),
        TableTarget({}, "auc", at_most=0.75),
        TableTarget({"method": "cascade"}, "gain auc", at_least=0.05),
        TableTarget({"method": "nobody"}, "auc", at_least=0.0),
        TableTarget({}, "brier", at_least=0.0),
    )
    summary = whole(against="uniform", targets=targets)
    judged = verdicts(summary.table, summary.lines)
    assert [one.reached for one in judged] == [True, False, False, True, False, False]
    assert "found 0.700 ± 0.248 (dataset small, method uniform)" in str(judged[1])
    assert "at most 0.75; found 0.800" in str(judged[2])
    assert "no such line" in str(judged[4])
    assert "no number for a seed" in str(judged[5])
    text = page_of(whole(against="uniform", targets=targets), "m")
    assert "- **missed**: auc at least 0.75" in text
    # Its interval, of two seeds, is far wider than the distance.
    assert "- reached by the mean: auc at least 0.65" in text
    assert "6 things were asked; 4 missed." in text


def test_a_whole_interval_reaches_for_sure() -> None:
    target = TableTarget({}, "auc", at_least=0.5)
    assert TargetVerdict(target, 0.6, "", 0.05).word == "reached"
    assert TargetVerdict(target, 0.6, "", 0.15).word == "reached by the mean"
    assert TargetVerdict(target, 0.4, "", 0.15).word == "missed"
    assert TargetVerdict(target, None, "").word == "missed"
    assert (
        TargetVerdict(TableTarget({}, "auc", at_most=0.5), 0.4, "", 0.2).surely is False
    )


def test_a_refused_first_seed_does_not_narrow_an_interval() -> None:
    jobs = tuple(Job("train", "small", "cascade", seed) for seed in range(4))
    halves = []
    for lost in (0, 3):

        def told(job: Job, lost: int = lost) -> Result:
            if job.seed == lost:
                return result_of({}, "refused", "one class")
            return result_of({"auc": 0.7 + 0.01 * (job.seed == 1), "overlap": 3 / 7})

        (line,) = summarise(table_of(*jobs), told).lines
        halves.append(line.values["auc"].half)
    assert halves[0] == pytest.approx(halves[1])


def test_seeds_that_went_wrong_reach_nothing() -> None:
    jobs = tuple(Job("train", "small", "cascade", seed) for seed in range(3))
    lost = result_of({"auc": None}, "diverged")
    table = table_of(*jobs, targets=(TableTarget({}, "auc", at_least=0.5),))
    summary = summarise(
        table, lambda job: lost if job.seed else result_of({"auc": 0.9})
    )
    (verdict,) = verdicts(summary.table, summary.lines)
    assert not verdict.reached
    assert "0.900 (1 of 3)" in page_of(summary, "m")


def test_a_miss_is_told_first_and_with_its_reason() -> None:
    few = TableTarget({}, "auc", at_least=0.75, reason="The table is too small.")
    text = page_of(whole(targets=(TableTarget({}, "auc", at_least=0.65), few)), "m")
    short = text.partition("## In short")[2].partition("\n## ")[0]
    assert "The table is too small." in short
    assert short.index("**missed**") < short.index("- reached")


def test_a_table_says_when_and_where_it_was_measured() -> None:
    made = {"took": 90.0, "date": "2026-01-02", "machine": "another machine"}
    summary = summarise(table_of(*JOBS), lambda _: {**result_of({"auc": 0.8}), **made})
    text = page_of(summary, "this machine")
    assert "4.5 minutes" not in text
    assert "9.0 minutes of one core · measured 2026-01-02, on another machine" in text
    assert "on this machine" not in text


def test_published_figures_stand_beside_ours_with_a_reason() -> None:
    told = PublishedFigure({"method": "cascade"}, "auc", 0.96, "somebody", "other data")
    text = page_of(whole(published=(told,)), "m")
    lines = {line.split(" | ")[1]: line for line in text.splitlines() if " | " in line}
    assert lines["cascade"].endswith("| 0.960 (somebody) |")
    assert lines["uniform"].endswith("| – |")
    assert "- published by somebody: other data." in text


def test_a_page_says_how_it_came_about() -> None:
    summary = whole()
    text = page_of(summary, "a machine")
    assert "machine: a machine" in text
    assert re.search(r"code `[0-9a-f]{12}`", text)
    assert f"configuration `{summary.table.digest}`" in text
    assert "6 runs, 3 seeds" in text
    assert "never" not in text.partition("do not edit")[0]
    assert "lexfed evaluate --table made-up" in text
    quick = summarise(table_of(*JOBS[:1], name="quick"), found)
    assert "`lexfed evaluate --quick`" in page_of(quick, "m")


def test_jobs_that_tables_share_run_once() -> None:
    first, second = table_of(*JOBS), table_of(*JOBS[:2], name="other")
    assert unique_jobs([first, second]) == JOBS
    assert first.digest != second.digest
