# SPDX-License-Identifier: Apache-2.0
"""The ledger: what may still be released, and what was.

A ledger holds budgets (the record's, and a cap per tier) and the filters that enforce
them. It is asked before a round (`would_exceed`), charged before anything leaves
(`charge`), and rebuilt from the events it stored. The guarantee is that of its filters;
`spent` is the composition of what was charged so far, called the ledger value, and is
for people to watch.

With a plan (F0) everything is priced once, when the ledger is opened; a round then
costs a comparison. Without one, every budget gets its own adaptive filter (F1 or F2).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lexfed import checks
from lexfed.errors import Refused
from lexfed.privacy import rdp
from lexfed.privacy.accountant import Accountant
from lexfed.privacy.attributes import (
    Counted,
    per_person,
    record_epsilon,
    tier_epsilon,
)
from lexfed.privacy.events import Release
from lexfed.privacy.filters import ROOM, Envelope, Filter, GdpFilter, RdpFilter
from lexfed.privacy.gdp import mu_from
from lexfed.privacy.noise import delta_sampler
from lexfed.privacy.rounding import up
from lexfed.privacy.steps import Neighbours
from lexfed.tiers import Tier


@dataclass(frozen=True)
class Limits:
    """The budgets of a run.

    Attributes:
        epsilon: of the whole record, with `delta` and `neighbours`.
        delta: for every budget.
        neighbours: the relation of the record's budget.
        caps: attribute epsilon per tier, under replace-one; tiers without a cap are
            bounded by the record's budget alone.
    """

    epsilon: float
    delta: float
    neighbours: Neighbours = "add-remove"
    caps: tuple[tuple[Tier, float], ...] = ()

    def __post_init__(self) -> None:
        checks.finite_positive(epsilon=self.epsilon, delta=self.delta)
        checks.in_range(0.0, 1.0, delta=self.delta)
        for tier, cap in self.caps:
            checks.finite_positive(**{tier.label: cap})

    def scopes(self) -> tuple[tuple[Tier | None, float], ...]:
        """Return every budget: None is the record, then the tiers."""
        return ((None, self.epsilon), *self.caps)


@dataclass(frozen=True)
class Excess:
    """Which budget a release would break.

    Attributes:
        scope: `record`, or the name of a tier.
        would_reach: the epsilon it would bring this budget to.
        of: the budget.
    """

    scope: str
    would_reach: float
    of: float

    def __str__(self) -> str:
        """The words of a refusal, rounded against us."""
        if self.would_reach <= self.of:
            return (
                f"`{self.scope}`: not what the plan or filter fixed beforehand allows"
            )
        return f"`{self.scope}` would reach ε = {up(self.would_reach, 4)} of {self.of}"


@dataclass(frozen=True)
class Spent:
    """The ledger value: what the charged releases compose to."""

    record: float
    tiers: Mapping[Tier, float]
    delta: float
    delta_sampler: float


@dataclass(frozen=True)
class _Guard:
    """One filter and the budget it keeps."""

    tier: Tier | None
    filter: Filter
    of: float

    def concerns(self, release: Release) -> bool:
        if self.tier is None:
            return True
        return release.reads is not None and release.reads >= self.tier


class Ledger:
    """Budgets, the filters that keep them, and the releases charged so far.

    Guarantees:
        `charge` raises before anything changes if a budget would be exceeded.
        The releases that can be charged never cost more than any of the budgets.
        A ledger rebuilt from its events answers as the first one does.
        With a plan, `would_exceed` prices nothing as long as the plan is followed.
    """

    def __init__(
        self,
        limits: Limits,
        guards: Sequence[_Guard],
        accountant: Accountant,
        sites_per_person: int,
        plan: tuple[Counted, ...] = (),
    ) -> None:
        """Use `planned` or `adaptive` instead."""
        self.limits = limits
        self.accountant = accountant
        self.sites_per_person = sites_per_person
        self.plan = plan
        self._opening = tuple(guards)
        self._guards = self._opening
        self._charged: list[Release] = []

    @classmethod
    def planned(
        cls,
        limits: Limits,
        plan: Sequence[Counted],
        accountant: Accountant = "pld",
        sites_per_person: int = 1,
    ) -> "Ledger":
        """Open a ledger for a plan that is fixed before anything runs (F0).

        Raises:
            Refused: if the plan as a whole exceeds a budget.
        """
        paid = tuple((per_person(release, sites_per_person), n) for release, n in plan)
        guards = [_Guard(None, Envelope(paid, limits.neighbours), limits.epsilon)]
        ledger = cls(limits, guards, accountant, sites_per_person, tuple(plan))
        excess = ledger._excess(ledger.plan)
        if excess.would_reach > excess.of:
            raise Refused(f"the plan is refused: {excess}")
        return ledger

    @classmethod
    def adaptive(
        cls, limits: Limits, sampled: bool = False, sites_per_person: int = 1
    ) -> "Ledger":
        """Open a ledger for releases chosen along the way.

        Args:
            limits: the budgets; each gets a filter of its own.
            sampled: whether releases may be sampled: F1 instead of F2.
            sites_per_person: sites at which one person may be.

        Raises:
            Refused: if a budget is below what the filter can prove at all.
        """
        guards = []
        for tier, budget in limits.scopes():
            relation = limits.neighbours if tier is None else "replace-one"
            kind = _rdp_filter if sampled else _gdp_filter
            guards.append(_Guard(tier, kind(budget, limits.delta, relation), budget))
        accountant: Accountant = "rdp" if sampled else "gdp"
        return cls(limits, guards, accountant, sites_per_person)

    def would_exceed(self, release: Release) -> Excess | None:
        """Say which budget the release would break, without changing anything."""
        if self._after(release) is not None:
            return None
        base = self.plan or Counter(self._charged).items()
        return self._excess((*base, (release, 1)))

    def charge(self, release: Release) -> None:
        """Charge a release that is about to happen.

        Raises:
            Refused: if a budget would be exceeded; nothing has changed then.
        """
        following = self._after(release)
        if following is None:
            raise Refused(
                f"release `{release.name}` refused: {self.would_exceed(release)}"
            )
        self._guards = following
        self._charged.append(release)

    def spent(self) -> Spent:
        """Return the ledger value of the record and of every tier a release read."""
        counted = tuple(Counter(self._charged).items())
        read = {release.reads for release, _ in counted if release.reads is not None}
        record = self._price(counted, None)
        return Spent(
            record=record,
            tiers={tier: self._price(counted, tier) for tier in sorted(read)},
            delta=self.limits.delta,
            delta_sampler=delta_sampler(
                sum(release.samples for release in self._charged), record
            ),
        )

    def events(self) -> tuple[Release, ...]:
        """Return what was charged, oldest first."""
        return tuple(self._charged)

    def rebuild(self, rows: Iterable[Mapping[str, Any]]) -> "Ledger":
        """Return a ledger with the same rules and the stored events.

        Raises:
            ValueError: if a row is not a release of this version.
            Refused: if the events do not fit: then they are not this ledger's.
        """
        ledger = Ledger(
            self.limits,
            self._opening,
            self.accountant,
            self.sites_per_person,
            self.plan,
        )
        for row in rows:
            ledger.charge(Release.from_json(row))
        return ledger

    def _after(self, release: Release) -> tuple[_Guard, ...] | None:
        paid = per_person(release, self.sites_per_person)
        guards = []
        for guard in self._guards:
            following = (
                guard.filter.after(paid) if guard.concerns(paid) else guard.filter
            )
            if following is None:
                return None
            guards.append(_Guard(guard.tier, following, guard.of))
        return tuple(guards)

    def _excess(self, counted: Sequence[Counted]) -> Excess:
        """Return the budget that the releases exceed the most, relatively."""
        found = [
            Excess(
                "record" if tier is None else tier.label, self._price(counted, tier), of
            )
            for tier, of in self.limits.scopes()
        ]
        return max(found, key=lambda excess: excess.would_reach / excess.of)

    def _price(self, counted: Sequence[Counted], tier: Tier | None) -> float:
        delta, sites = self.limits.delta, self.sites_per_person
        if tier is None:
            relation = self.limits.neighbours
            return record_epsilon(counted, delta, relation, self.accountant, sites)
        return tier_epsilon(counted, tier, delta, self.accountant, sites)


def _gdp_filter(budget: float, delta: float, neighbours: Neighbours) -> Filter:
    return GdpFilter(mu_from(budget, delta) * (1.0 - ROOM), neighbours)


def _rdp_filter(budget: float, delta: float, neighbours: Neighbours) -> Filter:
    """Return the filter of the order that lets most unsampled Gaussians pass.

    Their divergence is proportional to the order, and the conversion adds `offset`:
    the order is a function of the budget alone, hence fixed beforehand.
    """
    order = max(rdp.ORDERS, key=lambda a: (budget - rdp.offset(a, delta)) / a)
    room = budget - rdp.offset(order, delta)
    if room <= 0.0:
        raise Refused(
            f"no Rényi order proves epsilon {budget:g} at delta {delta:g}",
            "raise the budget, or plan the releases beforehand",
        )
    return RdpFilter(order, room * (1.0 - ROOM), neighbours)
