# SPDX-License-Identifier: Apache-2.0
"""`lexfed deploy run`: train with sites that are elsewhere."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from lexfed.cli import talk
from lexfed.cli.interrupt import INTERRUPTED
from lexfed.cli.options import AsJson, ProfileEpsilonOption, ProfileFlag
from lexfed.cli.output import print_json


def run(
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
    from lexfed.cli.commands.deploy import profile as profiles
    from lexfed.cli.display import runs
    from lexfed.cli.inputs import load_config
    from lexfed.cli.problem_lines import located_errors
    from lexfed.federation.flare.kit.folder import Kit
    from lexfed.federation.flare.startup_check import check_kit
    from lexfed.run.deployed.coordinator.job_submission import deploy_run

    price = profiles.stated_price(config, profile, epsilon)
    if price is not None:
        profiles.profile(config, kit, price, resume, as_json)
        return
    here = Kit.read(kit)
    found = load_config(config)
    check_kit(here)
    try:
        with located_errors(config):
            result = deploy_run(config, here, resuming=resume, say=talk.say)
    except KeyboardInterrupt:
        talk.say("interrupted; what was released so far is kept")
        again = f"continue with `lexfed deploy run {config} --kit {kit} --resume`"
        talk.labelled("hint", again, "\n")
        sys.exit(INTERRUPTED)
    for line in runs.closing(found, result):
        talk.say(line)
    if as_json:
        print_json(result.to_json())
