# SPDX-License-Identifier: Apache-2.0
"""`lexfed deploy run`: train with sites that are elsewhere."""

import sys
from pathlib import Path

from lexfed.cli import talk
from lexfed.cli.commands.deploy.profile import profile, stated_price
from lexfed.cli.display import runs
from lexfed.cli.inputs import load_config
from lexfed.cli.interrupt import INTERRUPTED
from lexfed.cli.output import print_json
from lexfed.cli.problem_lines import located_errors
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.flare.provision.startup_check import check_kit
from lexfed.run.deployed.coordinator.job_submission import deploy_run


def run(
    path: Path,
    folder: Path,
    a_profile: bool,
    epsilon: float | None,
    resuming: bool,
    as_json: bool,
) -> None:
    """Train with the sites of a deployment, or profile them; or continue."""
    price = stated_price(path, a_profile, epsilon)
    if price is not None:
        profile(path, folder, price, resuming, as_json)
        return
    kit = Kit.read(folder)
    config = load_config(path)
    check_kit(kit)
    try:
        with located_errors(path):
            result = deploy_run(path, kit, resuming=resuming, say=talk.say)
    except KeyboardInterrupt:
        talk.say("interrupted; what was released so far is kept")
        again = f"continue with `lexfed deploy run {path} --kit {folder} --resume`"
        talk.labelled("hint", again, "\n")
        sys.exit(INTERRUPTED)
    for line in runs.closing(config, result):
        talk.say(line)
    if as_json:
        print_json(result.to_json())
