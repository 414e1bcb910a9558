# SPDX-License-Identifier: Apache-2.0
"""The results as Markdown, written by the evaluation and never by hand.

A table of which jobs are missing shows none of its figures: it says how many are
missing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lexfed.evaluate.harness.summary import MeanEstimate, TableLine, verdicts
from lexfed.evaluate.harness.tables import PublishedFigure, ResultTable
from lexfed.evaluate.results.extract import MeasuredTable

_HEAD = """\
# Results

Written by `scripts/reproduce`; do not edit. What each method is stands in \
`lexfed/evaluate/methods`, what each table asks in `lexfed/evaluate/catalogue`. Values \
are means over splits with the half-width of a 95 % interval (Student's t). Splits of \
one table share rows; intervals of trainings allow for that, which makes those of 20 \
splits three times as wide, too wide where the noise of a run decides. Accuracy stands \
beside the accuracy of always answering with the more frequent class. Noise is fresh \
in every run; only splits repeat. Every table names the hash of its configuration and \
of the code that measured it.

An attribute's ε is about one value of the most sensitive tier. It is never about the \
outcome that is learned, which the ε of the whole record protects.
"""
_LEARNED = 0.7
"""Part of the rows of a public table that is learned from; the rest are test rows."""
_NAMES = {
    "attribute_epsilon": "attribute ε",
    "record_epsilon": "record ε",
    "alpha": "α",
    "auc": "AUC",
    "ap": "AP",
    "f1": "F1",
}
_NOTHING = "–"


def page(tables: Sequence[MeasuredTable], figures: str) -> str:
    """Return all tables as one page; `figures` is their folder, as seen from it."""
    sections = [section(one, figures) for one in tables]
    links = {one.table.name: f"#{_anchor(one.table)}" for one in tables}
    return "\n".join([head(tables), in_short(tables, links), *sections])


def head(tables: Sequence[MeasuredTable]) -> str:
    """Return the head of results: how to read them, machines, versions."""
    machines = dict.fromkeys(one for table in tables for one in table.machines)
    versions = dict.fromkeys(table.software for table in tables if table.whole)
    lines = [f"- machine: {one}" for one in machines]
    lines += [f"- software: {one}" for one in versions]
    return "\n".join([_HEAD, *lines, ""])


def in_short(tables: Sequence[MeasuredTable], links: Mapping[str, str]) -> str:
    """Return every verdict in one place, with links, and what was missed first."""
    judged = [
        (one.table, verdict)
        for one in tables
        for verdict in verdicts(one.table, one.lines)
    ]
    if not judged:
        return ""
    missed = [(table, one) for table, one in judged if not one.reached]
    lines = [f"## In short\n\n{len(judged)} things were asked; {len(missed)} missed.\n"]
    for table, one in missed:
        why = f" {one.target.reason}" if one.target.reason else ""
        link = f"[{table.title}]({links[table.name]})"
        lines.append(f"- **missed** in {link}: {one}.{why}")
    lines += [
        f"- {one.word} in [{table.title}]({links[table.name]}): {one}"
        for table, one in judged
        if one.reached
    ]
    return "\n".join(lines) + "\n"


def _anchor(table: ResultTable) -> str:
    """Return the name that Markdown readers give a heading."""
    title = table.title.lower()
    return "".join(c for c in title if c.isalnum() or c in " -").replace(" ", "-")


def section(one: MeasuredTable, figures: str, level: int = 2) -> str:
    """Return the section about a table, with a heading of some level."""
    table = one.table
    option = "--quick" if table.name == "quick" else f"--table {table.name}"
    parts = [
        f"{'#' * level} {table.title}\n",
        f"{table.question}\n",
        f"`lexfed evaluate {option}` · {_provenance(one)}\n",
    ]
    if not one.whole:
        parts.append(
            f"**Not whole**: {one.runs} of {len(table.jobs)} runs are there, so no "
            "figure is shown.\n"
        )
        return "\n".join(parts)
    if not one.current:
        parts.append(
            "**Measured before the table changed**: what it asks now has the "
            f"configuration `{table.digest}`.\n"
        )
    place = f"{figures}/" if figures else ""
    reasons = dict.fromkeys((each.source, each.reason) for each in table.published)
    judged = "\n".join(
        f"- {verdict.word if verdict.reached else '**missed**'}: {verdict}"
        for verdict in verdicts(table, one.lines)
    )
    parts += [
        lines_table(one),
        *(f"![{table.title}]({place}{name})\n" for name in one.figures),
        "".join(f"- published by {source}: {why}.\n" for source, why in reasons),
        f"Asked of this table:\n\n{judged}\n" if judged else "",
        "".join(f"- {', '.join(who)}: {note}\n" for note, who in one.notes.items()),
    ]
    return "\n".join(part for part in parts if part)


def _provenance(one: MeasuredTable) -> str:
    """Say with which configuration and code, when and where a table was measured."""
    seeds = f"{one.table.seeds} seed{'' if one.table.seeds == 1 else 's'}"
    runs = f"{one.runs or len(one.table.jobs)} runs, {seeds}"
    facts = [f"configuration `{one.configuration}`", f"code `{one.code}`", runs]
    if one.minutes:
        facts.append(f"{one.minutes:.1f} minutes of one core")
    if one.dates:
        facts.append(f"measured {' to '.join(one.dates)}, on {', '.join(one.machines)}")
    return " · ".join(facts)


def lines_table(measured: MeasuredTable) -> str:
    """Return the lines of a table in Markdown, with gains and published figures."""
    table, lines = measured.table, measured.lines
    shown = [m for m in table.shows if any(m in one.values for one in lines)]
    facts = [
        fact
        for fact in table.across
        if fact != "rows" and any(one.facts[fact] is not None for one in lines)
    ]
    head = [*map(heading, facts), *map(heading, shown)]
    gain = bool(table.against) and bool(shown)
    if gain:
        head.append(f"gain in {heading(shown[0])} over `{table.against}`")
    if table.published:
        head.append("published")
    body = []
    for one in lines:
        cells = [fact_cell(fact, one.facts) for fact in facts]
        cells += [
            value_cell(one.values.get(metric), metric, one.seeds) for metric in shown
        ]
        if gain:
            cells.append(gain_cell(one.gains.get(shown[0]), one.seeds))
        if table.published:
            cells.append(_beside(one, table.published))
        body.append(cells)
    rows = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows) + "\n"


def heading(name: str) -> str:
    """Return what people call a fact or a metric."""
    return _NAMES.get(name, name.replace("_", " "))


def fact_cell(name: str, facts: Mapping[str, Any]) -> str:
    """Return a fact of a line; a data set with the rows that are learned from."""
    value = facts[name]
    if value is None:
        return _NOTHING
    if name == "dataset" and facts.get("rows"):
        return f"{value} ({round(_LEARNED * facts['rows']):,} rows to learn from)"
    return f"{value:g}" if isinstance(value, float) else str(value)


def value_cell(mean: MeanEstimate | None, metric: str, seeds: int) -> str:
    """Return a mean with the half-width of its interval."""
    if mean is None:
        return _NOTHING
    places = 3
    if metric.endswith("_bytes"):
        places = 0
    elif metric == "rounds" or metric.endswith("seconds") or abs(mean.mean) >= 100:
        places = 2
    half = f" ± {mean.half:.{places}f}" if mean.half else ""
    return f"{mean.mean:.{places}f}{half}{_of(mean, seeds)}"


def gain_cell(gain: MeanEstimate | None, seeds: int) -> str:
    """Return a difference with its sign and the half-width of its interval."""
    if gain is None:
        return _NOTHING
    return f"{gain.mean:+.3f} ± {gain.half or 0.0:.3f}{_of(gain, seeds)}"


def _of(mean: MeanEstimate, seeds: int) -> str:
    """Say so where some of the seeds have no number."""
    return "" if mean.count == seeds else f" ({mean.count} of {seeds})"


def _beside(line: TableLine, published: Sequence[PublishedFigure]) -> str:
    figures = (
        f"{one.value:.3f} ({one.source})" for one in published if line.agrees(one.where)
    )
    return ", ".join(figures) or _NOTHING
