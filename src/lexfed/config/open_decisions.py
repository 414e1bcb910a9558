# SPDX-License-Identifier: Apache-2.0
"""Configurations with open decisions: what a profile learns, and what tagging needs.

    age = { kind = "number", range = "?" }      any number, until a profile is paid for
    ward = { kind = "category" }                any value

To `load_open` an open range or list is no problem, because `lexfed profile` learns it:
they are read as "any number" and as an unknown list, so that all other rules apply.
`tag_source` asks only that what tagging rests on is right: where the data are, whose
law applies, and the tagger's settings. The rest is left to `lexfed check`.
"""

import re
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
from lexfed.config.text.findings import UNDECIDED, undecided_in
from lexfed.config.text.positions import key_lines
from lexfed.config.text.repair import repaired_config, without_keys, without_lists
from lexfed.data.file_format import PLAIN, FileFormat
from lexfed.data.reading.table_sources import table_source
from lexfed.data.reading.typed_cells.database_tables import DatabaseTable
from lexfed.errors import ConfigError, Problem, system_reason
from lexfed.law.tagger.suggestions import TaggerSettings
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.toml_text import parse_toml

ANY_NUMBER = (-1e300, 1e300)
"""Stands for the range of any number; twice as wide is still a number."""
ANY_AMOUNT = (0.0, 1e300)
"""Likewise with `scale = "log"`, which is for numbers from 0 upwards."""
ANY_VALUE = (UNDECIDED, "other")
"""Stands for an unknown list; two values, because a target needs two classes."""


@dataclass(frozen=True)
class OpenConfig:
    """A configuration, and its columns whose range or list is not known yet."""

    config: Config
    columns: tuple[str, ...]


@dataclass(frozen=True)
class OpenExamination:
    """An examination of such a configuration, with its open columns."""

    examination: Examination
    columns: tuple[str, ...]

    def require(self) -> OpenConfig:
        """Return the configuration, or raise `ConfigError` with every problem."""
        return OpenConfig(self.examination.require(), self.columns)


def load_open(path: Path | str) -> OpenConfig:
    """Read a configuration file whose ranges and lists may be open."""
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
    open_columns = {
        column: replaced
        for column, entry in _columns(tables, "data").items()
        if (replaced := _with_stand_in(entry)) is not None
    }
    if open_columns:
        columns = {**tables["data"]["columns"], **open_columns}
        tables = {**tables, "data": {**tables["data"], "columns": columns}}
    examined = examine_tables(tables, name, key_lines(text))
    return OpenExamination(examined, tuple(open_columns))


def _columns(tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return `[data.columns]` or `[law.columns]`; empty where it is no table."""
    table = tables.get(name)
    columns = table.get("columns") if isinstance(table, Mapping) else None
    return columns if isinstance(columns, Mapping) else {}


def _with_stand_in(column: Any) -> dict[str, Any] | None:
    """Return the column with a stand-in for what is open; None if nothing is."""
    if not isinstance(column, Mapping):
        return None
    kind = column.get("kind")
    if kind == "number" and column.get("range", UNDECIDED) == UNDECIDED:
        amounts = column.get("scale") == "log"
        return {**column, "range": ANY_AMOUNT if amounts else ANY_NUMBER}
    if kind == "category" and "buckets" in column:
        return None
    if kind == "category" and column.get("values", UNDECIDED) == UNDECIDED:
        return {**column, "values": ANY_VALUE}
    return None


_TAGGING_KEYS = re.compile(
    r"(data\.source|data\.sites\.files|data\.(separator|missing|encoding|header|sheet|database)|law\.(jurisdictions|catalogues|tagger))(?![\w-])"
)
"""The keys that tagging rests on."""


@dataclass(frozen=True)
class TagSource:
    """The columns of a configuration: their files, and the decisions about them.

    Attributes:
        written: how the files are written; None where nothing is said about it.
        person: the column that says whom a row is about, where it is stated.
        needed: columns that need a tag: declared ones and what they are made from.
        undecided: the needed columns about which nothing is decided yet.
        begun: those about which a part is decided, with the keys that are still open.
            Together with `undecided` they are the columns whose tags `check` asks for.
        unknown: names of decisions about columns that are nowhere declared.
    """

    text: str
    files: tuple[Path | DatabaseTable, ...]
    jurisdictions: tuple[str, ...]
    catalogues: tuple[Path, ...]
    settings: TaggerSettings
    written: FileFormat | None
    person: str | None
    needed: tuple[str, ...]
    undecided: tuple[str, ...]
    begun: Mapping[str, tuple[str, ...]]
    unknown: tuple[str, ...]


def tag_source(path: Path) -> TagSource:
    """Read what tagging needs from a configuration.

    Raises:
        ConfigError: with every problem of the keys that it rests on; if the file
            cannot be read; if the source brings tags of its own.
    """
    text = _read(path)
    plain, config = _repaired(text, path)
    data, base = config.data, path.parent
    if data.built_in:
        hint = "overrule them under `[law.columns]`, with a reason"
        what = f"`{data.source}` brings tags of its own"
        raise ConfigError([Problem(str(path), what, hint)])
    if data.in_memory:
        hint = "from Python: `lexfed.tag(frame)`"
        what = "its table is a data frame in the memory of a program"
        raise ConfigError([Problem(str(path), what, hint)])
    listed = (data.sites.files if data.sites else None) or (data.source,)
    files = tuple(
        table_source(file, base, data.database) for file in listed if file is not None
    )
    if not files:
        hint = 'name a file, for example `source = "patients.csv"` under `[data]`'
        raise ConfigError([Problem(str(path), "`data.source` names no file", hint)])
    declared, entries = _columns(plain, "data"), _columns(plain, "law")
    made_from = [
        source
        for column in declared.values()
        if isinstance(column, Mapping) and isinstance(column.get("sources"), list)
        for source in column["sources"]
        if isinstance(source, str)
    ]
    # A decision about a column that does not exist is a mistake, and not open.
    site = data.sites.column if data.sites else None
    keys = {data.person, site} & set(entries) if declared else entries
    needed = tuple(filter(None, dict.fromkeys((*declared, *made_from, *keys))))
    open_keys = {name: open_parts(entries[name]) for name in needed if name in entries}
    return TagSource(
        text=text,
        files=files,
        jurisdictions=config.law.jurisdictions,
        catalogues=tuple(base / file for file in config.law.catalogues),
        settings=config.law.tagger.settings,
        written=None if data.written == PLAIN else data.written,
        person=data.person,
        needed=needed,
        undecided=tuple(n for n in needed if n not in entries or is_open(entries[n])),
        begun={n: k for n, k in open_keys.items() if k and not is_open(entries[n])},
        unknown=tuple(name for name in entries if name not in needed),
    )


def stated_decisions(source: TagSource) -> dict[str, Mapping[str, Any]]:
    """Return the entries of `[law.columns]` as they are written."""
    plain = parse_toml(source.text.removeprefix("\ufeff"))
    return {
        name: {k: v for k, v in entry.items() if (k, v) != ("by", "person")}
        for name, entry in _columns(plain, "law").items()
        if isinstance(entry, Mapping)
    }


def is_open(entry: object) -> bool:
    """Return True if nothing is decided in an entry of `[law.columns]`."""
    if isinstance(entry, Mapping):
        return all(value == UNDECIDED for value in entry.values())
    return entry == UNDECIDED


def open_parts(entry: object) -> tuple[str, ...]:
    """Return the keys of an entry of `[law.columns]` that nobody has decided."""
    if not isinstance(entry, Mapping):
        return ()
    named = dict.fromkeys(("tier", "reason", *entry))
    return tuple(key for key in named if entry.get(key, UNDECIDED) == UNDECIDED)


def _read(path: Path) -> str:
    try:
        # The mark that some editors put in front stays part of the text.
        return read_plain(path, MOST_OF_A_DOCUMENT, links=True).decode()
    except OSError as error:
        what = f"cannot be read: {system_reason(error)}"
        hint = "write one with `lexfed init FILE`, where FILE is your table"
        raise ConfigError([Problem(str(path), what, hint)]) from error
    except UnicodeDecodeError as error:
        hint = "save the file as UTF-8"
        raise ConfigError([Problem(str(path), "not UTF-8 text", hint)]) from error


def _repaired(text: str, path: Path) -> tuple[Mapping[str, Any], Config]:
    """Return the tables of a text, and as much of them as is a configuration."""
    body = text.removeprefix("\ufeff")
    problems = examine(body, str(path)).problems
    try:
        plain = parse_toml(body)
        tables = without_lists(plain)
    except (ValueError, RecursionError) as error:
        raise ConfigError(problems) from error
    serious = [
        problem
        for problem in problems
        if _TAGGING_KEYS.match(problem.key) and "not decided yet" not in problem.what
    ]
    if serious:
        raise ConfigError(serious)
    undecided = [finding.path for finding in undecided_in(tables)]
    config, _ = repaired_config(without_keys(tables, undecided))
    if config is None:
        raise ConfigError([Problem(str(path), "is no configuration of lexfed")])
    return plain, config
