# SPDX-License-Identifier: Apache-2.0
"""The command `lexfed profile`; declared, not done, here."""

from pathlib import Path
from typing import Annotated

import typer


def profile(
    config: Annotated[
        Path, typer.Argument(help="Configuration file.", readable=False)
    ] = Path("lexfed.toml"),
    epsilon: Annotated[
        float | None,
        typer.Option(
            metavar="E", help="What it may cost a record; else a quarter of the budget."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to write; else beside the run folder."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted profile.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON to stdout.")
    ] = False,
) -> None:
    """Learn ranges, values and overlaps of a federation, once, at a stated price."""
    from lexfed.cli.profile import profile as command

    command(config, epsilon, out, resume, as_json)
