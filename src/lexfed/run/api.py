# SPDX-License-Identifier: Apache-2.0
"""From the path of a configuration to a priced run and its folder.

Paths in a configuration are relative to its folder, from Python as on the command line.

A run folder is evidence and never overwritten: where `runs/visits` exists, the next run
gets `runs/visits-2`. So several folders may hold runs of one configuration, and a run
that is continued is found by what its journal says, never by its number.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lexfed.config import Config
from lexfed.data.reading.memory_tables import MemoryTable
from lexfed.durable import read_lines
from lexfed.errors import ConfigError, FolderTaken, Problem, RunFolderError
from lexfed.run.folder import EVENTS
from lexfed.run.intake.population import load_population, read_coins
from lexfed.run.pricing.priced_run import PricedRun, price

if TYPE_CHECKING:
    from lexfed.run.driver.open_run import OpenRun


def priced_file(
    path: Path,
    config: Config,
    rounds: int | None = None,
    *,
    interrupted: Path | None = None,
    tables: Sequence[MemoryTable] = (),
) -> PricedRun:
    """Read the data of a configuration file and price its run; nothing is spent.

    `rounds` replaces the configuration's. With the folder of an `interrupted` run every
    person gets the place that this run gave. `tables` are data frames that the file
    names.
    """
    coins = None if interrupted is None else read_coins(interrupted, config)
    if rounds is not None:
        federation = config.federation.model_copy(update={"rounds": rounds})
        config = config.model_copy(update={"federation": federation})
    population = load_population(config, path.parent, coins, tables)
    return price(config, population, path.parent)


def require_here(config: Config) -> None:
    """Refuse a run whose sites are other organisations, and say how it is started."""
    if config.federation.engine == "flare":
        what = "`flare` runs between organisations, and not in this process"
        hint = (
            "start it with `lexfed deploy run`, see docs/guide/deployment.md; to try "
            'it here set `engine = "inprocess"`'
        )
        raise ConfigError([Problem("`federation.engine`", what, hint)])


def folder_of(path: Path, config: Config) -> Path:
    """Return the run folder of a configuration file, before it gets a number."""
    return path.parent / config.run.folder


def start_in_free_folder(
    priced: PricedRun, wanted: Path, config_text: str, base: Path
) -> "OpenRun":
    """Start a run as `start` does, in the wanted folder or the next with a number.

    A folder that is another process's by the time it is made counts as taken.
    """
    from lexfed.run.driver.open_run import start

    if wanted.name in ("", ".."):
        what = f"`{wanted}` has no name that a number could be added to"
        raise RunFolderError(what, "name a folder that is not there yet")
    number = 1
    while True:
        with suppress(FolderTaken):
            return start(priced, _with_number(wanted, number), config_text, base)
        number += 1


def _with_number(wanted: Path, number: int) -> Path:
    return wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")


def run_to_continue(wanted: Path, config: Config) -> Path:
    """Return the folder of the run that `--resume` means: wanted, or one with a number.

    It is the only interrupted run of this configuration; without one, the last that is
    finished.

    Raises:
        RunFolderError: if there are several, or none of this configuration.
    """
    folders = _runs_at(wanted)
    states = {folder: _state(folder, config) for folder in folders}
    interrupted = [folder for folder in folders if states[folder] == "interrupted"]
    finished = [folder for folder in folders if states[folder] == "finished"]
    if len(interrupted) > 1:
        raise RunFolderError(
            f"{_listed(interrupted)} are interrupted runs of this configuration",
            "name the one to continue with `--out`",
        )
    if not interrupted and not finished and folders not in ([], [wanted]):
        raise RunFolderError(
            f"no run to continue: {_listed(folders)} have other configurations",
            "repeat `--set`, `--name` and `--seed` as they were; with `--out DIR` it "
            "is said what differs from one of them",
        )
    return [wanted, *finished[-1:], *interrupted][-1]


def _runs_at(wanted: Path) -> list[Path]:
    """Return the run folders of a name, the one without a number first."""
    pattern = re.compile(rf"{re.escape(wanted.name)}-([1-9]\d{{0,8}})")
    numbers = {1} if (wanted / EVENTS).is_file() else set()
    with suppress(OSError):
        for path in wanted.parent.iterdir():
            found = pattern.fullmatch(path.name)
            if found and int(found[1]) > 1 and (path / EVENTS).is_file():
                numbers.add(int(found[1]))
    return [_with_number(wanted, number) for number in sorted(numbers)]


def _state(folder: Path, config: Config) -> Literal["interrupted", "finished", "other"]:
    """Return the state of a run, by its journal; one that cannot be read is another.

    One that was interrupted before its first event may be of any configuration.
    """
    try:
        rows = read_lines(folder / EVENTS)
    except RunFolderError:
        return "other"
    if rows and rows[0].get("config") != config.digest:
        return "other"
    over = any(row.get("type") == "end" for row in rows)
    return "finished" if over else "interrupted"


def _listed(folders: Sequence[Path]) -> str:
    return ", ".join(f"`{folder}`" for folder in folders)
