# SPDX-License-Identifier: Apache-2.0
"""Filters: what makes a guarantee hold when the noise is chosen along the way.

If the next release is chosen after seeing earlier ones, adding up what was spent is
not a proof. A filter decides *before* each release whether it may run, by a rule
fixed beforehand, and the guarantee is the price of the plan, never the running sum:

* F0 `PlanEnvelope`: a list of releases fixed in advance; only a release dominated by
  the next planned one passes. For every history the run is dominated by the plan, so
  ordinary adaptive composition prices it, by any accountant. Ending early or leaving
  planned releases out is allowed (a release with infinite noise) and earns nothing.
* F1, F2 `PlanFilter`: releases have the shape of planned ones (name, clips, sampling
  rate, what they read), but how much noise they carry and how many there are is chosen
  from earlier releases. Before each one, for every scope of the claim (the record, the
  label, each tier), its cost is added to those of the releases that concern the scope;
  if the sum would pass the plan's, it is refused.

    F2   cost = mu^2, the square of sensitivity over noise; without sampling [ST22]
    F1   cost = Rényi divergence at one order: the one at which the *plan's* epsilon is
         smallest, hence fixed before anything is released [FZ21]; with sampling

**Theorem F.** Whatever chooses the releases, as any function of earlier ones and of
randomness of its own, the run satisfies in every scope what an accountant finds for
the plan: `gdp` and `pld` under F2, `rdp` under F1. *Proof*: guarantees, section 7. A
release that does not read tier t has, given the transcript, the same law on data sets
that differ in tier t only, so the sum of tier t leaves it out; a class with scale s is
as the record, with every clip times s.
Sums are exact: each cost is a float, rounded up, and floats are added as fractions. So
the plan itself always passes, and nothing above it does. There is no filter by live
privacy loss distributions: it is not valid in general.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Self

from lexfed.errors import Refused
from lexfed.privacy.accountants import gdp, rdp
from lexfed.privacy.accountants.gdp import Step, sensitivity
from lexfed.privacy.releases import MOST_SAMPLES, NoiseKind, Release
from lexfed.privacy.scopes import (
    CountedRelease,
    record_epsilon,
    require_renyi,
    steps_of,
    tier_releases,
)
from lexfed.terms import Accountant, FilterName, Guarantee, Neighbours
from lexfed.tiers import Tier

ReleaseShape = tuple[
    str, tuple[tuple[str, float], ...], float, Tier | None, int, NoiseKind
]
"""Everything about a release but how much noise it has."""

_LEAST = 1e-6
"""Smallest multiplier that is priced; below, nothing is private in any sense."""


def filter_name(guarantee: Guarantee, accountant: Accountant) -> FilterName:
    """Return the filter that makes the accountant's price of a plan a guarantee."""
    if guarantee == "envelope":
        return "F0"
    return "F1" if accountant == "rdp" else "F2"


@dataclass(frozen=True)
class PlanEnvelope:
    """F0: at most the planned releases, in their order.

    `position` is the first entry of the plan that is not used up, `used` its rounds.

    Guarantees:
        A release passes only if it is dominated by a planned one at or after the
        current position: same name, groups and clips, the same law of noise and no less
        of it on any group, no higher sampling rate, reads no more sensitive a tier,
        draws no more values.
        No planned release is used twice.
        The time of `after` does not grow with the rounds that were run.
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
    refused: sites clip to the planned bounds, and no other bounds may be charged for.
    """
    return release_clips(release) == release_clips(planned) and costs_no_more(
        release, planned
    )


def costs_no_more(release: Release, planned: Release) -> bool:
    """Return True if no clip is larger than planned, and no group has less noise.

    Nor does a unit take part more often, nor is a more sensitive tier read.
    """
    return (
        release.name == planned.name
        and release.noise == planned.noise
        and len(release.groups) == len(planned.groups)
        and all(
            group.name == other.name
            and group.clip <= other.clip
            and group.sigma >= other.sigma
            for group, other in zip(release.groups, planned.groups, strict=True)
        )
        and release.sampling_rate <= planned.sampling_rate
        and reads_no_more(release, planned)
        and release.samples <= planned.samples
    )


def release_clips(release: Release) -> tuple[tuple[str, float], ...]:
    """Return the groups of a release, with the bounds on contributions to them."""
    return tuple((group.name, group.clip) for group in release.groups)


def reads_no_more(release: Release, planned: Release) -> bool:
    """Return True if the release depends on no more sensitive a tier."""
    if planned.reads is None:
        return release.reads is None
    return release.reads is None or release.reads <= planned.reads


@dataclass(frozen=True)
class ScopeSum:
    """The sum of costs in one scope, and its budget.

    Attributes:
        name: `record`, `label`, the label of a tier, or `class`.
        tier: releases that read less are not counted; None: all are.
        order: of the Rényi divergence; None: costs are squares of mu.
        scale: factor on every clip.
        budget: sum of the plan.
    """

    name: str
    tier: Tier | None
    neighbours: Neighbours
    order: int | None
    scale: float
    budget: Fraction
    spent: Fraction = Fraction(0)

    def cost(self, release: Release) -> Fraction | None:
        """Return the cost of the release; None if it has hardly any noise."""
        if self.tier is not None and (
            release.reads is None or release.reads < self.tier
        ):
            return Fraction(0)
        multiplier = release.noise_multiplier / self.scale
        if multiplier < _LEAST:
            return None
        if self.order is None:
            cost = (sensitivity(self.neighbours) / multiplier) ** 2
        else:
            step = Step(multiplier, release.sampling_rate)
            cost = _divergence(step, self.neighbours, self.order)
        # Rounded up: a cost that underflows is still one.
        return Fraction(math.nextafter(cost, math.inf))

    def epsilon(self, delta: float) -> float:
        """Return the epsilon that the budget guarantees."""
        if self.order is None:
            return gdp.epsilon_from(math.sqrt(self.budget), delta)
        return rdp.epsilon_at(float(self.budget), self.order, delta)


@dataclass(frozen=True)
class PlanFilter:
    """F1 or F2: releases of planned shapes, within the plan's sums, the record's first.

    `samples` noise values may still be drawn; `room` above the plan's sums, as a part
    of them, is 0 except when checking floats that another machine computed.

    Guarantees:
        The plan itself passes, in any order.
        A release passes exactly if it has a planned shape, no sum passes the plan's,
        and no more than `MOST_SAMPLES` times the planned noise values are drawn.
        Asking changes nothing.
    """

    shapes: frozenset[ReleaseShape]
    scopes: tuple[ScopeSum, ...]
    samples: int
    room: float = 0.0

    @classmethod
    def of(
        cls,
        plan: Sequence[CountedRelease],
        delta: float,
        neighbours: Neighbours,
        accountant: Accountant,
        scales: Sequence[float] = (),
    ) -> "PlanFilter":
        """Return the filter whose guarantee is the accountant's price of the plan.

        `rdp` makes it F1; other accountants make it F2 and are refused sampled releases
        and noise in shares. Each of `scales` belongs to a class of units that is
        guaranteed more; the relation is that of the record.
        """
        planned = [(release, count) for release, count in plan if count > 0]
        require_renyi(planned, accountant)
        if filter_name("filter", accountant) == "F2":
            _require_unsampled(planned, accountant)
        rows: list[tuple[str, Tier | None, Neighbours, float]] = [
            ("record", None, neighbours, 1.0),
            ("label", None, "replace-one", 1.0),
        ]
        rows += [("class", None, neighbours, scale) for scale in scales]
        rows += [(tier.label, tier, "replace-one", 1.0) for tier in Tier]
        scopes = []
        for name, tier, relation, scale in rows:
            read = planned if tier is None else tier_releases(planned, tier)
            paid = [(release.scaled(scale), count) for release, count in read]
            order = _best_order(paid, delta, relation) if accountant == "rdp" else None
            empty = ScopeSum(name, tier, relation, order, scale, Fraction(0))
            scopes.append(replace(empty, budget=_total(empty, read)))
        shapes = frozenset(release_shape(release) for release, _ in planned)
        drawn = sum(release.samples * count for release, count in planned)
        return cls(shapes, tuple(scopes), MOST_SAMPLES * drawn)

    def after(self, release: Release) -> "PlanFilter | None":
        """Return the filter after the release, or None if it must not run."""
        verdict = self._judge(release)
        return verdict if isinstance(verdict, PlanFilter) else None

    def refusal(self, release: Release) -> str | None:
        """Return the reason: `shape`, `samples`, or the scope to be exceeded."""
        verdict = self._judge(release)
        return verdict if isinstance(verdict, str) else None

    def _judge(self, release: Release) -> "PlanFilter | str":
        if release_shape(release) not in self.shapes:
            return "shape"
        if release.samples > self.samples:
            return "samples"
        following = []
        for scope in self.scopes:
            cost = scope.cost(release)
            limit = scope.budget * Fraction(1.0 + self.room)
            if cost is None or scope.spent + cost > limit:
                return scope.name
            following.append(replace(scope, spent=scope.spent + cost))
        left = self.samples - release.samples
        return replace(self, scopes=tuple(following), samples=left)

    def costs(self, release: Release) -> tuple[float, ...]:
        """Return the cost of a release in each sum, the record's first."""
        costs = (scope.cost(release) for scope in self.scopes)
        return tuple(math.inf if cost is None else float(cost) for cost in costs)

    def epsilon(self, delta: float) -> float:
        """Return the record's guarantee, at the delta that the plan was priced at."""
        return self.scopes[0].epsilon(delta)


Filter = PlanEnvelope | PlanFilter
"""Lets releases pass as long as its own guarantee holds: a frozen value."""


def release_shape(release: Release) -> ReleaseShape:
    """Return everything about a release but how much noise it has."""
    return (
        release.name,
        release_clips(release),
        release.sampling_rate,
        release.reads,
        release.samples,
        release.noise,
    )


def _total(scope: ScopeSum, plan: Sequence[CountedRelease]) -> Fraction:
    total = Fraction(0)
    for release, count in plan:
        cost = scope.cost(release)
        if cost is None:
            raise Refused(
                f"the plan is refused: release `{release.name}` has hardly any noise"
            )
        total += count * cost
    return total


@lru_cache(maxsize=4096)
def _divergence(step: Step, neighbours: Neighbours, order: int) -> float:
    return float(rdp.curve([step], neighbours, (order,))[0])


def _best_order(
    plan: Sequence[CountedRelease], delta: float, relation: Neighbours
) -> int:
    curve = rdp.curve(steps_of(plan), relation).tolist()
    priced = zip(curve, rdp.ORDERS, strict=True)
    best = min(priced, key=lambda pair: rdp.epsilon_at(pair[0], pair[1], delta))
    return best[1]


def _require_unsampled(plan: Sequence[CountedRelease], accountant: Accountant) -> None:
    for release, _ in plan:
        if release.sampling_rate < 1.0:
            raise Refused(
                f"release `{release.name}` is sampled and its noise is chosen along "
                f"the way: `{accountant}` proves nothing about that",
                'use `accountant = "rdp"`, or `adapt.guarantee = "envelope"`',
            )
