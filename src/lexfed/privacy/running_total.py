# SPDX-License-Identifier: Apache-2.0
"""The spending so far, cheap enough to state after every round.

The claim of a run is priced once, by its accountant. A log states after each round
what all rounds so far compose to, and a verifier computes the same again, so this must
cost microseconds: without sampling by exact Gaussian accounting, else, and for noise in
shares, by Rényi divergences, which simply add. Under sampling the second is looser than
the claim's accountant and never lower; the numbers carry the name of the accountant
they come from. Rounds are held to a plan by a filter, one by one (F0) or in sums (F1,
F2), so whatever ran so far is covered by the price of the whole plan: that is a
ceiling. It is also the only guarantee where noise adapts; the numbers of single rounds
are for people to watch.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from lexfed.arrays import Floats
from lexfed.privacy.accountants import gdp, rdp
from lexfed.privacy.accountants.steps import Step, sensitivity
from lexfed.privacy.releases import Release
from lexfed.privacy.rounding import up
from lexfed.privacy.scopes import release_per_person
from lexfed.terms import CostMeasure, Neighbours
from lexfed.tiers import Tier

_LEVELS = 512
"""Multipliers of sampled releases are rounded down to this many levels per octave."""

_ORDERS = np.array(rdp.ORDERS, dtype=float)


@dataclass(frozen=True)
class _Sum:
    """Releases of one scope: unsampled ones by sum of squares, others by divergence.

    Attributes:
        neighbours: relation of the scope.
        square: sum of squares of the unsampled ones.
        sampled: divergences of the sampled ones; None where there are none.
        shares: True if any has noise in shares: then squares are divergences too.
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
        more = _divergences(
            _rounded_down(release.noise_multiplier),
            release.sampling_rate,
            self.neighbours,
        )
        return replace(
            self, sampled=more if self.sampled is None else more + self.sampled
        )

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

    Attributes:
        delta: of every number.
        neighbours: relation of the record's number; a tier's is replace-one.
        sites_per_person: sites at which one person may be.
        ceilings: proven price of the whole plan, for the record (None) and for
            tiers; empty without a plan.

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
        return {
            tier: self._price(tier, total)
            for tier, total in sorted(self._tiers.items())
        }

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
