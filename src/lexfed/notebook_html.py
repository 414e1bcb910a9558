# SPDX-License-Identifier: Apache-2.0
"""Tables as notebooks show them: a little HTML, in which every text is escaped.

Names of columns and reasons are anybody's. They become text, whatever they hold, and
characters that do not show are spelled out; there is no script, link, style sheet or
picture. A saved notebook holds what it shows, so nothing here shows a value.
"""

from collections.abc import Iterable, Sequence
from html import escape

from lexfed.visible_text import visible

_LEFT = ' style="text-align: left"'


def html_table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    notes: Iterable[str] = (),
) -> str:
    r"""Return a table below its caption, and notes below the table.

    >>> html_table("Columns", [], [], ["<b> & \x1b[2K"])
    '<p><strong>Columns</strong></p>\n<p>&lt;b&gt; &amp; \\u001b[2K</p>'
    """
    head = "".join(f"<th{_LEFT}>{_text(each)}</th>" for each in header)
    lines = [f"<p><strong>{_text(caption)}</strong></p>"]
    body = [
        "<tr>" + "".join(f"<td{_LEFT}>{_text(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    ]
    if body:
        lines.append(f"<table><thead><tr>{head}</tr></thead><tbody>")
        lines += [*body, "</tbody></table>"]
    lines += [f"<p>{_text(note)}</p>" for note in notes]
    return "\n".join(lines)


def _text(value: object) -> str:
    return escape(visible(" ".join(str(value).split())))
