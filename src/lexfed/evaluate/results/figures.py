# SPDX-License-Identifier: Apache-2.0
"""Which drawing belongs to which table."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from lexfed.evaluate.harness.summary import Result, Summary
from lexfed.evaluate.results.bars import attacks, shares
from lexfed.evaluate.results.curves import curves
from lexfed.evaluate.results.learning_curves import AUC, ROUND, learning_lines
from lexfed.evaluate.results.radar import radar
from lexfed.evaluate.results.svg_files import standalone
from lexfed.report.markup.figures import Panel, budget_panels

_AXES = {
    "epsilon": ("record_epsilon", "ε of the record"),
    "attribute": ("attribute_epsilon", "ε of the sensitive attribute"),
    "alpha": ("alpha", "Dirichlet α"),
    "sites": ("sites", "number of sites"),
}


def draw(summary: Summary) -> Mapping[str, bytes]:
    """Return the figures of a table as SVG files, by name.

    Guarantees:
        A table that is not whole has none.
    """
    table = summary.table
    if not summary.whole or not table.drawing:
        return {}
    drawn: dict[str, Markup] = {}
    title = table.title
    match table.drawing:
        case "radar":
            drawn[table.name] = radar(summary.lines, table.shows, title)
        case "attack":
            drawn[table.name] = attacks(summary.lines, title)
        case "rounds":
            for result in _measured(summary):
                name = _name(table.name, result["job"])
                drawn[name] = _rounds(result["values"])
        case "learning":
            lines = learning_lines(summary.results, table.across)
            drawn[table.name] = curves(lines, ROUND, AUC, title, "rounds")
        case "noise":
            for result in _measured(summary):
                name = _name(table.name, result["job"])
                drawn[name] = shares(
                    result["values"]["noise"], title, "noise over clip, all rounds"
                )
        case axis:
            fact, what = _AXES[axis]
            drawn[table.name] = curves(summary.lines, fact, table.shows[0], title, what)
    return {f"{name}.svg": standalone(drawing) for name, drawing in drawn.items()}


def _measured(summary: Summary) -> list[Result]:
    """Return the results that have values: what was refused has none."""
    return [result for result in summary.results if result["values"]]


def _name(table: str, job: Mapping[str, Any]) -> str:
    return f"{table}-{job['dataset']}-{job['method']}"


def _rounds(values: Mapping[str, Any]) -> Markup:
    panels = [
        Panel(scope, [(number, spent) for number, spent in enumerate(path, 1)], None)
        for scope, path in values["rounds_by_scope"].items()
    ]
    longest = max((len(panel.spent) for panel in panels), default=1)
    return budget_panels(panels, longest)
