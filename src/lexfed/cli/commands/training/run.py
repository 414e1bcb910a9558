# SPDX-License-Identifier: Apache-2.0
"""`lexfed plan`, `lexfed run` and `lexfed predict`: from a price to a model's scores.

A run is trained or continued with its rounds on the screen, and stops where nothing is
lost.
"""

import csv
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from lexfed.cli import talk
from lexfed.cli.options import DEFAULT, AsJson, ConfigFile, ResumeFlag, SetOption
from lexfed.cli.output import print_json
from lexfed.cli.progress import between_rounds, end_interrupted

if TYPE_CHECKING:
    from lexfed.config.overrides import Override
    from lexfed.run import OpenRun, PricedRun, RoundReport, RunResult


def plan(
    config: ConfigFile = DEFAULT,
    rounds: Annotated[
        int | None, Option(min=1, help="Price another number of rounds.")
    ] = None,
    settings: SetOption = None,
    as_json: AsJson = False,
) -> None:
    """Estimate the privacy cost of a run, release by release.

    Noise, clip and epsilon of every release; nothing is spent.
    """
    from lexfed.cli import display
    from lexfed.cli.inputs import load_config, load_priced
    from lexfed.config.overrides import run_overrides
    from lexfed.run.results.outlook import plan_with_outlook

    overrides = run_overrides(settings or ())
    found = load_config(config, overrides)
    priced = load_priced(config, found, rounds, overrides=overrides)
    if as_json:
        print_json(plan_with_outlook(priced))
    else:
        print(display.plan_table(priced))


def run(
    config: ConfigFile = DEFAULT,
    out: Annotated[
        Path | None,
        Option(metavar="DIR", help="Run folder; else that of the configuration."),
    ] = None,
    name: Annotated[
        str | None, Option(metavar="NAME", help="Name of the run (`run.name`).")
    ] = None,
    seed: Annotated[
        int | None,
        Option(metavar="N", help="Seed of what needs no secrecy (`run.seed`)."),
    ] = None,
    settings: SetOption = None,
    resume: ResumeFlag = False,
    as_json: AsJson = False,
) -> None:
    """Train a model under the budgets of a configuration.

    The run gets a folder of its own: where one exists, `-2`, `-3`, ... is appended to
    the name, and nothing is overwritten. `--resume` continues the interrupted run of
    this configuration, or the one in the folder that `--out` names.
    """
    from lexfed.cli import display
    from lexfed.cli.inputs import load_config, load_priced, located_errors
    from lexfed.config.overrides import overridden_text, run_overrides
    from lexfed.run import finished_result, folder_of
    from lexfed.run import resume as continue_run
    from lexfed.run.api import require_here, run_to_continue, start_in_free_folder
    from lexfed.run.driver.site_accounts import require_room

    overrides = run_overrides(settings or (), name, seed)
    found = load_config(config, overrides)
    require_here(found)
    wanted = folder_of(config, found) if out is None else out
    text, base = overridden_text(config, overrides), config.parent
    result = None
    if resume:
        folder = wanted if out is not None else run_to_continue(wanted, found)
        result = finished_result(found, folder)
    if result is not None:
        talk.say(f"`{result.folder}` is finished already; nothing was spent")
    else:
        again = folder if resume else None
        priced = load_priced(config, found, interrupted=again, overrides=overrides)
        if again is not None:
            opened = continue_run(priced, again, text, base)
        else:
            require_room(priced, base)
            with located_errors(config, overrides):
                opened = start_in_free_folder(priced, wanted, text, base)
            _say_number(wanted, opened.path)
        named = opened.path != folder_of(config, found)
        command = _command(config, overrides, opened.path if named else None)
        result = show_training(priced, opened, f"continue with `{command} --resume`")
    for line in display.closing(found, result):
        talk.say(line)
    if as_json:
        print_json(result.to_json())


def _say_number(wanted: Path, folder: Path) -> None:
    """Say that a run has another folder than it was to have, and what that means."""
    if folder != wanted:
        talk.warn(
            f"`{wanted}` exists, so this run is in `{folder}`",
            "a new run spends a budget of its own, and people in both runs pay for "
            "both; to continue an interrupted run use `--resume`",
        )


def _command(config: Path, overrides: "Sequence[Override]", out: Path | None) -> str:
    """Return the command that a run was started with, as a shell takes it."""
    words = ["lexfed", "run", str(config)]
    words += [word for override in overrides for word in override.words]
    words += [] if out is None else ["--out", str(out)]
    return shlex.join(words)


def predict(
    folder: Annotated[Path, Argument(help="Folder of a finished run.", readable=False)],
    table: Annotated[
        Path, Argument(help="A table: a file, or sql:TABLE.", readable=False)
    ],
    tiers: Annotated[
        str, Option(help="Most sensitive tier to read: later towers are left out.")
    ] = "special",
    explain: Annotated[
        bool, Option("--explain", help="Add what each column contributes to a score.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Score the rows of a table with a trained model, as CSV.

    With --explain a row also has the contribution of every column to its logit, and
    the intercept, which all have in common; together they add up to it.
    """
    from lexfed.cli.inputs import allow_own_models
    from lexfed.python.training import predict as scores

    allow_own_models(Path())
    found = scores(folder, table, tiers, explain)
    for line in found.bent.lines(len(found.values)):
        talk.warn(line)
    if as_json:
        print_json(found.to_json())
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    names, terms = found.explained_columns()
    writer.writerow([*found.columns, *names])
    for row, added in zip(found.values, terms, strict=True):
        # Every digit of a term: they add up, and a rounded sum would not.
        writer.writerow([*(f"{value:.6g}" for value in row), *added.tolist()])


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
