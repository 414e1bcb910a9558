# SPDX-License-Identifier: Apache-2.0
"""A map of distances to the additive model: tables by factor against epsilon.

Every cell has its number, so that no colour is needed to read it. The darker, the
farther below; what is above has a frame. One hue that differs in lightness is told
apart by everyone and in print.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from markupsafe import Markup

from lexfed.evaluate.harness.summary import TableLine
from lexfed.report.markup.svg import figure, rectangle, text

_OVER = "over additive"
_NAMES, _CELL, _ROW, _GAP = 188.0, 40.0, 16.0, 10.0
"""Widths of names, cells and gaps between methods, and the height of a row."""
_HEAD, _FOOT = 46.0, 40.0
_SHADES = (
    (0.01, "#f7fbff", False),
    (0.03, "#deebf7", False),
    (0.06, "#c6dbef", False),
    (0.10, "#9ecae1", False),
    (0.20, "#6baed6", False),
    (float("inf"), "#08519c", True),
)
"""How far below at most, its colour, and whether its number is white."""
STYLE = (
    "text.light{fill:#fff}.above{fill:#fff;stroke:#1a1a1a;stroke-width:1.4}"
    + "".join(
        f".shade{place}{{fill:{colour}}}"
        for place, (_, colour, _) in enumerate(_SHADES)
    )
)

_Column = tuple[str, float | None]
"""A method and an epsilon; None where no budget changes it."""


def distance_map(
    lines: Sequence[TableLine], title: str, group_of: Callable[[str], str]
) -> Markup:
    """Draw how far each method is below the additive model, for each table and budget.

    Lines without a distance are left out; `group_of` names the factor of a table.
    """
    found = {
        (str(one.facts["dataset"]), (str(one.facts["method"]), _epsilon(one))): value
        for one in lines
        if (value := one.values.get(_OVER)) is not None
    }
    tables = list(dict.fromkeys(name for name, _ in found))
    columns = _in_order(column for _, column in found)
    places = _places(columns)
    width = max(places.values(), default=_NAMES) + _CELL + 8.0
    parts = _heads(places)
    y, group = _HEAD, ""
    for table in tables:
        if group_of(table) != group:
            group = group_of(table)
            parts.append(text(4.0, y + 12.0, group, style="strong"))
            y += _ROW
        parts.append(text(_NAMES - 8.0, y + 12.0, table, "end", "small"))
        for column, x in places.items():
            value = found.get((table, column))
            if value is not None:
                parts += _cell(value.mean, x, y)
        y += _ROW
    return figure(width, y + _FOOT, title, [*parts, *_legend(y + 14.0)])


def _epsilon(line: TableLine) -> float | None:
    stated = line.facts.get("record_epsilon")
    return None if stated is None else float(stated)


def _in_order(columns: Iterable[_Column]) -> list[_Column]:
    """Return each column once: methods with budgets first, the last of them leading."""
    known = list(dict.fromkeys(columns))
    budgets = [method for method, epsilon in known if epsilon is not None]
    others = [method for method, epsilon in known if epsilon is None]
    methods = dict.fromkeys([*reversed(budgets), *others])
    return [column for one in methods for column in known if column[0] == one]


def _places(columns: Sequence[_Column]) -> Mapping[_Column, float]:
    places, x, method = {}, _NAMES, ""
    for column in columns:
        x += _GAP if method and column[0] != method else 0.0
        places[column], method = x, column[0]
        x += _CELL
    return places


def _heads(places: Mapping[_Column, float]) -> list[Markup]:
    parts = [text(4.0, 14.0, "AUC (R² of a number) over that of", style="muted")]
    parts.append(text(4.0, 28.0, "the additive model; by ε", style="muted"))
    for method in dict.fromkeys(name for name, _ in places):
        own = [place for (name, _), place in places.items() if name == method]
        middle = (own[0] + own[-1] + _CELL) / 2.0
        parts.append(text(middle, 16.0, method, "middle", "strong"))
    for (_, epsilon), place in places.items():
        word = "" if epsilon is None else f"{epsilon:g}"
        parts.append(text(place + _CELL / 2.0, 36.0, word, "middle", "muted"))
    return parts


def _cell(value: float, x: float, y: float) -> list[Markup]:
    middle, height = x + _CELL / 2.0, y + 12.0
    word = f"{'−' if value < 0.0 else '+'}{f'{abs(value):.3f}'.lstrip('0')}"
    if value > _SHADES[0][0]:
        box = rectangle(x + 1.0, y + 1.0, _CELL - 2.0, _ROW - 2.0, "above")
        return [box, text(middle, height, word, "middle", "small")]
    place = _shade(value)
    light = " light" if _SHADES[place][2] else ""
    box = rectangle(x + 0.5, y + 0.5, _CELL - 1.0, _ROW - 1.0, f"shade{place}")
    return [box, text(middle, height, word, "middle", f"small{light}")]


def _shade(value: float) -> int:
    return next(place for place, (most, _, _) in enumerate(_SHADES) if -value <= most)


def _legend(y: float) -> list[Markup]:
    parts = [text(4.0, y + 12.0, "below by at most", style="muted")]
    x = 104.0
    for place, (most, _, _) in enumerate(_SHADES):
        last = place == len(_SHADES) - 1
        word = "more" if last else f"{most:.2f}".lstrip("0")
        parts.append(rectangle(x, y, 20.0, _ROW, f"shade{place}"))
        parts.append(text(x + 24.0, y + 12.0, word, style="muted"))
        x += 58.0
    parts.append(rectangle(x + 1.0, y + 1.0, 18.0, _ROW - 2.0, "above"))
    parts.append(text(x + 24.0, y + 12.0, "above by more than .01", style="muted"))
    return parts
