# SPDX-License-Identifier: Apache-2.0
"""`lexfed init`: a configuration to complete, from a table or from a profile."""

import os
from pathlib import Path
from typing import Annotated

import typer

from lexfed.cli import talk
from lexfed.cli.options import DEFAULT
from lexfed.cli.output import write_new


def init(
    table: Annotated[
        Path | None, typer.Argument(help="A CSV or Parquet file.", readable=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where to write; else lexfed.toml or profiled.toml."),
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Fill in what a profile has learned."),
    ] = None,
) -> None:
    """Write a commented configuration from a table's header, for you to complete."""
    if (table is None) == (profile is None):
        raise typer.BadParameter("expected either a table or `--profile DIR`")
    if table is not None:
        _init_from_table(table, out or DEFAULT)
    elif profile is not None:
        from lexfed.cli.commands.setup.init_profile import init_from_profile

        init_from_profile(profile, out)


def _init_from_table(table: Path, out: Path) -> None:
    from lexfed.config import scaffold
    from lexfed.data.reading.table_files import guess_columns

    guesses = guess_columns(table)
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
