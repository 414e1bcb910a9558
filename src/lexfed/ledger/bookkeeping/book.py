# SPDX-License-Identifier: Apache-2.0
"""The book: sums by meter and by run, and how each kind of row changes them.

A row holds everything that a change needs, costs included, so the same rows give the
same book on every machine. The running ledger and `verify` share this code and nothing
else.

    open         the ledger begins
    reserve      a run may cost this much in all, what it has paid included
    commit       a round is paid for
    publish      what a round releases may leave: it is not asked again
    release      what a run reserved and did not commit is free again
    expire       the same, because its time was over
    ceiling      a scope gets another ceiling, or none
    unprotected  a run adds no noise at all: no number describes it
    restore      the file had lost rows; what the pin remembers is charged
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import Costs, Counting, meter


@dataclass(frozen=True)
class Amounts:
    """The amount paid, and the amount set aside to be paid."""

    committed: int = 0
    reserved: int = 0

    def to_json(self) -> list[str]:
        """Return the stored form: integers as text, which no reader rounds."""
        return [str(self.committed), str(self.reserved)]

    @classmethod
    def from_json(cls, pair: Iterable[str]) -> "Amounts":
        """Return the stored amounts."""
        committed, reserved = pair
        return cls(int(committed), int(reserved))


NOTHING = Amounts()


@dataclass(frozen=True)
class CeilingBalance:
    """A ceiling in force, and the sum that its last charged period has counted."""

    ceiling: Ceiling
    period: int
    counted: int

    def to_json(self) -> list[Any]:
        """Return the form in which pins and rows hold it."""
        return [self.ceiling.to_json(), self.period, str(self.counted)]

    @classmethod
    def from_json(cls, stated: Iterable[Any]) -> "CeilingBalance":
        """Return the stored balance; raises KeyError, TypeError or ValueError."""
        row, period, counted = stated
        return cls(Ceiling.from_json(row), int(period), int(counted))

    def at(self, time: int) -> "CeilingBalance":
        """Return it at a time; a clock that was set back begins no new period."""
        period = self.ceiling.period(time)
        if period <= self.period:
            return self
        return replace(self, period=period, counted=0)


@dataclass(frozen=True)
class RunAccount:
    """One run: when its reservation ends, if it has one, and its sums by meter.

    `open` is its last round, if nothing of it can have left: it may be asked again.
    """

    until: int | None = None
    amounts: Mapping[str, Amounts] = field(default_factory=dict)
    open: int | None = None


@dataclass
class Book:
    """All sums of a ledger, or those that one operation needs.

    There are sums over all runs by meter, ceilings by scope, sums by run, and the
    number of runs that added no noise.
    """

    meters: dict[str, Amounts] = field(default_factory=dict)
    limits: dict[str, CeilingBalance] = field(default_factory=dict)
    runs: dict[str, RunAccount] = field(default_factory=dict)
    unprotected: int = 0

    @property
    def orders(self) -> dict[str, int]:
        """Order of the Rényi divergence by scope, where a ceiling asks for one."""
        orders = {scope: limit.ceiling.order for scope, limit in self.limits.items()}
        return {scope: order for scope, order in orders.items() if order is not None}

    def run(self, name: str) -> RunAccount:
        """Return what is known of a run; nothing of one that has no rows."""
        return self.runs.get(name, RunAccount())

    def apply(self, kind: str, time: int, body: Mapping[str, Any]) -> None:
        """Change the book as a row says.

        Raises:
            KeyError, TypeError, ValueError: if it is not a row of this version.
        """
        match kind:
            case "open":
                return
            case "reserve":
                self._reserve(body["run"], body["until"], costs_from_text(body["cost"]))
            case "commit":
                self._commit(body["run"], time, costs_from_text(body["cost"]))
                self._open(body["run"], body["round"] if body.get("open") else None)
            case "publish":
                self._open(body["run"], None)
            case "release" | "expire":
                self._free(body["run"])
            case "ceiling":
                self._set_ceiling(body["scope"], time, body["ceiling"], body["carried"])
            case "unprotected":
                self.unprotected += 1
            case "restore":
                self._restore(time, body)
            case _:
                raise ValueError(f"unknown kind of row: `{kind}`")

    def after(self) -> dict[str, Any]:
        """Return the sums over all runs, as every row states them."""
        return {
            "meters": {name: sums.to_json() for name, sums in self.meters.items()},
            "limits": {
                scope: [limit.period, str(limit.counted)]
                for scope, limit in self.limits.items()
            },
            "unprotected": self.unprotected,
        }

    def exceeded(self, costs: Costs, time: int) -> tuple[str, int] | None:
        """Return a scope that costs concern and that is above its ceiling, and its sum.

        What is reserved counts as if it were spent now: it may be, at any time.
        """
        for scope, limit in self.limits.items():
            name = meter(scope, limit.ceiling.kind)
            total = limit.at(time).counted + self.meters.get(name, NOTHING).reserved
            if costs.get(name, 0) > 0 and total > limit.ceiling.bound:
                return scope, total
        return None

    def unpriced(self, costs: Costs) -> tuple[str, Counting] | None:
        """Return a scope whose ceiling has no price for a charge, and its kind."""
        for scope, limit in self.limits.items():
            for counting in _without_price(limit.ceiling):
                if costs.get(meter(scope, counting), 0) > 0:
                    return scope, counting
        return None

    def unpriced_before(self, scope: str, ceiling: Ceiling) -> Counting | None:
        """Return a kind of earlier charges that a ceiling has no price for."""
        for counting in _without_price(ceiling):
            if self.has(scope, counting):
                return counting
        return None

    def has(self, scope: str, counting: Counting) -> bool:
        """Return True if anything of a kind was charged or reserved."""
        return self.meters.get(meter(scope, counting), NOTHING) != NOTHING

    def _reserve(self, run: str, until: int, planned: Costs) -> None:
        before = self.run(run)
        amounts = dict(before.amounts)
        for name in planned.keys() | amounts.keys():
            old = amounts.get(name, NOTHING)
            rest = max(0, planned.get(name, 0) - old.committed)
            self._add(name, 0, rest - old.reserved)
            amounts[name] = replace(old, reserved=rest)
        self.runs[run] = replace(before, until=until, amounts=amounts)

    def _open(self, run: str, number: int | None) -> None:
        self.runs[run] = replace(self.run(run), open=number)

    def _commit(self, run: str, time: int, costs: Costs) -> None:
        before = self.run(run)
        amounts = dict(before.amounts)
        for name, cost in costs.items():
            old = amounts.get(name, NOTHING)
            used = min(cost, old.reserved)
            amounts[name] = Amounts(old.committed + cost, old.reserved - used)
            self._add(name, cost, -used)
        self.runs[run] = replace(before, amounts=amounts)
        self._count(time, costs)

    def _free(self, run: str) -> None:
        before = self.runs[run]
        for name, old in before.amounts.items():
            self._add(name, 0, -old.reserved)
        amounts = {
            name: replace(old, reserved=0) for name, old in before.amounts.items()
        }
        self.runs[run] = replace(before, until=None, amounts=amounts)

    def _set_ceiling(
        self, scope: str, time: int, row: dict[str, Any] | None, carried: dict[str, Any]
    ) -> None:
        self.limits.pop(scope, None)
        self._drop(meter(scope, "rdp"))
        if row is None:
            return
        ceiling = Ceiling.from_json(row)
        period = carried.get("period", ceiling.period(time))
        self.limits[scope] = CeilingBalance(ceiling, period, int(carried["counted"]))
        # Divergences at a new order have to be computed for everything before, which
        # floats do; so the row that sets the ceiling says what they came to.
        for run, pair in carried["runs"].items():
            name, amounts = meter(scope, "rdp"), Amounts.from_json(pair)
            before = self.runs[run]
            self.runs[run] = replace(before, amounts={**before.amounts, name: amounts})
            self._add(name, amounts.committed, amounts.reserved)

    def _restore(self, time: int, body: Mapping[str, Any]) -> None:
        if body["limits"] is not None:
            for scope in tuple(self.limits):
                self._drop_limit(scope, body["limits"])
            for scope, stated in body["limits"].items():
                self.limits[scope] = CeilingBalance.from_json(stated)
        charged = costs_from_text(body["charged"])
        for name, cost in charged.items():
            self._add(name, cost, 0)
        if body["limits"] is None:
            self._count(time, charged)
        # Rows that are gone may have said that these rounds were published.
        for run, before in self.runs.items():
            self.runs[run] = replace(before, open=None)
        for scope, limit in self.limits.items():
            # Two histories: one with charges that the other's ceiling cannot price.
            unpriced = self.unpriced_before(scope, limit.ceiling) is not None
            if body["used_up"] or unpriced or self.has(scope, "unsaid"):
                now = limit.at(time)
                spent = max(now.counted, limit.ceiling.bound)
                self.limits[scope] = replace(now, counted=spent)

    def _drop_limit(self, scope: str, kept: Mapping[str, Any]) -> None:
        old = self.limits.pop(scope).ceiling
        if scope not in kept or Ceiling.from_json(kept[scope][0]).order != old.order:
            self._drop(meter(scope, "rdp"))

    def _count(self, time: int, costs: Costs) -> None:
        for scope, limit in self.limits.items():
            cost = costs.get(meter(scope, limit.ceiling.kind), 0)
            if cost > 0:
                now = limit.at(time)
                self.limits[scope] = replace(now, counted=now.counted + cost)

    def _add(self, name: str, committed: int, reserved: int) -> None:
        old = self.meters.get(name, NOTHING)
        self.meters[name] = Amounts(old.committed + committed, old.reserved + reserved)

    def _drop(self, name: str) -> None:
        self.meters.pop(name, None)
        for run, before in self.runs.items():
            amounts = {key: sums for key, sums in before.amounts.items() if key != name}
            self.runs[run] = replace(before, amounts=amounts)


def _without_price(ceiling: Ceiling) -> tuple[Counting, ...]:
    return ("told", "shares") if ceiling.kind == "gdp" else ("told",)


def costs_from_text(costs: Mapping[str, str]) -> dict[str, int]:
    """Return costs as they are stored: integers as text, of at least 0."""
    read = {name: int(cost) for name, cost in costs.items()}
    if any(cost < 0 for cost in read.values()):
        raise ValueError("a cost below zero")
    return read


def costs_to_text(costs: Costs) -> dict[str, str]:
    """Return costs as rows hold them."""
    return {name: str(cost) for name, cost in costs.items()}
