# SPDX-License-Identifier: Apache-2.0
"""Epsilon of the standalone verifier: golden values, the package, 60 digits."""

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.audit.standalone.verify import (
    TIERS,
    NotShown,
    Release,
    Sum,
    Unsound,
    divergence,
    epsilon_of,
    log_delta,
    mills,
    side_by_side,
    within,
)
from lexfed.privacy import releases as events
from lexfed.privacy.accountants.gdp import Step, epsilon_from
from lexfed.privacy.accountants.rdp import curve
from lexfed.privacy.scopes import label_epsilon, record_epsilon, tier_epsilon
from lexfed.terms import Neighbours
from lexfed.tiers import Tier

GOLDEN = [
    (1.0, 1e-5, 4.3771780956812),
    (2.0, 1e-6, 10.997151214221),
    (0.5, 1e-6, 2.2540846502197),
    (0.01, 1e-6, 0.033673780130806),
    (30.0, 1e-6, 591.67471782589),
]
"""mu, delta and epsilon, by root finding with 60 digits."""


def exact_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        lost = mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        return mpmath.ncdf(m / 2 - e / m) - lost


@pytest.mark.parametrize(("mu", "delta", "epsilon"), GOLDEN)
def test_golden_values(mu: float, delta: float, epsilon: float) -> None:
    assert epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-11)


@pytest.mark.parametrize("mu", [1e-8, 1e-4, 0.05, 0.0999, 0.1001, 0.3, 1, 2, 10, 100])
@pytest.mark.parametrize("delta", [1e-100, 1e-12, 1e-6, 1e-3, 0.1, 0.5])
def test_epsilon_is_that_of_the_package(mu: float, delta: float) -> None:
    found, ours = epsilon_of(mu, delta), epsilon_from(mu, delta)
    assert found == pytest.approx(ours, rel=2e-11)
    # The package rounds up; a stated value must never fall below ours.
    assert found <= ours * (1 + 1e-9)


@pytest.mark.parametrize("mu", [1e-6, 0.01, 0.09, 0.11, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("ratio", [-0.4, 0.0, 1.0, 5.0, 19.0, 21.0, 36.0])
def test_delta_against_sixty_digits(mu: float, ratio: float) -> None:
    epsilon = max(0.0, ratio * mu + mu * mu / 2)
    found = log_delta(mu, epsilon)
    with mpmath.workdps(60):
        exact = float(mpmath.log(exact_delta(mu, epsilon)))
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("x", [-1.0, 0.0, 1.0, 19.999, 20.0, 20.001, 100.0, 1e6])
def test_mills_ratio_against_sixty_digits(x: float) -> None:
    with mpmath.workdps(60):
        exact = float(mpmath.ncdf(-x) / mpmath.npdf(x))
    assert mills(x) == pytest.approx(exact, rel=1e-12)


def test_edges() -> None:
    assert epsilon_of(0.0, 1e-6) == 0.0
    assert epsilon_of(1.0, 1.0) == 0.0
    assert epsilon_of(1e-9, 1e-6) == 0.0
    assert log_delta(1e-300, 1.0) == -math.inf


# Composition: the package is the judge

NEIGHBOURS: list[Neighbours] = ["add-remove", "replace-one"]
RANKS = st.sampled_from([None, *Tier])


@st.composite
def releases(draw: st.DrawFn) -> events.Release:
    numbers = st.floats(0.1, 10.0)
    groups = draw(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=3))
    return events.Release(
        "sum",
        tuple(events.ReleaseGroup("g", clip, 3.0 * sigma) for clip, sigma in groups),
        1.0,
        draw(RANKS),
        draw(st.integers(0, 100)),
    )


@given(
    st.lists(st.tuples(releases(), st.integers(0, 20)), min_size=1, max_size=4),
    st.sampled_from(NEIGHBOURS),
    st.integers(1, 3),
)
def test_sums_cost_what_the_package_says(
    counted: list[tuple[events.Release, int]], neighbours: Neighbours, sites: int
) -> None:
    total = Sum(1e-6, neighbours, sites)
    for release, count in counted:
        total.add(Release.parse(release.to_json()), count)
    ours = {
        "record": record_epsilon(counted, 1e-6, neighbours, "gdp", sites),
        "label": label_epsilon(counted, 1e-6, "gdp", sites),
    }
    for tier in Tier:
        ours[tier.label] = tier_epsilon(counted, tier, 1e-6, "gdp", sites)
    for scope, epsilon in ours.items():
        assert total.epsilon(scope) == pytest.approx(epsilon, rel=1e-9)
        total.check("x", epsilon, scope, 0)
        if epsilon > 0:
            with pytest.raises(Unsound, match="its events cost"):
                total.check("x", epsilon * (1 - 1e-7), scope, 0)


def row(**changes: object) -> dict[str, object]:
    group = {"name": "g", "clip": 1.0, "sigma": 2.0}
    plain = {"name": "r", "groups": [group], "sampling_rate": 1.0, "reads": "personal"}
    return {**plain, "samples": 1, **changes}


def group(**changes: float) -> dict[str, object]:
    return row(groups=[{"name": "g", "clip": 1.0, "sigma": 2.0, **changes}])


@pytest.mark.parametrize(
    "wrong",
    [
        group(clip=0.0), group(sigma=0.0), group(clip=math.inf), group(sigma=math.inf),
        group(sigma=-1.0), row(groups=[]), row(sampling_rate=1.5),
        row(sampling_rate=-0.5),
    ],
)  # fmt: skip
def test_events_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(Unsound, match="out of range"):
        Release.parse(wrong)


@pytest.mark.parametrize(("delta", "sites"), [(0.0, 1), (1e-6, 0), (1e-6, 2**20 + 1)])
def test_settings_out_of_range_are_refused(delta: float, sites: int) -> None:
    with pytest.raises(Unsound, match="out of range"):
        Sum(delta, "add-remove", sites).add(Release.parse(row()))


def test_sampled_releases_are_never_priced() -> None:
    total = Sum(1e-6, "add-remove", 1)
    total.add(Release.parse(row(sampling_rate=0.5)))
    total.check("x", 0.0, "record", 0)
    with pytest.raises(NotShown, match="NOT RECOMPUTED"):
        total.recomputed()


def test_a_release_that_reads_nothing_costs_no_tier() -> None:
    total = Sum(1e-6, "add-remove", 1)
    total.add(Release.parse(row(reads=None)))
    assert [total.epsilon(tier) for tier in TIERS] == [0.0] * 4
    assert total.epsilon("record") > 0.0


@pytest.mark.parametrize(("sigma", "stated"), [(1e-200, 1.0), (2.0, math.inf)])
def test_infinite_numbers_prove_nothing(sigma: float, stated: float) -> None:
    total = Sum(1e-6, "add-remove", 1)
    total.add(Release.parse(group(sigma=sigma)))
    with pytest.raises(Unsound, match="infinite"):
        total.check("x", stated, "record", 7)


def test_at_delta_one_everything_is_proven() -> None:
    total = Sum(1.0, "add-remove", 1)
    total.add(Release.parse(row()))
    total.check("x", 0.0, "record", 0)


def test_budgets_have_room_for_floats_only() -> None:
    within("x", 1.0 + 1e-10, 1.0, 0)
    with pytest.raises(Unsound, match="above the budget"):
        within("x", 1.0 + 1e-8, 1.0, 0)


@given(
    multiplier=st.floats(0.3, 50.0),
    rate=st.sampled_from([0.01, 0.1, 0.5, 0.9, 1.0]),
    order=st.sampled_from([2, 3, 8, 33, 64, 256, 4096]),
    neighbours=st.sampled_from(["add-remove", "replace-one"]),
)
def test_divergences_are_those_of_the_package(
    multiplier: float, rate: float, order: int, neighbours: Neighbours
) -> None:
    [known] = curve([Step(multiplier, rate)], neighbours, (order,))
    found = divergence(1.0 / multiplier, rate, order, neighbours == "replace-one")
    assert found == pytest.approx(known, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_sampled_sums_by_renyi_cost_what_the_package_says(
    neighbours: Neighbours,
) -> None:
    plan = [
        (
            events.Release(
                "a", (events.ReleaseGroup("a", 1.0, 2.0),), 0.2, Tier.PERSONAL, 1
            ),
            9,
        ),
        (
            events.Release(
                "b", (events.ReleaseGroup("b", 2.0, 9.0),), 1.0, Tier.SPECIAL, 1
            ),
            3,
        ),
        (events.Release("c", (events.ReleaseGroup("c", 2.0, 9.0),), 0.0, None, 1), 0),
    ]
    total = Sum(1e-6, neighbours, 1, "rdp")
    for release, count in plan:
        total.add(Release.parse(release.to_json()), count)
    assert total.by == "RDP"
    total.recomputed()
    record = record_epsilon(plan, 1e-6, neighbours, "rdp")
    assert total.epsilon("record") == pytest.approx(record, rel=1e-9)
    assert total.epsilon("label") == pytest.approx(
        label_epsilon(plan, 1e-6, "rdp"), rel=1e-9
    )
    for tier in (Tier.PERSONAL, Tier.SPECIAL):
        known = tier_epsilon(plan, tier, 1e-6, "rdp")
        assert total.epsilon(tier.label) == pytest.approx(known, rel=1e-9)
    total.check("`x`", record, "record", 3)
    with pytest.raises(Unsound, match="its events cost"):
        total.check("`x`", record * (1 - 1e-6), "record", 3)


def test_what_this_file_cannot_price_is_said() -> None:
    def step(sigma: float) -> Release:
        group = events.ReleaseGroup("a", 1.0, sigma)
        made = events.Release("a", (group,), 0.5, Tier.SPECIAL, 1)
        return Release.parse(made.to_json())

    many = Sum(1e-6, "add-remove", 1, "rdp")
    for number in range(65):
        many.add(step(5.0 + number))
    many.check("`x`", 0.0, "record", 3)
    with pytest.raises(NotShown, match="NOT RECOMPUTED"):
        many.recomputed()
    with pytest.raises(Unsound, match="at several sites"):
        Sum(1e-6, "add-remove", 2, "rdp").add(step(5.0))
    assert divergence(1e7, 0.5, 2, False) == math.inf
    assert divergence(1e7, 0.0, 2, False) == 0.0
    loud = Sum(1e-6, "add-remove", 1, "rdp")
    loud.add(step(1e-9))
    with pytest.raises(Unsound, match="its events cost inf"):
        loud.check("`x`", 1e9, "record", 3)


def test_two_lists_are_compared_round_by_round() -> None:
    rows = [Release(name, (("g", 1.0, 2.0),), 1.0, 0, 1) for name in "abc"]
    a, b, c = rows
    left, right = [(a, 3), (b, 0), (c, 2)], [(a, 1), (b, 3), (c, 9)]
    assert list(side_by_side(left, right)) == [(a, a), (a, b), (c, b), (c, c)]
