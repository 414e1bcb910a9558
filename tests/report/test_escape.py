# SPDX-License-Identifier: Apache-2.0
"""Text of others stays text in Markdown and CSV; another program's parser judges."""

import csv
import io
import re
from html import unescape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lexfed.report.markup.escaping import csv_cell, markdown, markdown_code, visible

HOSTILE = [
    "<script>alert(1)</script>",
    "[click](https://evil.example)",
    "![x](https://evil.example/a.png)",
    "https://evil.example",
    "www.evil.example",
    "mailto:a@b.example",
    "| a | b |",
    "`code`",
    "# heading",
    "- item",
    "+ item",
    "1. item",
    "===",
    "---",
    "**bold** _it_ ~~gone~~",
    "&lt;b&gt; &#x3c;",
    "a\nb\n\n# c",
    "\\<b\\>",
    "$x$",
    "<!-- hidden -->",
    "a\u202eb\u200bc",
    "    indented",
    "> quoted",
    "``a`` ```",
]
PARSER = MarkdownIt("gfm-like", {"linkify": False}).enable("table")
TAG = re.compile(r"<[^>]*>")


def _text(html: str) -> str:
    return unescape(TAG.sub("", html)).strip()


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_markdown_shows_hostile_text_as_it_is(hostile: str) -> None:
    html = PARSER.render(f"{markdown(hostile)}\n")
    assert _text(html) == visible(hostile)
    assert set(TAG.findall(html)) == {"<p>", "</p>"}


@given(st.text(min_size=1, max_size=30))
@example("*a*")
@example("\\")
@example("!")
def test_markdown_shows_any_text_as_it_is(text: str) -> None:
    shown = visible(text)
    html = PARSER.render(f"x {markdown(text)}\n")
    assert _text(html) == f"x {shown}".strip()
    assert set(TAG.findall(html)) == {"<p>", "</p>"}


@given(st.text(min_size=1, max_size=30).filter(lambda text: visible(text) != ""))
@example("`")
@example("a|b")
@example("a`|`b")
def test_code_in_a_table_shows_any_text_as_it_is(text: str) -> None:
    table = f"| a |\n|---|\n| {markdown_code(text)} |\n"
    html = PARSER.render(table)
    cells = re.findall(r"<td><code>(.*?)</code></td>", html)
    assert [unescape(cell) for cell in cells] == [visible(text)]


@given(st.text(max_size=30))
@example("=1+2")
@example("+1")
@example("-1")
@example("@SUM(A1)")
@example("\t=1")
@example("\r\n=1")
@example("\uff1d1")
@example("%0A")
def test_no_cell_is_a_formula(text: str) -> None:
    written = io.StringIO()
    csv.writer(written).writerow([csv_cell(text)])
    cell = next(csv.reader(io.StringIO(written.getvalue())))[0]
    assert not cell.lstrip().startswith(tuple("=+-@|%\uff1d\uff0b\uff0d\uff20"))
    assert "\n" not in cell
    assert cell.removeprefix("'") == visible(text).removeprefix("'")


def test_marks_that_turn_text_around_are_spelled_out() -> None:
    assert visible("pay\u202eload\x00") == "pay\\u202eload\\u0000"
