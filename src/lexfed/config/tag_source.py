# SPDX-License-Identifier: Apache-2.0
"""Sources of tagging in a `lexfed.toml` that may still be full of open decisions.

`lexfed init` leaves a "?" wherever a person must decide, and tags are among the first
things to decide. So only what tagging rests on must be right: where the data are, whose
law applies, and the tagger's settings. The rest is left to `lexfed check`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexfed.config.examination import ConfigProblem, examine
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import UNDECIDED, undecided_in
from lexfed.config.text.repair import repaired_config, without_keys, without_lists
from lexfed.errors import ConfigError, Problem, system_reason
from lexfed.law.tagger.settings import TaggerSettings
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.toml_text import parse_toml

_NEEDED = (
    "data.source", "data.sites.files", "law.jurisdictions", "law.catalogues",
    "law.tagger",
)  # fmt: skip


@dataclass(frozen=True)
class TagSource:
    """The columns of a configuration: their files, and the decisions about them.

    Attributes:
        text: of the configuration, as it was read.
        files: of the data.
        jurisdictions: built-in laws to ask.
        catalogues: files of further laws.
        settings: of the tagger.
        person: the column that says whom a row is about, where it is stated.
        needed: columns that need a tag: declared ones and what they are made from.
        undecided: those of them about which nothing is decided yet.
    """

    text: str
    files: tuple[Path, ...]
    jurisdictions: tuple[str, ...]
    catalogues: tuple[Path, ...]
    settings: TaggerSettings
    person: str | None
    needed: tuple[str, ...]
    undecided: tuple[str, ...]


def tag_source(path: Path) -> TagSource:
    """Read what tagging needs from a configuration.

    Raises:
        ConfigError: with every problem of the keys that it rests on; if the file
            cannot be read; if the source brings tags of its own.
    """
    text = _read(path)
    plain, config = _best(text, path)
    data, base = config.data, path.parent
    if data.built_in:
        raise ConfigError(
            [
                Problem(
                    str(path),
                    f"`{data.source}` brings tags of its own",
                    "overrule them under `[law.columns]`, with a reason",
                )
            ]
        )
    listed = (data.sites.files if data.sites else None) or (data.source,)
    files = tuple(base / file for file in listed if file is not None)
    if not files:
        hint = 'name a file, for example `source = "patients.csv"` under `[data]`'
        raise ConfigError([Problem(str(path), "`data.source` names no file", hint)])
    entries = _columns(plain, "law")
    needed = _needed(plain, entries)
    return TagSource(
        text=text,
        files=files,
        jurisdictions=config.law.jurisdictions,
        catalogues=tuple(base / file for file in config.law.catalogues),
        settings=config.law.tagger.settings,
        person=data.person,
        needed=needed,
        undecided=tuple(n for n in needed if n not in entries or is_open(entries[n])),
    )


def is_open(entry: object) -> bool:
    """Say whether nobody has decided anything in an entry of `[law.columns]`."""
    return isinstance(entry, Mapping) and all(v == UNDECIDED for v in entry.values())


def _read(path: Path) -> str:
    try:
        # The mark that some editors put in front stays part of the text.
        return read_plain(path, MOST_OF_A_DOCUMENT, links=True).decode()
    except OSError as error:
        reason = system_reason(error)
        hint = "write one with `lexfed init FILE`, where FILE is your table"
        raise ConfigError(
            [Problem(str(path), f"cannot be read: {reason}", hint)]
        ) from error
    except UnicodeDecodeError as error:
        hint = "save the file as UTF-8"
        raise ConfigError([Problem(str(path), "not UTF-8 text", hint)]) from error


def _best(text: str, path: Path) -> tuple[Mapping[str, Any], Config]:
    """Return the tables of a text, and as much of them as is a configuration."""
    body = text.removeprefix("\ufeff")
    problems = examine(body, str(path)).problems
    try:
        plain = parse_toml(body)
        tables = without_lists(plain)
    except (ValueError, RecursionError) as error:
        raise ConfigError(problems) from error
    serious = [problem for problem in problems if _matters(problem)]
    if serious:
        raise ConfigError(serious)
    undecided = [finding.path for finding in undecided_in(tables)]
    config, _ = repaired_config(without_keys(tables, undecided))
    if config is None:
        raise ConfigError([Problem(str(path), "is no configuration of lexfed")])
    return plain, config


def _matters(problem: ConfigProblem) -> bool:
    named = any(re.match(rf"{key}(?![\w-])", problem.key) for key in _NEEDED)
    return named and "not decided yet" not in problem.what


def _columns(plain: Mapping[str, Any], table: str) -> Mapping[str, Any]:
    found = plain.get(table)
    columns = found.get("columns") if isinstance(found, Mapping) else None
    return columns if isinstance(columns, Mapping) else {}


def _needed(plain: Mapping[str, Any], entries: Mapping[str, Any]) -> tuple[str, ...]:
    declared = _columns(plain, "data")
    made_from = [
        source
        for column in declared.values()
        if isinstance(column, Mapping) and isinstance(column.get("sources"), list)
        for source in column["sources"]
        if isinstance(source, str)
    ]
    return tuple(
        name for name in dict.fromkeys((*declared, *made_from, *entries)) if name
    )
