# SPDX-License-Identifier: Apache-2.0
"""The command `lexfed init`; declared, not done, here."""

from pathlib import Path
from typing import Annotated

import typer

DEFAULT = Path("lexfed.toml")


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
        from lexfed.cli.inputs import init as command

        command(table, out or DEFAULT)
    elif profile is not None:
        from lexfed.cli.commands.setup.init_profile import init_from_profile

        init_from_profile(profile, out)
