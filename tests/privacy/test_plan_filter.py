# SPDX-License-Identifier: Apache-2.0
"""F1 and F2: the plan passes in any order, nothing above it does, sums are exact."""

import math
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from lexfed.errors import Refused
from lexfed.privacy.claim.lines import scaled_releases
from lexfed.privacy.filters import PlanFilter
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.scopes import CountedRelease, label_epsilon, record_epsilon
from lexfed.privacy.scopes import tier_epsilon as price_of_tier
from lexfed.terms import Accountant, Neighbours
from lexfed.tiers import Tier

DELTA = 1e-6


def release(sigma: float, reads: Tier | None = Tier.SPECIAL, rate: float = 1.0) -> (
    Release
):  # fmt: skip
    name = "label" if reads is None else reads.label
    return Release(name, (ReleaseGroup(name, 1.0, sigma),), rate, reads, 10)


PLAN: tuple[CountedRelease, ...] = (
    (release(30.0, None), 2),
    (release(11.0, Tier.PERSONAL), 7),
    (release(23.0), 0),
    (release(29.0), 5),
    (release(31.7), 5),
)
SAMPLED = tuple((replace(r, sampling_rate=0.2), n) for r, n in PLAN)


def start(by: Accountant, room: float = 0.0) -> PlanFilter:
    plan = SAMPLED if by == "rdp" else PLAN
    return replace(PlanFilter.of(plan, DELTA, "add-remove", by), room=room)


@pytest.mark.parametrize("by", ["gdp", "pld", "rdp"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_the_guarantee_of_every_scope_is_the_price_of_the_plan(
    by: Accountant, neighbours: Neighbours
) -> None:
    plan = SAMPLED if by == "rdp" else PLAN
    found = PlanFilter.of(plan, DELTA, neighbours, by, scales=(0.25,))
    guaranteed = {scope.name: scope.epsilon(DELTA) for scope in found.scopes}
    record = record_epsilon(plan, DELTA, neighbours, by)
    assert found.epsilon(DELTA) == guaranteed["record"]
    assert guaranteed["record"] == pytest.approx(record, rel=1e-10)
    label = label_epsilon(plan, DELTA, by)
    assert guaranteed["label"] == pytest.approx(label, rel=1e-10)
    less = record_epsilon(scaled_releases(plan, 0.25), DELTA, neighbours, by)
    assert guaranteed["class"] == pytest.approx(less, rel=1e-10)
    for tier in (Tier.NON_PERSONAL, Tier.PERSONAL, Tier.SPECIAL):
        price = price_of_tier(plan, tier, DELTA, by)
        assert guaranteed[tier.label] == pytest.approx(price, rel=1e-10)


@pytest.mark.parametrize("by", ["gdp", "rdp"])
@pytest.mark.parametrize("seed", range(20))
def test_the_plan_passes_in_any_order_and_then_nothing(
    by: Accountant, seed: int
) -> None:
    current: PlanFilter | None = start(by)
    plan = SAMPLED if by == "rdp" else PLAN
    rounds = [planned for planned, n in plan for _ in range(n)]
    random.Random(seed).shuffle(rounds)
    for planned in rounds:
        assert current is not None
        current = current.after(planned)
    assert current is not None
    for planned, n in plan:
        if n:
            assert current.after(planned) is None
            (group,) = planned.groups
            faint = replace(planned, groups=(replace(group, sigma=1e9),))
            assert current.after(faint) is None
    for scope in current.scopes:
        assert scope.spent == scope.budget


def test_a_refusal_names_the_first_scope() -> None:
    found = start("gdp")
    assert found.refusal(release(29.0)) is None
    assert found.refusal(release(1.0)) == "record"
    assert found.refusal(release(5.0)) == "special"
    assert found.refusal(replace(release(29.0), name="other")) == "shape"
    assert found.refusal(release(29.0, rate=0.5)) == "shape"
    assert found.refusal(release(23.0)) is None  # noise may be anything
    zero = PlanFilter.of([(release(9.0), 0)], DELTA, "add-remove", "gdp")
    assert zero.refusal(release(1e9)) == "shape"


def test_noise_that_is_none_is_refused_and_not_priced() -> None:
    for by in ("gdp", "rdp"):
        plan = SAMPLED if by == "rdp" else PLAN
        last = plan[-1][0]
        for sigma in (1e-7, 1e-200, 5e-324):
            silent = replace(last, groups=(replace(last.groups[0], sigma=sigma),))
            found = start(by)
            assert found.after(silent) is None
            assert found.costs(silent)[0] == math.inf
    with pytest.raises(Refused, match="hardly any noise"):
        PlanFilter.of([(release(1e-9), 1)], DELTA, "add-remove", "gdp")


def test_costs_are_those_that_are_added() -> None:
    found = start("gdp")
    costs = found.costs(release(29.0, Tier.PERSONAL))
    names = [scope.name for scope in found.scopes]
    by_name = dict(zip(names, costs, strict=True))
    assert by_name["record"] == pytest.approx(29.0**-2)
    assert by_name["label"] == by_name["personal"] == pytest.approx(4 * 29.0**-2)
    assert by_name["special"] == by_name["identifier"] == 0.0
    assert Fraction(by_name["record"]) >= Fraction(1, 29**2)


def test_a_class_is_a_scope_of_its_own() -> None:
    # One loud round and many faint ones cost the record the same at its order; a unit
    # that is scaled down feels them differently, so it has a sum of its own.
    plan = ((release(1.0, rate=0.2), 1), (release(5.0, rate=0.2), 40))
    found = PlanFilter.of(plan, DELTA, "add-remove", "rdp", scales=(0.1,))
    assert [scope.name for scope in found.scopes][:3] == ["record", "label", "class"]
    current: PlanFilter | None = found
    while current is not None:
        before, current = current, current.after(release(5.0, rate=0.2))
    assert before.refusal(release(5.0, rate=0.2)) == "class"


def test_noise_values_are_counted() -> None:
    plan = [(release(1.0), 1)]
    faint = replace(release(1e5), samples=10)
    current: PlanFilter | None = PlanFilter.of(plan, DELTA, "add-remove", "gdp")
    for _ in range(1000):
        assert current is not None
        current = current.after(faint)
    assert current is not None
    assert current.samples == 0
    assert current.refusal(faint) == "samples"


def test_room_is_for_who_checks() -> None:
    exact, loose = start("gdp"), start("gdp", room=1e-6)
    slightly = release(29.0 * (1 - 1e-8))
    for planned, n in PLAN[:-2]:
        for _ in range(n):
            exact, loose = exact.after(planned), loose.after(planned)  # type: ignore[assignment]
    for _ in range(5):
        exact, loose = exact.after(PLAN[4][0]), loose.after(PLAN[4][0])  # type: ignore[assignment]
    for _ in range(4):
        exact, loose = exact.after(PLAN[3][0]), loose.after(PLAN[3][0])  # type: ignore[assignment]
    assert exact.after(slightly) is None
    assert loose.after(slightly) is not None
    assert loose.after(release(28.9)) is None
