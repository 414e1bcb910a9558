# SPDX-License-Identifier: Apache-2.0
"""The price of releases with noise in shares: record, tiers, label.

**Theorem D.** Theorem C of `attributes` uses the noise only through its divergence.
Let each release add Skellam noise in shares as in `distributed`, towers encoded one by
one. Then the run's Rényi divergence is at most the sum, over the releases that count
and over their groups, of the bound in `skellam` at (D2, D1) = f (l2, l1), with

    record, add/remove     f = 1, all releases
    record, replace-one    f = 2, all releases
    label                  f = 2, all releases
    attribute of tier t    f = 2, releases with `reads` >= t
    person at m sites      f times m

*Proof.* Isolation does not depend on the noise: releases with `reads` < t have the same
conditional law on both neighbours. Another release moves, in group g, by the difference
of at most 2 m integer vectors of norms at most l2 and l1; norms add. Groups and
coordinates have independent noise, so their divergences add, and divergences of
adaptive steps add. Shares that the adversary knows are constants, and shares of honest
sites beyond `Cohort.honest` are independent of the rest: post-processing. []

It is Rényi accounting, not exact Gaussian accounting: the sum is not Gaussian. With
sampling the Gaussian formulas do not hold; `generic_sampling` is used instead.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lexfed import checks
from lexfed.errors import ClaimError, Refused
from lexfed.privacy import skellam
from lexfed.privacy.distributed import SharedRelease
from lexfed.privacy.generic_sampling import sampled
from lexfed.privacy.rdp import ORDERS, epsilon_from
from lexfed.privacy.steps import Neighbours, sensitivity
from lexfed.tiers import Tier

Floats = NDArray[np.float64]

Counted = tuple[SharedRelease, int]
"""A release and how many rounds of it."""

TOLERANCE = 1e-4
"""How far above the smallest factor `smallest_factor` may stop, relatively."""

_HIGHEST = 2.0**20
_LOWEST = 2.0**-20


def curve(
    releases: Sequence[Counted], neighbours: Neighbours, sites_per_person: int = 1
) -> Floats:
    """Return a bound on the Rényi divergence of the run at each of `ORDERS`.

    Guarantees:
        Never below the exact divergence.
        Never below that of Gaussian noise of the charged deviations.

    Raises:
        ClaimError: for a person at several sites under sampling.
    """
    checks.in_range(1, 2**20, sites_per_person=sites_per_person)
    factor = sensitivity(neighbours) * sites_per_person
    total = np.zeros(len(ORDERS))
    for release, count in releases:
        _require_one_site(release, sites_per_person)
        total += count * _divergences(release, factor, neighbours)
    return total


def _divergences(
    release: SharedRelease, factor: float, neighbours: Neighbours
) -> Floats:
    def whole(orders: Sequence[int]) -> Floats:
        groups = [
            skellam.curve(
                group.variance(release.cohort),
                factor * group.encoding.l2,
                factor * group.encoding.l1,
                orders,
            )
            for group in release.groups
        ]
        return np.asarray(np.sum(groups, axis=0))

    if release.sampling_rate == 1.0:
        return whole(ORDERS)
    if release.sampling_rate == 0.0:
        return np.zeros(len(ORDERS))
    return sampled(whole, release.sampling_rate, ORDERS, neighbours)


def record_epsilon(
    releases: Sequence[Counted],
    delta: float,
    neighbours: Neighbours,
    sites_per_person: int = 1,
) -> float:
    """Return the epsilon of a whole record at `delta`, which excludes `sampler_delta`.

    Raises:
        ClaimError: for a person at several sites under sampling.
    """
    checks.in_range(5e-324, 1.0, delta=delta)
    divergences = curve(releases, neighbours, sites_per_person)
    return epsilon_from(divergences, delta) if divergences.any() else 0.0


def tier_epsilon(
    releases: Sequence[Counted], tier: Tier, delta: float, sites_per_person: int = 1
) -> float:
    """Return the epsilon of an attribute of that tier.

    Guarantees:
        Never above the record's replace-one epsilon.
        A more sensitive tier never has a larger epsilon.
        0 if no release reads the tier.
    """
    read = [
        (release, count)
        for release, count in releases
        if release.reads is not None and release.reads >= tier
    ]
    return record_epsilon(read, delta, "replace-one", sites_per_person)


def label_epsilon(
    releases: Sequence[Counted], delta: float, sites_per_person: int = 1
) -> float:
    """Return the epsilon of the label."""
    return record_epsilon(releases, delta, "replace-one", sites_per_person)


def sampler_delta(releases: Sequence[Counted], epsilon: float) -> float:
    """Return the delta to add for the distance of all sites' samplers."""
    samples = sum(release.samples * count for release, count in releases)
    return skellam.delta_sampler(samples, epsilon)


def smallest_factor(
    plan: Callable[[float], Sequence[Counted]],
    epsilon: float,
    delta: float,
    neighbours: Neighbours = "add-remove",
    sites_per_person: int = 1,
) -> float:
    """Return about the smallest factor on the noise with which a plan fits a budget.

    Args:
        plan: the releases with all noise multiplied by a factor.
        epsilon: the budget, with `delta`, from which the sampler's is taken off.
        delta: see `epsilon`.
        neighbours: the relation of the budget.
        sites_per_person: at how many sites a person may be.

    Guarantees:
        The plan with the factor that is returned was priced and fits.
        A factor smaller by 1e-4 does not fit, unless it is below 2^-20.

    Raises:
        Refused: if even 2^20 times the noise does not fit.
    """
    checks.finite_positive(epsilon=epsilon)
    checks.in_range(5e-324, 1.0, delta=delta)

    def fits(factor: float) -> bool:
        releases = plan(factor)
        usable = delta - sampler_delta(releases, epsilon)
        return usable > 0.0 and epsilon >= record_epsilon(
            releases, usable, neighbours, sites_per_person
        )

    low = high = 1.0
    if fits(1.0):
        while fits(low):
            if low <= _LOWEST:
                return low
            low, high = low / 2.0, low
    else:
        while not fits(high):
            if high >= _HIGHEST:
                raise Refused(
                    f"no amount of noise in shares meets epsilon {epsilon:g}",
                    "raise the budget, or lower the number of rounds",
                )
            low, high = high, high * 2.0
    # Bisection keeps `high` feasible; a root finder would not.
    while high > low * (1.0 + TOLERANCE):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _require_one_site(release: SharedRelease, sites_per_person: int) -> None:
    if release.sampling_rate < 1.0 and sites_per_person > 1:
        raise ClaimError(
            f"release `{release.name}` samples units, and a person may be at "
            f"{sites_per_person} sites: there is no proof for that",
            "use `sampling_rate = 1`, or keep every person at one site",
        )
