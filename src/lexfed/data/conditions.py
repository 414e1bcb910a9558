# SPDX-License-Identifier: Apache-2.0
"""A public rule on the columns of a row, such as `age < 18 and pregnant = true`.

    rule        comparison, or several with `and` between them
    comparison  column, one of `<  <=  >  >=  =  !=`, value; or column `in [value, ...]`
    column      its name, in backquotes where it is not one word
    value       a number, a text in quotes, `true` or `false`

Nothing else: no calls, no arithmetic, nothing that is run. A rule only names declared
columns and values, so it says nothing about data.

A missing value could be any value. A comparison with one therefore holds, and a row is
left out only if what is known of it says so.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from lexfed.arrays import Bools
from lexfed.data.schema import Column, Schema
from lexfed.data.table import Table
from lexfed.errors import ConfigError, Problem

Operator = Literal["<", "<=", ">", ">=", "=", "!=", "in"]
ComparedValue = float | str | bool

LONGEST = 1000
"""More characters than any rule needs."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])"
    r"|\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'"
    r"|`(?P<quoted>[^`]+)`|(?P<word>[^\W\d]\w*)"
    r"|(?P<sign><=|>=|!=|==|[<>=\[\],]))"
)
_ORDER: Mapping[str, np.ufunc] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
_FORM = 'write for example `age < 18`, `ward in ["a", "b"]` or `a > 1 and b = true`'


@dataclass(frozen=True)
class Comparison:
    """One column against one value, or against the values of a list."""

    column: str
    operator: Operator
    values: tuple[ComparedValue, ...]


@dataclass(frozen=True)
class RowCondition:
    """Comparisons that must all hold, with the rule's text as a person wrote it."""

    text: str
    comparisons: tuple[Comparison, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule reads, each once."""
        return tuple(dict.fromkeys(each.column for each in self.comparisons))


def parse_condition(text: str) -> RowCondition:
    """Read a rule, or raise `ConfigError` if it is none.

    Guarantees:
        Whatever the text, nothing of it is run, and only `ConfigError` is raised.
    """
    if len(text) > LONGEST:
        raise _wrong(text, f"is longer than {LONGEST} characters")
    return RowCondition(text, _Reader(text).comparisons())


def _wrong(text: str, what: str, hint: str = _FORM) -> ConfigError:
    short = text if len(text) <= 60 else f"{text[:57]}..."
    return ConfigError([Problem(f"rule `{short}`", what, hint)])


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if match is None:
                raise _wrong(text, f"cannot be read from `{text[at:].strip()[:20]}` on")
            kind = match.lastgroup or ""
            self._tokens.append((kind, match[kind]))
            at = match.end()
        self._at = 0

    def comparisons(self) -> tuple[Comparison, ...]:
        comparisons = [self._comparison()]
        while self._at < len(self._tokens):
            if self._next() != ("word", "and"):
                raise _wrong(self._text, "has no `and` between its comparisons")
            comparisons.append(self._comparison())
        return tuple(comparisons)

    def _next(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            raise _wrong(self._text, "ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _comparison(self) -> Comparison:
        kind, column = self._next()
        if kind not in ("word", "quoted"):
            raise _wrong(self._text, f"has `{column}` where a column is expected")
        kind, sign = self._next()
        if (kind, sign) == ("word", "in"):
            return Comparison(column, "in", self._list())
        if kind != "sign" or sign in ("[", "]", ","):
            raise _wrong(self._text, f"has `{sign}` where a comparison is expected")
        name = cast(Operator, "=" if sign == "==" else sign)
        return Comparison(column, name, (self._value(),))

    def _list(self) -> tuple[ComparedValue, ...]:
        if self._next() != ("sign", "["):
            raise _wrong(self._text, "has no `[` after `in`")
        values = [self._value()]
        while (token := self._next()) != ("sign", "]"):
            if token != ("sign", ","):
                raise _wrong(self._text, "has no `,` between the values of a list")
            values.append(self._value())
        return tuple(values)

    def _value(self) -> ComparedValue:
        kind, text = self._next()
        if kind == "number":
            return float(text)
        if kind in ("double", "single"):
            return text
        if kind == "word" and text in ("true", "false"):
            return text == "true"
        raise _wrong(self._text, f"has `{text}` where a value is expected")


def check_condition(condition: RowCondition, schema: Schema) -> None:
    """Compare a rule with the declared columns.

    Raises:
        ConfigError: if it names a column that is not declared, a key or text, compares
            values of another kind, or a comparison can hold for no declared value, or
            for every one.
    """
    for each in condition.comparisons:
        if each.column not in schema.names:
            raise _wrong(condition.text, f"there is no column `{each.column}`", "")
        column = schema.by_name(each.column)
        if each.column in schema.keys or column.kind == "text":
            what = f"`{each.column}` is a key or text: a rule may not read it"
            raise _wrong(condition.text, what, "")
        wrong = _misfit(each, column)
        if wrong:
            raise _wrong(condition.text, f"`{each.column}` {wrong}", "")


def _misfit(comparison: Comparison, column: Column) -> str:
    """Return the reason why a comparison cannot tell rows apart; empty if it can."""
    if column.kind == "number":
        return _misfit_of_number(comparison, column)
    if comparison.operator in _ORDER:
        return f"is a {column.kind}: use `=`, `!=` or `in`"
    if column.kind == "flag":
        if not all(isinstance(value, bool) for value in comparison.values):
            return "is a flag: compare it with `true` or `false`"
        return "would hold for every value" if len(set(comparison.values)) > 1 else ""
    known: tuple[ComparedValue, ...] = column.values or ()
    for value in comparison.values:
        if not isinstance(value, str) or value not in known:
            return f"has no declared value `{value}`"
    if comparison.operator == "in" and set(comparison.values) == set(known):
        return "would hold for every value"
    return ""


def _misfit_of_number(comparison: Comparison, column: Column) -> str:
    low, high = column.range or (0.0, 0.0)
    for value in comparison.values:
        if isinstance(value, str | bool):
            return "is a number: compare it with one"
        if comparison.operator in _ORDER:
            order = _ORDER[comparison.operator]
            ends = {bool(order(end, value)) for end in (low, high)}
            if len(ends) == 1:
                held = "every" if True in ends else "no"
                return f"would hold for {held} value of its declared range"
        elif not low <= value <= high:
            return "is compared with a value outside its declared range"
    return ""


def matching_rows(condition: RowCondition, table: Table) -> Bools:
    """Return a mask of the rows for which the rule holds or may hold.

    Guarantees:
        A row depends on its own values of the rule's columns only.
        A missing value never makes a comparison fail.
    """
    result = np.ones(len(table), dtype=np.bool_)
    for comparison in condition.comparisons:
        result &= _held(comparison, table) | table.missing(comparison.column)
    return result


def _held(comparison: Comparison, table: Table) -> Bools:
    column = table.schema.by_name(comparison.column)
    if column.values is not None:
        known: tuple[ComparedValue, ...] = column.values
        wanted = [known.index(value) for value in comparison.values]
        matches = np.isin(table.codes(column.name), wanted)
    else:
        numbers = table.numbers(column.name)
        values = [float(value) for value in comparison.values]
        if comparison.operator in _ORDER:
            return np.asarray(_ORDER[comparison.operator](numbers, values[0]))
        matches = np.isin(numbers, values)
    return ~matches if comparison.operator == "!=" else matches
