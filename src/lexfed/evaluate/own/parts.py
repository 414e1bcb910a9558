# SPDX-License-Identifier: Apache-2.0
"""The figures behind the answers, as tables in which every line has a small drawing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from markupsafe import Markup

from lexfed.evaluate.methods.case import CONFIGURED
from lexfed.evaluate.own.attacked import CLAIMS, audited
from lexfed.evaluate.own.drawings import Reading, scale_of, whisker
from lexfed.evaluate.own.lines import metric_of, part_of, word
from lexfed.evaluate.own.numbers import down, three, three_up
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
from lexfed.evaluate.summary import Estimate, Line, Summary
from lexfed.report.digits import up

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
"""How the note about a linear model without noise begins (`exact.py`)."""


@dataclass(frozen=True)
class Row:
    """A line of a table on the page."""

    name: str
    drawing: Markup
    value: str
    interval: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """A table with its heading.

    Attributes:
        anchor: its name in links.
        title: the question, short.
        question: how it was asked.
        value: what the drawn number is.
        heads: of the cells.
        rows: its lines.
        caption: how to read them.
        notes: what a reader must know about single lines.
        more_heads: of a second table, with other figures about the same lines.
        more: cells of the second table, by the name of the line.
    """

    anchor: str
    title: str
    question: str
    value: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    caption: str
    notes: tuple[str, ...]
    more_heads: tuple[str, ...] = ()
    more: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def shown(summary: Summary) -> Part:
    """Return a whole table as the page shows it."""
    return _PARTS[summary.table.name](summary)


def _compared(summary: Summary) -> Part:
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


def _attacked(summary: Summary) -> Part:
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


def _audited(summary: Summary) -> Part:
    rows, drawn = [], []
    for line in summary.lines:
        claims = audited(line)
        readings = [Reading(found, 0.0, found, proven) for _, found, proven in claims]
        drawn += readings
        scale = scale_of(readings)
        for (claim, found, proven), reading in zip(claims, readings, strict=True):
            drawing = whisker(reading, scale, f"ε of {CLAIMS[claim]}")
            found_at_least = f"≥ {down(found)}"
            rows.append(Row(CLAIMS[claim], drawing, found_at_least, "", (up(proven),)))
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
    rows: tuple[Row, ...],
    caption: str,
) -> Part:
    table = summary.table
    notes = dict.fromkeys(
        f"{_METHODS[one.facts['method']]}: {_told(note)}"
        for one in summary.lines
        for note in one.notes
        if note.startswith(("refused", "diverged", "the rule", SOLVED))
    )
    return Part(
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
    lines: Sequence[Line],
    readings: Sequence[Reading | None],
    cells: Sequence[tuple[str, ...]],
) -> tuple[Row, ...]:
    scale = scale_of(one for one in readings if one is not None)
    return tuple(
        Row(
            _METHODS[line.facts["method"]],
            Markup("") if one is None else whisker(one, scale, "value and interval"),
            _NOTHING if one is None else f"{one.value:.3f}",
            "" if one is None else f"{one.low:.3f} to {one.high:.3f}",
            own,
        )
        for line, one, own in zip(lines, readings, cells, strict=True)
    )


def _span(readings: Sequence[Reading | None]) -> str:
    """Say where the drawings of a table begin and end."""
    drawn = [one for one in readings if one is not None]
    if not drawn:
        return ""
    scale = scale_of(drawn)
    return f" Drawings run from {three(scale.low)} to {three(scale.high)}."


def _over_splits(found: Estimate | None) -> Reading | None:
    return None if found is None else Reading(found.mean, found.low, found.high)


def _over_models(line: Line) -> Reading | None:
    if "auc" not in line.values:
        return None
    value, low, high = (line.values[name].mean for name in ("auc", "low", "high"))
    bound = line.values["bound"].mean
    # Without protection the bound is 1: nobody needs a line there.
    return Reading(value, low, high, None if line.facts["method"] == NONE else bound)


def _cells(line: Line, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(_cell(name, line.values.get(name)) for name in names)


def _cell(name: str, found: Estimate | None) -> str:
    if found is None:
        return _NOTHING
    if name in _SPENT:
        return up(found.mean)
    return f"{100 * found.mean:.0f} %" if name == "retention" else three(found.mean)


def _signed(found: Estimate | None) -> str:
    if found is None:
        return _NOTHING
    half = "" if found.half is None else f" ± {found.half:.3f}"
    return f"{found.mean:+.3f}{half}".replace("-", "−")
