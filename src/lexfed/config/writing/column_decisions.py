# SPDX-License-Identifier: Apache-2.0
"""Write decisions about columns into a `lexfed.toml`, and touch nothing else.

    [law.columns]
    age = { tier = "?", reason = "?" }          replaced in place
    hiv_status = { tier = "special", ... }      added after the last line

Comments, order, blank lines and line ends are the author's and stay. The result is
read again and compared: it must say what the file said, with the decisions, or nothing
is changed.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lexfed.config.text.findings import UNDECIDED
from lexfed.config.text.positions import KeyPath, TextPositions, text_positions
from lexfed.config.text.wording import dotted, quoted
from lexfed.errors import ConfigError, Problem

LAW_COLUMNS: KeyPath = ("law", "columns")
_MARK = "\ufeff"
"""What some editors put in front of UTF-8."""
Edit = tuple[int, int, str]
"""From where to where the text is replaced, and by what."""


@dataclass(frozen=True)
class ColumnDecision:
    """What a person decided about a column."""

    tier: str
    category: str
    reason: str

    def fields(self) -> dict[str, str]:
        """Return the keys of the decision, in the order in which they are written."""
        return {"tier": self.tier, "category": self.category, "reason": self.reason}

    def inline(self) -> str:
        """Return the decision as an inline table."""
        inner = ", ".join(f"{key} = {quoted(v)}" for key, v in self.fields().items())
        return f"{{ {inner} }}"


def is_open(entry: object) -> bool:
    """Say whether nobody has decided anything in an entry of `[law.columns]`."""
    return isinstance(entry, Mapping) and all(v == UNDECIDED for v in entry.values())


def with_decisions(
    text: str, decisions: Mapping[str, ColumnDecision], name: str
) -> str:
    """Return the text of a configuration with decisions in it.

    Args:
        text: the configuration; valid TOML.
        decisions: by column; none of these columns is decided in the text.
        name: stands for the file in messages.

    Guarantees:
        The result says what the text said, and the decisions.
        Every character outside `[law.columns]` stays.

    Raises:
        ConfigError: if `[law.columns]` is written in a way that cannot be added to.
    """
    if text.startswith(_MARK):
        return _MARK + with_decisions(text.removeprefix(_MARK), decisions, name)
    edits = _edits(text, decisions, text_positions(text))
    result = with_edits(text, edits, _merged(tomllib.loads(text), decisions))
    if result is None:
        lines = "; ".join(_line(key, decision) for key, decision in decisions.items())
        raise ConfigError(
            [
                Problem(
                    name,
                    "cannot add to `[law.columns]` as it is written here",
                    f"write it as a table `[law.columns]`, or add by hand: {lines}",
                )
            ]
        )
    return result


def with_edits(
    text: str, edits: Iterable[Edit], wanted: Mapping[str, Any]
) -> str | None:
    """Return the text with edits in it, if it then says what is wanted; else None."""
    result = text
    for start, stop, new in sorted(edits, reverse=True):
        result = result[:start] + new + result[stop:]
    try:
        return result if tomllib.loads(result) == wanted else None
    except tomllib.TOMLDecodeError:
        return None


def _line(name: str, decision: ColumnDecision) -> str:
    return f"{dotted((name,))} = {decision.inline()}"


def _edits(
    text: str, decisions: Mapping[str, ColumnDecision], where: TextPositions
) -> Iterator[Edit]:
    new: dict[str, ColumnDecision] = {}
    for name, decision in decisions.items():
        path = (*LAW_COLUMNS, name)
        if path in where.values:
            yield (*where.values[path], decision.inline())
        elif path in where.ends:
            yield from _of_own_table(text, path, decision, where)
        else:
            new[name] = decision
    lines = [_line(name, decision) for name, decision in new.items()]
    if not lines:
        return
    if LAW_COLUMNS in where.ends:
        yield lines_after(text, where.ends[LAW_COLUMNS], lines)
    elif LAW_COLUMNS in where.values:
        begin, stop = where.values[LAW_COLUMNS]
        empty = not text[begin + 1 : stop - 1].strip()
        yield stop - 1, stop - 1, f"{' ' if empty else ', '}{', '.join(lines)} "
    else:
        yield lines_after(text, len(text), ["", "[law.columns]", *lines])


def _of_own_table(
    text: str, path: KeyPath, decision: ColumnDecision, where: TextPositions
) -> Iterator[Edit]:
    """Fill in `[law.columns.NAME]`, a table of its own."""
    missing = []
    for key, value in decision.fields().items():
        if (*path, key) in where.values:
            yield (*where.values[(*path, key)], quoted(value))
        else:
            missing.append(f"{key} = {quoted(value)}")
    if missing:
        yield lines_after(text, where.ends[path], missing)


def lines_after(text: str, at: int, lines: list[str]) -> Edit:
    """Return lines added below the line that a position is on."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    at = text.find("\n", at) + 1 or len(text)
    first = "" if text[:at].endswith("\n") or not at else line_end
    return at, at, first + "".join(line + line_end for line in lines)


def _merged(
    plain: dict[str, Any], decisions: Mapping[str, ColumnDecision]
) -> dict[str, Any]:
    columns = plain.setdefault("law", {}).setdefault("columns", {})
    for name, decision in decisions.items():
        columns[name] = decision.fields()
    return plain
