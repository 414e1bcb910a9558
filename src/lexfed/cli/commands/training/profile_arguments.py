# SPDX-License-Identifier: Apache-2.0
"""The command `lexfed profile`; declared, not done, here."""

from typing import Annotated

import typer

from lexfed.cli.options import DEFAULT, AsJson, ConfigFile, OutFolderOption


def profile(
    config: ConfigFile = DEFAULT,
    epsilon: Annotated[
        float | None,
        typer.Option(
            metavar="E", help="What it may cost a record; else a quarter of the budget."
        ),
    ] = None,
    out: OutFolderOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted profile.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Learn ranges, values and overlaps of a federation, once, at a stated price."""
    from lexfed.cli.commands.training.profile import profile as command

    command(config, epsilon, out, resume, as_json)
