# SPDX-License-Identifier: Apache-2.0
"""One page for people: three answers, then the figures behind them.

Every line of a table has a small drawing: a value, its interval, and a bound. The page
is made as every page is (`report/markup/page_templates.py`): it asks nobody, runs
nothing, and shows text of others as text.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from markupsafe import Markup

from lexfed.evaluate.comparison.case import CONFIGURED
from lexfed.evaluate.harness.machine import today
from lexfed.evaluate.harness.summary import MeanEstimate, Summary, TableLine
from lexfed.evaluate.own import policies, questions
from lexfed.evaluate.own.findings import (
    CLAIMS,
    audited,
    bracketed,
    down,
    findings,
    metric_of,
    part_of,
    three,
    three_up,
    word,
)
from lexfed.report.markup import svg
from lexfed.report.markup.page_templates import page
from lexfed.report.wording.rounding import round_up

PAGE = "evaluation.html"
INTERNAL = (
    "Internal: not for publication. Every figure comes from the private rows and has "
    "no noise of its own; each evaluation is a look at the data that no budget pays "
    "for."
)
WIDTH, HEIGHT, EDGE = 180.0, 16.0, 6.0
_METHODS = {
    policies.NONE: "no protection",
    CONFIGURED: "the configured policy",
    policies.LOCAL: "the same policy, every site alone",
    policies.CASCADE: "a budget for each tier (cascade)",
    policies.UNIFORM_ATTRIBUTE: "uniform noise, sensitive tier protected equally",
    policies.UNIFORM_RECORD: "uniform noise, same ε of the record",
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
class IntervalReading:
    """A value, the ends of its interval, and the most that a proof allows, if any."""

    value: float
    low: float
    high: float
    bound: float | None = None


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
        value: name of the drawn number.
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


def evaluation_html(
    name: str,
    summaries: Sequence[Summary],
    left_out: Sequence[questions.Omission],
    machine: str,
) -> str:
    """Return the page; `name` is that of the configuration.

    Guarantees:
        No script, no address that a browser would fetch.
        That it is internal stands before every figure.
    """
    answers = findings({one.table.name: one for one in summaries})
    return page(
        PAGE,
        name=name,
        internal=INTERNAL,
        findings=answers,
        alarm=any(one.alarm for one in answers),
        parts=[_PARTS[one.table.name](one) for one in summaries],
        left_out=left_out,
        made=today(),
        machine=machine,
    )


def _compared(summary: Summary) -> FigureTable:
    lines, seeds = summary.lines, summary.table.seeds
    metric = metric_of(*(one for one in lines if one.values)) or "auc"
    means = [one.values.get(metric) for one in lines]
    readings = [
        None if mean is None else IntervalReading(mean.mean, mean.low, mean.high)
        for mean in means
    ]
    shown = [name for name in _QUALITY if any(name in one.values for one in lines)]
    heads = (f"difference in {word(metric)}", *_SPENT.values())
    cells = [(_signed(one.gains.get(metric)), *_cells(one, _SPENT)) for one in lines]
    against = _METHODS[summary.table.against]
    fewer = [
        "" if mean is None else part_of(mean.count, one.seeds)
        for one, mean in zip(lines, means, strict=True)
    ]
    over = f"{seeds} split{'' if seeds == 1 else 's'}"
    if any(fewer):
        over += ", or as many as a line says,"
    caption = (
        f"Mean over {over} with its 95 % interval; differences are to “{against}”, "
        "split by split."
    )
    if metric == "rmse":
        caption += " Errors are on the scale of the declared range; less is better."
    names = [_name(one) + bracketed(few) for one, few in zip(lines, fewer, strict=True)]
    rows = _rows(names, readings, cells)
    part = _part(summary, word(metric), heads, rows, caption + _span(readings))
    more = {_name(one): _cells(one, shown) for one in lines}
    named = tuple(_QUALITY[name] for name in shown)
    return replace(part, more_heads=named, more=more if shown else {})


def _attacked(summary: Summary) -> FigureTable:
    lines = summary.lines
    heads: tuple[str, ...] = ("proof allows",)
    own: tuple[str, ...] = ()
    if summary.table.name == questions.ATTRIBUTE:
        heads += ("imputation", "gain over it", "at least")
        own = ("imputation_auc", "gain", "gain_low")
    readings: list[IntervalReading | None] = []
    cells = []
    for one in lines:
        bound = one.values.get("bound")
        allowed = _NOTHING if bound is None else three_up(bound.mean)
        # Without protection the bound is 1: nobody needs a line there.
        free = one.facts["method"] == policies.NONE
        cells.append(("anything" if free else allowed, *_cells(one, own)))
        if "auc" not in one.values:
            readings.append(None)
            continue
        value, low, high, most = (
            one.values[name].mean for name in ("auc", "low", "high", "bound")
        )
        readings.append(IntervalReading(value, low, high, None if free else most))
    several = summary.table.name == questions.MEMBERSHIP
    together = " (three attacks together)" if several else ""
    caption = (
        f"AUC of the attack with its 95 % interval{together}; 0.5 is guessing. The "
        "upright line is what the proof allows."
    ) + _span(readings)
    rows = _rows(map(_name, lines), readings, cells)
    return _part(summary, "AUC", heads, rows, caption)


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
            name = CLAIMS[claim]
            drawing = whisker(reading, scale, f"ε of {name}")
            least, most = f"≥ {down(found)}", round_up(proven)
            rows.append(FigureRow(name, drawing, least, "", (most,)))
    caption = (
        "Lower bounds that hold together with a confidence of 95 %; the upright line "
        "is what is proven."
    ) + _span(drawn)
    return _part(summary, "ε found", ("ε proven",), tuple(rows), caption)


_PARTS = {
    questions.COST: _compared,
    questions.TAILORING: _compared,
    questions.MEMBERSHIP: _attacked,
    questions.ATTRIBUTE: _attacked,
    questions.AUDIT: _audited,
}


def _part(
    summary: Summary,
    value: str,
    heads: tuple[str, ...],
    rows: tuple[FigureRow, ...],
    caption: str,
) -> FigureTable:
    exact = "solved exactly: the best linear model, by no steps and no rounds"
    notes = dict.fromkeys(
        f"{_name(one)}: {exact if note.startswith(SOLVED) else note}"
        for one in summary.lines
        for note in one.notes
        if note.startswith(("refused", "diverged", "the rule", SOLVED))
    )
    table = summary.table
    title = table.name, table.title, table.question
    return FigureTable(*title, value, heads, rows, caption, tuple(notes))


def _name(line: TableLine) -> str:
    return _METHODS[line.facts["method"]]


def _rows(
    names: Iterable[str],
    readings: Sequence[IntervalReading | None],
    cells: Sequence[tuple[str, ...]],
) -> tuple[FigureRow, ...]:
    scale = scale_of(one for one in readings if one is not None)
    return tuple(
        FigureRow(
            name,
            Markup("") if one is None else whisker(one, scale, "value and interval"),
            _NOTHING if one is None else f"{one.value:.3f}",
            "" if one is None else f"{one.low:.3f} to {one.high:.3f}",
            own,
        )
        for name, one, own in zip(names, readings, cells, strict=True)
    )


def _cells(line: TableLine, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(_cell(name, line.values.get(name)) for name in names)


def _cell(name: str, mean: MeanEstimate | None) -> str:
    if mean is None:
        return _NOTHING
    if name in _SPENT:
        return round_up(mean.mean)
    return f"{100 * mean.mean:.0f} %" if name == "retention" else three(mean.mean)


def _signed(gain: MeanEstimate | None) -> str:
    if gain is None:
        return _NOTHING
    half = "" if gain.half is None else f" ± {gain.half:.3f}"
    return f"{gain.mean:+.3f}{half}".replace("-", "−")


def scale_of(readings: Iterable[IntervalReading]) -> svg.AxisScale:
    """Return a scale that all readings of a table share."""
    places = [
        place
        for one in readings
        for place in (one.low, one.value, one.high, one.bound)
        if place is not None
    ]
    low, high = min(places, default=0.0), max(places, default=1.0)
    return svg.AxisScale(low, high, EDGE, WIDTH - EDGE)


def whisker(reading: IntervalReading, scale: svg.AxisScale, title: str) -> Markup:
    """Draw a value as a dot on its interval, and the bound as an upright line."""
    middle = HEIGHT / 2
    low, high = scale.at(reading.low), scale.at(reading.high)
    parts = [
        svg.line(EDGE, HEIGHT - 1, WIDTH - EDGE, HEIGHT - 1, "grid"),
        svg.line(low, middle, high, middle, "thin"),
        svg.dot(scale.at(reading.value), middle),
    ]
    if reading.bound is not None:
        at = scale.at(reading.bound)
        parts.append(svg.line(at, 1.0, at, HEIGHT - 2, "bound"))
    return svg.figure(WIDTH, HEIGHT, title, parts)


def _span(readings: Sequence[IntervalReading | None]) -> str:
    """Return the sentence with the ends of a table's drawings."""
    drawn = [one for one in readings if one is not None]
    if not drawn:
        return ""
    scale = scale_of(drawn)
    return f" Drawings run from {three(scale.low)} to {three(scale.high)}."
