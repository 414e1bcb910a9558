# SPDX-License-Identifier: Apache-2.0
"""The command `lexfed importance`; declared, not done, here."""

from pathlib import Path
from typing import Annotated

import typer


def importance(
    config: Annotated[
        Path, typer.Argument(help="Configuration file.", readable=False)
    ] = Path("lexfed.toml"),
    epsilon: Annotated[
        float,
        typer.Option(
            metavar="E", help="What it may cost a record; part of the budget."
        ),
    ] = 0.1,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to write; else beside the run folder."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted release.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON to stdout.")
    ] = False,
) -> None:
    """Release how useful columns are, once, charged to the budget."""
    from lexfed.cli.importance import importance as command

    command(config, epsilon, out, resume, as_json)
