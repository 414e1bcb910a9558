# SPDX-License-Identifier: Apache-2.0
"""Ceilings: how much a scope may ever pay, or pay in each period.

A ceiling is a filter (`lexfed.privacy.filters`) with its running sum kept in the
ledger: F2 for `gdp`, squares of mu add up to at most mu^2 [ST22]; F1 for `rdp`, the
divergences at one order add up to at most the budget [FZ21]. Whatever passes, in
whatever order it is chosen, costs at most (epsilon, delta), and a run that stops early
pays only for what it committed.

With a period every period has a filter of its own, which begins at zero. Periods are
counted in UTC days from 1970-01-01, so nobody can begin one by setting it again. Over k
periods the guarantee is the composition of k filters, not (epsilon, delta): under `gdp`
squares add up, so k periods cost at most sqrt(k) mu.
"""

import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from lexfed import checks
from lexfed.errors import Refused
from lexfed.ledger.bookkeeping.prices import SCALE
from lexfed.privacy.accountants import gdp, rdp
from lexfed.terms import CostMeasure

_DAY = 86_400


def reached_by_squares(gaussian: int, shares: int, delta: float) -> float:
    """Return the epsilon that squares come to at `delta`, never below the exact one.

    Squares of releases with noise in shares have a price in Rényi accounting only.
    """
    if shares == 0:
        mu = math.nextafter(math.sqrt(_above(gaussian)), math.inf)
        return gdp.epsilon_from(mu, delta) if gaussian else 0.0
    square = _above(gaussian + shares)
    return min(rdp.epsilon_at(a * square / 2.0, a, delta) for a in rdp.ORDERS)


def _above(amount: int) -> float:
    try:
        return math.nextafter(amount / SCALE, math.inf)
    except OverflowError:
        return math.inf


@dataclass(frozen=True)
class Ceiling:
    """The most that a scope may pay.

    Attributes:
        epsilon: with `delta`, bounds the cost of everything that is let through.
        kind: measure in which costs are added up.
        order: of the Rényi divergence; None for `gdp`.
        days: length of a period; None: one filter for ever.
        bound: the most that may be counted, in units of 2^-60, rounded down.
    """

    epsilon: float
    delta: float
    kind: CostMeasure
    order: int | None
    days: int | None
    bound: int

    @classmethod
    def of(
        cls,
        epsilon: float,
        delta: float,
        kind: CostMeasure = "gdp",
        days: int | None = None,
        order: int | None = None,
    ) -> "Ceiling":
        """Return the ceiling that guarantees (epsilon, delta) for all that passes.

        `rdp` is the kind where releases are sampled; its order is by default the one
        that lets most Gaussians pass. `days` is the length of a period. Numbers out of
        range, and an order for `gdp`, are a ValueError; too small an epsilon for any
        order is `Refused`.
        """
        checks.finite_positive(epsilon=epsilon, delta=delta)
        checks.in_range(0.0, 0.5, delta=delta)
        if days is not None:
            checks.in_range(1, 36_525, days=days)
        if kind == "gdp":
            if order is not None:
                raise ValueError("expected no `order` with kind `gdp`")
            mu = Fraction(gdp.mu_from(epsilon, delta))
            return cls(epsilon, delta, kind, None, days, math.floor(mu * mu * SCALE))
        best = max(rdp.ORDERS, key=lambda a: (epsilon - rdp.offset(a, delta)) / a)
        chosen = best if order is None else order
        checks.in_range(2, 4096, order=chosen)
        room = Fraction(epsilon) - Fraction(rdp.offset(chosen, delta))
        if room <= 0:
            raise Refused(
                f"order {chosen} proves nothing for epsilon {epsilon:g} at delta "
                f"{delta:g}",
                f"leave out the order (best: {best}), or use kind `gdp`",
            )
        # The offset is a float: a part in 2^40 is far above its rounding.
        bound = math.floor(room * SCALE * (1 - Fraction(1, 2**40)))
        return cls(epsilon, delta, kind, chosen, days, bound)

    def period(self, time: int) -> int:
        """Return the number of the period that a time, in seconds, lies in."""
        return 0 if self.days is None else time // (self.days * _DAY)

    def reached(self, amount: int) -> float:
        """Return the epsilon that an amount comes to, never below the exact one."""
        if amount == 0:
            return 0.0
        if self.kind == "gdp":
            return reached_by_squares(amount, 0, self.delta)
        return rdp.epsilon_at(_above(amount), self.order or 2, self.delta)

    def raises(self, old: "Ceiling | None") -> bool:
        """Return True if it may let more pass than the old one; None is no bound.

        A period is a raise unless the old ceiling had the same: its sums begin anew. So
        is another measure, which may have room where the old one has none, and which
        results may have chosen. A larger order with a smaller bound is not: divergences
        do not fall as the order grows, so the old bound holds as well.
        """
        if old is None:
            return False
        longer = self.days is not None and self.days != old.days
        stricter = (
            self.kind == old.kind
            and (self.order or 0) >= (old.order or 0)
            and self.bound <= old.bound
        )
        larger = self.epsilon > old.epsilon or self.delta > old.delta
        return larger or longer or not stricter

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {**asdict(self), "bound": str(self.bound)}

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> "Ceiling":
        """Return the stored ceiling; raises KeyError, TypeError or ValueError."""
        ceiling = cls(**row)
        return replace(ceiling, bound=int(ceiling.bound))

    @property
    def terms(self) -> str:
        """Everything but epsilon, in words."""
        order = "" if self.order is None else f" at order {self.order}"
        period = "" if self.days is None else f", in every {self.days} days"
        return f"δ = {self.delta:g}, by {self.kind}{order}{period}"

    def __str__(self) -> str:
        return f"ε = {self.epsilon:g}, {self.terms}"
