# SPDX-License-Identifier: Apache-2.0
"""The drawings of tables, as SVG files: curves, attacks beside bounds, bars, radars.

Lines are told apart by dashes and marks, not by colour, so that they can be printed;
each carries its name at its end.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from lexfed.evaluate.datasets.synthetic.suite.tables import group_of
from lexfed.evaluate.harness.summary import (
    OVERLAP,
    MeanEstimate,
    Summary,
    TableLine,
    estimate,
)
from lexfed.evaluate.harness.tables import Result
from lexfed.evaluate.results import distance_map
from lexfed.evaluate.results.budget_panels import Panel, budget_panels
from lexfed.report.markup.svg import (
    AxisScale,
    dot,
    figure,
    line,
    polyline,
    rectangle,
    text,
    ticks,
)

WIDTH, HEIGHT, LABELS = 720.0, 240.0, 110.0
"""Of a drawing, of a panel of curves, and of the names beside curves."""
NAMES, ROW = 250.0, 18.0
"""Width of the names beside bars, and height of a row."""
SIDE, RADIUS, ACROSS = 300.0, 80.0, 3
"""Of a radar, and how many stand side by side."""
LESS_IS_BETTER = frozenset(
    {"brier", "rmse", "seconds", "rounds", "attribute_epsilon", "record_epsilon"}
)
DASHES = ("", "6 3", "2 3", "9 3 2 3", "1 2", "12 4", "4 2 1 2 1 2", "3 6")
_STYLE = (
    "text{font:12px Helvetica,Arial,'Liberation Sans',sans-serif;fill:#1a1a1a}"
    "text.muted{fill:#5a5a5a;font-size:11px}text.strong{font-weight:600}"
    "text.small{font-size:10px}"
    ".ink{stroke:#1a1a1a;stroke-width:1.6;fill:none;stroke-linejoin:round}"
    ".thin,.whisker{stroke:#5a5a5a;stroke-width:1}.grid{stroke:#cfcfcf;"
    "stroke-width:.7;fill:none}"
    ".limit{stroke:#1a1a1a;stroke-width:1;stroke-dasharray:5 4;fill:none}"
    ".dot{fill:#1a1a1a}.bar{fill:#4a4a4a}.soft{fill:#cfcfcf}"
    ".area{fill:#1a1a1a;fill-opacity:.12;stroke:#1a1a1a;stroke-width:1.4}"
    ".box{fill:#fff;stroke:#5a5a5a}.bound{stroke:#1a1a1a;stroke-width:2}"
)
_CSS = _STYLE + "".join(
    f".line{number}{{stroke:#1a1a1a;stroke-width:1.4;fill:none;"
    f"stroke-linejoin:round;stroke-dasharray:{dash or 'none'}}}"
    for number, dash in enumerate(DASHES)
)
_AXES = {
    "epsilon": ("record_epsilon", "ε of the record"),
    "attribute": ("attribute_epsilon", "ε of the sensitive attribute"),
    "alpha": ("alpha", "Dirichlet α"),
    "sites": ("sites", "number of sites"),
}
_ENDS = ("auc", "low", "high", "bound")
ROUND, AUC = "round", "auc"
_POWERS = tuple(2**power for power in range(9))


def draw(summary: Summary) -> Mapping[str, bytes]:
    """Return the figures of a table as SVG files, by name.

    Guarantees:
        A table that is not whole has none.
    """
    table, title = summary.table, summary.table.title
    if not summary.whole or not table.drawing:
        return {}
    drawn: dict[str, Markup] = {}
    match table.drawing:
        case "radar":
            drawn[table.name] = radar(summary.lines, table.shows, title)
        case "attack":
            drawn[table.name] = attacks(summary.lines, title)
        case "distance":
            drawn[table.name] = distance_map.distance_map(
                summary.lines, title, group_of
            )
        case "learning":
            lines = learning_lines(summary.results, table.across)
            drawn[table.name] = curves(lines, ROUND, AUC, title, "rounds")
        case "rounds" | "noise":
            for result in summary.results:
                job, values = result["job"], result["values"]
                if values:  # a refused run has none
                    name = f"{table.name}-{job['dataset']}-{job['method']}"
                    drawn[name] = (
                        _rounds(values)
                        if table.drawing == "rounds"
                        else shares(values["noise"], title)
                    )
        case axis:
            fact, what = _AXES[axis]
            drawn[table.name] = curves(summary.lines, fact, table.shows[0], title, what)
    more = distance_map.STYLE if table.drawing == "distance" else ""
    return {f"{name}.svg": standalone(one, more) for name, one in drawn.items()}


def standalone(drawing: Markup, more: str = "") -> bytes:
    """Return a drawing as the bytes of an SVG file, with its style and some more."""
    opened = drawing.replace(
        Markup("<svg "), Markup('<svg xmlns="http://www.w3.org/2000/svg" '), 1
    )
    styled = opened.replace(
        Markup("</title>"), Markup("</title><style>{}</style>").format(_CSS + more), 1
    )
    return f"{styled}\n".encode()


def _rounds(values: Mapping[str, Any]) -> Markup:
    panels = [
        Panel(scope, [(number, spent) for number, spent in enumerate(path, 1)], None)
        for scope, path in values["rounds_by_scope"].items()
    ]
    return budget_panels(panels, max((len(one.spent) for one in panels), default=1))


def attacks(lines: Sequence[TableLine], title: str) -> Markup:
    """Draw the AUC of attacks with its interval, and the bound that epsilon implies.

    Where a line has several seeds the means of its `low` and `high` are drawn.
    """
    shown = [one for one in lines if "auc" in one.values]
    ends = [
        {name: one.values[name].mean for name in _ENDS if name in one.values}
        for one in shown
    ]
    drawn = [value for values in ends for value in values.values()]
    x = AxisScale(min([0.45, *drawn]), max([0.6, *drawn]), NAMES, WIDTH - 12.0)
    parts = _axis(x, 20.0 + ROW * len(shown), "AUC; the bold mark is the proven bound")
    half = line(x.at(0.5), 8.0, x.at(0.5), 14.0 + ROW * len(shown), "limit")
    parts.append(half)
    for number, (one, values) in enumerate(zip(shown, ends, strict=True)):
        y = 20.0 + ROW * number
        name = " · ".join(str(value) for value in one.facts.values() if value)
        parts.append(text(NAMES - 8.0, y + 4.0, name, "end"))
        if "low" in values and "high" in values:
            parts.append(line(x.at(values["low"]), y, x.at(values["high"]), y, "thin"))
        if values.get("bound", 1.0) < 1.0:  # without a proof there is nothing to draw
            at = x.at(values["bound"])
            parts.append(line(at, y - 6.0, at, y + 6.0, "bound"))
        parts.append(dot(x.at(values["auc"]), y))
    return figure(WIDTH, 40.0 + ROW * len(shown), title, parts)


def shares(values: Mapping[str, float], title: str) -> Markup:
    """Draw the noise on each column as a bar."""
    x = AxisScale(0.0, max([*values.values(), 0.0]), NAMES, WIDTH - 12.0)
    parts = _axis(x, 16.0 + ROW * len(values), "noise over clip, all rounds")
    for number, (name, value) in enumerate(values.items()):
        y = 8.0 + ROW * number
        parts.append(text(NAMES - 8.0, y + 10.0, name, "end"))
        parts.append(rectangle(NAMES, y + 2.0, x.at(value) - NAMES, ROW - 6.0, "bar"))
    return figure(WIDTH, 40.0 + ROW * len(values), title, parts)


def _axis(x: AxisScale, y: float, name: str) -> list[Markup]:
    parts = [text(NAMES - 8.0, y + 12.0, name, "end", "muted")]
    for value in ticks(x.low, x.high, 6):
        parts += [
            line(x.at(value), 6.0, x.at(value), y - 4.0, "grid"),
            text(x.at(value), y + 12.0, f"{value:g}", "middle", "muted"),
        ]
    return parts


_Points = list[tuple[float, MeanEstimate]]


def curves(
    lines: Sequence[TableLine], fact: str, metric: str, title: str, axis: str
) -> Markup:
    """Draw a metric against a fact that was varied, with 95 % intervals.

    There is one line for a method, one panel for a data set. Budgets and partitions are
    varied by factors, so the scale is logarithmic. Lines without fact or metric are
    left out.
    """
    panels: dict[str, dict[str, _Points]] = {}
    for one in lines:
        place, value = one.facts.get(fact), one.values.get(metric)
        if isinstance(place, int | float) and value is not None:
            equal = f", equal {one.facts['equal']} ε" if one.facts.get("equal") else ""
            panel = panels.setdefault(f"{one.facts.get('dataset', '')}{equal}", {})
            method = str(one.facts.get("method", ""))
            panel.setdefault(method, []).append((place, value))
    across = 1 if len(panels) == 1 else 2
    width = WIDTH / across
    parts: list[Markup] = []
    for number, (name, by_method) in enumerate(panels.items()):
        left, top = (number % across) * width, (number // across) * HEIGHT
        ordered = {
            method: sorted(points, key=lambda point: point[0])
            for method, points in by_method.items()
        }
        right, foot = left + width - LABELS, top + HEIGHT - 4.0
        parts.append(text(left, top + 12.0, name, style="strong"))
        parts.append(text(right, foot, f"{axis}, {metric}", "end", "muted"))
        parts += _panel(ordered, left, top, right)
    rows = max(1, math.ceil(len(panels) / across))
    return figure(WIDTH, rows * HEIGHT, title, parts)


def _panel(
    curves: Mapping[str, _Points], left: float, top: float, right: float
) -> list[Markup]:
    places = sorted({place for points in curves.values() for place, _ in points})
    values = [value for points in curves.values() for _, value in points]
    low, high = min(v.low for v in values), max(v.high for v in values)
    x = AxisScale(math.log(places[0]), math.log(places[-1]), left + 40.0, right)
    y = AxisScale(low, high, top + HEIGHT - 34.0, top + 26.0)
    parts: list[Markup] = []
    for mark in ticks(low, y.high, 5):
        parts += [
            line(x.at(x.low), y.at(mark), x.at(x.high), y.at(mark), "grid"),
            text(x.at(x.low) - 6.0, y.at(mark) + 4.0, f"{mark:g}", "end", "muted"),
        ]
    foot = top + HEIGHT - 18.0
    for place in places:
        parts.append(text(x.at(math.log(place)), foot, f"{place:g}", "middle", "muted"))
    ends = []
    for number, (method, points) in enumerate(curves.items()):
        drawn = [(x.at(math.log(place)), y.at(value.mean)) for place, value in points]
        parts.append(polyline(drawn, series(number)))
        for (at, height), (_, value) in zip(drawn, points, strict=True):
            parts.append(line(at, y.at(value.low), at, y.at(value.high), "whisker"))
            parts.append(dot(at, height, 2.2))
        ends.append((drawn[-1][1], method))
    return parts + end_labels(ends, right + 6.0, top + 20.0, top + HEIGHT - 34.0)


def series(number: int) -> str:
    """Return the style of a line; styles repeat when there are very many."""
    return f"line{number % len(DASHES)}"


def end_labels(
    ends: Sequence[tuple[float, str]], x: float, low: float, high: float
) -> list[Markup]:
    """Write names beside the ends of lines, moved apart where they would touch."""
    step = min(12.0, (high - low) / max(len(ends), 1))
    placed: list[tuple[float, str]] = []
    for y, name in sorted(ends):
        placed.append((max(y, placed[-1][0] + step if placed else low), name))
    over = max(0.0, placed[-1][0] - high) if placed else 0.0
    return [text(x, y - over + 3.5, name, style="small") for y, name in placed]


def learning_lines(results: Sequence[Result], across: Sequence[str]) -> list[TableLine]:
    """Return AUCs after 1, 2, 4, 8, ... rounds: how fast each method learns.

    Journals keep some of the rounds: a point is the last one that is known at or before
    its number of rounds, and a run that was over earlier stays where it ended. Results
    without a path of AUCs are left out.
    """
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for result in results:
        values = result["values"]
        if values.get("path") and values.get(AUC) is not None:
            place = tuple(result["job"].get(fact) for fact in across)
            groups.setdefault(place, []).append(values)
    return [
        one
        for place, runs in groups.items()
        for one in _learning(dict(zip(across, place, strict=True)), runs)
    ]


def _learning(
    facts: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]
) -> Iterator[TableLine]:
    longest = max(run["path"][-1][0] for run in runs)
    first = max(run["path"][0][0] for run in runs)
    shared = max(run.get(OVERLAP) or 0.0 for run in runs)
    for number in _POWERS:
        if number < first:
            continue
        known = (
            float([point[1] for point in run["path"] if point[0] <= number][-1])
            for run in runs
        )
        mean = estimate(known, shared)
        if mean is not None:
            yield TableLine({**facts, ROUND: number}, {AUC: mean}, {}, len(runs), ())
        if number >= longest:
            return


def radar(lines: Sequence[TableLine], metrics: Sequence[str], title: str) -> Markup:
    """Draw a small radar for every line that has all of the metrics.

    Every axis runs from the worst to the best of the lines drawn, so a radar says
    nothing about how large a difference is; the table does.
    """
    shown = [one for one in lines if all(metric in one.values for metric in metrics)]
    ranks = {metric: _between(shown, metric) for metric in metrics}
    parts: list[Markup] = []
    for number, one in enumerate(shown):
        x = (number % ACROSS + 0.5) * SIDE
        y = (number // ACROSS + 0.5) * SIDE
        name = str(one.facts.get("method", ""))
        parts.append(text(x, y - RADIUS - 34.0, name, "middle", "strong"))
        parts += _one({metric: ranks[metric][number] for metric in metrics}, x, y)
    rows = max(1, math.ceil(len(shown) / ACROSS))
    return figure(ACROSS * SIDE, rows * SIDE, title, parts)


def _between(lines: Sequence[TableLine], metric: str) -> list[float]:
    """Return where each line is between the worst (0) and the best (1)."""
    sign = -1.0 if metric in LESS_IS_BETTER or metric.startswith("gap_") else 1.0
    values = [sign * one.values[metric].mean for one in lines]
    span = max(values, default=0.0) - min(values, default=0.0)
    return [(value - min(values)) / span if span else 1.0 for value in values]


def _one(values: Mapping[str, float], x: float, y: float) -> list[Markup]:
    parts, corners = [], []
    for number, (metric, value) in enumerate(values.items()):
        angle = 2 * math.pi * number / len(values) - math.pi / 2
        along, down = math.cos(angle), math.sin(angle)
        parts.append(line(x, y, x + RADIUS * along, y + RADIUS * down, "grid"))
        anchor = "middle" if abs(along) < 0.1 else "start" if along > 0 else "end"
        place = x + (RADIUS + 8.0) * along, y + (RADIUS + 12.0) * down + 4.0
        parts.append(text(*place, metric.replace("_", " "), anchor, "muted"))
        # The worst stays visible as a point near the centre.
        reach = RADIUS * (0.08 + 0.92 * value)
        corners.append((x + reach * along, y + reach * down))
    joined = " ".join(f"{at:.2f},{height:.2f}" for at, height in corners)
    parts.append(Markup('<polygon points="{}" class="area"/>').format(joined))
    return parts
