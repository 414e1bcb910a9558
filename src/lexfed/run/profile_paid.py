# SPDX-License-Identifier: Apache-2.0
"""A profile that was bought before: what it says, and what it has cost.

Ranges and lists that a profile learned are facts about the same persons, so the run
that uses them is charged together with it (`budget.importance.left_of`).
"""

from collections.abc import Callable
from pathlib import Path

from lexfed.audit.logged_files import PROFILE
from lexfed.config.model import Config
from lexfed.law.tags import TaggedSchema
from lexfed.privacy.attributes import Counted
from lexfed.run.paid_before import content_of, releases_before
from lexfed.sketch.profile.profile import Profile

Before = Callable[[Config, Path, TaggedSchema], tuple[Counted, ...]]
"""Finds out what the profile of a configuration has released."""

MAKE = "make one with `lexfed profile lexfed.toml --out FOLDER`"


def paid_profile(
    config: Config, base: Path, tagged: TaggedSchema
) -> tuple[Counted, ...]:
    """Return what the profile of a configuration has released; nothing without one.

    Args:
        config: the configuration.
        base: folder that its paths are relative to.
        tagged: its columns with their tiers.

    Raises:
        ConfigError: if its price and that of the run do not add up, or its folder does
            not verify.
        RunFolderError: if there is no such folder, or no finished profile in it.
        ClaimError: if its claim does not hold.
        DataError: if it is damaged.
    """
    if config.data.profile is None:
        return ()
    folder = base / config.data.profile
    read_profile(folder)
    key = "`data.profile`"
    return releases_before(folder, config, tagged.schema, tagged.tiers(), key, MAKE)


def read_profile(folder: Path) -> Profile:
    """Return the profile that a run has written.

    Raises:
        RunFolderError: if there is none.
        DataError: if it is damaged.
    """
    return Profile.from_bytes(content_of(folder, PROFILE, MAKE), str(folder / PROFILE))
