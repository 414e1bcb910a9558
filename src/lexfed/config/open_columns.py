# SPDX-License-Identifier: Apache-2.0
"""Configurations whose ranges and lists of values are not known yet.

    age = { kind = "number", range = "?" }      any number, until a profile is paid for
    ward = { kind = "category" }                any value

`lexfed profile` learns what is open, so here an open range or list is no problem;
everything else must be decided as for training. An open range is read as "any number"
and an open list as a list that nobody knows, so that all other rules apply as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexfed.config.examination import (
    Examination,
    config_text,
    examine,
    examine_file,
    examine_tables,
)
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import UNDECIDED
from lexfed.config.text.positions import key_lines
from lexfed.config.text.repair import without_lists
from lexfed.toml_text import parse_toml

ANY_NUMBER = (-1e300, 1e300)
"""Range of a number of which nothing is known; twice as wide is still a number."""
ANY_AMOUNT = (0.0, 1e300)
"""Likewise with `scale = "log"`, which is for numbers from 0 upwards."""
ANY_VALUE = (UNDECIDED, "other")
"""Stands for a list that nobody knows; two, because a target needs two classes."""


@dataclass(frozen=True)
class OpenConfig:
    """A configuration, and the columns whose range or list is not known yet.

    Attributes:
        config: decided but for these columns.
        columns: their names, in the order of the file.
    """

    config: Config
    columns: tuple[str, ...]


@dataclass(frozen=True)
class OpenExamination:
    """An examination of such a configuration, with its open columns."""

    found: Examination
    columns: tuple[str, ...]

    def require(self) -> OpenConfig:
        """Return the configuration.

        Raises:
            ConfigError: with every problem, if there is any.
        """
        return OpenConfig(self.found.require(), self.columns)


def load_open(path: Path | str) -> OpenConfig:
    """Read a configuration file whose ranges and lists may be open.

    Raises:
        ConfigError: with every problem of the file, each with its line.
    """
    return examine_open_file(path).require()


def examine_open_file(path: Path | str) -> OpenExamination:
    """Look at a file; a file that cannot be read is a problem, not an exception."""
    try:
        text = config_text(Path(path))
    except (OSError, ValueError):
        return OpenExamination(examine_file(path), ())
    return examine_open(text, str(path))


def examine_open(text: str, name: str = "lexfed.toml") -> OpenExamination:
    """Look at the text of a configuration whose ranges and lists may be open.

    Guarantees:
        A text without open ranges and lists is judged as `examine` judges it.
        Whatever the text, nothing is raised.
    """
    try:
        tables = without_lists(parse_toml(text))
    except (ValueError, RecursionError):
        return OpenExamination(examine(text, name), ())
    opened = _opened(tables)
    return OpenExamination(
        examine_tables(opened.tables, name, key_lines(text)), opened.columns
    )


@dataclass(frozen=True)
class _OpenedTables:
    tables: Mapping[str, Any]
    columns: tuple[str, ...]


def _opened(tables: Mapping[str, Any]) -> _OpenedTables:
    """Return the tables with "any number" or "any value" where a column is open."""
    data = tables.get("data")
    columns = data.get("columns") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(columns, Mapping):
        return _OpenedTables(tables, ())
    stood_in = {
        name: entry
        for name, column in columns.items()
        if (entry := _stood_in(column)) is not None
    }
    changed = {**tables, "data": {**data, "columns": {**columns, **stood_in}}}
    return _OpenedTables(changed, tuple(stood_in))


def _stood_in(column: Any) -> dict[str, Any] | None:
    """Return the column with a stand-in for what is open; None if nothing is."""
    if not isinstance(column, Mapping):
        return None
    kind = column.get("kind")
    if kind == "number" and column.get("range", UNDECIDED) == UNDECIDED:
        amounts = column.get("scale") == "log"
        return {**column, "range": ANY_AMOUNT if amounts else ANY_NUMBER}
    if kind == "category" and column.get("values", UNDECIDED) == UNDECIDED:
        return {**column, "values": ANY_VALUE}
    return None
