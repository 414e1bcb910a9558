# SPDX-License-Identifier: Apache-2.0
"""`lexfed demo`: a model under budgets, its guarantee, and how it compares."""

import json
import shutil
import time
from pathlib import Path

from lexfed import __version__
from lexfed.cli import show, talk
from lexfed.cli.progress import progress_lines
from lexfed.config import demo_config, loads
from lexfed.errors import RunFolderError
from lexfed.run import load_population, price, start, train
from lexfed.run.rehearsal import compare

_FIRST_LINE = demo_config().splitlines()[0]


def demo(out: Path, seeds: int, as_json: bool) -> None:
    """Train the demo federation, then compare on the same synthetic patients."""
    begin = time.monotonic()
    _make_room(out)
    text = demo_config(str(out))
    config = loads(text, "demo")
    population = load_population(config, Path())
    priced = price(config, population)
    patients = sum(len(site.train) + len(site.test) for site in population.sites)
    columns = len(population.tagged.schema.columns)
    talk.say(
        f"lexfed {__version__} · demo: {len(population.sites)} hospitals, "
        f"{patients:,} synthetic patients, {columns} columns\n".replace(",", " ", 1)
    )
    folder = start(priced, out, text)
    for line in show.opening(priced):
        talk.say(line)
    with progress_lines(priced) as on_round:
        result = train(priced, folder, on_round)
    for line in show.closing(priced, result)[:-1]:
        talk.say(line)
    talk.say(f"  compare  {seeds} trainings each, on the same patients …")
    found = compare(config, ["none", "cascade", "uniform"], seeds)
    words = {
        "none": "no privacy",
        "cascade": "lexfed",
        "uniform": "uniform noise, same protection of special columns",
    }
    for name, (mean, half) in found.items():
        talk.say(f"             AUC {mean:.3f} ± {half:.3f}   {words[name]}")
    talk.say(f"\nRun folder: {out}   ({time.monotonic() - begin:.0f} s)")
    if as_json:
        comparison = {name: list(pair) for name, pair in found.items()}
        print(json.dumps({**result.to_json(), "compare": comparison}, indent=2))


def _make_room(out: Path) -> None:
    """Remove an earlier demo, and nothing else."""
    if not out.exists():
        return
    config = out / "config.toml"
    try:
        earlier = config.read_text().startswith(_FIRST_LINE)
    except OSError:
        earlier = False
    if not earlier:
        raise RunFolderError(
            f"`{out}` exists and is not an earlier demo",
            "choose another folder with `--out`",
        )
    shutil.rmtree(out)
