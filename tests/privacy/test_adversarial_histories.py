# SPDX-License-Identifier: Apache-2.0
"""Ten thousand histories of an attacker against each filter: nothing is overspent.

Every decision is compared with a judge that shares no code with the filters. There is
no chance of a false alarm: sums within 1e-10 of the boundary are right either way.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import pytest

from lexfed.privacy.accountants import composition
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.filters import PlanEnvelope, PlanFilter
from lexfed.privacy.releases import Release
from lexfed.terms import Accountant, Neighbours
from support.privacy.adversary import (
    MENU,
    EnvelopeJudge,
    Outcome,
    Plan,
    RenyiJudge,
    SquareJudge,
    attack,
    multiplier,
    renyi,
    shape,
)
from support.privacy.filter_checks import CASCADE, DELTA, GROUPED, SAMPLED

pytestmark = pytest.mark.no_cover


def squares(histories: int) -> Outcome:
    found = Outcome()
    relations: tuple[Neighbours, ...] = ("add-remove", "replace-one")
    for plan, neighbours in zip((CASCADE, GROUPED), relations, strict=True):
        start = PlanFilter.of(plan, DELTA, neighbours, "gdp")  # frozen: one for all
        judge = partial(SquareJudge, plan)
        part = attack(histories // 2, plan, partial(replace, start), judge)
        found = _sum(found, part)
    return found


def divergences(histories: int) -> Outcome:
    start = PlanFilter.of(SAMPLED, DELTA, "add-remove", "rdp")
    return attack(
        histories, SAMPLED, lambda: start, lambda: RenyiJudge(SAMPLED, DELTA),
        menu=MENU,
    )  # fmt: skip


def envelopes(histories: int) -> Outcome:
    found = Outcome()
    for plan in (CASCADE, GROUPED, SAMPLED):
        start, judge = partial(PlanEnvelope, plan), partial(EnvelopeJudge, plan)
        part = attack(histories // 3 + 1, plan, start, judge)
        found = _sum(found, part)
    return found


def _sum(one: Outcome, other: Outcome) -> Outcome:
    return Outcome(
        one.passed + other.passed,
        one.refused + other.refused,
        one.overspent + other.overspent,
        one.too_strict + other.too_strict,
    )


FILTERS = {"F0": envelopes, "F1": divergences, "F2": squares}


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize(
    "histories", [500, pytest.param(10_000, marks=pytest.mark.slow)]
)
def test_no_history_overspends_and_refusals_are_the_first_that_would(
    name: str, histories: int
) -> None:
    found = FILTERS[name](histories)
    assert found.overspent == 0
    assert found.too_strict == 0
    assert found.passed > 3 * histories
    assert found.refused > 2 * histories


@dataclass(frozen=True)
class LooksBack:
    """Wrong: asks whether the budget is used up, not whether it would be."""

    filter: PlanFilter

    def after(self, asked: Release) -> "LooksBack | None":
        full = any(each.spent >= each.budget > 0 for each in self.filter.scopes)
        following = replace(self.filter, room=9.0).after(asked)
        return None if full or following is None else LooksBack(following)


@dataclass(frozen=True)
class RecordOnly:
    """Wrong: keeps the record's sum and no tier's."""

    filter: PlanFilter

    def after(self, asked: Release) -> "RecordOnly | None":
        only = replace(self.filter, scopes=self.filter.scopes[:1])
        following = only.after(asked)
        return None if following is None else RecordOnly(following)


@dataclass(frozen=True)
class JointOnly:
    """Wrong: an envelope that looks at the joint multiplier and not at clips."""

    plan: Plan
    used: int = 0

    def after(self, asked: Release) -> "JointOnly | None":
        rounds = [planned for planned, n in self.plan for _ in range(n)]
        for place in range(self.used, len(rounds)):
            planned = rounds[place]
            if planned.name == asked.name and multiplier(asked) >= multiplier(planned):
                return JointOnly(self.plan, place + 1)
        return None


@dataclass(frozen=True)
class Live:
    """Wrong: what was charged is priced anew each time, and the price is compared."""

    target: float
    by: Accountant
    steps: tuple[Step, ...] = ()

    def after(self, asked: Release) -> "Live | None":
        if shape(asked) not in {shape(planned) for planned, _ in SAMPLED}:
            return None
        steps = (*self.steps, Step(multiplier(asked), asked.sampling_rate))
        price = composition.epsilon(steps, DELTA, "add-remove", self.by)
        return None if price > self.target else replace(self, steps=steps)


def _plan_filter(plan: Plan) -> PlanFilter:
    return PlanFilter.of(plan, DELTA, "add-remove", "gdp")


CONTROLS: dict[str, Callable[[], Outcome]] = {
    "looks back": lambda: attack(
        300, CASCADE, lambda: LooksBack(_plan_filter(CASCADE)),
        lambda: SquareJudge(CASCADE),
    ),
    "record only": lambda: attack(
        300, CASCADE, lambda: RecordOnly(_plan_filter(CASCADE)),
        lambda: SquareJudge(CASCADE),
    ),
    "joint only": lambda: attack(
        300, GROUPED, lambda: JointOnly(GROUPED), lambda: EnvelopeJudge(GROUPED)
    ),
    "live Rényi": lambda: attack(
        20, SAMPLED, lambda: Live(_target("rdp"), "rdp"),
        lambda: RenyiJudge(SAMPLED, DELTA), menu=MENU,
    ),
    "live distributions": lambda: attack(
        4, SAMPLED, lambda: Live(_target("pld"), "pld"),
        lambda: RenyiJudge(SAMPLED, DELTA), menu=MENU,
    ),
}  # fmt: skip


def _target(by: Accountant) -> float:
    steps = [Step(multiplier(r), r.sampling_rate, n) for r, n in SAMPLED]
    return composition.epsilon(steps, DELTA, "add-remove", by)


@pytest.mark.parametrize("name", CONTROLS)
def test_controls_wrong_filters_are_caught(name: str) -> None:
    assert CONTROLS[name]().overspent > 0


def test_the_judge_knows_its_formulas() -> None:
    # Without sampling a R^2/2, and at order 2 D = ln(1 + q^2 (e^{R^2} - 1)).
    assert renyi(0.5, 1.0, 2, False) == pytest.approx(4.0)
    assert renyi(0.5, 1.0, 2, True) == pytest.approx(16.0)
    assert renyi(0.5, 0.2, 2, False) == pytest.approx(
        math.log(1 + 0.04 * math.expm1(4.0))
    )
    assert renyi(3.0, 1 - 1e-9, 4, True) == pytest.approx(8 / 9, rel=1e-6)
