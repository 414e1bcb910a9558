# SPDX-License-Identifier: Apache-2.0
"""`lexfed run`: train or continue, show the rounds, stop where nothing is lost."""

import sys
from collections.abc import Sequence
from pathlib import Path

from lexfed.cli import talk
from lexfed.cli.display import runs
from lexfed.cli.inputs import load_config, load_priced, print_json
from lexfed.cli.interrupt import INTERRUPTED, between_rounds
from lexfed.cli.progress import progress_lines
from lexfed.config.examination import config_text
from lexfed.run import (
    OpenRun,
    PricedRun,
    RoundReport,
    RunResult,
    finished_result,
    folder_of,
    resume,
    start,
    train,
)
from lexfed.run.api import require_here


def run(path: Path, resuming: bool, as_json: bool) -> None:
    """Train, or continue an interrupted training."""
    config = load_config(path)
    require_here(config)
    out = folder_of(path, config)
    result = finished_result(config, out) if resuming else None
    if result is not None:
        talk.say(f"`{out}` is finished already; nothing was spent")
    else:
        priced = load_priced(path, config, resume=resuming)
        text = config_text(path)
        opened = (resume if resuming else start)(priced, out, text, path.parent)
        result = show_training(
            priced, opened, f"continue with `lexfed run {path} --resume`"
        )
    for line in runs.closing(config, result):
        talk.say(line)
    if as_json:
        print_json(result.to_json())


def show_training(
    priced: PricedRun,
    opened: OpenRun,
    again: str,
    opening: Sequence[str] | None = None,
    what: str = "training",
) -> RunResult:
    """Train with progress on the screen.

    Args:
        priced: the run.
        opened: from `start` or `resume`.
        again: how to go on after Ctrl-C.
        opening: what is said first; by default what a training begins with.
        what: is done, in a word.
    """
    for line in runs.opening(priced) if opening is None else opening:
        talk.say(line)
    reached = ""
    try:
        with between_rounds() as stop, progress_lines(priced, what) as on_round:

            def each(report: RoundReport) -> None:
                nonlocal reached
                reached = f" after round {report.round} of {report.rounds}"
                on_round(report)
                if stop.asked and report.round < report.rounds:
                    raise KeyboardInterrupt

            return train(priced, opened, each)
    except KeyboardInterrupt:
        talk.say(f"interrupted{reached}; what was released so far is kept")
        talk.labelled("hint", again, "\n")
        sys.exit(INTERRUPTED)
