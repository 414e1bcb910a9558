# SPDX-License-Identifier: Apache-2.0
"""Filters: what makes a guarantee hold when the noise is chosen along the way.

If the next release is chosen after seeing earlier ones, adding up what was spent is
not a proof. A filter decides *before* each release whether it may run, by a rule
fixed beforehand, and the guarantee is the filter's own, not the running sum:

* F0 `PlanEnvelope`: a list of releases fixed in advance; only a release dominated by
  the next planned one passes. For every history the run is dominated by the plan, so
  ordinary adaptive composition prices it, by any accountant. Ending early or leaving
  planned releases out is allowed (a release with infinite noise) and earns nothing.
* F1, F2 `plan_sums.PlanFilter`: what releases cost may add up to what the planned ones
  cost, and rounds may be more or fewer.

All take a plan, and the price of the plan is the guarantee. A filter is frozen: `after`
returns the filter that has let the release pass, or None.
"""

from dataclasses import dataclass, replace
from typing import Protocol, Self

from lexfed.privacy.filters.names import FilterName, Guarantee
from lexfed.privacy.releases import Release
from lexfed.privacy.scopes import CountedRelease, record_epsilon
from lexfed.terms import Accountant, Neighbours


def filter_name(guarantee: Guarantee, accountant: Accountant) -> FilterName:
    """Return the filter that makes the accountant's price of a plan a guarantee."""
    if guarantee == "envelope":
        return "F0"
    return "F1" if accountant == "rdp" else "F2"


class Filter(Protocol):
    """Lets releases pass as long as its own guarantee holds."""

    def after(self, release: Release) -> Self | None:
        """Return the filter once that release has run; None if it must not run."""
        ...

    def costs(self, release: Release) -> tuple[float, ...]:
        """Return the cost of a release in each of the filter's sums."""
        ...

    def epsilon(self, delta: float) -> float:
        """Return the guarantee, whatever passes and in whatever order it is chosen."""
        ...


@dataclass(frozen=True)
class PlanEnvelope:
    """F0: at most the planned releases, in their order.

    Guarantees:
        A release passes only if it is dominated by a planned one at or after the
        current position: same name, groups and clips, the same law of noise and no less
        of it on any group, no higher sampling rate, reads no more sensitive a tier,
        draws no more values.
        No planned release is used twice.
        The time of `after` does not grow with the rounds that were run.

    Attributes:
        plan: releases and their counts, in the order in which they will run.
        neighbours: the relation of `epsilon`.
        position: first entry of the plan that is not used up.
        used: rounds taken from that entry.
    """

    plan: tuple[CountedRelease, ...]
    neighbours: Neighbours = "add-remove"
    position: int = 0
    used: int = 0

    def after(self, release: Release) -> Self | None:
        """Return the envelope after the release, or None if it is not in the plan."""
        used = self.used
        for position in range(self.position, len(self.plan)):
            planned, count = self.plan[position]
            if used < count and dominates(planned, release):
                return replace(self, position=position, used=used + 1)
            used = 0
        return None

    def costs(self, release: Release) -> tuple[float, ...]:  # noqa: ARG002
        """Return nothing: an envelope compares releases and adds nothing up."""
        return ()

    def epsilon(self, delta: float) -> float:
        """Return the price of the whole plan."""
        shares = any(release.noise == "skellam" for release, _ in self.plan)
        accountant: Accountant = "rdp" if shares else "pld"
        return record_epsilon(self.plan, delta, self.neighbours, accountant)


def dominates(planned: Release, release: Release) -> bool:
    """Return True if the release costs no more than the planned one, for everybody.

    Group by group: clips are the same and no sigma is smaller, so no ratio clip/sigma
    is larger, and the release is the planned one with more noise added and, by the
    joint convexity of divergences, with a coin that lets in no more. A release with
    the same *joint* multiplier but other clips would cost the same, and is still
    refused: sites clip to the planned bounds, and nobody shall charge for others.
    """
    return (
        release.name == planned.name
        and release.noise == planned.noise
        and release_clips(release) == release_clips(planned)
        and all(
            group.sigma >= least.sigma
            for group, least in zip(release.groups, planned.groups, strict=True)
        )
        and release.sampling_rate <= planned.sampling_rate
        and reads_no_more(release, planned)
        and release.samples <= planned.samples
    )


def release_clips(release: Release) -> tuple[tuple[str, float], ...]:
    """Return the groups of a release and what contributions to them are clipped to."""
    return tuple((group.name, group.clip) for group in release.groups)


def reads_no_more(release: Release, planned: Release) -> bool:
    """Return True if the release depends on no more sensitive a tier."""
    if planned.reads is None:
        return release.reads is None
    return release.reads is None or release.reads <= planned.reads
