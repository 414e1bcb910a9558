# SPDX-License-Identifier: Apache-2.0
"""Read a configuration, or say everything that is wrong with it at once.

>>> loads("[budgets]", "lexfed.toml")
Traceback (most recent call last):
    ...
lexfed.errors.ConfigError: lexfed.toml:1: `version` is missing
lexfed.toml:1: `[run]` is missing
lexfed.toml:1: `[data]` is missing
lexfed.toml:1: `[budget]` is missing
lexfed.toml:1: unknown table `[budgets]`
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lexfed.config.rules import (
    adapt,
    audit,
    budget,
    data,
    importance,
    stricter_budgets,
    training,
    trust,
)
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import (
    Finding,
    findings_of,
    hidden_in,
    syntax_finding,
    undecided_in,
)
from lexfed.config.text.positions import KeyPath, key_lines, nearest_line
from lexfed.config.text.repair import repaired_config, without_keys, without_lists
from lexfed.config.text.wording import dotted
from lexfed.errors import ConfigError, Problem, system_reason
from lexfed.plain_files import read_plain
from lexfed.toml_text import parse_toml

RULES = (
    *data.RULES,
    *budget.RULES,
    *stricter_budgets.CLASS_RULES,
    *importance.RULES,
    *stricter_budgets.SITE_RULES,
    budget.ledgers_are_used,
    *training.RULES,
    *adapt.RULES,
    *trust.RULES,
    *audit.RULES,
)
"""All rules; problems of one line are listed in this order."""

_MOST = 1 << 24
"""Bytes of the largest configuration that is read."""


@dataclass(frozen=True)
class ConfigProblem(Problem):
    """A problem with its place as data: file as named, line from 1, key as TOML has it.

    `line` is `None` when there is no text, `key` empty when the whole file is meant.
    """

    file: str = ""
    line: int | None = None
    key: str = ""


@dataclass(frozen=True)
class Examination:
    """A configuration, or every problem of it in the order of the file.

    `config` is `None` when there are problems; `notes` are remarks on what is allowed.
    """

    config: Config | None
    problems: tuple[ConfigProblem, ...]
    notes: tuple[ConfigProblem, ...]

    def require(self) -> Config:
        """Return the configuration, or raise `ConfigError` with every problem."""
        if self.config is None:
            raise ConfigError(self.problems)
        return self.config


def load(path: Path | str) -> Config:
    """Read a configuration file, or raise `ConfigError` with every problem by line."""
    return examine_file(path).require()


def loads(text: str, name: str = "lexfed.toml") -> Config:
    """Read a configuration from text; `name` stands for the file in messages."""
    return examine(text, name).require()


def from_mapping(tables: Mapping[str, Any], name: str = "configuration") -> Config:
    """Read a configuration from Python values, under the rules of the file."""
    return examine_tables(without_lists(tables), name, None).require()


def examine_file(path: Path | str) -> Examination:
    """Look at a file; a file that cannot be read is a problem, not an exception."""
    name = str(path)
    try:
        text = config_text(Path(path))
    except FileNotFoundError:
        hint = "write a first version with `lexfed init FILE`, where FILE is your table"
        finding = Finding((), "there is no such file", hint)
    except UnicodeDecodeError:
        finding = Finding((), "not UTF-8 text", "save the file as UTF-8")
    except (OSError, ValueError) as error:
        finding = Finding((), f"cannot be read: {system_reason(error)}")
    else:
        return examine(text, name)
    return Examination(None, (_problem(finding, name, None),), ())


def config_text(path: Path) -> str:
    """Return the text of a configuration file.

    `OSError` or `UnicodeDecodeError` tell that it cannot be read, is no plain file, is
    larger than any configuration, or is not UTF-8.
    """
    # Some Windows editors put a byte-order mark in front of UTF-8.
    return read_plain(path, _MOST, links=True).decode("utf-8-sig")


def examine(text: str, name: str = "lexfed.toml") -> Examination:
    """Look at the text of a configuration and report everything found.

    Guarantees:
        Every problem has a line.
        Whatever the text, nothing is raised.
        The same text gives the same problems in the same order.
    """
    try:
        tables = without_lists(parse_toml(text))
    except (ValueError, RecursionError) as error:
        finding, line = syntax_finding(text, error)
        return Examination(None, (_problem(finding, name, line),), ())
    return examine_tables(tables, name, key_lines(text))


def examine_tables(
    tables: Mapping[str, Any], name: str, lines: Mapping[KeyPath, int] | None
) -> Examination:
    """Look at parsed tables, with tuples for lists; `lines` is None without a text."""
    findings = [*undecided_in(tables), *hidden_in(tables)]
    bad = frozenset(finding.path for finding in findings)
    decided = without_keys(tables, bad)
    config: Config | None
    try:
        config = Config.model_validate(decided)
    except ValidationError as error:
        wrong = findings_of(error.errors(include_url=False))
        findings += [finding for finding in wrong if finding.path not in bad]
        config, removed = repaired_config(decided)
        bad |= removed
    if config is not None:
        by_rules = (finding for rule in RULES for finding in rule(config))
        findings += [finding for finding in by_rules if not _rests_on(finding, bad)]
    problems: list[ConfigProblem] = []
    remarks: list[ConfigProblem] = []
    for finding in findings:
        line = None if lines is None else nearest_line(lines, finding.path)
        (remarks if finding.note else problems).append(_problem(finding, name, line))
    problems.sort(key=lambda problem: problem.line or 0)
    remarks.sort(key=lambda problem: problem.line or 0)
    return Examination(None if problems else config, tuple(problems), tuple(remarks))


def _rests_on(finding: Finding, bad: frozenset[KeyPath]) -> bool:
    """Return True if a key that the finding rests on is already reported."""
    return any(
        path[: len(wrong)] == wrong or wrong[: len(path)] == path
        for path in (finding.path, *finding.also)
        for wrong in bad
    )


def _problem(finding: Finding, name: str, line: int | None) -> ConfigProblem:
    where = name if line is None else f"{name}:{line}"
    key = dotted(finding.path)
    return ConfigProblem(where, finding.what, finding.hint, name, line, key)
