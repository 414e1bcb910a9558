# SPDX-License-Identifier: Apache-2.0
"""The ledger of one run: what may still be released, what was, and its running total.

A `Ledger` holds budgets, a plan that keeps them, and the filter that holds releases to
the plan. The guarantee is the price of the plan, computed once when the ledger is
opened; `spent` is the composition of what was charged so far, called the ledger value,
and is for people to watch. A round then costs a comparison with the planned ones (F0,
`planned`), or a sum for every scope (F1 or F2, `filtered`).

A site has a `SiteLedger` of its own, because it does not trust the coordinator to
count. `FileLedger` survives a crash: a release that left the site was always paid for,
and a charge whose release never happened stays charged.

A log states after each round what all rounds so far compose to (`RunningTotal`), and a
verifier computes the same again, so this must cost microseconds: without sampling by
exact Gaussian accounting, else, and for noise in shares, by Rényi divergences, which
simply add. Under sampling these are looser than the claim's accountant and never lower.
A filter holds rounds to the plan, whose price is therefore a ceiling, and the only
guarantee where noise adapts.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats
from lexfed.durable import JsonLines
from lexfed.errors import Refused, RunFolderError
from lexfed.privacy.accountants import gdp, rdp
from lexfed.privacy.accountants.gdp import Step, sensitivity
from lexfed.privacy.filters import Filter, PlanEnvelope, PlanFilter
from lexfed.privacy.releases import Release
from lexfed.privacy.scopes import (
    CountedRelease,
    record_epsilon,
    release_per_person,
    releases_per_person,
    tier_epsilon,
    up,
)
from lexfed.terms import Accountant, CostMeasure, Neighbours
from lexfed.tiers import Tier

_LEVELS = 512
"""Levels per octave to which running totals round multipliers of sampled releases."""

_ORDERS = np.array(rdp.ORDERS, dtype=float)


@dataclass(frozen=True)
class Limits:
    """The budgets of a run: epsilon of the record, and caps on tiers, at one delta.

    A cap is an attribute epsilon under replace-one; tiers without one are bounded by
    the record's budget alone. The relation is that of the record's budget.
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


@dataclass(frozen=True)
class BudgetExcess:
    """A budget that a release would break, and the epsilon it would be brought to."""

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

        A plan that exceeds a budget is refused; so is noise in shares by another
        accountant than `rdp`.
        """
        paid = releases_per_person(plan, sites_per_person)
        envelope = PlanEnvelope(paid, limits.neighbours)
        return cls._affordable(limits, envelope, accountant, sites_per_person, plan)

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

        Sampled releases need `rdp` (F1). Each of `scales` belongs to a class of units
        that is guaranteed more than the record. Plans are refused as in `planned`.
        """
        paid = releases_per_person(plan, sites_per_person)
        delta, relation = limits.delta, limits.neighbours
        sums = PlanFilter.of(paid, delta, relation, accountant, scales)
        return cls._affordable(limits, sums, accountant, sites_per_person, plan)

    @classmethod
    def _affordable(
        cls,
        limits: Limits,
        opening: Filter,
        accountant: Accountant,
        sites_per_person: int,
        plan: Sequence[CountedRelease],
    ) -> "Ledger":
        ledger = cls(limits, opening, accountant, sites_per_person, tuple(plan))
        excess = ledger._excess(ledger.plan)
        if excess.would_reach > excess.of:
            raise Refused(f"the plan is refused: {excess}")
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
        """Charge a release before it happens; `Refused` changes nothing."""
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

        Events that do not fit are refused: then they are not this ledger's.
        """
        ledger = Ledger(
            self.limits, self._opening, self.accountant, self.sites_per_person,
            self.plan,
        )  # fmt: skip
        for row in rows:
            ledger.charge(Release.from_json(row))
        return ledger

    def _after(self, release: Release) -> Filter | None:
        return self._filter.after(release_per_person(release, self.sites_per_person))

    def _excess(self, counted: Sequence[CountedRelease]) -> BudgetExcess:
        """Return the budget that the releases exceed the most, relatively."""
        reached = [
            BudgetExcess(
                "record" if tier is None else tier.label, self._price(counted, tier), of
            )
            for tier, of in ((None, self.limits.epsilon), *self.limits.caps)
        ]
        return max(reached, key=lambda excess: excess.would_reach / excess.of)

    def _price(self, counted: Sequence[CountedRelease], tier: Tier | None) -> float:
        delta, sites = self.limits.delta, self.sites_per_person
        if tier is None:
            relation = self.limits.neighbours
            return record_epsilon(counted, delta, relation, self.accountant, sites)
        return tier_epsilon(counted, tier, delta, self.accountant, sites)


class SiteLedger(Protocol):
    """A ledger: it tells if a release is affordable, and remembers it."""

    def would_exceed(self, release: Release) -> BudgetExcess | None:
        """Return the budget that the release would break, without changing anything."""

    def charge(self, release: Release) -> None:
        """Charge a release before it happens, or raise `Refused`."""

    def events(self) -> tuple[Release, ...]:
        """Return the charged releases, oldest first."""


class FileLedger:
    """A ledger whose events are lines of a file.

    Guarantees:
        A charge is on disk before `charge` returns.
        A refused release is not written.
        Opened again, it holds the same events; a last line without its newline was
        never acknowledged and is dropped.
        An earlier line that does not parse is an error, not a gap.
    """

    def __init__(self, path: Path, rules: Ledger) -> None:
        """Open or create the file; `rules` gives the budgets, but no events."""
        self._lines = JsonLines(path)
        self._ledger = rules.rebuild(())
        for number, row in enumerate(self._lines.rows, start=1):
            try:
                self._ledger.charge(Release.from_json(row))
            except (ValueError, Refused) as error:
                self._lines.close()
                raise RunFolderError(
                    f"{path}:{number}: not an event of this ledger: {error}",
                    "start another run: a ledger cannot be continued with a gap, and "
                    "an older copy does not know what was paid since",
                ) from error

    def would_exceed(self, release: Release) -> BudgetExcess | None:
        """Return the budget that the release would break, without changing anything."""
        return self._ledger.would_exceed(release)

    def charge(self, release: Release) -> None:
        """Charge a release before it happens; on return the charge is on disk.

        What is refused or cannot be written is not charged.
        """
        excess = self.would_exceed(release)
        if excess is not None:
            raise Refused(f"release `{release.name}` refused: {excess}")
        self._lines.append(release.to_json())
        self._ledger.charge(release)

    def events(self) -> tuple[Release, ...]:
        """Return the charged releases, oldest first."""
        return self._ledger.events()

    def close(self) -> None:
        """Close the file; everything charged is already on disk."""
        self._lines.close()


@dataclass(frozen=True)
class _Sum:
    """Releases of one scope: squares of unsampled ones, divergences of others.

    Once any has noise in `shares`, the squares count as divergences too.
    """

    neighbours: Neighbours
    square: float = 0.0
    sampled: Floats | None = None
    shares: bool = False

    def after(self, release: Release) -> "_Sum":
        if release.sampling_rate == 1.0:
            return replace(
                self,
                square=self.square + release.noise_multiplier**-2,
                shares=self.shares or release.noise == "skellam",
            )
        level = _rounded_down(release.noise_multiplier)
        more = _divergences(level, release.sampling_rate, self.neighbours)
        total = more if self.sampled is None else more + self.sampled
        return replace(self, sampled=total)

    def epsilon(self, delta: float) -> float:
        scale = sensitivity(self.neighbours)
        if not self.renyi:
            mu = scale * math.sqrt(self.square)
            return up(gdp.epsilon_from(mu, delta)) if mu > 0.0 else 0.0
        exact = _ORDERS * self.square * scale**2 / 2.0
        both = exact if self.sampled is None else self.sampled + exact
        return up(rdp.epsilon_from(both, delta))

    @property
    def renyi(self) -> bool:
        """True if only Rényi accounting has a price for it."""
        return self.sampled is not None or self.shares


@dataclass(frozen=True)
class RunningTotal:
    """The composition of the releases so far, for the record and for every tier.

    The relation is that of the record's number; a tier's is replace-one. `ceilings`
    are proven prices of the whole plan, for the record (None) and for tiers; they are
    empty without a plan.

    Guarantees:
        Never below the exact value; exact for Gaussians without sampling, but for
        rounding up.
        Never above the price of the plan.
        Never decreases.
        A tier counts the releases that may depend on it, under replace-one.
    """

    delta: float
    neighbours: Neighbours
    sites_per_person: int = 1
    ceilings: Mapping[Tier | None, float] = field(default_factory=dict)
    _record: _Sum | None = None
    _tiers: Mapping[Tier, _Sum] = field(default_factory=dict)

    def after(self, release: Release) -> "RunningTotal":
        """Return the total with one more release."""
        paid = release_per_person(release, self.sites_per_person)
        record = (self._record or _Sum(self.neighbours)).after(paid)
        tiers = dict(self._tiers)
        for tier in Tier:
            if release.reads is not None and tier <= release.reads:
                before = tiers.get(tier, _Sum("replace-one"))
                tiers[tier] = before.after(paid)
        return replace(self, _record=record, _tiers=tiers)

    def alone(self, release: Release) -> float:
        """Return the record's epsilon of one release by itself, rounded up."""
        return replace(self, _record=None, _tiers={}).after(release).record

    @property
    def record(self) -> float:
        """The record's epsilon so far, rounded up."""
        return 0.0 if self._record is None else self._price(None, self._record)

    @property
    def tiers(self) -> dict[Tier, float]:
        """Attribute epsilon of each tier that a release may depend on, rounded up."""
        totals = sorted(self._tiers.items())
        return {tier: self._price(tier, total) for tier, total in totals}

    def _price(self, scope: Tier | None, total: _Sum) -> float:
        return min(total.epsilon(self.delta), self.ceilings.get(scope, math.inf))

    @property
    def accountant(self) -> CostMeasure:
        """The accountant that computed the record's number."""
        return "rdp" if self._record is not None and self._record.renyi else "gdp"


def _rounded_down(multiplier: float) -> float:
    """Return a level at or below the multiplier: less noise costs more."""
    return math.exp2(math.floor(math.log2(multiplier) * _LEVELS) / _LEVELS)


@lru_cache(maxsize=4096)
def _divergences(multiplier: float, rate: float, neighbours: Neighbours) -> Floats:
    return rdp.curve([Step(multiplier, rate)], neighbours)
