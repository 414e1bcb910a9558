# SPDX-License-Identifier: Apache-2.0
"""Results that may stand in one chart, and how sure their test rows leave them.

Results are comparable if they measured the same on rows of the same data for the same
target, and if their epsilons speak of the same unit and relation. Nothing is ranked
across groups, nor inside one: each run drew its own test rows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from lexfed.audit.entries import PolicyEntry
from lexfed.report.comparison.compared_runs import ComparedRun
from lexfed.report.comparison.together import data_name
from lexfed.report.dossier import Dossier
from lexfed.report.markup.charts import ChartPoint, metric_by_epsilon
from lexfed.report.sections.result import COVER
from lexfed.report.sections.tier_gains import BASELINES, metric_name, metrics_kind
from lexfed.report.wording.plain_words import NEIGHBOURS, UNITS

_Z = 1.959963984540054  # two-sided 95 %


@dataclass(frozen=True)
class ComparableResults:
    """The common terms of some runs, each by name, and the runs that share them."""

    terms: tuple[tuple[str, str], ...]
    metric: str
    cover: str
    runs: tuple[ComparedRun, ...]
    baseline: float | None

    @property
    def has_intervals(self) -> bool:
        """True if test rows by class say how sure a point is."""
        return any(metric_interval(run.dossier) is not None for run in self.runs)

    def chart(self) -> Markup | None:
        """Draw the metric over epsilon; None for fewer than two runs to draw."""
        points = [
            ChartPoint(
                str(run.number),
                run.claim.epsilon,
                run.metric,
                metric_interval(run.dossier),
            )
            for run in self.runs
            if run.claim is not None and run.dossier is not None
            if run.metric is not None
        ]
        levels = [
            (str(run.number), run.metric)
            for run in self.runs
            if run.claim is None and run.metric is not None
        ]
        if not points or len(points) + len(levels) < 2:
            return None
        return metric_by_epsilon(self.metric, points, levels, self.baseline)


def result_groups(runs: Sequence[ComparedRun]) -> tuple[ComparableResults, ...]:
    """Return the runs with a result, in groups that may be compared."""
    groups: dict[tuple[tuple[str, str], ...], list[ComparedRun]] = {}
    for run in runs:
        if run.dossier is None or run.metric is None or run.same_as is not None:
            continue
        groups.setdefault(_terms(run.dossier), []).append(run)
    return tuple(
        ComparableResults(
            terms,
            metric_name(members[0].dossier),
            COVER[metrics_kind(members[0].dossier)],
            tuple(members),
            BASELINES.get(members[0].dossier.measured.metric),
        )
        for terms, members in groups.items()
        if members[0].dossier is not None
    )


def _terms(dossier: Dossier) -> tuple[tuple[str, str], ...]:
    policy, table = dossier.entry(PolicyEntry), dossier.table("data")
    schema = None if dossier.tagged is None else dossier.tagged.schema
    return (
        ("metric", metric_name(dossier)),
        ("cover", COVER[metrics_kind(dossier)]),
        ("data", data_name(dossier)),
        ("target", "not known" if schema is None else schema.target),
        (
            "key of a person",
            str(table.get("person", "") if schema is None else schema.person),
        ),
        ("share of test rows", str(float(table.get("test_size", 0.2)))),
        ("unit", "" if policy is None else UNITS[policy.unit]),
        ("relation", "" if policy is None else NEIGHBOURS[policy.neighbours]),
    )


def apart(groups: Sequence[ComparableResults]) -> str:
    """Return the terms in which groups differ; empty for one group."""
    if len(groups) < 2:
        return ""
    names = [name for name, _ in groups[0].terms]
    values = [dict(group.terms) for group in groups]
    return ", ".join(n for n in names if len({each[n] for each in values}) > 1)


def metric_interval(dossier: Dossier | None) -> tuple[float, float] | None:
    """Return the 95 % interval of an AUC over draws of test rows [Hanley, McNeil 1982].

    None for other metrics, without the test rows by class, where their numbers are
    noised, and where a person may have several rows, which are not independent. It
    says nothing about noise: another run has another model.
    """
    policy = None if dossier is None else dossier.entry(PolicyEntry)
    if policy is None or policy.records_per_person != 1:
        return None
    held_out = None if dossier is None else dossier.measured.held_out
    if dossier is None or held_out is None or dossier.measured.metric != "auc":
        return None
    if metrics_kind(dossier) == "paid" or len(held_out.confusion) != 2:
        return None
    negatives, positives = (sum(row) for row in held_out.confusion)
    area = dossier.measured.metrics.get("auc")
    if area is None or not 0.0 <= area <= 1.0 or not negatives or not positives:
        return None
    first, second = area / (2.0 - area), 2.0 * area**2 / (1.0 + area)
    variance = (
        area * (1.0 - area)
        + (positives - 1) * (first - area**2)
        + (negatives - 1) * (second - area**2)
    ) / (positives * negatives)
    half = _Z * math.sqrt(max(variance, 0.0))
    return max(0.0, area - half), min(1.0, area + half)
