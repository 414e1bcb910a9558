# SPDX-License-Identifier: Apache-2.0
"""Configurations and data that commands work on, read once for all of them."""

import sys
from pathlib import Path

from lexfed.cli import talk
from lexfed.cli.display import runs
from lexfed.cli.problem_lines import located_errors
from lexfed.cli.tier_hints import with_suggestions
from lexfed.config import Config, examine_file
from lexfed.errors import ConfigError
from lexfed.run import PricedRun, priced_file
from lexfed.run.audit_log.opening import check_statements


def allow_own_models(*folders: Path) -> None:
    """Let `model = "module:factory"` name a file next to the configuration.

    An installed command does not look into the working folder by itself. The folders
    come last, so that a file there never takes the place of an installed package.
    """
    sys.path += [str(folder.resolve()) for folder in folders]


def load_config(path: Path) -> Config:
    """Read a configuration and say what is worth a word."""
    found = examine_file(path)
    if found.config is None:
        raise ConfigError(with_suggestions(path, found.problems))
    for note in found.notes:
        talk.warn(str(note))
    return found.config


def load_priced(
    path: Path, config: Config, rounds: int | None = None, *, resume: bool = False
) -> PricedRun:
    """Read the data and price the run; nothing is spent."""
    allow_own_models(Path(), path.parent)
    with located_errors(path):
        priced = priced_file(path, config, rounds, resume=resume)
        priced.ledger()
        check_statements(priced, path.parent)
    for line in runs.remarks(priced):
        talk.say(line)
    return priced
