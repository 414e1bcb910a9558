# SPDX-License-Identifier: Apache-2.0
"""`lexfed demo`: a model under budgets, its guarantee, and how it compares."""

import shutil
import time
from pathlib import Path
from typing import Annotated

from typer import Option

from lexfed.cli import talk
from lexfed.cli.options import AsJson
from lexfed.cli.output import print_json
from lexfed.cli.progress import ProgressLine
from lexfed.counted_words import counted
from lexfed.errors import RunFolderError
from lexfed.version import __version__

_WORDS = {
    "none": "no privacy",
    "cascade": "lexfed",
    "uniform": "uniform noise, same protection of special columns",
}


def demo(
    out: Annotated[Path, Option(help="Run folder; a demo there is replaced.")] = (
        Path("runs/demo")
    ),
    seeds: Annotated[int, Option(min=2, help="Trainings behind each interval.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Train on synthetic patients and compare; nothing to set up."""
    from lexfed.audit.verify import Status
    from lexfed.cli import display
    from lexfed.cli.commands.training.run import show_training
    from lexfed.config import demo_config, loads
    from lexfed.report.documents.run_documents import ReportSource, make_report
    from lexfed.run import load_population, price, start
    from lexfed.run.driver.rehearsal import compare

    begin = time.monotonic()
    _make_room(out)
    text = demo_config(str(out))
    config = loads(text, "demo")
    population = load_population(config, Path())
    priced = price(config, population)
    patients = sum(len(site.train) + len(site.test) for site in population.sites)
    talk.say(
        f"lexfed {__version__} · demo: {counted(len(population.sites), 'hospital')}, "
        f"{f'{patients:,}'.replace(',', ' ')} synthetic patients, "
        f"{counted(len(population.tagged.schema.columns), 'column')}\n"
    )
    opened = start(priced, out, text)
    result = show_training(priced, opened, "start again with `lexfed demo`")
    for line in display.closing(config, result)[:-1]:
        talk.say(line)
    made = make_report(ReportSource(out))
    passed = sum(check.status is Status.OK for check in made.verdict.checks)
    failed = sum(check.status is Status.FAIL for check in made.verdict.checks)
    talk.say(f"  checks   {passed} passed, {failed} failed")
    talk.say(f"  compare  {counted(seeds, 'training')} each, on the same patients …")
    progress = ProgressLine("compare")
    found = compare(config, list(_WORDS), seeds, progress.show)
    progress.end()
    for name, (mean, half) in found.items():
        talk.say(f"             AUC {mean:.3f} ± {half:.3f}   {_WORDS[name]}")
    talk.say(f"\nReport: {out / 'report.html'}   ({time.monotonic() - begin:.0f} s)")
    if as_json:
        comparison = {name: list(pair) for name, pair in found.items()}
        checks = made.verdict.to_json()
        print_json({**result.to_json(), "compare": comparison, "verdict": checks})


def _make_room(out: Path) -> None:
    """Remove an earlier demo, and nothing else."""
    from lexfed.run.folder import RunFolder, never_began

    if not out.exists() or never_began(out):
        return
    if not _is_demo(out):
        raise RunFolderError(
            f"`{out}` exists and is not an earlier demo",
            "choose another folder with `--out`",
        )
    RunFolder.open(out).close()  # refuses while another process writes there
    shutil.rmtree(out)


def _is_demo(out: Path) -> bool:
    from lexfed.config import demo_config
    from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
    from lexfed.run.folder import is_run_file

    try:
        text = read_plain(out / "config.toml", MOST_OF_A_DOCUMENT).decode()
    except (OSError, UnicodeDecodeError):
        return False
    first_line = demo_config().splitlines()[0]
    return text.startswith(first_line) and all(map(is_run_file, out.iterdir()))
