# SPDX-License-Identifier: Apache-2.0
"""`lexfed init`: a configuration to complete, from a table or from a profile."""

import math
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from lexfed.cli import talk
from lexfed.cli.commands.setup.first_questions import TerminalAnswers, on_terminal
from lexfed.cli.options import DEFAULT
from lexfed.cli.output import exists_already, write_new
from lexfed.cli.progress import INTERRUPTED
from lexfed.counted_words import counted
from lexfed.data.file_format import (
    DateOrder,
    DecimalMark,
    SeparatorName,
    TextEncoding,
)
from lexfed.data.reading.typed_cells.database_address import (
    DEFAULT_DATABASE,
    SQL,
    WrongAddress,
    require_no_url,
    require_stated,
)
from lexfed.errors import ConfigError, Problem, RunFolderError

if TYPE_CHECKING:
    from lexfed.config.drafting.table_draft import DraftRequest
    from lexfed.config.edits import LearnedDomain
    from lexfed.data.reading.column_guesses import TableGuess
    from lexfed.sketch.profile.federation_profile import FederationProfile


def init(
    table: Annotated[
        Path | None,
        Argument(help="A CSV, Excel or Parquet file, or sql:TABLE.", readable=False),
    ] = None,
    target: Annotated[
        str | None, Option(metavar="COLUMN", help="The column to predict.")
    ] = None,
    person: Annotated[
        str | None,
        Option(metavar="COLUMN", help="The column that says whom a row is about."),
    ] = None,
    sites: Annotated[
        str | None,
        Option(metavar="COLUMN|N", help="A column, or a number of simulated sites."),
    ] = None,
    site_names: Annotated[
        str | None, Option(metavar="LIST", help="All sites that the column may name.")
    ] = None,
    units: Annotated[
        int | None,
        Option(min=1, help="A public number of people; else theirs is public."),
    ] = None,
    epsilon: Annotated[
        float, Option(help="What the whole run may cost one person.")
    ] = 2.0,
    classes: Annotated[
        str | None, Option(metavar="LIST", help="Classes of the target.")
    ] = None,
    target_range: Annotated[
        str | None, Option(metavar="LOW..HIGH", help="Range of the target.")
    ] = None,
    separator: Annotated[
        SeparatorName | None, Option(help="What divides the fields of a line.")
    ] = None,
    decimal: Annotated[
        DecimalMark | None, Option(help="What a fraction of a number begins with.")
    ] = None,
    dates: Annotated[
        DateOrder | None, Option(help="What stands first in a date.")
    ] = None,
    encoding: Annotated[
        TextEncoding | None,
        Option(metavar="NAME", help="Encoding of a file, such as windows-1252."),
    ] = None,
    header: Annotated[
        Literal["yes", "no"] | None, Option(help="Whether the first line has names.")
    ] = None,
    sheet: Annotated[
        str | None, Option(metavar="NAME", help="The sheet of a workbook.")
    ] = None,
    database: Annotated[
        str | None,
        Option(metavar="env:NAME|URL", help="Where a database is; no passwords."),
    ] = None,
    yes: Annotated[
        bool, Option("--yes", help="Ask nothing: take every default, and list it.")
    ] = False,
    out: Annotated[
        Path | None, Option(help="Where to write; else lexfed.toml or profiled.toml.")
    ] = None,
    profile: Annotated[
        Path | None, Option(metavar="DIR", help="Fill in what a profile has learned.")
    ] = None,
) -> None:
    """Write a configuration that runs, from a table's header."""
    if (table is None) == (profile is None):
        raise typer.BadParameter("expected either a table or `--profile DIR`")
    if profile is not None:
        _init_from_profile(profile, out)
        return
    if not 0 < epsilon < math.inf:
        raise typer.BadParameter("`--epsilon`: expected a number above 0")
    if table is not None:
        place = DEFAULT if out is None else out
        if place.exists():
            raise exists_already(place)
        # Paths in a configuration are relative to its folder.
        from lexfed.config.drafting.table_draft import DraftRequest

        in_database = str(table).startswith(SQL)
        stated = _StatedFormat(
            separator, decimal, dates, encoding, header, sheet, database
        )
        source = str(table)
        if not in_database and not table.is_absolute():
            source = os.path.relpath(table, place.parent)
        found = _read(table, place.parent, stated)
        if target is None and not yes and not on_terminal():
            _write_open(place, source, found)
            return
        request = DraftRequest(
            table, source, target, _listed(classes), _range(target_range), person,
            sites, _listed(site_names), units, epsilon,
        )  # fmt: skip
        _write_draft(place, request, found, yes)


@dataclass(frozen=True)
class _StatedFormat:
    """Options about the format and the place of a table."""

    separator: SeparatorName | None
    decimal: DecimalMark | None
    dates: DateOrder | None
    encoding: TextEncoding | None
    header: Literal["yes", "no"] | None
    sheet: str | None
    database: str | None


def _read(table: Path, base: Path, stated: _StatedFormat) -> "TableGuess":
    from lexfed.data.reading.column_guesses import guess_table
    from lexfed.data.reading.table_sources import table_source

    _require_source(str(table), stated)
    database = stated.database or DEFAULT_DATABASE
    # A path is as it is typed; that of a database is as the configuration has it.
    in_database = str(table).startswith(SQL)
    source = table_source(table, base if in_database else None, database)
    found = guess_table(
        source, stated.separator, stated.decimal, stated.dates,
        encoding=stated.encoding, header=_TRUTH.get(stated.header),
        sheet=stated.sheet or "",
    )  # fmt: skip
    for note in found.notes:
        talk.say(f"  {note}")
    return replace(found, database=database)


_TRUTH: Mapping[str | None, bool] = {"yes": True, "no": False}


def _require_source(table: str, stated: _StatedFormat) -> None:
    """Refuse what is no source, before anything of it is shown."""
    where = ""
    try:
        require_no_url(table)
        where = "`--database`"
        if stated.database is not None:
            if not table.startswith(SQL):
                what = "needs a table of it"
                raise WrongAddress(what, "`lexfed init sql:TABLE --database env:NAME`")
            require_stated(stated.database)
    except WrongAddress as error:
        raise ConfigError([Problem(where, str(error), error.hint)]) from None


def _listed(text: str | None) -> tuple[str, ...]:
    parts = () if text is None else (part.strip() for part in text.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def _range(text: str | None) -> tuple[float, float] | None:
    from lexfed.config.drafting.public_domains import parse_domain

    if text is None:
        return None
    try:
        found = parse_domain(text.replace(",", ".."), "").range
    except ValueError:
        found = None
    if found is None:
        raise typer.BadParameter("`--target-range`: expected LOW..HIGH, as in 0..100")
    return found


def _write_open(out: Path, source: str, found: "TableGuess") -> None:
    """Write a configuration in which everything but names and kinds is open."""
    from lexfed.config import scaffold

    columns = [(guess.name, guess.kind) for guess in found.columns]
    write_new(out, scaffold(source, columns, found.keys))
    shown = "" if str(out) == "lexfed.toml" else f"{out} "
    talk.say(
        f"wrote {out}: {counted(len(columns), 'column')}, only their names and kinds\n"
        "`lexfed init TABLE --target COLUMN --yes` fills in what is public and known\n"
        f"`lexfed tag {shown}--accept` suggests tiers and writes what you accept\n"
        f'replace every "?" that is left, then run `lexfed check {out}`'
    )


def _write_draft(
    out: Path, request: "DraftRequest", found: "TableGuess", yes: bool
) -> None:
    """Write a configuration that can be run; ask unless `yes`."""
    from lexfed.cli.commands.setup.draft_lines import draft_lines
    from lexfed.config.drafting.questions import DefaultAnswers
    from lexfed.config.drafting.table_draft import draft_table

    if not yes and not on_terminal():
        what = "nobody can be asked: this is no terminal"
        hint = "`--yes` takes every default and lists it"
        raise ConfigError([Problem("", what, hint)])
    try:
        answers = DefaultAnswers() if yes else TerminalAnswers()
        draft = draft_table(request, found, answers)
    except (KeyboardInterrupt, EOFError):
        talk.say("\nnothing was written")
        raise typer.Exit(INTERRUPTED) from None
    write_new(out, draft.configuration.text())
    for line in draft_lines(draft):
        talk.say(line)
    shown = "" if str(out) == "lexfed.toml" else f" {shlex.quote(str(out))}"
    talk.say(
        f"wrote {out}: every line says where it comes from\n"
        f"`lexfed check{shown}` looks for mistakes; `lexfed run{shown}` trains"
    )


def _init_from_profile(folder: Path, out: Path | None) -> None:
    """Write the configuration of a profile with the domains that it has learned."""
    from lexfed.audit.log.evidence import read_evidence
    from lexfed.audit.log.logged_files import CONFIG, PROFILE, read_logged
    from lexfed.config.edits import with_learned_domains
    from lexfed.config.open_decisions import examine_open
    from lexfed.run.driver.open_run import base_of
    from lexfed.run.earlier_runs import MAKE
    from lexfed.sketch.profile.federation_profile import FederationProfile

    evidence = read_evidence(folder)
    profile = read_logged(evidence, PROFILE)
    config = read_logged(evidence, CONFIG)
    if profile is None or config is None:
        raise RunFolderError(f"`{folder}` holds no finished profile", MAKE)
    known = FederationProfile.from_bytes(profile, str(folder / PROFILE))
    base, text, name = base_of(folder), config.decode(), str(folder / "config.toml")
    target = base / "profiled.toml" if out is None else out
    if target.parent.resolve() != base.resolve():
        raise RunFolderError(
            f"paths in the configuration are relative to `{base}`, where the profile "
            "was started",
            f"write it there: `--out {shlex.quote(str(base / target.name))}`",
        )
    open_columns = examine_open(text, name).require().columns
    learned = learned_columns(known, open_columns)
    source = os.path.relpath(folder, base)
    write_new(target, with_learned_domains(text, learned, source, name))
    _say_learned(target, known, learned, open_columns)


def learned_columns(
    known: "FederationProfile", columns: tuple[str, ...]
) -> dict[str, "LearnedDomain"]:
    """Return what a profile has found of open columns."""
    from lexfed.config.edits import LearnedDomain

    learned = {}
    for name in columns:
        column = known.column(name)
        if column is not None and column.range is not None:
            learned[name] = LearnedDomain(range=column.range)
        elif column is not None and column.words:
            learned[name] = LearnedDomain(values=column.words)
    return learned


def _say_learned(
    target: Path,
    known: "FederationProfile",
    learned: Mapping[str, "LearnedDomain"],
    columns: tuple[str, ...],
) -> None:
    names = ", ".join(learned) or "nothing"
    talk.say(f"wrote {target}, filled in from the profile: {names}")
    for name in columns:
        if known.column(name) is None:
            talk.say(
                f"`{name}` is still open and was not profiled: if it is a key, make it "
                '`kind = "text"`, else declare it from public knowledge'
            )
        elif name not in learned:
            talk.say(
                f"`{name}` is still open, since nothing was found: declare it from "
                "public knowledge, or remove it"
            )
    file = shlex.quote(str(target))
    talk.say(f"what the profile cost is taken off the budget: `lexfed check {file}`")
