# SPDX-License-Identifier: Apache-2.0
"""An attacker who chooses every next release, and a judge who counts for himself.

The attacker sees everything: the plan, what was charged, what a scope has left. It
proposes releases from harmless to ruinous, mostly near the boundary, and tries shapes
that were not planned. The judge decides by formulas of its own, written here and
nowhere else, whether a release may run; a filter must decide the same at every step.
Then no history overspends, and a refused release is always one that would exceed.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Protocol

import numpy as np

from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.tiers import Tier

Plan = tuple[tuple[Release, int], ...]
EDGE = 1e-10
"""Relative distance from the boundary within which either answer is right."""


class Asked(Protocol):
    """What is tested: a filter."""

    def after(self, release: Release) -> "Asked | None":
        """Return the filter once that release has run; None if it must not run."""
        ...


class Judge(Protocol):
    """Who knows what may run; `allows` is None at the boundary."""

    def allows(self, release: Release) -> bool | None:
        """Say whether the release may run; None where floats decide."""
        ...

    def charge(self, release: Release) -> None:
        """Count a release that ran."""
        ...

    def left(self, release: Release) -> float:
        """Return about which noise multiplier would use up what is left."""
        ...


def release(
    sigma: float,
    reads: Tier | None = Tier.SPECIAL,
    rate: float = 1.0,
    clip: float = 1.0,
    name: str = "",
) -> Release:
    """Return a release of one group."""
    label = name or ("label" if reads is None else reads.label)
    return Release(label, (ReleaseGroup(label, clip, sigma),), rate, reads, 10)


def multiplier(asked: Release) -> float:
    """Return the joint multiplier, by the formula of the text."""
    return 1.0 / math.sqrt(sum((g.clip / g.sigma) ** 2 for g in asked.groups))


def concerns(asked: Release, tier: Tier | None) -> bool:
    """Say whether a release counts in a scope."""
    return tier is None or (asked.reads is not None and asked.reads >= tier)


SCOPES = (None, *Tier)


def shape(asked: Release) -> tuple[object, ...]:
    """Return everything but the noise."""
    bounds = [(g.name, g.clip) for g in asked.groups]
    return (asked.name, *bounds, asked.sampling_rate, asked.reads, asked.samples)


@dataclass
class SquareJudge:
    """F2 with fractions: squares of clip over sigma, for the record and every tier.

    The label counts like the record, and a relation only scales both sides.
    """

    plan: Plan
    spent: dict[Tier | None, Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shapes = {shape(planned) for planned, _ in self.plan}
        self.budget = {
            tier: sum(
                (n * _square(planned) for planned, n in self.plan
                 if concerns(planned, tier)),
                Fraction(0),
            )
            for tier in SCOPES
        }  # fmt: skip

    def allows(self, release: Release) -> bool | None:
        """Say whether every sum stays within the plan's."""
        if shape(release) not in self.shapes:
            return False
        answers = []
        for tier in SCOPES:
            if concerns(release, tier):
                total = self.spent.get(tier, Fraction(0)) + _square(release)
                answers.append(_compare(total, self.budget[tier]))
        return _all(answers)

    def charge(self, release: Release) -> None:
        """Count a release that ran."""
        for tier in SCOPES:
            if concerns(release, tier):
                before = self.spent.get(tier, Fraction(0))
                self.spent[tier] = before + _square(release)

    def left(self, release: Release) -> float:
        """Return the multiplier that uses up the scope with least room."""
        rooms = [
            self.budget[tier] - self.spent.get(tier, Fraction(0))
            for tier in SCOPES
            if concerns(release, tier)
        ]
        room = float(min(rooms))
        return 1.0 / math.sqrt(room) if room > 1e-12 else 1e6


def _square(asked: Release) -> Fraction:
    return sum(
        ((Fraction(g.clip) / Fraction(g.sigma)) ** 2 for g in asked.groups), Fraction(0)
    )


def _compare(total: Fraction, budget: Fraction) -> bool | None:
    if abs(total - budget) <= Fraction(EDGE) * budget:
        return None
    return total < budget


def _all(answers: Sequence[bool | None]) -> bool | None:
    if False in answers:
        return False
    return None if None in answers else True


def renyi(multiplier: float, rate: float, order: int, replaced: bool) -> float:
    """Return the Rényi divergence of a sampled Gaussian at an integer order.

    Add/remove by the binomial sum; replace-one by Simpson's rule on the pair
    (1-q)N(0,1) + q N(+-R,1). Nothing here is shared with the accountant.
    """
    shift = 1.0 / multiplier
    if rate == 1.0:
        return order * (2.0 * shift if replaced else shift) ** 2 / 2.0
    if replaced:
        return _replaced(shift, rate, order)
    logs = [
        math.log(math.comb(order, k))
        + k * math.log(rate)
        + (order - k) * math.log(1.0 - rate)
        + k * (k - 1) * shift**2 / 2.0
        for k in range(order + 1)
    ]
    top = max(logs)
    return (top + math.log(math.fsum(math.exp(x - top) for x in logs))) / (order - 1)


@cache
def _replaced(shift: float, rate: float, order: int) -> float:
    x = np.linspace(-30.0, 30.0 + 2 * order * shift, 20001)
    base = -(x**2) / 2.0 - math.log(2.0 * math.pi) / 2.0
    up = np.logaddexp(math.log1p(-rate), math.log(rate) + shift * x - shift**2 / 2)
    down = np.logaddexp(math.log1p(-rate), math.log(rate) - shift * x - shift**2 / 2)
    logs = base + order * up - (order - 1) * down
    top = float(logs.max())
    weights = np.ones(len(x))
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    area = float(weights @ np.exp(logs - top)) * (x[1] - x[0]) / 3.0
    return (top + math.log(area)) / (order - 1)


def best_order(costs: Callable[[int], float], delta: float) -> int:
    """Return the order of 2 to 64 at which divergences convert to the least epsilon."""

    def epsilon(order: int) -> float:
        more = math.log((order - 1) / order)
        return costs(order) + more - (math.log(delta) + math.log(order)) / (order - 1)

    return min(range(2, 65), key=epsilon)


@dataclass
class RenyiJudge:
    """F1: at one order per scope, found from the plan, divergences add up."""

    plan: Plan
    delta: float
    spent: dict[tuple[Tier | None, bool], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shapes = {shape(planned) for planned, _ in self.plan}
        self.scopes = {}
        pairs = [(None, False), *((tier, True) for tier in SCOPES)]
        for tier, replaced in pairs:
            read = [(p, n) for p, n in self.plan if concerns(p, tier)]
            if read:
                order, budget = _planned(tuple(read), replaced, self.delta)
                self.scopes[tier, replaced] = order, budget

    def allows(self, release: Release) -> bool | None:
        """Say whether every sum stays within the plan's."""
        if shape(release) not in self.shapes:
            return False
        answers = []
        for scope, (order, budget) in self.scopes.items():
            if concerns(release, scope[0]):
                total = self.spent.get(scope, 0.0) + _cost(release, order, scope[1])
                answers.append(_compare(Fraction(total), Fraction(budget)))
        return _all(answers)

    def charge(self, release: Release) -> None:
        """Count a release that ran."""
        for scope, (order, _) in self.scopes.items():
            if concerns(release, scope[0]):
                before = self.spent.get(scope, 0.0)
                self.spent[scope] = before + _cost(release, order, scope[1])

    def left(self, release: Release) -> float:
        """Return the multiplier from a menu that nearly uses up what is left."""
        for level in MENU:
            changed = at(release, level)
            if self.allows(changed) is True:
                return level
        return MENU[-1]


MENU = tuple(1.2 * 1.12**step for step in range(40))
"""Multipliers for sampled releases: integrals are computed once for each."""


def _cost(asked: Release, order: int, replaced: bool) -> float:
    return _cached(round(multiplier(asked), 12), asked.sampling_rate, order, replaced)


_cached = cache(renyi)


@cache
def _planned(plan: Plan, replaced: bool, delta: float) -> tuple[int, float]:
    def costs(order: int) -> float:
        return math.fsum(n * _cost(planned, order, replaced) for planned, n in plan)

    order = best_order(costs, delta)
    return order, costs(order)


@dataclass
class EnvelopeJudge:
    """F0: is there any way to put what ran into the plan, in order, one to one?

    It keeps every place at which the last release may stand, not the first one only.
    """

    plan: Plan
    places: set[int] = field(default_factory=lambda: {-1})

    def __post_init__(self) -> None:
        self.rounds = [planned for planned, n in self.plan for _ in range(n)]

    def _next(self, asked: Release) -> set[int]:
        first = min(self.places)
        return {
            place
            for place, planned in enumerate(self.rounds)
            if place > first and _covers(planned, asked)
        }

    def allows(self, release: Release) -> bool | None:
        """Say whether a planned release is left that costs at least as much."""
        return bool(self._next(release))

    def charge(self, release: Release) -> None:
        """Count a release that ran."""
        self.places = self._next(release)

    def left(self, release: Release) -> float:
        """Return the least multiplier that any planned release of that name has."""
        same = [p for p in self.rounds if p.name == release.name]
        return min(map(multiplier, same), default=1.0)


def _covers(planned: Release, asked: Release) -> bool:
    groups = zip(planned.groups, asked.groups, strict=False)
    ranks = [-1 if r.reads is None else r.reads.value for r in (asked, planned)]
    return (
        planned.name == asked.name
        and len(planned.groups) == len(asked.groups)
        and all(p.name == a.name and p.clip == a.clip and p.sigma <= a.sigma
                for p, a in groups)
        and asked.sampling_rate <= planned.sampling_rate
        and ranks[0] <= ranks[1]
        and asked.samples <= planned.samples
    )  # fmt: skip


def at(asked: Release, level: float) -> Release:
    """Return the release with noise of that joint multiplier."""
    factor = level / multiplier(asked)
    groups = tuple(replace(g, sigma=g.sigma * factor) for g in asked.groups)
    return replace(asked, groups=groups)


def proposals(
    plan: Plan, judge: Judge, rng: random.Random, menu: Sequence[float] = ()
) -> Iterator[Release]:
    """Yield what the attacker tries, for ever."""
    shapes = [planned for planned, _ in plan]
    while True:
        chosen = rng.choice(shapes)
        trick = rng.random()
        if menu and trick < 0.8:
            yield _from_menu(chosen, judge, rng, menu)
        elif trick < 0.25:
            yield chosen
        elif trick < 0.5:
            # As much as is left, a little less, or a little more.
            nudge = rng.choice((1.0, 1 + 1e-7, 1 - 1e-7, 1.001, 0.999, 2.0, 3.0))
            yield at(chosen, judge.left(chosen) * nudge)
        elif trick < 0.8:
            yield at(chosen, multiplier(chosen) * math.exp(rng.gauss(0.0, 0.7)))
        else:
            yield _odd(chosen, rng)


def _from_menu(
    chosen: Release, judge: Judge, rng: random.Random, menu: Sequence[float]
) -> Release:
    if rng.random() < 0.3:
        return chosen
    level = judge.left(chosen) if rng.random() < 0.5 else rng.choice(menu)
    if rng.random() < 0.3:
        level = menu[max(0, menu.index(level) - 1)]
    return at(chosen, level)


def _odd(chosen: Release, rng: random.Random) -> Release:
    """Return a release that was not planned, most of them cheap for somebody."""
    first = chosen.groups[0]
    larger = replace(first, clip=2 * first.clip, sigma=2 * first.sigma)
    return rng.choice(
        (
            replace(chosen, reads=None),
            replace(chosen, reads=Tier.IDENTIFIER),
            replace(chosen, name="other"),
            replace(chosen, groups=(larger, *chosen.groups[1:])),
            replace(chosen, groups=(*chosen.groups, first)),
            replace(chosen, samples=chosen.samples + 1),
            replace(chosen, samples=chosen.samples - 1),
            replace(chosen, sampling_rate=chosen.sampling_rate / 2),
        )
    )


@dataclass
class Outcome:
    """What came of many histories."""

    passed: int = 0
    refused: int = 0
    overspent: int = 0
    too_strict: int = 0


def attack(
    histories: int,
    plan: Plan,
    start: Callable[[], Asked],
    judge: Callable[[], Judge],
    *,
    steps: int = 12,
    seed: int = 5,
    menu: Sequence[float] = (),
) -> Outcome:
    """Run so many histories and compare every decision with the judge's.

    Args:
        histories: how many, each with choices of its own.
        plan: what was planned.
        start: a new filter.
        judge: a new judge.
        steps: proposals in each history.
        seed: of the attacker's coins.
        menu: multipliers to choose from; any where it is empty.
    """
    found = Outcome()
    for number in range(histories):
        rng = random.Random(seed * 1_000_003 + number)
        asked, knows = start(), judge()
        choices = proposals(plan, knows, rng, menu)
        for _ in range(steps):
            chosen = next(choices)
            right, following = knows.allows(chosen), asked.after(chosen)
            if following is None:
                found.refused += 1
                found.too_strict += right is True
                continue
            found.passed += 1
            found.overspent += right is False
            if right is False:
                break
            asked = following
            knows.charge(chosen)
    return found
