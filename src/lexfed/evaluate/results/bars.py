# SPDX-License-Identifier: Apache-2.0
"""Values with their intervals beside what the proof allows; shares of noise as bars."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from lexfed.evaluate.harness.summary import TableLine
from lexfed.report.markup.svg import (
    AxisScale,
    dot,
    figure,
    line,
    rectangle,
    text,
    ticks,
)

WIDTH, NAMES, ROW = 720.0, 250.0, 18.0


def attacks(lines: Sequence[TableLine], title: str) -> Markup:
    """Draw the AUC of attacks with its interval, and the bound that epsilon implies.

    `low` and `high` of an attack are those of its own interval over records; where a
    line has several seeds their means are drawn.
    """
    shown = [one for one in lines if "auc" in one.values]
    ends = [
        one.values[name].mean for one in shown for name in _ENDS if name in one.values
    ]
    x = AxisScale(min([0.45, *ends]), max([0.6, *ends]), NAMES, WIDTH - 12.0)
    parts = _axis(x, 20.0 + ROW * len(shown), "AUC; the bold mark is the proven bound")
    half = line(x.at(0.5), 8.0, x.at(0.5), 14.0 + ROW * len(shown), "limit")
    parts.append(half)
    for number, one in enumerate(shown):
        y = 20.0 + ROW * number
        values = {name: one.values[name].mean for name in _ENDS if name in one.values}
        name = " · ".join(str(value) for value in one.facts.values() if value)
        parts.append(text(NAMES - 8.0, y + 4.0, name, "end"))
        if "low" in values and "high" in values:
            parts.append(line(x.at(values["low"]), y, x.at(values["high"]), y, "thin"))
        if values.get("bound", 1.0) < 1.0:  # without a proof there is nothing to draw
            at = x.at(values["bound"])
            parts.append(line(at, y - 6.0, at, y + 6.0, "bound"))
        parts.append(dot(x.at(values["auc"]), y))
    return figure(WIDTH, 40.0 + ROW * len(shown), title, parts)


_ENDS = ("auc", "low", "high", "bound")


def shares(found: Mapping[str, float], title: str, what: str) -> Markup:
    """Draw one bar for each name.

    Args:
        found: value of each name, at least 0.
        title: that screen readers speak.
        what: name of the axis.
    """
    x = AxisScale(0.0, max([*found.values(), 0.0]), NAMES, WIDTH - 12.0)
    parts = _axis(x, 16.0 + ROW * len(found), what)
    for number, (name, value) in enumerate(found.items()):
        y = 8.0 + ROW * number
        parts.append(text(NAMES - 8.0, y + 10.0, name, "end"))
        parts.append(rectangle(NAMES, y + 2.0, x.at(value) - NAMES, ROW - 6.0, "bar"))
    return figure(WIDTH, 40.0 + ROW * len(found), title, parts)


def _axis(x: AxisScale, y: float, what: str) -> list[Markup]:
    parts = [text(NAMES - 8.0, y + 12.0, what, "end", "muted")]
    for value in ticks(x.low, x.high, 6):
        parts += [
            line(x.at(value), 6.0, x.at(value), y - 4.0, "grid"),
            text(x.at(value), y + 12.0, f"{value:g}", "middle", "muted"),
        ]
    return parts
