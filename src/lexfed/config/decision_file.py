# SPDX-License-Identifier: Apache-2.0
"""Decisions about columns in a file of their own, as the page of tags downloads them.

    [law.columns]
    "blood group" = { tier = "special", category = "health", reason = "ward note" }

Such a file holds `[law.columns]` and nothing else. It is read as strictly as a
configuration, and its decisions go into one by `with_decisions`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from lexfed.config.edits import ColumnDecision
from lexfed.config.tables.field_types import ConfigTable, NonEmptyText
from lexfed.config.tables.root import LawColumnTable
from lexfed.config.text.findings import (
    Finding,
    findings_of,
    hidden_in,
    syntax_finding,
    undecided_in,
)
from lexfed.config.text.positions import KeyPath, key_lines, nearest_line
from lexfed.config.text.repair import without_lists
from lexfed.config.text.wording import dotted
from lexfed.errors import ConfigError, Problem, system_reason
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.toml_text import parse_toml

_SHAPE = (
    "a file of decisions holds `[law.columns]` and nothing else; the page of "
    "`lexfed tag FILE --html tags.html` writes one"
)


class _Law(ConfigTable):
    columns: Mapping[NonEmptyText, LawColumnTable]


class _DecisionFile(ConfigTable):
    law: _Law


@dataclass(frozen=True)
class FiledDecisions:
    """The decisions of a file by column, each with its place in the file."""

    decisions: Mapping[str, ColumnDecision]
    places: Mapping[str, str]


def read_decisions(path: Path) -> FiledDecisions:
    """Read a file of decisions.

    Raises:
        ConfigError: with every problem of the file, each with its line.
    """
    text = _text(path).removeprefix("\ufeff")
    lines = key_lines(text)
    try:
        tables = without_lists(parse_toml(text))
    except (ValueError, RecursionError) as error:
        finding, line = syntax_finding(text, error)
        where = f"{path}:{line}"
        raise ConfigError([Problem(where, finding.what, finding.hint)]) from error
    findings = [*_strange(tables), *undecided_in(tables), *hidden_in(tables)]
    known = frozenset(finding.path for finding in findings)
    try:
        found = _DecisionFile.model_validate(tables)
    except ValidationError as error:
        wrong = findings_of(error.errors(include_url=False))
        findings += [one for one in wrong if not _is_below(one.path, known)]
        raise ConfigError(_problems(findings, path, lines)) from error
    if findings:
        raise ConfigError(_problems(findings, path, lines))
    return FiledDecisions(
        {
            name: ColumnDecision(
                entry.tier, entry.category or "", entry.reason, entry.by
            )
            for name, entry in found.law.columns.items()
        },
        {
            name: f"{path}:{nearest_line(lines, ('law', 'columns', name))}"
            for name in found.law.columns
        },
    )


def _text(path: Path) -> str:
    try:
        return read_plain(path, MOST_OF_A_DOCUMENT, links=True).decode()
    except OSError as error:
        what = f"cannot be read: {system_reason(error)}"
        raise ConfigError([Problem(str(path), what, _SHAPE)]) from error
    except UnicodeDecodeError as error:
        what = "not UTF-8 text"
        raise ConfigError([Problem(str(path), what, _SHAPE)]) from error


def _strange(tables: Mapping[str, object]) -> list[Finding]:
    """Return a finding for everything that is no decision about a column."""
    law = tables.get("law")
    paths: list[KeyPath] = [(name,) for name in tables if name != "law"]
    if isinstance(law, Mapping):
        paths += [("law", name) for name in law if name != "columns"]
    if not isinstance(law, Mapping) or "columns" not in law:
        paths.insert(0, ())
    return [
        Finding(
            path,
            f"`{dotted(path)}` is no decision about a column"
            if path
            else "holds no decisions: `[law.columns]` is missing",
            _SHAPE,
        )
        for path in paths
    ]


def _is_below(path: KeyPath, known: frozenset[KeyPath]) -> bool:
    return any(path[: len(above)] == above for above in known)


def _problems(
    findings: list[Finding], path: Path, lines: Mapping[KeyPath, int]
) -> list[Problem]:
    """Return the findings as problems, in the order of the file."""
    placed = [(nearest_line(lines, each.path), each) for each in findings]
    return [
        Problem(f"{path}:{line}", each.what, each.hint)
        for line, each in sorted(placed, key=lambda pair: pair[0])
    ]
