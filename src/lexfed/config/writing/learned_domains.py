# SPDX-License-Identifier: Apache-2.0
"""Write what a profile learned into a `lexfed.toml`, and touch nothing else.

    age = { kind = "number", range = "?" }   becomes   range = [0, 110]
    ward = { kind = "category" }             becomes   values = ["a", "b"]

and `[data]` says which profile it is from. Comments, order and line ends stay, as in
`amend.py`, and the result is read again before anybody gets it.
"""

import copy
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lexfed.config.search_grid import set_key
from lexfed.config.text.positions import KeyPath, TextPositions, text_positions
from lexfed.config.text.wording import quoted
from lexfed.config.writing.column_decisions import Edit, lines_after, with_edits
from lexfed.errors import ConfigError, Problem

DATA: KeyPath = ("data",)
PROFILE: KeyPath = ("data", "profile")


@dataclass(frozen=True)
class LearnedDomain:
    """What is declared about a column from now on: its range, or its values."""

    range: tuple[float, float] | None = None
    values: tuple[str, ...] | None = None

    @property
    def key(self) -> str:
        """Which key of the column it is."""
        return "values" if self.range is None else "range"

    @property
    def plain(self) -> list[float] | list[str]:
        """The value of the key."""
        if self.range is not None:
            return [_short(end) for end in self.range]
        return list(self.values or ())

    @property
    def written(self) -> str:
        """The value as TOML writes it."""
        items = [quoted(v) if isinstance(v, str) else repr(v) for v in self.plain]
        return f"[{', '.join(items)}]"


def _short(number: float) -> float | int:
    """Return a whole number as one, where it is not too long to read."""
    return int(number) if number == int(number) and abs(number) < 1e15 else number


def with_learned_domains(
    text: str, learned: Mapping[str, LearnedDomain], profile: str, name: str
) -> str:
    """Return the text of a configuration with what a profile learned in it.

    Args:
        text: the configuration; valid TOML that declares these columns.
        learned: by column.
        profile: folder of the profile, as the configuration should name it.
        name: stands for the file in messages.

    Guarantees:
        The result says what the text said, and what was learned.
        Every character outside `[data]` and its columns stays.

    Raises:
        ConfigError: if `[data]` is written in a way that cannot be added to.
    """
    where = text_positions(text)
    wanted = copy.deepcopy(tomllib.loads(text))
    set_key(wanted, PROFILE, profile)
    edits = [*_edit(text, where, PROFILE, quoted(profile))]
    for column, found in learned.items():
        path = ("data", "columns", column, found.key)
        set_key(wanted, path, found.plain)
        edits += _edit(text, where, path, found.written)
    result = with_edits(text, edits, wanted)
    if result is None:
        what = "cannot add to `[data]` as it is written here"
        hint = "write `[data]` and `[data.columns]` as tables, or fill in by hand"
        raise ConfigError([Problem(name, what, hint)])
    return result


def _edit(text: str, where: TextPositions, path: KeyPath, value: str) -> Iterator[Edit]:
    """Set a key: in place, in its inline table, or below the last line of its table."""
    table, line = path[:-1], f"{path[-1]} = {value}"
    if path in where.values:
        yield (*where.values[path], value)
    elif table in where.values:
        begin, stop = where.values[table]
        # Blanks before the closing brace stay behind what is added.
        end = begin + len(text[begin : stop - 1].rstrip())
        yield end, end, f", {line}"
    elif table in where.ends:
        yield lines_after(text, where.ends[table], [line])
