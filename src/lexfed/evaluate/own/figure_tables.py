# SPDX-License-Identifier: Apache-2.0
"""The figures behind the answers, as tables in which every line has a small drawing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from markupsafe import Markup

from lexfed.evaluate.comparison.case import CONFIGURED
from lexfed.evaluate.harness.summary import MeanEstimate, Summary, TableLine
from lexfed.evaluate.own.attack_findings import CLAIMS, audited
from lexfed.evaluate.own.interval_drawings import IntervalReading, scale_of, whisker
from lexfed.evaluate.own.paired_lines import metric_of, part_of, word
from lexfed.evaluate.own.policies import (
    CASCADE,
    LOCAL,
    NONE,
    UNIFORM_ATTRIBUTE,
    UNIFORM_RECORD,
)
from lexfed.evaluate.own.questions import (
    ATTRIBUTE,
    AUDIT,
    COST,
    MEMBERSHIP,
    TAILORING,
)
from lexfed.evaluate.own.rounding import down, three, three_up
from lexfed.report.wording.rounding import round_up

_METHODS = {
    NONE: "no protection",
    CONFIGURED: "the configured policy",
    LOCAL: "the same policy, every site alone",
    CASCADE: "a budget for each tier (cascade)",
    UNIFORM_ATTRIBUTE: "uniform noise, sensitive tier protected equally",
    UNIFORM_RECORD: "uniform noise, same ε of the record",
}
_QUALITY = {
    "worst_site_auc": "worst site",
    "worst_site_rmse": "worst site",
    "gap_auc_sex": "gap by sex",
    "gap_auc_age": "gap by age",
    "gap_auc_ethnicity": "gap by ethnicity",
    "retention": "kept above chance",
    "accuracy": "accuracy",
    "majority": "majority class",
}
_SPENT = {
    "record_epsilon": "ε of the record",
    "attribute_epsilon": "ε of a sensitive value",
}
_NOTHING = "–"
SOLVED = "solved"
"""Beginning of the note about a linear model without noise (`exact_solution.py`)."""


@dataclass(frozen=True)
class FigureRow:
    """A line of a table on the page."""

    name: str
    drawing: Markup
    value: str
    interval: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class FigureTable:
    """A table with its heading.

    Attributes:
        anchor: its name in links.
        title: the question, short.
        question: the question in full.
        value: name of the drawn number.
        heads: of the cells.
        caption: an explanation of the lines.
        notes: about single lines.
        more_heads: of a second table, with other figures about the same lines.
        more: cells of the second table, by the name of the line.
    """

    anchor: str
    title: str
    question: str
    value: str
    heads: tuple[str, ...]
    rows: tuple[FigureRow, ...]
    caption: str
    notes: tuple[str, ...]
    more_heads: tuple[str, ...] = ()
    more: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def figure_table(summary: Summary) -> FigureTable:
    """Return a whole table as the page shows it."""
    return _PARTS[summary.table.name](summary)


def _compared(summary: Summary) -> FigureTable:
    lines = summary.lines
    metric = metric_of(*(one for one in lines if one.values)) or "auc"
    readings = [_over_splits(one.values.get(metric)) for one in lines]
    shown = [name for name in _QUALITY if any(name in one.values for one in lines)]
    heads = (f"difference in {word(metric)}", *_SPENT.values())
    cells = [(_signed(one.gains.get(metric)), *_cells(one, _SPENT)) for one in lines]
    against = _METHODS[summary.table.against]
    seeds = summary.table.seeds
    fewer = {
        _METHODS[one.facts["method"]]: part_of(one.values[metric].count, one.seeds)
        for one in lines
        if metric in one.values
    }
    over = f"{seeds} split{'' if seeds == 1 else 's'}"
    if any(fewer.values()):
        over += ", or as many as a line says,"
    caption = (
        f"Mean over {over} with its 95 % interval; differences are to “{against}”, "
        "split by split."
    )
    if metric == "rmse":
        caption += " Errors are on the scale of the declared range; less is better."
    caption += _span(readings)
    rows = tuple(
        replace(row, name=f"{row.name} ({fewer[row.name]})")
        if fewer.get(row.name)
        else row
        for row in _rows(lines, readings, cells)
    )
    part = _part(summary, word(metric), heads, rows, caption)
    more = {_METHODS[one.facts["method"]]: _cells(one, shown) for one in lines}
    named = tuple(_QUALITY[name] for name in shown)
    return replace(part, more_heads=named, more=more if shown else {})


def _attacked(summary: Summary) -> FigureTable:
    lines = summary.lines
    readings = [_over_models(one) for one in lines]
    heads: tuple[str, ...] = ("proof allows",)
    if summary.table.name == ATTRIBUTE:
        heads += ("imputation", "gain over it", "at least")
    cells = []
    for one in lines:
        bound = one.values.get("bound")
        allowed = _NOTHING if bound is None else three_up(bound.mean)
        own = [allowed if one.facts["method"] != NONE else "anything"]
        if summary.table.name == ATTRIBUTE:
            names = ("imputation_auc", "gain", "gain_low")
            own += _cells(one, names)
        cells.append(tuple(own))
    together = " (three attacks together)" if summary.table.name == MEMBERSHIP else ""
    caption = (
        f"AUC of the attack with its 95 % interval{together}; 0.5 is guessing. The "
        "upright line is what the proof allows."
    ) + _span(readings)
    return _part(summary, "AUC", heads, _rows(lines, readings, cells), caption)


def _audited(summary: Summary) -> FigureTable:
    rows, drawn = [], []
    for line in summary.lines:
        claims = audited(line)
        readings = [
            IntervalReading(found, 0.0, found, proven) for _, found, proven in claims
        ]
        drawn += readings
        scale = scale_of(readings)
        for (claim, found, proven), reading in zip(claims, readings, strict=True):
            drawing = whisker(reading, scale, f"ε of {CLAIMS[claim]}")
            found_at_least = f"≥ {down(found)}"
            rows.append(
                FigureRow(
                    CLAIMS[claim], drawing, found_at_least, "", (round_up(proven),)
                )
            )
    caption = (
        "Lower bounds that hold together with a confidence of 95 %; the upright line "
        "is what is proven."
    ) + _span(drawn)
    return _part(summary, "ε found", ("ε proven",), tuple(rows), caption)


_PARTS = {
    COST: _compared,
    TAILORING: _compared,
    MEMBERSHIP: _attacked,
    ATTRIBUTE: _attacked,
    AUDIT: _audited,
}


def _part(
    summary: Summary,
    value: str,
    heads: tuple[str, ...],
    rows: tuple[FigureRow, ...],
    caption: str,
) -> FigureTable:
    table = summary.table
    notes = dict.fromkeys(
        f"{_METHODS[one.facts['method']]}: {_told(note)}"
        for one in summary.lines
        for note in one.notes
        if note.startswith(("refused", "diverged", "the rule", SOLVED))
    )
    return FigureTable(
        table.name,
        table.title,
        table.question,
        value,
        heads,
        rows,
        caption,
        tuple(notes),
    )


def _told(note: str) -> str:
    if note.startswith(SOLVED):
        return "solved exactly: the best linear model, by no steps and no rounds"
    return note


def _rows(
    lines: Sequence[TableLine],
    readings: Sequence[IntervalReading | None],
    cells: Sequence[tuple[str, ...]],
) -> tuple[FigureRow, ...]:
    scale = scale_of(one for one in readings if one is not None)
    return tuple(
        FigureRow(
            _METHODS[line.facts["method"]],
            Markup("") if one is None else whisker(one, scale, "value and interval"),
            _NOTHING if one is None else f"{one.value:.3f}",
            "" if one is None else f"{one.low:.3f} to {one.high:.3f}",
            own,
        )
        for line, one, own in zip(lines, readings, cells, strict=True)
    )


def _span(readings: Sequence[IntervalReading | None]) -> str:
    """Return the sentence with the ends of a table's drawings."""
    drawn = [one for one in readings if one is not None]
    if not drawn:
        return ""
    scale = scale_of(drawn)
    return f" Drawings run from {three(scale.low)} to {three(scale.high)}."


def _over_splits(found: MeanEstimate | None) -> IntervalReading | None:
    return None if found is None else IntervalReading(found.mean, found.low, found.high)


def _over_models(line: TableLine) -> IntervalReading | None:
    if "auc" not in line.values:
        return None
    value, low, high = (line.values[name].mean for name in ("auc", "low", "high"))
    bound = line.values["bound"].mean
    # Without protection the bound is 1: nobody needs a line there.
    return IntervalReading(
        value, low, high, None if line.facts["method"] == NONE else bound
    )


def _cells(line: TableLine, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(_cell(name, line.values.get(name)) for name in names)


def _cell(name: str, found: MeanEstimate | None) -> str:
    if found is None:
        return _NOTHING
    if name in _SPENT:
        return round_up(found.mean)
    return f"{100 * found.mean:.0f} %" if name == "retention" else three(found.mean)


def _signed(found: MeanEstimate | None) -> str:
    if found is None:
        return _NOTHING
    half = "" if found.half is None else f" ± {found.half:.3f}"
    return f"{found.mean:+.3f}{half}".replace("-", "−")
