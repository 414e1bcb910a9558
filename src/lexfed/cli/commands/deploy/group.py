# SPDX-License-Identifier: Apache-2.0
"""The commands `lexfed deploy`, `coordinator` and `site`; declared, not done, here."""

from pathlib import Path
from typing import Annotated

import typer

from lexfed.cli.options import AsJson

KitFolder = Annotated[Path, typer.Argument(metavar="KIT", help="Folder of the kit.")]
ProfileFlag = Annotated[
    bool, typer.Option("--profile", help="A profile of the data, no training.")
]
ProfileEpsilonOption = Annotated[
    float | None,
    typer.Option(
        metavar="E",
        help="With `--profile`: what it may cost; else a quarter of the budget.",
    ),
]

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


@deploy.command("init")
def deploy_init(
    project: Annotated[
        Path,
        typer.Argument(
            metavar="PROJECT", help="Folder to make; its name is the project's."
        ),
    ],
    address: Annotated[
        str,
        typer.Option(
            "--coordinator", metavar="HOST:PORT", help="Where sites reach it."
        ),
    ],
    sites: Annotated[
        list[str], typer.Option("--site", metavar="NAME", help="Once for every site.")
    ],
) -> None:
    """Make one kit for the coordinator and one for every site."""
    from lexfed.cli.commands.deploy.kits import init as command

    command(project, address, sites)


@deploy.command("roster")
def deploy_roster(
    kit: KitFolder,
    enrolments: Annotated[
        list[Path],
        typer.Argument(metavar="ENROLMENT...", help="`enrolment.json` of every site."),
    ],
) -> None:
    """Write the roster from everybody's enrolments, and print its fingerprint."""
    from lexfed.cli.commands.deploy.kits import roster as command

    command(kit, enrolments)


@deploy.command("check")
def deploy_check(kit: KitFolder) -> None:
    """List everything that keeps a kit from starting. Starts nothing."""
    from lexfed.cli.commands.deploy.kits import check as command

    command(kit)


@deploy.command("run")
def deploy_run(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="Configuration.")],
    kit: Annotated[
        Path, typer.Option("--kit", metavar="KIT", help="Kit of the coordinator.")
    ],
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run.")
    ] = False,
    profile: ProfileFlag = False,
    epsilon: ProfileEpsilonOption = None,
    as_json: AsJson = False,
) -> None:
    """Train a model, or make a profile, with sites each of which agreed to it."""
    from lexfed.cli.commands.deploy.run import run as command

    command(config, kit, profile, epsilon, resume, as_json)


@deploy.command("status")
def deploy_status(kit: KitFolder, as_json: AsJson = False) -> None:
    """Say how a kit stands; at the coordinator, also which sites are here."""
    from lexfed.cli.commands.deploy.kits import status as command

    command(kit, as_json)


@coordinator.command("start")
def coordinator_start(kit: KitFolder) -> None:
    """Run the coordinator until stopped."""
    from lexfed.cli.commands.deploy.participants import start_coordinator as command

    command(kit)


@site.command("enrol")
def site_enrol(kit: KitFolder) -> None:
    """Make this site's own key, and an enrolment for who collects the roster."""
    from lexfed.cli.commands.deploy.participants import enrol as command

    command(kit)


@site.command("roster")
def site_roster(
    kit: KitFolder,
    roster: Annotated[
        Path,
        typer.Argument(metavar="ROSTER", help="`roster.json` as you were given it."),
    ],
) -> None:
    """Take over who takes part, and print the fingerprint to compare."""
    from lexfed.cli.commands.deploy.participants import roster as command

    command(kit, roster)


@site.command("consent")
def site_consent(
    kit: KitFolder,
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="Configuration of the run.")
    ],
    profile: ProfileFlag = False,
    epsilon: ProfileEpsilonOption = None,
    agreed: Annotated[
        bool, typer.Option("--yes", help="Agree; else only say what it costs.")
    ] = False,
) -> None:
    """Say what a run would cost this site, and agree to it."""
    from lexfed.cli.commands.deploy.participants import consent as command

    command(kit, config, profile, epsilon, agreed)


@site.command("start")
def site_start(
    kit: KitFolder,
    data: Annotated[Path, typer.Option(metavar="FILE", help="This site's own table.")],
) -> None:
    """Take part until stopped; the data stay here."""
    from lexfed.cli.commands.deploy.participants import start as command

    command(kit, data)
