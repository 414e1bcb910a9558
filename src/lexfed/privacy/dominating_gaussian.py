# SPDX-License-Identifier: Apache-2.0
"""A Gaussian that costs at least as much as repeat and select.

Ledgers that outlive a run add squares of Gaussian privacy. The best of a random number
of runs is no Gaussian, but one dominates it: one whose delta at every epsilon >= 0 is
at least as large [ZDW22]. Of the best of K runs, each mu-GDP, we know

    delta(e) <= min over orders a of the Rényi conversion of D_a   (`selection`)
    delta(e) <= E_K[delta of (sqrt(K) mu)-GDP at e]                (K revealed)

The first is good for large e and trivial for small, the second the other way round.
The smallest mu* is sought whose Gaussian lies above their minimum. Both sides fall
with e, so between two points of a grid the left value on one side and the right value
on the other decide. A Gaussian of sqrt(k) mu, where P[K > k] is negligible, dominates
in any case: that is where the search starts. What is left out of delta is `NEGLIGIBLE`.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import log_ndtr, ndtr

from lexfed.arrays import Floats
from lexfed.privacy.accountants import rdp
from lexfed.privacy.accountants.rdp import delta_from
from lexfed.privacy.accountants.steps import sensitivity
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.scopes import (
    CountedRelease,
    release_per_person,
    require_renyi,
    steps_of,
    tier_releases,
)
from lexfed.privacy.selection import Repetitions, selected_curve
from lexfed.terms import Neighbours
from lexfed.tiers import MODEL_TIERS, Tier

NEGLIGIBLE = 1e-30
"""Delta that the Gaussian need not dominate; far below every delta there is."""

_REACH = 400.0  # the grid ends at so many mu, where deltas are 0 in floats
_POINTS = 300
_TAIL = 1e-9  # chance of larger K, taken as delta 1
_BUCKETS = 200
_MARGIN = 1e-6  # above the rounding of floats
_HALVINGS = 30


def dominating_mu(mu: float, curve: Floats, repetitions: Repetitions) -> float:
    """Return the mu* of a Gaussian that dominates the best of a number of runs.

    Args:
        mu: of one run; sampled releases counted as if nobody were left out.
        curve: divergence of the best at `ORDERS`, from `selected_curve`.
        repetitions: the law of their number.

    Guarantees:
        At every epsilon >= 0 the Gaussian's delta is at least that of the best run,
        less `NEGLIGIBLE`.
        0 for runs that say nothing.
    """
    if mu == 0.0:
        return 0.0
    near = np.linspace(0.0, _REACH / 20.0, _POINTS)
    far = np.geomspace(_REACH / 20.0, _REACH, _POINTS)[1:]
    points = mu * np.concatenate([near, far])
    known = np.array([delta_from(curve, float(point)) for point in points])
    known = np.minimum(known, _revealed(mu, repetitions, points))
    # Below the last point the bound at the left must lie under the curve at the right;
    # beyond it, all that is left is the bound at the last point.
    low, high = mu, mu * math.sqrt(_most(repetitions, NEGLIGIBLE))
    if known[-1] > NEGLIGIBLE:
        return high
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        above = _delta(np.array([middle]), points[1:])[0] * (1.0 - _MARGIN)
        if np.all(known[:-1] <= above + NEGLIGIBLE):
            high = middle
        else:
            low = middle
    return high


def _revealed(mu: float, repetitions: Repetitions, points: Floats) -> Floats:
    """Return the deltas if the number of runs were known, rounded up."""
    numbers, chances = _law(repetitions)
    # Few buckets, each with the largest number in it: more runs tell more.
    edges = np.unique(np.geomspace(1, numbers[-1], _BUCKETS).round().astype(int))
    bucket = np.searchsorted(edges, numbers)
    weights = np.bincount(bucket, chances, minlength=len(edges))
    deltas = weights @ _delta(mu * np.sqrt(edges.astype(float)), points)
    return np.minimum(1.0, deltas * (1.0 + _MARGIN) + _TAIL)


def _law(repetitions: Repetitions) -> tuple[Floats, Floats]:
    """Return the numbers of runs above 0 up to the tail, and their chances."""
    most = _most(repetitions, _TAIL / 2.0)
    first, chance = repetitions.first()
    chances = [float(chance)]
    for number in range(first, most):
        chances.append(chances[-1] * float(repetitions.ratio(number)))
    numbers = np.arange(first, most + 1, dtype=float)
    kept = numbers > 0
    return numbers[kept], np.array(chances)[kept]


def _most(repetitions: Repetitions, tail: float) -> int:
    """Return a number that more runs exceed with at most that chance."""
    number, chance = repetitions.first()
    here = float(chance)
    while True:
        ratio = float(repetitions.ratio(number))
        # Ratios of all three laws never grow once below 1, except towards 1 - gamma.
        bound = max(ratio, repetitions.last_ratio)
        if bound < 1.0 and here * bound / (1.0 - bound) <= tail:
            return max(number, 1)
        here *= ratio
        number += 1


def _delta(mus: Floats, points: Floats) -> Floats:
    """Return delta of each Gaussian (rows) at each epsilon (columns)."""
    scaled = points[None, :] / mus[:, None]
    half = mus[:, None] / 2.0
    lost = np.exp(points[None, :] + log_ndtr(-scaled - half))
    kept: Floats = np.maximum(ndtr(-scaled + half) - lost, 0.0)
    return kept


def dominating_releases(
    settings: Sequence[Sequence[CountedRelease]],
    repetitions: Repetitions,
    sites_per_person: int = 1,
) -> tuple[Release, ...]:
    """Return releases that cost every scope at least what a search costs it.

    Args:
        settings: the releases of one run under each setting.
        repetitions: the law of the number of runs.
        sites_per_person: sites at which one person may be; already paid for.

    Returns:
        One release for each tier that a search reads and one for the label, none of
        them sampled. Their squares add up, from the most sensitive tier down, to what
        each scope pays.

    Raises:
        ClaimError: for noise in shares: no Gaussian is known to dominate it.
    """
    for one in settings:
        require_renyi(one, "gdp")
    paid = [
        [(release_per_person(r, sites_per_person), n) for r, n in one]
        for one in settings
    ]

    def square(
        kept: Sequence[Sequence[CountedRelease]], neighbours: Neighbours
    ) -> float:
        reach = sensitivity(neighbours)
        steps = [steps_of(one) for one in kept]
        mu = reach * math.sqrt(
            max(
                math.fsum(s.count / s.noise_multiplier**2 for s in one) for one in steps
            )
        )
        curve = np.max(np.array([rdp.curve(one, neighbours) for one in steps]), axis=0)
        found = dominating_mu(mu, selected_curve(curve, repetitions), repetitions)
        return (found / reach) ** 2

    releases: list[Release] = []
    so_far = 0.0
    scopes: list[tuple[Tier | None, float]] = [
        (tier, square([tier_releases(one, tier) for one in paid], "replace-one"))
        for tier in reversed(MODEL_TIERS)
    ]
    whole = max(square(paid, "add-remove"), square(paid, "replace-one"))
    for reads, needed in (*scopes, (None, whole)):
        missing = needed - so_far
        if missing > 0.0:
            group = ReleaseGroup(
                "search", 1.0, 1.0 / math.sqrt(missing * (1.0 + _MARGIN))
            )
            releases.append(Release("search", (group,), 1.0, reads, 0))
            so_far = needed
    return tuple(releases)
