# SPDX-License-Identifier: Apache-2.0
"""A profile that was bought before: its answers, and its releases.

Ranges and lists that a profile learned are facts about the same persons, so the run
that uses them is charged together with it
(`lexfed.budget.column_importance.remaining_budget`).
"""

from collections.abc import Callable
from pathlib import Path

from lexfed.audit.log.logged_files import PROFILE
from lexfed.config.tables.root import Config
from lexfed.law.tags import TaggedSchema
from lexfed.privacy.scopes import CountedRelease
from lexfed.run.earlier_runs.charged_releases import (
    EarlierRun,
    content_of,
    earlier_releases,
)
from lexfed.sketch.profile.federation_profile import FederationProfile

ProfileReleaseReader = Callable[
    [Config, Path, TaggedSchema], tuple[CountedRelease, ...]
]
"""Returns the releases of a configuration's profile."""

MAKE = "make one with `lexfed profile lexfed.toml --out FOLDER`"


def profile_releases(
    config: Config, base: Path, tagged: TaggedSchema
) -> tuple[CountedRelease, ...]:
    """Return the releases of a configuration's profile; none without a profile.

    Paths in the configuration are relative to `base`.

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
    earlier = EarlierRun(folder, "`data.profile`", MAKE)
    return earlier_releases(earlier, config, tagged.schema, tagged.tiers())


def read_profile(folder: Path) -> FederationProfile:
    """Return the profile that a run has written.

    Raises:
        RunFolderError: if there is none.
        DataError: if it is damaged.
    """
    return FederationProfile.from_bytes(
        content_of(folder, PROFILE, MAKE), str(folder / PROFILE)
    )
