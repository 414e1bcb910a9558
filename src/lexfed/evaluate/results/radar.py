# SPDX-License-Identifier: Apache-2.0
"""Methods compared on several qualities at once: one small radar for each.

Every axis runs from the worst to the best of the methods drawn, so a radar compares
them with each other and says nothing about how large a difference is; the table does.
"""

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from lexfed.evaluate.harness.summary import TableLine
from lexfed.report.markup.svg import figure, line, text

SIDE, RADIUS, ACROSS = 300.0, 80.0, 3
LESS_IS_BETTER = frozenset(
    {"brier", "rmse", "seconds", "rounds", "attribute_epsilon", "record_epsilon"}
)


def radar(lines: Sequence[TableLine], metrics: Sequence[str], title: str) -> Markup:
    """Draw a radar for every line that has all of the metrics."""
    shown = [one for one in lines if all(metric in one.values for metric in metrics)]
    ranks = {metric: _between(shown, metric) for metric in metrics}
    parts: list[Markup] = []
    for number, one in enumerate(shown):
        x = (number % ACROSS + 0.5) * SIDE
        y = (number // ACROSS + 0.5) * SIDE
        name = str(one.facts.get("method", ""))
        parts.append(text(x, y - RADIUS - 34.0, name, "middle", "strong"))
        values = {metric: ranks[metric][number] for metric in metrics}
        parts += _one(values, x, y)
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
        name = metric.replace("_", " ")
        place = x + (RADIUS + 8.0) * along, y + (RADIUS + 12.0) * down + 4.0
        parts.append(text(*place, name, anchor, "muted"))
        # The worst stays visible as a point near the centre.
        reach = RADIUS * (0.08 + 0.92 * value)
        corners.append((x + reach * along, y + reach * down))
    joined = " ".join(f"{at:.2f},{height:.2f}" for at, height in corners)
    parts.append(Markup('<polygon points="{}" class="area"/>').format(joined))
    return parts
