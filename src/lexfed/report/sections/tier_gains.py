# SPDX-License-Identifier: Apache-2.0
"""Each tier's gain for the model, as far as somebody measured it."""

from dataclasses import dataclass

from markupsafe import Markup

from lexfed.audit.entries import PolicyEntry
from lexfed.report.dossier import Dossier
from lexfed.report.markup.charts import metric_curve
from lexfed.report.wording.plain_words import METRICS, tier_name
from lexfed.report.wording.rounding import count, metric

BASELINES = {"auc": 0.5, "r2": 0.0}
"""Metrics of a model that tells nothing, where that is a fixed number."""


@dataclass(frozen=True)
class TierGain:
    """The metric with the towers up to a tier."""

    name: str
    value: str
    change: str


def gain_rows(dossier: Dossier) -> tuple[TierGain, ...]:
    """Return one row per tower, in the order in which they were trained."""
    gains = dossier.measured.gains
    if len(gains) < 2:
        return ()
    rows: list[TierGain] = []
    before: float | None = None
    for tier, value in gains.items():
        name = tier_name(tier) if not rows else f"and {tier_name(tier)}"
        change = "" if before is None else f"{value - before:+.3f}"
        rows.append(TierGain(name, f"{value:.3f}", change.replace("-", "−")))
        before = value
    return tuple(rows)


def no_gains(dossier: Dossier) -> str:
    """Return the reason why there is nothing to show."""
    if not dossier.rounds:
        return "nothing was released"
    if metrics_kind(dossier) == "paid":
        return "metrics were bought from the budget, and a tier at a time was not"
    policy = dossier.entry(PolicyEntry)
    if policy is not None and policy.mechanism != "cascade":
        return (
            f"with mechanism {policy.mechanism} one part of the model reads all tiers"
        )
    if len(dossier.measured.gains) == 1:
        return "the model reads columns of one tier only"
    return "the run folder has no metrics on test rows"


def metrics_kind(dossier: Dossier) -> str:
    """Return the kind of metrics on test rows: `evaluation.metrics`."""
    kind = str(dossier.table("evaluation").get("metrics", "outside-guarantee"))
    return kind if kind in METRICS else "outside-guarantee"


def metrics_note(dossier: Dossier) -> str:
    """Return the sentence about the source of the metrics."""
    text = METRICS[metrics_kind(dossier)]
    return f"{text[0].upper()}{text[1:]}."


def curve(dossier: Dossier) -> Markup | None:
    """Draw the metric after each round; None where it was not measured."""
    rows = dossier.measured.by_round
    if len(rows) < 2 or not dossier.rounds:
        return None
    entries = [each.entry for each in dossier.rounds]
    reads = {
        entry.round: tier_name(entry.event.reads)
        for entry in entries
        if entry.event is not None and entry.event.reads
    }
    marked = [(number, reads.get(number, ""), value) for number, _, value in rows]
    planned = max(dossier.planned, rows[-1][0])
    return metric_curve(metric_name(dossier), marked, planned, baseline(dossier))


def baseline(dossier: Dossier) -> float | None:
    """Return the deciding metric of no model at all; None where it is not known."""
    held_out = dossier.measured.held_out
    if dossier.measured.metric == "accuracy" and held_out is not None:
        return held_out.majority
    return BASELINES.get(dossier.measured.metric)


def last_value(dossier: Dossier) -> str:
    """Return the metric after the last round; empty where it was not measured."""
    rows = dossier.measured.by_round
    return f"{rows[-1][2]:.3f}" if rows else ""


def metric_name(dossier: Dossier) -> str:
    """Return the deciding metric as people write it."""
    name = dossier.measured.metric
    return name.upper() if len(name) <= 4 else name


def metrics_line(dossier: Dossier) -> str:
    """Return all metrics of the final model in one line; empty where there are none."""
    return ", ".join(f"{k} {metric(k, v)}" for k, v in dossier.measured.metrics.items())


def rounds_line(dossier: Dossier) -> str:
    """Return the numbers of rounds that were run and planned, as text."""
    planned = count(dossier.planned, "planned round")
    done = len(dossier.rounds)
    if done > dossier.planned:
        return f"{count(done, 'round')} in the budget of {planned}"
    return f"{done} of {planned}"
