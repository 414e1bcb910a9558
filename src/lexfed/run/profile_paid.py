# SPDX-License-Identifier: Apache-2.0
"""A profile that was bought before: what it says, and what it has cost.

Ranges and lists that a profile learned are facts about the same persons, so the run
that uses them is charged together with it (`budget.importance.left_of`).
"""

from pathlib import Path

from lexfed.config.model import Config
from lexfed.errors import ConfigError, Problem, RunFolderError
from lexfed.privacy.attributes import Counted
from lexfed.privacy.claim import load_claim
from lexfed.sketch.profile.profile import Profile

PROFILE = "profile.json"
"""File of a run folder that holds what the released tables say."""

_MAKE = "make one with `lexfed profile lexfed.toml --out FOLDER`"


def paid_profile(config: Config, base: Path) -> tuple[Counted, ...]:
    """Return what the profile of a configuration has released; nothing without one.

    Args:
        config: the configuration.
        base: folder that its paths are relative to.

    Raises:
        ConfigError: if the profile was made with seeded noise, and the run is none.
        RunFolderError: if there is no such folder, or no finished profile in it.
        ClaimError: if its claim does not hold.
        DataError: if it is damaged.
    """
    if config.data.profile is None:
        return ()
    folder = base / config.data.profile
    read_profile(folder)
    claim = load_claim(content_of(folder, "claim.json"))
    if claim.stamp and not config.run.test:
        what = f"`{folder}` was made with seeded noise, so it is not private"
        hint = "make it again without `run.test`"
        raise ConfigError([Problem("`data.profile`", what, hint)])
    return tuple((row.release.release(), row.count) for row in claim.releases)


def read_profile(folder: Path) -> Profile:
    """Return the profile that a run has written.

    Raises:
        RunFolderError: if there is none.
        DataError: if it is damaged.
    """
    return Profile.from_bytes(content_of(folder, PROFILE), str(folder / PROFILE))


def content_of(folder: Path, name: str) -> bytes:
    """Return a file of a finished profile.

    Raises:
        RunFolderError: if it is not there.
    """
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        what = f"`{folder}` holds no finished profile: there is no `{name}`"
        raise RunFolderError(what, _MAKE) from error
