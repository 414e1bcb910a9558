# SPDX-License-Identifier: Apache-2.0
"""`lexfed plan`: noise, clip and epsilon of every release, before anything runs."""

from typing import Annotated

from typer import Option

from lexfed.cli.options import DEFAULT, AsJson, ConfigFile
from lexfed.cli.output import print_json


def plan(
    config: ConfigFile = DEFAULT,
    rounds: Annotated[
        int | None, Option(min=1, help="Price another number of rounds.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Price a run: noise, clip and epsilon of every release. Spends nothing."""
    from lexfed.cli import display
    from lexfed.cli.inputs import load_config, load_priced
    from lexfed.run import plan_json

    priced = load_priced(config, load_config(config), rounds)
    if as_json:
        print_json(plan_json(priced))
    else:
        print(display.plan_table(priced))
