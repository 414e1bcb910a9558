# SPDX-License-Identifier: Apache-2.0
"""Hints on the tier of an undecided column, from its name alone."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lexfed.config import ConfigProblem
from lexfed.config.open_decisions import TagSource, tag_source
from lexfed.config.text.wording import dotted
from lexfed.errors import ConfigError
from lexfed.law.articles import TaggedColumn, load_catalogues, with_articles
from lexfed.law.decisions import suggest_by_names
from lexfed.law.explanations import PUBLIC_KINDS, reason_of, rule_of
from lexfed.law.tagger.sources.column_files import table_name
from lexfed.report.markup.escaping import visible


def with_suggestions(
    path: Path, problems: Sequence[ConfigProblem]
) -> tuple[ConfigProblem, ...]:
    """Return the problems; those of columns without a tier say what they look like.

    The data are not read. Where a configuration is too broken to tell, the hints stay
    as they are.
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
    """Return hints by what is said about the columns."""
    table = table_name(source.files[0])
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
            f"`lexfed tag {file}--explain {name}`; decide under `[law.columns]`"
        )
    return (
        f"it looks like {found.category} ({law}{why}); accept it with "
        f"`lexfed tag {file}--accept {name}`, or state why not under `[law.columns]`"
    )
