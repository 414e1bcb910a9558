# SPDX-License-Identifier: Apache-2.0
"""The ledger: what may still be released, and what was.

A ledger holds budgets (the record's, and a cap per tier), a plan that keeps them, and
the filter that holds releases to the plan. It is asked before a round (`would_exceed`),
charged before anything leaves (`charge`), and rebuilt from the events it stored. The
guarantee is the price of the plan; `spent` is the composition of what was charged so
far, called the ledger value, and is for people to watch.

The plan is priced once, when the ledger is opened. A round then costs a comparison with
the planned ones (F0, `planned`), or a sum for every scope (F1 or F2, `filtered`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lexfed import checks
from lexfed.errors import Refused
from lexfed.privacy.filters.envelope import Filter, PlanEnvelope
from lexfed.privacy.filters.plan_sums import PlanFilter
from lexfed.privacy.releases import Release
from lexfed.privacy.rounding import up
from lexfed.privacy.scopes import (
    CountedRelease,
    record_epsilon,
    release_per_person,
    tier_epsilon,
)
from lexfed.terms import Accountant, Neighbours
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
class BudgetExcess:
    """The budget that a release would break.

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
class LedgerValue:
    """The ledger value: what the charged releases compose to."""

    record: float
    tiers: Mapping[Tier, float]
    delta: float


class Ledger:
    """Budgets, the filter that keeps them, and the releases charged so far.

    Guarantees:
        `charge` raises before anything changes if a budget would be exceeded.
        The releases that can be charged never cost more than any of the budgets.
        A ledger rebuilt from its events answers as the first one does.
        With an envelope, `would_exceed` prices nothing as long as it is followed.
    """

    def __init__(
        self,
        limits: Limits,
        opening: Filter,
        accountant: Accountant,
        sites_per_person: int,
        plan: tuple[CountedRelease, ...],
    ) -> None:
        """Use `planned` or `filtered` instead."""
        self.limits = limits
        self.accountant = accountant
        self.sites_per_person = sites_per_person
        self.plan = plan
        self._opening = opening
        self._filter = opening
        self._charged: list[Release] = []

    @classmethod
    def planned(
        cls,
        limits: Limits,
        plan: Sequence[CountedRelease],
        accountant: Accountant = "pld",
        sites_per_person: int = 1,
    ) -> "Ledger":
        """Open a ledger that admits the planned releases, or some of them (F0).

        Raises:
            Refused: if the plan as a whole exceeds a budget.
            ClaimError: for noise in shares by another accountant than `rdp`.
        """
        envelope = PlanEnvelope(_paid(plan, sites_per_person), limits.neighbours)
        ledger = cls(limits, envelope, accountant, sites_per_person, tuple(plan))
        ledger._require_affordable()
        return ledger

    @classmethod
    def filtered(
        cls,
        limits: Limits,
        plan: Sequence[CountedRelease],
        accountant: Accountant = "gdp",
        sites_per_person: int = 1,
        scales: Sequence[float] = (),
    ) -> "Ledger":
        """Open a ledger that admits what costs no more in sum than the plan (F1, F2).

        Args:
            limits: the budgets.
            plan: releases and their counts.
            accountant: `rdp` where releases are sampled (F1), else any (F2).
            sites_per_person: sites at which one person may be.
            scales: of classes of units that are guaranteed more than the record.

        Raises:
            Refused: if the plan as a whole exceeds a budget, or is sampled and priced
                by another accountant than `rdp`.
            ClaimError: for noise in shares by another accountant than `rdp`.
        """
        sums = PlanFilter.of(
            _paid(plan, sites_per_person),
            limits.delta,
            limits.neighbours,
            accountant,
            scales,
        )
        ledger = cls(limits, sums, accountant, sites_per_person, tuple(plan))
        ledger._require_affordable()
        return ledger

    def would_exceed(self, release: Release) -> BudgetExcess | None:
        """Return the budget that the release would break, without changing anything."""
        if self._after(release) is not None:
            return None
        follows = isinstance(self._filter, PlanEnvelope)
        base = self.plan if follows else Counter(self._charged).items()
        return self._excess((*base, (release, 1)))

    def costs(self, release: Release) -> tuple[float, ...]:
        """Return the cost of a release in each sum of the filter; none under F0."""
        return self._filter.costs(release_per_person(release, self.sites_per_person))

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
        self._filter = following
        self._charged.append(release)

    def spent(self) -> LedgerValue:
        """Return the ledger value of the record and of every tier a release read."""
        counted = tuple(Counter(self._charged).items())
        read = {release.reads for release, _ in counted if release.reads is not None}
        return LedgerValue(
            record=self._price(counted, None),
            tiers={tier: self._price(counted, tier) for tier in sorted(read)},
            delta=self.limits.delta,
        )

    def events(self) -> tuple[Release, ...]:
        """Return the charged releases, oldest first."""
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

    def _after(self, release: Release) -> Filter | None:
        return self._filter.after(release_per_person(release, self.sites_per_person))

    def _require_affordable(self) -> None:
        excess = self._excess(self.plan)
        if excess.would_reach > excess.of:
            raise Refused(f"the plan is refused: {excess}")

    def _excess(self, counted: Sequence[CountedRelease]) -> BudgetExcess:
        """Return the budget that the releases exceed the most, relatively."""
        found = [
            BudgetExcess(
                "record" if tier is None else tier.label, self._price(counted, tier), of
            )
            for tier, of in self.limits.scopes()
        ]
        return max(found, key=lambda excess: excess.would_reach / excess.of)

    def _price(self, counted: Sequence[CountedRelease], tier: Tier | None) -> float:
        delta, sites = self.limits.delta, self.sites_per_person
        if tier is None:
            relation = self.limits.neighbours
            return record_epsilon(counted, delta, relation, self.accountant, sites)
        return tier_epsilon(counted, tier, delta, self.accountant, sites)


def _paid(
    plan: Sequence[CountedRelease], sites_per_person: int
) -> tuple[CountedRelease, ...]:
    return tuple(
        (release_per_person(release, sites_per_person), n) for release, n in plan
    )
