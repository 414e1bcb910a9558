# SPDX-License-Identifier: Apache-2.0
"""The command `lexfed tune`; declared, not done, here."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from lexfed.cli.options import DEFAULT, AsJson, ConfigFile, OutFolderOption


def tune(
    config: ConfigFile = DEFAULT,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=V1,V2,...",
            help="Values to try of a key, such as federation.rounds=5,10; repeatable.",
        ),
    ] = None,
    public: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Search on public data of the same schema."),
    ] = None,
    charged: Annotated[
        bool,
        typer.Option(
            "--charged", help="Search on the private data, at the cost of budget."
        ),
    ] = False,
    runs: Annotated[
        float,
        typer.Option(metavar="MEAN", help="With --charged: runs on average."),
    ] = 10.0,
    law: Annotated[
        Literal["geometric", "logarithmic", "poisson"],
        typer.Option(help="With --charged: how the secret number of runs is drawn."),
    ] = "geometric",
    out: OutFolderOption = None,
    as_json: AsJson = False,
) -> None:
    """Search for settings, on public data or charged, and say what it cost."""
    from lexfed.cli.commands.training.tune import tune as command

    command(config, grid or [], public, charged, runs, law, out, as_json)
