# SPDX-License-Identifier: Apache-2.0
"""The page about several runs: one file that opens anywhere and runs nothing.

Names and settings are whatever somebody wrote; `page_templates` makes them harmless.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from lexfed.report.comparison.compared_runs import ComparedRun
from lexfed.report.comparison.result_groups import (
    ComparableResults,
    apart,
    result_groups,
)
from lexfed.report.comparison.run_facts import fact_groups
from lexfed.report.comparison.setting_differences import setting_differences
from lexfed.report.comparison.together import (
    CHOOSING,
    OTHERS,
    OWN_ROWS,
    PLANNED,
    joint_cost,
)
from lexfed.report.markup import page_templates
from lexfed.report.sections.log_entries import VERIFIER
from lexfed.report.sections.result import COVER
from lexfed.report.sections.tier_gains import metric_name, metrics_kind
from lexfed.report.wording.plain_words import guarantee
from lexfed.report.wording.rounding import count

_SHOWN = 40
"""Differing keys that are shown at once; the others are behind a line to click."""


@dataclass(frozen=True)
class RunLine:
    """A run in the opening: its guarantee with all it depends on, or its trouble."""

    number: int
    name: str
    folder: str
    guarantee: str
    trouble: str


@dataclass(frozen=True)
class ResultFigure:
    """A chart of comparable results, with the runs in it and those it leaves out."""

    chart: Markup
    metric: str
    cover: str
    runs: str
    has_levels: bool
    has_baseline: bool
    has_intervals: bool


def compare_page(runs: Sequence[ComparedRun], made: str) -> str:
    """Return the page; `made` is the time of making.

    Guarantees:
        No script, no address that a browser would fetch.
        Text of others is shown as text, whatever it looks like.
        The whole record's guarantee stands before every tier's and every metric.
        Runs are listed in the order in which they were named, and never ranked.
    """
    groups, differences = result_groups(runs), setting_differences(runs)
    return page_templates.page(
        "compare.html",
        made=made,
        verifier=VERIFIER,
        title=headline(runs),
        damaged=any(run.dossier is None for run in runs),
        lines=run_lines(runs),
        joint=joint_cost(runs),
        planned=PLANNED,
        others=OTHERS,
        choosing=CHOOSING,
        runs=runs,
        facts=fact_groups(runs),
        figures=[f for f in map(_figure, groups) if f is not None],
        apart=apart(groups),
        own_rows=OWN_ROWS if groups else "",
        differences=differences[:_SHOWN],
        further=differences[_SHOWN:],
    )


def headline(runs: Sequence[ComparedRun]) -> str:
    """Return how many runs there are, and how many of them can be relied on."""
    parts = [
        (sum(run.claim is not None for run in runs), "with a guarantee"),
        (sum(run.dossier is not None and run.claim is None for run in runs), "without"),
        (sum(run.dossier is None for run in runs), "that cannot be relied on"),
    ]
    listed = ", ".join(f"{number} {words}" for number, words in parts if number)
    return f"{count(len(runs), 'run')}: {listed}"


def run_lines(runs: Sequence[ComparedRun]) -> list[RunLine]:
    """Return a line for every run, its guarantee or its trouble first."""
    return [
        RunLine(
            number=run.number,
            name=run.name,
            folder=run.folder.name,
            guarantee="" if run.claim is None else guarantee(run.claim),
            trouble=run.trouble,
        )
        for run in runs
    ]


def _figure(group: ComparableResults) -> ResultFigure | None:
    chart = group.chart()
    if chart is None:
        return None
    return ResultFigure(
        chart=chart,
        metric=group.metric,
        cover=group.cover,
        runs=", ".join(str(run.number) for run in group.runs),
        has_levels=any(run.claim is None for run in group.runs),
        has_baseline=group.baseline is not None,
        has_intervals=group.has_intervals,
    )


def compare_json(runs: Sequence[ComparedRun]) -> dict[str, Any]:
    """Return the comparison under fixed names."""
    joint = joint_cost(runs)
    composed = joint.composed
    return {
        "runs": [_run_json(run) for run in runs],
        "together": {
            "runs": list(joint.counted),
            "epsilon": None if composed is None else composed.epsilon,
            "delta": None if composed is None else composed.delta,
            "delta_sampler": None if composed is None else composed.delta_sampler,
            "unit": None if composed is None else composed.unit,
            "neighbours": None if composed is None else composed.neighbours,
            "replace_one": None if composed is None else composed.replace_one,
            "accountant": None if composed is None else composed.accountant,
            "sentence": joint.sentence,
            "left_out": list(joint.left_out),
            "people": joint.people,
        },
        "comparable": [
            {"runs": [run.number for run in group.runs], **dict(group.terms)}
            for group in result_groups(runs)
        ],
        "differences": {
            each.key: [value or None for value in each.values]
            for each in setting_differences(runs)
        },
        "warnings": [PLANNED, OTHERS, CHOOSING],
    }


def _run_json(run: ComparedRun) -> Mapping[str, Any]:
    claim, dossier = run.claim, run.dossier
    metrics = None if dossier is None else dict(dossier.measured.metrics)
    return {
        "run": run.number,
        "folder": str(run.folder),
        "name": run.name,
        "verified": dossier is not None,
        "trouble": run.trouble,
        "same_as": run.same_as,
        "claim": None
        if claim is None
        else {
            "epsilon": claim.epsilon,
            "delta": claim.delta,
            "unit": claim.unit,
            "neighbours": claim.neighbours,
            "replace_one": claim.label.epsilon,
            "accountant": claim.accountant.name,
            "trust": claim.trust,
            "tiers": {name: row.epsilon for name, row in claim.tiers.items()},
        },
        "metrics": metrics,
        "covered_by": COVER[metrics_kind(dossier)] if dossier and metrics else None,
    }


def metric_line(run: ComparedRun) -> tuple[str, str]:
    """Return the deciding metric as text with its name; empty where there is none."""
    if run.dossier is None or run.metric is None:
        return "", ""
    return f"{run.metric:.3f}", metric_name(run.dossier)
