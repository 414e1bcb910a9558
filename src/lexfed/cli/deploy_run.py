# SPDX-License-Identifier: Apache-2.0
"""`lexfed deploy run`: train with sites that are elsewhere."""

import sys
from pathlib import Path

from lexfed.cli import show, talk
from lexfed.cli.app import INTERRUPTED
from lexfed.cli.commands import load_config, print_json
from lexfed.cli.deploy_profile import profile, stated_price
from lexfed.cli.places import named_places
from lexfed.federation.flare.checks import check_kit
from lexfed.federation.flare.kit import Kit
from lexfed.run.deployed.submit import deploy_run


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
        with named_places(path):
            result = deploy_run(path, kit, resuming=resuming, say=talk.say)
    except KeyboardInterrupt:
        talk.say("interrupted; what was released so far is kept")
        again = f"continue with `lexfed deploy run {path} --kit {folder} --resume`"
        talk.labelled("hint", again, "\n")
        sys.exit(INTERRUPTED)
    for line in show.closing(config, result):
        talk.say(line)
    if as_json:
        print_json(result.to_json())
