# SPDX-License-Identifier: Apache-2.0
"""`lexfed tag`: what the law says about columns, and why.

The suggestions go to stdout, as a table or as JSON; everything else to stderr. No
value of a column is printed, logged or written. This process stays small: it imports
numpy and the standard library, and what reads a configuration only if there is one.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from lexfed.cli import talk
from lexfed.errors import ConfigError, Problem
from lexfed.law.articles import TaggedColumn
from lexfed.law.explanations import explain, full_name, reason_of
from lexfed.law.tagger.suggestions import TIERS
from lexfed.report.markup.escaping import visible
from lexfed.tagging import CONFIGURATION, TaggedColumns, tagged_columns

DEFAULT = Path("lexfed.toml")
_WIDEST = 40


@dataclass(frozen=True)
class TagRequest:
    """The command line of `lexfed tag`."""

    arguments: tuple[str, ...] = ()
    schema: Path | None = None
    as_json: bool = False
    html: Path | None = None
    csv: Path | None = None
    explain: str | None = None
    accept: bool = False
    jurisdictions: str | None = None
    catalogues: tuple[Path, ...] = ()


def tag(asked: TagRequest) -> None:
    """Tag the columns of a file, a schema or a configuration's data."""
    _check(asked)
    if asked.accept:
        from lexfed.cli.commands.setup.tag_acceptance import accept

        accept(asked)
        return
    source = None if asked.schema else _source(asked.arguments)
    shown = str(asked.schema or source)
    _spare(asked, Path(shown))
    laws = _listed(asked.jurisdictions)
    found = tagged_columns(
        source,
        schema=asked.schema,
        jurisdictions=laws,
        catalogues=asked.catalogues,
    )
    say_disagreements(found)
    if asked.explain is not None:
        chosen = _called(asked.explain, found.columns)
        texts = [explain(tagged, found.catalogues) for tagged in chosen]
        print("\n\n".join(texts))
        write_sheets(asked, found, shown)
        return
    print_tags(found.columns, asked.as_json)
    write_sheets(asked, found, shown)
    talk.say(summary(found.columns))


def _check(asked: TagRequest) -> None:
    """Refuse what cannot be meant."""
    problems = []
    if asked.schema and asked.arguments:
        hint = "`lexfed tag FILE` for data, `lexfed tag --schema FILE` for a schema"
        problems.append(Problem("", "a file and `--schema` are both given", hint))
    if asked.accept:
        others = {
            "--schema": asked.schema,
            "--explain": asked.explain,
            "--jurisdictions": asked.jurisdictions,
            "--catalogue": asked.catalogues,
        }
        hint = (
            "it works on a configuration: `lexfed tag lexfed.toml --accept [NAME...]`"
        )
        problems += [
            Problem("", f"`--accept` and `{name}` exclude each other", hint)
            for name, value in others.items()
            if value
        ]
    elif len(asked.arguments) > 1:
        hint = "one file at a time; names of columns need `--accept`"
        what = f"expected one file, got: `{visible(asked.arguments[1])[:60]}` too"
        problems.append(Problem("", what, hint))
    if asked.explain is not None and asked.as_json:
        hint = "`--json` has the evidence of every column"
        problems.append(
            Problem("", "`--explain` and `--json` exclude each other", hint)
        )
    if asked.html and asked.html == asked.csv:
        problems.append(Problem("", f"`{asked.html}` cannot be both page and table"))
    if problems:
        raise ConfigError(problems)


def _source(arguments: Sequence[str]) -> Path:
    if arguments:
        return Path(arguments[0])
    if not DEFAULT.exists():
        hint = (
            "`lexfed tag FILE` reads a CSV, Parquet or SQL file, "
            "`lexfed tag --schema FILE` a list of columns"
        )
        raise ConfigError([Problem("", "nothing to tag: no file is named", hint)])
    return DEFAULT


def _spare(asked: TagRequest, source: Path) -> None:
    """Refuse to write over what is read."""
    read = {path.resolve() for path in (source, *asked.catalogues)}
    for path in (asked.html, asked.csv):
        if path is not None and path.resolve() in read:
            what = f"`{path}` is read and would be overwritten"
            raise ConfigError([Problem("", what, "write to another file")])


def _listed(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _called(name: str, columns: Sequence[TaggedColumn]) -> list[TaggedColumn]:
    """Return the columns of a name, written with or without their table."""
    found = [
        tagged
        for tagged in columns
        if name in (tagged.suggestion.column.name, full_name(tagged.suggestion))
    ]
    if not found:
        names = [tagged.suggestion.column.name for tagged in columns[:20_000]]
        near = get_close_matches(name[:200], names, 1)
        hint = f"did you mean `{visible(near[0])[:60]}`?" if near else ""
        raise ConfigError(
            [Problem("", f"there is no column `{visible(name)[:60]}`", hint)]
        )
    return found


def print_tags(columns: Sequence[TaggedColumn], as_json: bool) -> None:
    """Print the suggestions to stdout."""
    if not as_json:
        for line in _table(columns):
            print(line)
        return
    # One column a line: a list of a million is never in memory as text.
    for number, tagged in enumerate(columns):
        row = json.dumps(tagged.to_dict(), allow_nan=False)
        print(f"{',' if number else '['}\n  {row}", end="")
    print("\n]" if columns else "[]")


def _table(columns: Sequence[TaggedColumn]) -> Iterator[str]:
    tables = {tagged.suggestion.column.table for tagged in columns}
    names = [
        _short(
            full_name(tagged.suggestion)
            if len(tables) > 1
            else tagged.suggestion.column.name
        )
        for tagged in columns
    ]
    width = max(map(len, [*names, "column"]))
    yield f"{'column':<{width}}  {'tier':<12}  {'category':<23}  {'':<6}  why"
    for name, tagged in zip(names, columns, strict=True):
        found = tagged.suggestion
        mark = "review" if found.review else ""
        yield (
            f"{name:<{width}}  {found.tier:<12}  {found.category:<23}  {mark:<6}  "
            f"{visible(reason_of(found))}"
        )


def _short(name: str) -> str:
    shown = visible(name)
    return shown if len(shown) <= _WIDEST else f"{shown[: _WIDEST - 1]}…"


def summary(columns: Sequence[TaggedColumn]) -> str:
    """Return how many columns of each tier there are, and what to do next."""
    counts = Counter(tagged.suggestion.tier for tagged in columns)
    listed = ", ".join(f"{counts[tier]} {tier}" for tier in TIERS if counts[tier])
    review = sum(tagged.suggestion.review for tagged in columns)
    return (
        f"{len(columns)} columns: {listed}; {review} for a person to review\n"
        "suggestions, not legal advice: `--explain COLUMN` shows why"
    )


def say_disagreements(found: TaggedColumns) -> None:
    """Say about which columns the files of several sites disagree."""
    for column in found.disagreements:
        by_site = ", ".join(
            f"{visible(site)} says {tag.tier} ({tag.category})"
            for site, tag in column.by_site.items()
        )
        talk.warn(f"column `{_short(column.column)}`: {by_site}; the strictest counts")


def write_sheets(asked: TagRequest, found: TaggedColumns, source: str) -> None:
    """Write the page and the table that were asked for."""
    if asked.html is None and asked.csv is None:
        return
    from lexfed.cli.output import write_parts
    from lexfed.report.documents.tag_sheet import tag_csv, tag_page

    if asked.html is not None:
        write_parts(asked.html, tag_page(found.columns, found.catalogues, source))
    if asked.csv is not None:
        write_parts(asked.csv, [tag_csv(found.columns)])


def is_configuration(argument: str) -> bool:
    """Say whether an argument names a configuration rather than a column."""
    return Path(argument).suffix == CONFIGURATION
