# SPDX-License-Identifier: Apache-2.0
"""The groups of commands `lexfed deploy`, `coordinator` and `site`."""

import typer

from lexfed.cli.commands.deploy import kits, participants
from lexfed.cli.commands.deploy.run import run

deploy = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run between organisations: make kits, check them, train.",
)
coordinator = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run the coordinator of a deployment.",
)
site = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Take part in a deployment as a site.",
)

deploy.command("init")(kits.init)
deploy.command("roster")(kits.roster)
deploy.command("check")(kits.check)
deploy.command("run")(run)
deploy.command("status")(kits.status)
coordinator.command("start")(participants.start_coordinator)
site.command("enrol")(participants.enrol)
site.command("roster")(participants.roster)
site.command("consent")(participants.consent)
site.command("start")(participants.start)
