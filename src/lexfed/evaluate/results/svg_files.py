# SPDX-License-Identifier: Apache-2.0
"""A drawing as a file of its own: the shapes of the report, with their style inside.

Lines are told apart by dashes and marks, not by colour, so that they can be printed;
each carries its name at its end.
"""

from collections.abc import Sequence

from markupsafe import Markup

from lexfed.report.markup.svg import text

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


def standalone(drawing: Markup) -> bytes:
    """Return a drawing as the bytes of an SVG file."""
    opened = drawing.replace(
        Markup("<svg "), Markup('<svg xmlns="http://www.w3.org/2000/svg" '), 1
    )
    styled = opened.replace(
        Markup("</title>"), Markup("</title><style>{}</style>").format(_CSS), 1
    )
    return f"{styled}\n".encode()


def series(number: int) -> str:
    """Return the style of a line; styles repeat when there are very many."""
    return f"line{number % len(DASHES)}"


def end_labels(
    ends: Sequence[tuple[float, str]], x: float, low: float, high: float
) -> list[Markup]:
    """Write names beside the ends of lines, moved apart where they would touch.

    Args:
        ends: height and name of each.
        x: where they begin.
        low: highest place on the page that they may take.
        high: lowest place on the page.
    """
    step = min(12.0, (high - low) / max(len(ends), 1))
    placed: list[float] = []
    parts = []
    for y, name in sorted(ends):
        y = max(y, placed[-1] + step if placed else low)
        placed.append(y)
        parts.append((y, name))
    over = max(0.0, placed[-1] - high) if placed else 0.0
    return [text(x, y - over + 3.5, name, style="small") for y, name in parts]
