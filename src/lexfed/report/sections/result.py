# SPDX-License-Identifier: Apache-2.0
"""The result of a run: key figures, metrics beside a baseline, curves, confusion.

What rests on test rows is self-reported and says so; nothing here is
proven by the log but the figures of the guarantee.
"""

import math
from dataclasses import dataclass

from markupsafe import Markup

from lexfed.audit.entries import PolicyEntry
from lexfed.audit.verify import Status
from lexfed.report.dossier import Dossier
from lexfed.report.held_out_scores import HeldOutScores, ScoreGroup
from lexfed.report.markup.charts import calibration_plot, roc_curve
from lexfed.report.markup.escaping import shortened
from lexfed.report.sections.tier_gains import metric_name, metrics_kind
from lexfed.report.wording.plain_words import TIERS, UNITS, tier_name
from lexfed.report.wording.rounding import ERRORS, count, metric, round_up

COVER = {
    "outside-guarantee": "outside the guarantee",
    "public": "on public test rows",
    "paid": "paid for, noised",
}
"""The cover of metrics on test rows, in three words."""

_Z = 1.959963984540054  # two-sided 95 %
_LEAST_GROUPS = 3
"""Fewer groups make no curve."""
_LONGEST_NAME = 24


@dataclass(frozen=True)
class KeyFigure:
    """A figure of the run at a glance; `note` says what it rests on."""

    value: str
    name: str
    note: str


@dataclass(frozen=True)
class Measure:
    """A metric of the model, beside what needs no model at all."""

    name: str
    value: str
    baseline: str
    without: str


@dataclass(frozen=True)
class ConfusionRow:
    """Rows of a class: how many got each class, and the share of those that got it."""

    name: str
    cells: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class MeasuredResult:
    """The part of the report that is measured on test rows.

    Attributes:
        cover: what covers it: nothing, a public declaration, or a paid release.
        rows: the test rows, in words; empty where nobody counted them.
        noised: counts of test rows are a release, so intervals of counts do not hold.
        threshold: the rule by which a row gets its class.
        groups: the numbers behind the curves.
    """

    cover: str
    rows: str
    noised: bool
    measures: tuple[Measure, ...]
    roc: Markup | None
    calibration: Markup | None
    confusion: tuple[ConfusionRow, ...]
    threshold: str
    groups: tuple[tuple[str, str, str], ...]
    is_class: bool


def key_figures(dossier: Dossier) -> tuple[KeyFigure, ...]:
    """Return the figures to see first; none where a check failed.

    Guarantees:
        The whole record's guarantee stands before every tier's.
        What was not paid for is called outside the guarantee.
    """
    if dossier.failures:
        return ()
    figures = []
    measured = dossier.measured.metrics.get(dossier.measured.metric)
    if measured is not None:
        note = COVER[metrics_kind(dossier)]
        figures.append(KeyFigure(f"{measured:.3f}", metric_name(dossier), note))
    claim = dossier.claim
    if claim is None and not dossier.stamp:
        figures += _spent_so_far(dossier)
    if claim is not None and not dossier.stamp:
        figures.append(
            KeyFigure(
                f"ε {round_up(claim.epsilon)}",
                "whole record",
                f"proven, per {UNITS[claim.unit]}",
            )
        )
        strictest = next((tier for tier in TIERS if tier in claim.tiers), None)
        if strictest is not None and claim.mechanism.name == "cascade":
            epsilon = round_up(claim.tiers[strictest].epsilon)
            name = f"{tier_name(strictest)} columns"
            figures.append(KeyFigure(f"ε {epsilon}", name, "proven, per value"))
    passed = sum(check.status is Status.OK for check in dossier.verdict.checks)
    figures.append(KeyFigure(str(passed), "checks passed", "none failed"))
    return tuple(figures)


def _spent_so_far(dossier: Dossier) -> list[KeyFigure]:
    """Return what an unfinished run has spent, by the last entry of its rounds."""
    policy = dossier.entry(PolicyEntry)
    spent = dossier.rounds[-1].entry.epsilon_so_far if dossier.rounds else None
    if policy is None or spent is None:
        return []
    note = f"whole record, per {UNITS[policy.unit]}, not a guarantee"
    return [KeyFigure(f"ε {round_up(spent)}", "spent so far", note)]


def measured_result(dossier: Dossier) -> MeasuredResult | None:
    """Return what was measured on test rows; None if nothing was."""
    metrics, held_out = dossier.measured.metrics, dossier.measured.held_out
    if not metrics:
        return None
    scores, noised = held_out, metrics_kind(dossier) == "paid"
    drawn = scores is not None and len(scores.groups) >= _LEAST_GROUPS
    return MeasuredResult(
        cover=COVER[metrics_kind(dossier)],
        rows=_rows(scores, noised),
        noised=noised,
        measures=tuple(measures(dossier)),
        roc=_roc(scores) if scores is not None and drawn else None,
        calibration=_calibration(scores, noised)
        if scores is not None and drawn
        else None,
        confusion=() if scores is None else tuple(_confusion(scores)),
        threshold=_threshold(scores),
        groups=tuple(_group(each, scores) for each in scores.groups)
        if scores is not None and drawn
        else (),
        is_class=scores is None or bool(scores.threshold),
    )


def measures(dossier: Dossier) -> list[Measure]:
    """Return every metric of the final model, beside what needs no model."""
    metrics, scores = dossier.measured.metrics, dossier.measured.held_out
    baselines = {"auc": ("0.500", "a coin"), "r2": ("0.000", "the mean, always")}
    if scores is not None and scores.majority is not None:
        always = "the most frequent class, always"
        if scores.confusion:
            sizes = [sum(row) for row in scores.confusion]
            always = f"`{_brief(scores.classes[sizes.index(max(sizes))])}`, always"
        baselines["accuracy"] = (f"{scores.majority:.3f}", always)
    r2 = metrics.get("r2")
    if r2 is not None and r2 < 1 and "rmse" in metrics:
        spread = metrics["rmse"] / math.sqrt(1.0 - r2)
        baselines["rmse"] = (metric("rmse", spread), "the mean, always")
    return [
        Measure(_shown(name), metric(name, value), *baselines.get(name, ("", "")))
        for name, value in metrics.items()
    ]


def _shown(name: str) -> str:
    words = name.upper() if len(name) <= 4 else name
    return f"{words}, in units of the target" if name in ERRORS else words


def _roc(scores: HeldOutScores) -> Markup | None:
    points = scores.roc()
    return roc_curve(points, scores.operating_point) if points else None


def _rows(scores: HeldOutScores | None, noised: bool) -> str:
    if scores is None:
        return ""
    rows = count(scores.rows, "test row")
    return f"about {rows}, a count with noise" if noised else rows


def _calibration(scores: HeldOutScores, noised: bool) -> Markup | None:
    points = [(group.score, group.truth) for group in scores.groups]
    intervals = (
        [wilson(group) for group in scores.groups]
        if scores.threshold is not None and not noised
        else []
    )
    return calibration_plot(points, intervals)


def wilson(group: ScoreGroup) -> tuple[float, float]:
    """Return the 95 % interval of a share [Wilson 1927]."""
    share, rows = group.truth, group.rows
    centre = share + _Z**2 / (2 * rows)
    half = _Z * math.sqrt(share * (1 - share) / rows + _Z**2 / (4 * rows**2))
    scale = 1 + _Z**2 / rows
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def _confusion(scores: HeldOutScores) -> list[ConfusionRow]:
    rows = []
    for name, cells in zip(scores.classes, scores.confusion, strict=True):
        total = sum(cells)
        shares = [f"{100 * cell / total:.0f} %" if total else "–" for cell in cells]
        rows.append(ConfusionRow(_brief(name), tuple(zip(cells, shares, strict=True))))
    return rows


def _brief(name: str) -> str:
    return shortened(name, _LONGEST_NAME)


def _threshold(scores: HeldOutScores | None) -> str:
    if scores is None or not scores.confusion:
        return ""
    if scores.threshold is None:
        return "A row gets the class with the highest score."
    called = _brief(scores.classes[-1])
    return f"A row is called `{called}` from a score of {scores.threshold:g} on."


def _group(group: ScoreGroup, scores: HeldOutScores) -> tuple[str, str, str]:
    digits = ".3f" if scores.threshold is not None else ".4g"
    return f"{group.score:{digits}}", f"{group.truth:{digits}}", str(group.rows)
