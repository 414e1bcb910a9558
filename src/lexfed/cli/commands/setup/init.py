# SPDX-License-Identifier: Apache-2.0
"""`lexfed init`: a configuration to complete, from a table or from a profile."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lexfed.cli import talk
from lexfed.cli.options import DEFAULT
from lexfed.cli.output import write_new
from lexfed.errors import RunFolderError

if TYPE_CHECKING:
    from lexfed.config.edits import LearnedDomain
    from lexfed.sketch.profile.federation_profile import FederationProfile


def init(
    table: Annotated[
        Path | None, Argument(help="A CSV or Parquet file.", readable=False)
    ] = None,
    out: Annotated[
        Path | None, Option(help="Where to write; else lexfed.toml or profiled.toml.")
    ] = None,
    profile: Annotated[
        Path | None, Option(metavar="DIR", help="Fill in what a profile has learned.")
    ] = None,
) -> None:
    """Write a commented configuration from a table's header."""
    if (table is None) == (profile is None):
        raise typer.BadParameter("expected either a table or `--profile DIR`")
    if table is not None:
        _init_from_table(table, out or DEFAULT)
    elif profile is not None:
        _init_from_profile(profile, out)


def _init_from_table(table: Path, out: Path) -> None:
    from lexfed.config import scaffold
    from lexfed.data.reading.column_guesses import guess_table

    guesses = guess_table(table).columns
    # Paths in a configuration are relative to its folder.
    source = table if table.is_absolute() else os.path.relpath(table, out.parent)
    text = scaffold(str(source), [(guess.name, guess.kind) for guess in guesses])
    write_new(out, text)
    shown = "" if str(out) == "lexfed.toml" else f"{out} "
    talk.say(
        f"wrote {out}: {len(guesses)} columns, only their names and kinds\n"
        f"`lexfed tag {shown}--accept` suggests tiers and writes what you accept\n"
        f'replace every "?" that is left, then run `lexfed check {out}`'
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
