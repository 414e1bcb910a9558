# SPDX-License-Identifier: Apache-2.0
"""`lexfed tag`: how sensitive columns are, by which law, and why.

The suggestions go to stdout, as a table or as JSON; everything else to stderr. With
`--accept` people decide, and the decision goes into `lexfed.toml`. Columns that are
decided already stay as they are, and those marked for review are accepted only by name:
nobody decides about them in passing.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from lexfed.cli import talk
from lexfed.cli.options import DEFAULT, AsJson
from lexfed.counted_words import counted
from lexfed.errors import ConfigError, Problem
from lexfed.report.markup.escaping import shortened, visible

if TYPE_CHECKING:
    from lexfed.law.articles import TaggedColumn
    from lexfed.tagging import TaggedColumns

_WIDEST = 40
_MOST_NAMED = 8


@dataclass(frozen=True)
class _TagRequest:
    """The command line of `lexfed tag`."""

    arguments: tuple[str, ...]
    schema: Path | None
    as_json: bool
    html: Path | None
    csv: Path | None
    explain: str | None
    accept: bool
    decisions: Path | None
    jurisdictions: str | None
    catalogues: tuple[Path, ...]


def tag(
    arguments: Annotated[
        list[str] | None,
        Argument(
            metavar="FILE|NAME",
            help="A CSV, Excel, Parquet or SQL file, or a configuration, which is the "
            "default; with --accept the columns to accept.",
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="A list: table,column,description,dtype (CSV), SQL."
        ),
    ] = None,
    as_json: AsJson = False,
    html: Annotated[
        Path | None, Option(metavar="OUT", help="Write a page to check line by line.")
    ] = None,
    csv: Annotated[
        Path | None, Option(metavar="OUT", help="Write the same as a table.")
    ] = None,
    explain: Annotated[
        str | None,
        Option(metavar="COLUMN", help="Show all evidence and every obligation."),
    ] = None,
    accept: Annotated[
        bool,
        Option(
            "--accept",
            help="Write suggestions into the configuration; those for review by NAME.",
        ),
    ] = False,
    decisions: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Write decisions made on the page into the configuration.",
        ),
    ] = None,
    jurisdictions: Annotated[
        str | None,
        Option(metavar="LIST", help="Of gdpr,hipaa,ccpa; else as configured."),
    ] = None,
    catalogue: Annotated[
        list[Path] | None,
        Option(metavar="FILE", help="A law of your own; may be repeated."),
    ] = None,
) -> None:
    """Classify columns by legal sensitivity, with reasons."""
    request = _TagRequest(
        tuple(arguments or ()), schema, as_json, html, csv, explain, accept,
        decisions, jurisdictions, tuple(catalogue or ()),
    )  # fmt: skip
    _check(request)
    if accept:
        _accept(request)
    elif decisions is not None:
        from lexfed.cli.commands.setup.filed_decisions import import_decisions

        import_decisions(decisions, _configuration(request.arguments))
    else:
        _suggest(request)


def _suggest(request: _TagRequest) -> None:
    from lexfed.law.explanations import explain
    from lexfed.tagging import tagged_columns

    source = None if request.schema else _source(request.arguments)
    shown = str(request.schema or source)
    _spare(request, Path(shown))
    found = tagged_columns(
        source,
        schema=request.schema,
        jurisdictions=_listed(request.jurisdictions),
        catalogues=request.catalogues,
    )
    _say_disagreements(found)
    if request.explain is not None:
        chosen = _called(request.explain, found.columns)
        print("\n\n".join(explain(tagged, found.catalogues) for tagged in chosen))
        _write_sheets(request, found, shown)
        return
    _print_tags(found.columns, request.as_json)
    _write_sheets(request, found, shown)
    talk.say(_summary(found.columns))


def _check(request: _TagRequest) -> None:
    problems = []
    if request.schema and request.arguments:
        hint = "`lexfed tag FILE` for data, `lexfed tag --schema FILE` for a schema"
        problems.append(Problem("", "a file and `--schema` are both given", hint))
    if request.accept or request.decisions:
        own = "--accept" if request.accept else "--decisions"
        others: dict[str, object] = {
            "--schema": request.schema,
            "--explain": request.explain,
            "--jurisdictions": request.jurisdictions,
            "--catalogue": request.catalogues,
        }
        if request.decisions:
            sheets = {"--json": request.as_json, "--html": request.html}
            others |= sheets | {"--csv": request.csv}
        if request.accept:
            others |= {"--decisions": request.decisions}
        what = "--accept [NAME...]" if request.accept else "--decisions FILE"
        hint = f"it works on a configuration: `lexfed tag lexfed.toml {what}`"
        problems += [
            Problem("", f"`{own}` and `{name}` exclude each other", hint)
            for name, value in others.items()
            if value
        ]
        if request.decisions and len(request.arguments) > 1:
            problems.append(Problem("", "`--decisions` takes no column names", hint))
    elif len(request.arguments) > 1:
        hint = "one file at a time; names of columns need `--accept`"
        what = f"expected one file, got: `{visible(request.arguments[1])[:60]}` too"
        problems.append(Problem("", what, hint))
    if request.explain is not None and request.as_json:
        hint = "`--json` has the evidence of every column"
        problems.append(
            Problem("", "`--explain` and `--json` exclude each other", hint)
        )
    if request.html and request.html == request.csv:
        problems.append(Problem("", f"`{request.html}` cannot be both page and table"))
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


def _configuration(arguments: Sequence[str]) -> Path:
    return Path(arguments[0]) if arguments else DEFAULT


def _spare(request: _TagRequest, source: Path) -> None:
    read = {path.resolve() for path in (source, *request.catalogues)}
    for path in (request.html, request.csv):
        if path is not None and path.resolve() in read:
            what = f"`{path}` is read and would be overwritten"
            raise ConfigError([Problem("", what, "write to another file")])


def _listed(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _called(name: str, columns: Sequence["TaggedColumn"]) -> list["TaggedColumn"]:
    """Return the columns of a name, written with or without their table."""
    from lexfed.law.explanations import full_name

    named = [
        tagged
        for tagged in columns
        if name in (tagged.suggestion.column.name, full_name(tagged.suggestion))
    ]
    if not named:
        names = [tagged.suggestion.column.name for tagged in columns[:20_000]]
        near = get_close_matches(name[:200], names, 1)
        hint = f"did you mean `{visible(near[0])[:60]}`?" if near else ""
        raise ConfigError(
            [Problem("", f"there is no column `{visible(name)[:60]}`", hint)]
        )
    return named


def _print_tags(columns: Sequence["TaggedColumn"], as_json: bool) -> None:
    if not as_json:
        for line in _table(columns):
            print(line)
        return
    # One column a line: a list of a million is never in memory as text.
    for number, tagged in enumerate(columns):
        row = json.dumps(tagged.to_dict(), allow_nan=False)
        print(f"{',' if number else '['}\n  {row}", end="")
    print("\n]" if columns else "[]")


def _table(columns: Sequence["TaggedColumn"]) -> Iterator[str]:
    from lexfed.law.explanations import full_name, reason_of

    tables = {tagged.suggestion.column.table for tagged in columns}
    names = [
        shortened(
            full_name(tagged.suggestion)
            if len(tables) > 1
            else tagged.suggestion.column.name,
            _WIDEST,
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


def _summary(columns: Sequence["TaggedColumn"]) -> str:
    """Return how many columns of each tier there are, and what to do next."""
    from lexfed.law.tagger.suggestions import TIERS

    counts = Counter(tagged.suggestion.tier for tagged in columns)
    listed = ", ".join(f"{counts[tier]} {tier}" for tier in TIERS if counts[tier])
    review = sum(tagged.suggestion.review for tagged in columns)
    verb = "needs" if review == 1 else "need"
    return (
        f"{counted(len(columns), 'column')}: {listed}; {review} {verb} review\n"
        "suggestions, not legal advice: `--explain COLUMN` shows why"
    )


def _say_disagreements(found: "TaggedColumns") -> None:
    """Say about which columns the files of several sites disagree."""
    for column in found.disagreements:
        by_site = ", ".join(
            f"{visible(site)} says {tag.tier} ({tag.category})"
            for site, tag in column.by_site.items()
        )
        name = shortened(column.column, _WIDEST)
        talk.warn(f"column `{name}`: {by_site}; the strictest counts")


def _write_sheets(request: _TagRequest, found: "TaggedColumns", source: str) -> None:
    if request.html is None and request.csv is None:
        return
    from lexfed.cli.output import write_parts
    from lexfed.report.documents.tag_sheet import tag_csv, tag_page

    if request.html is not None:
        page = tag_page(found.columns, found.catalogues, source, found.open_names)
        write_parts(request.html, page)
    if request.csv is not None:
        write_parts(request.csv, [tag_csv(found.columns)])


def _accept(request: _TagRequest) -> None:
    """Write suggestions under `[law.columns]` of a configuration."""
    from lexfed.cli.commands.setup.filed_decisions import (
        FINISH,
        check_names,
        still_open,
    )
    from lexfed.cli.output import write_parts
    from lexfed.config.edits import ColumnDecision, with_decisions
    from lexfed.config.open_decisions import tag_source
    from lexfed.law.explanations import decision_of
    from lexfed.tagging import CONFIGURATION, configuration_tags

    arguments = request.arguments
    given = bool(arguments) and Path(arguments[0]).suffix == CONFIGURATION
    path = Path(arguments[0]) if given else DEFAULT
    names = tuple(dict.fromkeys(arguments[1:] if given else arguments))
    source = tag_source(path)
    check_names(names, source, str(path))
    found = configuration_tags(source)
    _say_disagreements(found)
    undecided = [
        tagged
        for tagged in found.columns
        if tagged.suggestion.column.name in (names or source.undecided)
    ]
    taken = [t for t in undecided if names or not t.suggestion.review]
    left = [t for t in undecided if t not in taken]
    decisions = {
        t.suggestion.column.name: ColumnDecision(
            t.suggestion.tier,
            t.suggestion.category,
            visible(decision_of(t))[:1000],
            "person" if names else "rule",
        )
        for t in taken
    }
    if decisions:
        text = with_decisions(source.text, decisions, str(path))
        write_parts(path, [text], keep_mode=True)
    _print_tags(found.columns if request.as_json else taken, request.as_json)
    _write_sheets(request, found, str(path))
    talk.say(_acceptance(taken, left, path))
    for name, keys in source.begun.items():
        talk.warn(f"column `{visible(name)[:60]}`: {still_open(keys)}", FINISH)
    for name in source.unknown:
        talk.warn(f"`[law.columns]`: there is no column `{visible(name)[:60]}`")


def _acceptance(
    taken: Sequence["TaggedColumn"], left: Sequence["TaggedColumn"], path: Path
) -> str:
    lines = [f"accepted {len(taken)} of {len(taken) + len(left)} open columns"]
    if left:
        names = [visible(t.suggestion.column.name)[:60] for t in left[:_MOST_NAMED]]
        more = f" and {len(left) - len(names)} more" if len(left) > len(names) else ""
        listed = ", ".join(f"`{name}`" for name in names)
        lines.append(
            f"still to review: {listed}{more}; look with "
            f"`lexfed tag {path} --explain NAME`, accept by name, or decide otherwise "
            "under `[law.columns]`"
        )
    if taken:
        lines.append(
            'read every line that was written: the decision is yours; `by = "rule"` '
            "says that no person has looked yet"
        )
    return "\n".join(lines)
