# SPDX-License-Identifier: Apache-2.0
"""`lexfed plan`, `lexfed run` and `lexfed predict`: from a price to a model's scores.

A run is trained or continued with its rounds on the screen, and stops where nothing is
lost.
"""

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from lexfed.cli import talk
from lexfed.cli.options import DEFAULT, AsJson, ConfigFile, ResumeFlag
from lexfed.cli.output import print_json
from lexfed.cli.progress import between_rounds, end_interrupted

if TYPE_CHECKING:
    from lexfed.run import OpenRun, PricedRun, RoundReport, RunResult


def plan(
    config: ConfigFile = DEFAULT,
    rounds: Annotated[
        int | None, Option(min=1, help="Price another number of rounds.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate the privacy cost of a run, release by release.

    Noise, clip and epsilon of every release; nothing is spent.
    """
    from lexfed.cli import display
    from lexfed.cli.inputs import load_config, load_priced
    from lexfed.run.results.outlook import plan_with_outlook

    priced = load_priced(config, load_config(config), rounds)
    if as_json:
        print_json(plan_with_outlook(priced))
    else:
        print(display.plan_table(priced))


def run(
    config: ConfigFile = DEFAULT, resume: ResumeFlag = False, as_json: AsJson = False
) -> None:
    """Train a model under the budgets of a configuration.

    The run gets a folder of its own: where one exists, `-2`, `-3`, ... is appended to
    the name, and nothing is overwritten.
    """
    from lexfed.cli import display
    from lexfed.cli.inputs import load_config, load_priced
    from lexfed.config.examination import config_text
    from lexfed.run import finished_result, folder_of, start
    from lexfed.run import resume as continue_run
    from lexfed.run.api import require_here

    found = load_config(config)
    require_here(found)
    out = folder_of(config, found)
    result = finished_result(found, out) if resume else None
    if result is not None:
        talk.say(f"`{out}` is finished already; nothing was spent")
    else:
        priced = load_priced(config, found, resume=resume)
        text = config_text(config)
        opened = (continue_run if resume else start)(priced, out, text, config.parent)
        result = show_training(
            priced, opened, f"continue with `lexfed run {config} --resume`"
        )
    for line in display.closing(found, result):
        talk.say(line)
    if as_json:
        print_json(result.to_json())


def predict(
    folder: Annotated[Path, Argument(help="Folder of a finished run.", readable=False)],
    table: Annotated[
        Path, Argument(help="A table: a file, or sql:TABLE.", readable=False)
    ],
    tiers: Annotated[
        str, Option(help="Most sensitive tier to read: later towers are left out.")
    ] = "special",
    as_json: AsJson = False,
) -> None:
    """Score the rows of a table with a trained model, as CSV."""
    from lexfed.cli.inputs import allow_own_models
    from lexfed.python.training import predict as scores

    allow_own_models(Path())
    found = scores(folder, table, tiers)
    for line in found.bent.lines(len(found.values)):
        talk.warn(line)
    if as_json:
        print_json(found.to_json())
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows([[f"{value:.6g}" for value in row] for row in found.values])


def show_training(
    priced: "PricedRun",
    opened: "OpenRun",
    again: str,
    opening: Sequence[str] | None = None,
    what: str = "training",
) -> "RunResult":
    """Train with progress on the screen; `again` says how to go on after Ctrl-C."""
    from lexfed.cli import display
    from lexfed.cli.progress import progress_lines
    from lexfed.run import train

    for line in display.opening(priced) if opening is None else opening:
        talk.say(line)
    reached = ""
    try:
        with between_rounds() as stop, progress_lines(priced, what) as on_round:

            def each(report: "RoundReport") -> None:
                nonlocal reached
                reached = f" after round {report.round} of {report.rounds}"
                on_round(report)
                if stop.asked and report.round < report.rounds:
                    raise KeyboardInterrupt

            return train(priced, opened, each)
    except KeyboardInterrupt:
        end_interrupted(again, reached)
