# SPDX-License-Identifier: Apache-2.0
"""From the path of a configuration to a priced run and its folder.

Paths in a configuration are relative to its folder, from Python as on the command line.
"""

from collections.abc import Sequence
from pathlib import Path

from lexfed.config import Config
from lexfed.data.reading.memory_tables import MemoryTable
from lexfed.errors import ConfigError, Problem
from lexfed.run.intake.population import load_population, read_coins
from lexfed.run.pricing.priced_run import PricedRun, price


def priced_file(
    path: Path,
    config: Config,
    rounds: int | None = None,
    *,
    resume: bool = False,
    tables: Sequence[MemoryTable] = (),
) -> PricedRun:
    """Read the data of a configuration file and price its run; nothing is spent.

    `rounds` replaces the configuration's. With `resume` every person gets the place
    that the run in its folder gave. `tables` are data frames that the file names.
    """
    coins = read_coins(folder_of(path, config), config) if resume else None
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
    """Return the run folder of a configuration file."""
    return path.parent / config.run.folder
