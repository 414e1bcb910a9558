# SPDX-License-Identifier: Apache-2.0
"""Strings from outside, made harmless for the place they are printed in.

Column names, reasons and statements are whatever somebody wrote. In HTML the template
engine escapes them; Markdown and CSV need rules of their own:

    HTML       <script> in a column name must be text          (autoescape)
    Markdown   links, tables, raw HTML, headings               `markdown`
    CSV        a cell that begins with =, +, -, @ is a formula `csv_cell`
    anywhere   control and direction marks that hide text      `visible`
"""

import re

from lexfed import visible_text

_FORMULA = "=+-@\uff1d\uff0b\uff0d\uff20|%"
"""Beginnings that spreadsheets may take for a formula, wide forms included."""

_INLINE = re.compile(r"([\\`*_\[\]|~$!])")

_BLOCK = re.compile(r"^(?:(?:#{1,6}|[-+])(?=\s|$)|[-=]+$)")
"""Beginnings of a line that would make it a heading, a list or a rule."""


def visible(text: str) -> str:
    r"""Return the text on one line, with characters that hide things spelled out.

    >>> visible("a\u202eb\nc")
    'a\\u202eb c'
    """
    return visible_text.visible(re.sub(r"\s+", " ", text).strip())


def shortened(text: str, most: int) -> str:
    """Return the visible text, cut to at most so many characters."""
    shown = visible(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def markdown(text: str) -> str:
    r"""Return text that Markdown shows as it is, also in a table or at a line's start.

    >>> markdown("[x](https://a) <b> | `c`")
    '\\[x\\](https\\://a) &lt;b&gt; \\| \\`c\\`'
    >>> markdown("# 2 - 1"), markdown("1. item")
    ('\\# 2 - 1', '1\\. item')
    """
    marked = _INLINE.sub(r"\\\1", visible(text))
    marked = _BLOCK.sub(r"\\\g<0>", marked)
    marked = re.sub(r"^(\d{1,9})([.)])(?=\s|$)", r"\1\\\2", marked)
    # Renderers turn bare addresses into links.
    marked = re.sub(r"(?i)\b(https?|ftp|mailto|xmpp):", r"\1\\:", marked)
    marked = re.sub(r"(?i)\bwww\.", lambda found: found.group()[:-1] + "\\.", marked)
    marked = marked.replace("@", "\\@").replace("&", "&amp;")
    return marked.replace("<", "&lt;").replace(">", "&gt;")


def markdown_code(text: str) -> str:
    r"""Return text as a code span, whatever is in it, also in a table.

    >>> markdown_code("age"), markdown_code("a`b|c")
    ('`age`', '`` a`b\\|c ``')
    """
    shown = visible(text).replace("|", r"\|")
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{shown}{space}{fence}"


def csv_cell(text: str) -> str:
    """Return text that a spreadsheet takes for text, whatever it begins with.

    >>> csv_cell("=1+2"), csv_cell("age")
    ("'=1+2", 'age')
    """
    cell = visible(text)
    return f"'{cell}" if cell[:1] and cell[0] in _FORMULA else cell
