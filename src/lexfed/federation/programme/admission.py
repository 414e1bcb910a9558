# SPDX-License-Identifier: Apache-2.0
"""Admission: the releases that were agreed on for a step of a stage.

Rounds stand at a place of the programme: a stage and a step within it. A stage may end
before its last planned step, and under a filter it may have further ones. Everything
about a release is as planned but the noise, which stays within the stage's range.
"""

from dataclasses import replace

from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.privacy.releases import Release, ReleaseGroup


def most_rounds(stage: Stage) -> int:
    """Return the largest number of rounds of a stage."""
    return len(stage.releases) + stage.extra


def planned_release(stage: Stage, step: int) -> Release | None:
    """Return the planned release of a step; beyond the plan it is the last one."""
    return stage.releases[min(step, len(stage.releases) - 1)]


def rounds_before(programme: Programme, index: int, step: int) -> int:
    """Return the number of rounds planned before a step of a stage."""
    earlier = programme.stages[:index]
    return sum(len(stage.releases) for stage in earlier) + step


def with_noise(stage: Stage, release: Release | None, factor: float) -> Release | None:
    """Return a planned release with its noise changed, within the stage's range."""
    if release is None:
        return None
    low, high = stage.noise_range
    kept = min(high, max(low, factor))
    groups = (ReleaseGroup(g.name, g.clip, g.sigma * kept) for g in release.groups)
    return replace(release, groups=tuple(groups))


def admits(stage: Stage, step: int, release: Release | None) -> bool:
    """Return True if a release is one that was agreed on for a step."""
    if not 0 <= step < most_rounds(stage):
        return False
    planned = planned_release(stage, step)
    if planned is None or release is None:
        return planned is release
    low, high = stage.noise_range
    return (
        replace(release, groups=planned.groups) == planned
        and len(release.groups) == len(planned.groups)
        and all(
            (own.name, own.clip) == (group.name, group.clip)
            and low * group.sigma <= own.sigma <= high * group.sigma
            for own, group in zip(release.groups, planned.groups, strict=True)
        )
    )
