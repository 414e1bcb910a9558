# SPDX-License-Identifier: Apache-2.0
"""Configurations and data that commands work on, and the places of their problems.

Some choices can only be judged with the data or the model at hand: such a problem names
its key, and `located_errors` gives the key its file and line. Columns without a tier
get a hint from their name alone; the data are not read for it.
"""

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePath

from lexfed.cli import talk
from lexfed.config import Config, ConfigProblem
from lexfed.config.examination import config_text
from lexfed.config.open_decisions import TagSource, tag_source
from lexfed.config.overrides import Override, at_option, examine_overridden
from lexfed.config.text.positions import KeyPath, key_lines, nearest_line
from lexfed.config.text.wording import dotted
from lexfed.errors import ConfigError, Problem
from lexfed.law.articles import TaggedColumn, load_catalogues, with_articles
from lexfed.law.decisions import suggest_by_names
from lexfed.law.explanations import PUBLIC_KINDS, reason_of, rule_of
from lexfed.law.tagger.column_files import table_name
from lexfed.report.markup.escaping import visible
from lexfed.run import PricedRun, priced_file
from lexfed.run.audit_log.opening import check_statements

_KEY = re.compile(r"`\[?([a-z_]+(?:\.[a-z_]+)*)\]?`")
_WORDS = {"model": "federation.model", "sites": "data.sites"}


def allow_own_models(*folders: Path) -> None:
    """Let `model = "module:factory"` name a file next to the configuration.

    The folders come last, so that none takes the place of an installed package.
    """
    sys.path += [str(folder.resolve()) for folder in folders]


def load_config(path: Path, overrides: Sequence[Override] = ()) -> Config:
    """Read a configuration with overrides in place, and say what is worth a word."""
    found = examine_overridden(path, overrides)
    if found.config is None:
        raise ConfigError(with_suggestions(path, found.problems))
    for note in found.notes:
        talk.warn(str(note))
    return found.config


def load_priced(
    path: Path,
    config: Config,
    rounds: int | None = None,
    *,
    interrupted: Path | None = None,
    overrides: Sequence[Override] = (),
) -> PricedRun:
    """Read the data and price the run; nothing is spent.

    `interrupted` is the folder of a run that is to be continued, and `overrides` are
    the values of `config` that its file does not have.
    """
    allow_own_models(Path(), path.parent)
    with located_errors(path, overrides):
        priced = priced_file(path, config, rounds, interrupted=interrupted)
        priced.ledger()
        check_statements(priced, path.parent)
    # For the holder of the data: what was bent to fit the declarations.
    for line in priced.population.remarks():
        talk.say(f"  data     {line}")
    return priced


@contextmanager
def located_errors(path: Path, overrides: Sequence[Override] = ()) -> Iterator[None]:
    """Give every problem raised inside its place in the configuration file."""
    try:
        yield
    except ConfigError as error:
        located = located_problems(path, error.problems, overrides)
        raise ConfigError(located) from error


def located_problems(
    path: Path, problems: tuple[Problem, ...], overrides: Sequence[Override] = ()
) -> list[Problem]:
    """Return the problems, each with file and line, or the option that it is about."""
    lines = key_lines(config_text(path))
    return [
        problem
        if isinstance(problem, ConfigProblem)
        else at_option(_place(path, lines, problem), overrides, lines)
        for problem in problems
    ]


def _place(path: Path, lines: dict[KeyPath, int], problem: Problem) -> ConfigProblem:
    match = _KEY.match(problem.where)
    word = problem.where.split(":", 1)[0]
    key = match[1] if match else _WORDS.get(word, "")
    line = nearest_line(lines, tuple(key.split("."))) if key else None
    where = str(path) if line is None else f"{path}:{line}"
    return ConfigProblem(where, str(problem), problem.hint, str(path), line, key)


def with_suggestions(
    path: Path, problems: Sequence[ConfigProblem]
) -> tuple[ConfigProblem, ...]:
    """Return the problems; those of columns without a tier say what they look like.

    Only names are looked at; a configuration too broken for that keeps its hints.
    """
    if not any("has no tier" in p.what or p.key.endswith(".tier") for p in problems):
        return tuple(problems)
    try:
        hints = _hints(tag_source(path), path)
    except ConfigError:
        return tuple(problems)
    return tuple(
        replace(problem, hint=hints.get(problem.what, problem.hint))
        for problem in problems
    )


def _hints(source: TagSource, path: Path) -> dict[str, str]:
    table = table_name(PurePath(str(source.files[0])))
    found = suggest_by_names(
        source.needed, table, source.settings, source.person
    ).values()
    laws = load_catalogues(source.jurisdictions, source.catalogues)
    hints: dict[str, str] = {}
    for tagged in with_articles(tuple(found), laws):
        name = tagged.suggestion.column.name
        key = dotted(("law", "columns", name, "tier"))
        hint = _hint(tagged, path)
        hints[f"column `{name}` has no tier"] = hint
        hints[f"`{key}` is not decided yet"] = hint
    return hints


def _hint(tagged: TaggedColumn, path: Path) -> str:
    found = tagged.suggestion
    rule = rule_of(tagged)
    law = f"rule `{rule.id}`, " if rule else ""
    why = visible(reason_of(found, PUBLIC_KINDS))
    name = shlex.quote(visible(found.column.name))
    file = "" if str(path) == "lexfed.toml" else f"{shlex.quote(str(path))} "
    if found.review:
        return (
            f"it may be {found.category} ({law}{why}), but a person must look: "
            f"`lexfed tag {file}--explain {name}` looks at its values too; accept that "
            f"with `lexfed tag {file}--accept {name}`, or decide under `[law.columns]`"
        )
    return (
        f"it looks like {found.category} ({law}{why}); accept it with "
        f"`lexfed tag {file}--accept {name}`, or state why not under `[law.columns]`"
    )
