# SPDX-License-Identifier: Apache-2.0
"""`lexfed deploy run --profile`: a profile of sites that are elsewhere."""

import shlex
import sys
from pathlib import Path

from lexfed.cli import talk
from lexfed.cli.commands.training.profile import closing, plain, write_page
from lexfed.cli.display import profiles
from lexfed.cli.interrupt import INTERRUPTED
from lexfed.cli.output import print_json
from lexfed.cli.problem_lines import located_errors
from lexfed.config.open_decisions import load_open
from lexfed.errors import ConfigError, Problem
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.flare.startup_check import check_kit
from lexfed.run.deployed.coordinator.epoch_driver import end_profile
from lexfed.run.deployed.coordinator.job_submission import deploy_run
from lexfed.run.deployed.terms.bundle import Bundle
from lexfed.run.purchases.profile_purchase import default_epsilon


def profile(
    path: Path, folder: Path, price: float, resuming: bool, as_json: bool
) -> None:
    """Profile the sites of a deployment, or continue an interrupted profile."""
    kit = Kit.read(folder)
    with located_errors(path):
        name = Bundle.read(path, profile=price).name
    check_kit(kit)
    try:
        with located_errors(path):
            deploy_run(path, kit, profile=price, resuming=resuming, say=talk.say)
    except KeyboardInterrupt:
        talk.say("interrupted; what was released so far is kept")
        words = ["lexfed", "deploy", "run", str(path), "--kit", str(folder)]
        again = shlex.join([*words, "--profile", "--epsilon", f"{price!r}", "--resume"])
        talk.labelled("hint", f"continue with `{again}`", "\n")
        sys.exit(INTERRUPTED)
    bought = end_profile(kit, name)
    write_page(bought)
    if as_json:
        print_json(plain(bought))
    else:
        print("\n".join(profiles.lines(bought.profile)))
    talk.say(closing(bought.result.folder, bought.profile))


def stated_price(path: Path, a_profile: bool, epsilon: float | None) -> float | None:
    """Return what a record pays for a profile; None if training is asked for.

    Raises:
        ConfigError: for a price of training, which is in the configuration; with every
            problem of that of a profile.
    """
    if a_profile:
        config = load_open(path).config
        return default_epsilon(config) if epsilon is None else epsilon
    if epsilon is not None:
        problem = Problem(
            "`--epsilon`",
            "is the price of a profile; that of training is in the configuration",
            "add `--profile`, or leave it out",
        )
        raise ConfigError([problem])
    return None
