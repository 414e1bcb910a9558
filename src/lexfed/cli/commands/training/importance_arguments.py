# SPDX-License-Identifier: Apache-2.0
"""The command `lexfed importance`; declared, not done, here."""

from typing import Annotated

import typer

from lexfed.cli.options import DEFAULT, AsJson, ConfigFile, OutFolderOption


def importance(
    config: ConfigFile = DEFAULT,
    epsilon: Annotated[
        float,
        typer.Option(
            metavar="E", help="What it may cost a record; part of the budget."
        ),
    ] = 0.1,
    out: OutFolderOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted release.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Release how useful columns are, once, charged to the budget."""
    from lexfed.cli.commands.training.importance import importance as command

    command(config, epsilon, out, resume, as_json)
