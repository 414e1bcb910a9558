# SPDX-License-Identifier: Apache-2.0
"""Columns from `CREATE TABLE` statements of any dialect, without a database.

Names may be bare, "quoted", `quoted` or [quoted]. Descriptions come from
`COMMENT '...'` beside a column (MySQL, Hive) and from `COMMENT ON COLUMN t.c IS '...'`
(PostgreSQL, Oracle). What is not a column, such as keys and checks, is skipped;
statements other than these are ignored.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from lexfed.errors import DataError, Problem
from lexfed.law.tagger.suggestions import DescribedColumn
from lexfed.visible_text import hidden_in, visible

_TOKEN = re.compile(
    r"""
      (?P<comment>--[^\n]*|\#[^\n]*|/\*.*?\*/)
    | (?P<text>'(?:[^'\\]|''|\\.)*')
    | (?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]\n]*\])
    | (?P<word>[^\W\d][\w$\#@]*|\d[\w.]*)
    | (?P<sign>[^\s])
    """,
    re.VERBOSE | re.DOTALL,
)
_NOT_COLUMNS = frozenset(
    {
        "primary", "foreign", "unique", "key", "index", "constraint", "check",
        "fulltext", "spatial", "exclude", "partition", "period", "like", "clustered",
        "nonclustered",
    }
)  # fmt: skip
"""Words that begin what is not a column."""

_Token = tuple[str, str]
"""Its kind, and its text without quotes."""


def columns_of_sql(text: str, where: str) -> tuple[DescribedColumn, ...]:
    """Return the columns of every `CREATE TABLE` statement, in order.

    `DataError` tells that there is none, or that a column is there twice or has a name
    with characters that do not show.
    """
    tokens = list(_tokens(text))
    columns: list[DescribedColumn] = []
    comments: dict[tuple[str, str], str] = {}
    at = 0
    while at < len(tokens):
        if _words(tokens, at, "create"):
            at, found = _create(tokens, at)
            columns += found
        elif _words(tokens, at, "comment", "on", "column"):
            at = _comment(tokens, at + 3, comments)
        else:
            at += 1
    for number, each in enumerate(columns):
        text = comments.get((each.table, each.name), each.description)
        columns[number] = replace(each, description=text)
    _check(columns, where)
    return tuple(columns)


def _check(columns: Sequence[DescribedColumn], where: str) -> None:
    if not columns:
        hint = "give a file with `CREATE TABLE name (column type, ...)`"
        raise DataError([Problem(f"`{where}`", "no `CREATE TABLE` in it", hint)])
    seen: set[tuple[str, str]] = set()
    problems = []
    for column in columns:
        key = (column.table, column.name)
        hidden = hidden_in(column.name) or hidden_in(column.table)
        if hidden:
            what = f"column `{visible(column.name)}` has the hidden `{hidden}`"
            problems.append(Problem(f"`{where}`", what))
        if key in seen:
            what = f"column `{column.name}` of table `{column.table}` is there twice"
            problems.append(Problem(f"`{where}`", what))
        seen.add(key)
    if problems:
        raise DataError(problems[:20])


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind, found = match.lastgroup or "sign", match.group()
        if kind == "text":
            yield kind, found[1:-1].replace("''", "'")
        elif kind == "quoted":
            yield kind, found[1:-1].replace('""', '"').replace("``", "`")
        elif kind != "comment":
            yield kind, found


def _words(tokens: Sequence[_Token], at: int, *words: str) -> bool:
    found = tokens[at : at + len(words)]
    return [text.lower() for kind, text in found if kind == "word"] == list(words)


def _create(tokens: Sequence[_Token], at: int) -> tuple[int, list[DescribedColumn]]:
    """Read from `CREATE` on; return where to go on, and the columns."""
    while at < len(tokens) and tokens[at][0] == "word":
        at += 1
        if _words(tokens, at - 1, "table"):
            break
    else:
        return at, []
    if _words(tokens, at, "if", "not", "exists"):
        at += 3
    at, names = _name(tokens, at)
    if at >= len(tokens) or tokens[at] != ("sign", "(") or not names:
        return at, []
    end, items = _items(tokens, at + 1)
    return end, [column for item in items if (column := _column(item, names[-1]))]


def _name(tokens: Sequence[_Token], at: int) -> tuple[int, list[str]]:
    """Read a name with dots between its parts."""
    parts = []
    while at < len(tokens) and tokens[at][0] in ("word", "quoted"):
        parts.append(tokens[at][1])
        at += 1
        if at < len(tokens) and tokens[at] == ("sign", "."):
            at += 1
        else:
            break
    return at, parts


def _items(tokens: Sequence[_Token], at: int) -> tuple[int, list[list[_Token]]]:
    """Split what is between brackets at its commas."""
    items: list[list[_Token]] = [[]]
    depth = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token == ("sign", "("):
            depth += 1
        elif token == ("sign", ")"):
            if depth == 0:
                break
            depth -= 1
        elif token == ("sign", ",") and depth == 0:
            items.append([])
            continue
        items[-1].append(token)
    return at, items


def _column(item: Sequence[_Token], table: str) -> DescribedColumn | None:
    if not item or item[0][0] not in ("word", "quoted"):
        return None
    kind, name = item[0]
    if kind == "word" and name.lower() in _NOT_COLUMNS:
        return None
    dtype = item[1][1].lower() if len(item) > 1 and item[1][0] == "word" else ""
    description = ""
    for here, after in pairwise(item):
        if here[0] == "word" and here[1].lower() == "comment" and after[0] == "text":
            description = after[1]
    return DescribedColumn(table, name, description, dtype)


def _comment(
    tokens: Sequence[_Token], at: int, comments: dict[tuple[str, str], str]
) -> int:
    at, names = _name(tokens, at)
    if len(names) >= 2 and _words(tokens, at, "is") and at + 1 < len(tokens):
        kind, text = tokens[at + 1]
        if kind == "text":
            comments[names[-2], names[-1]] = text
        return at + 2
    return at
