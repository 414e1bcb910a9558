# SPDX-License-Identifier: Apache-2.0
"""The group of commands `lexfed joining`."""

import typer

from lexfed.cli.commands.joining.exact_counts import answer, ask, open_
from lexfed.cli.commands.joining.sketches import compare, sketch

joining = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Learn how many people two organisations share, before they join.",
)

joining.command()(sketch)
joining.command()(compare)
joining.command()(ask)
joining.command()(answer)
joining.command("open")(open_)
