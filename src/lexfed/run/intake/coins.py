# SPDX-License-Identifier: Apache-2.0
"""The coins of a run, kept where its rows are, so that a continued run has the same.

The guarantee averages over them, so nobody else may know them, and no other run may
have them. They are a file of the run folder that its owner alone can read; a seeded
run, which is stamped as not private, needs none.
"""

from pathlib import Path

from lexfed.config.tables.root import Config
from lexfed.data.people.lots import LotKeys
from lexfed.durable import write_privately
from lexfed.errors import RunFolderError
from lexfed.plain_files import read_plain
from lexfed.run.folder import COINS, never_began

_MOST = 1 << 10


def write_coins(folder: Path, coins: LotKeys, config: Config) -> None:
    """Put the coins of a run on disk.

    Raises:
        RunFolderError: if they cannot be written.
        ValueError: if they are seeded, and the run would not say so.
    """
    if not config.run.test:
        if not coins.private:
            raise ValueError("seeded coins are for runs with `test = true` only")
        write_privately(folder / COINS, coins.to_bytes())


def read_coins(folder: Path, config: Config) -> LotKeys | None:
    """Return the coins of a run that is to be continued; None if it never began.

    Raises:
        RunFolderError: if they are gone or damaged: with others the same person could
            be on both sides of the split.
    """
    if config.run.test:
        return LotKeys.seeded(config.run.seed)
    if not folder.exists() or never_began(folder):
        return None
    path = folder / COINS
    try:
        return LotKeys.from_bytes(read_plain(path, _MOST))
    except (OSError, ValueError) as error:
        raise RunFolderError(
            f"`{path}` is missing or damaged: it says who is for training",
            "a run cannot be continued without it; choose another `run.out`",
        ) from error
