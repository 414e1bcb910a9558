# SPDX-License-Identifier: Apache-2.0
"""One suite for three filters: whatever is chosen, the guarantee holds."""

import math
import random
from dataclasses import replace

import pytest

from lexfed.privacy.accountants.composition import epsilon
from lexfed.privacy.filters import (
    Filter,
    PlanEnvelope,
    PlanFilter,
    dominates,
    filter_name,
)
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.scopes import CountedRelease, steps_of
from lexfed.terms import Neighbours
from lexfed.tiers import Tier

DELTA = 1e-6


def release(sigma: float, rate: float = 1.0, name: str = "tower") -> Release:
    return Release(name, (ReleaseGroup("all", 1.0, sigma),), rate, Tier.PERSONAL, 10)


class FilterSuite:
    """What every filter promises; subclasses build one and say what it is fed."""

    rates: tuple[float, ...] = (1.0,)
    neighbours: Neighbours = "add-remove"

    def start(self) -> Filter:
        raise NotImplementedError

    def proposal(self, rng: random.Random) -> Release:
        """An adversary's next choice: anything from harmless to ruinous."""
        return release(math.exp(rng.uniform(-1, 5)), rng.choice(self.rates))

    def run(self, seed: int) -> tuple[Filter, list[Release], list[Release]]:
        rng = random.Random(seed)
        current, passed, refused = self.start(), [], []
        for _ in range(60):
            chosen = self.proposal(rng)
            following = current.after(chosen)
            if following is None:
                refused.append(chosen)
            else:
                current = following
                passed.append(chosen)
        return current, passed, refused

    @pytest.mark.parametrize("seed", range(5))
    def test_an_adversary_never_exceeds_the_guarantee(self, seed: int) -> None:
        _, passed, refused = self.run(seed)
        steps = steps_of((chosen, 1) for chosen in passed)
        cost = epsilon(steps, DELTA, self.neighbours)
        assert cost <= self.start().epsilon(DELTA) * (1 + 1e-9)
        assert refused  # the adversary did try

    def test_stops_before_not_after(self) -> None:
        current, _, _ = self.run(1)
        ruinous = release(1e-3, self.rates[0])
        assert current.after(ruinous) is None
        assert current.after(ruinous) is None  # asking changes nothing

    def test_asking_does_not_change_the_filter(self) -> None:
        start = self.start()
        before = repr(start)
        start.after(release(100.0, self.rates[0]))
        assert repr(start) == before


class TestEnvelope(FilterSuite):
    rates = (1.0, 0.1)

    def start(self) -> PlanEnvelope:
        return PlanEnvelope(((release(5.0, 0.5), 3), (release(3.0, 0.2), 4)))

    def test_adds_nothing_up(self) -> None:
        assert self.start().costs(release(5.0)) == ()

    def test_the_plan_itself_passes_and_nothing_after_it(self) -> None:
        plan: tuple[CountedRelease, ...] = ((release(5.0), 2), (release(3.0), 1))
        current: PlanEnvelope | None = PlanEnvelope(plan)
        for planned in (release(5.0), release(5.0), release(3.0)):
            assert current is not None
            current = current.after(planned)
        assert current is not None
        assert current.after(release(1e6)) is None

    def test_planned_releases_may_be_left_out_but_not_taken_up_again(self) -> None:
        plan = ((release(5.0, name="a"), 2), (release(3.0, name="b"), 1))
        current = PlanEnvelope(plan).after(release(3.0, name="b"))
        assert current is not None
        assert current.after(release(5.0, name="a")) is None

    def test_a_later_entry_may_be_used_early(self) -> None:
        current = PlanEnvelope(((release(5.0), 2), (release(3.0), 1))).after(
            release(4.0)
        )
        assert current is not None
        assert current.position == 1
        assert current.after(release(5.0)) is None

    def test_no_budget_for_empty_plans(self) -> None:
        assert PlanEnvelope(()).after(release(1e9)) is None
        assert PlanEnvelope(()).epsilon(DELTA) == 0.0
        assert PlanEnvelope(((release(1.0), 0),)).after(release(1.0)) is None


def test_domination_looks_at_everything_that_is_charged() -> None:
    planned = release(5.0, 0.5)
    assert dominates(planned, planned)
    assert dominates(planned, release(6.0, 0.4))
    assert dominates(planned, replace(planned, reads=None))
    assert dominates(planned, replace(planned, reads=Tier.NON_PERSONAL))
    assert not dominates(planned, release(4.9, 0.5))
    assert not dominates(planned, release(5.0, 0.6))
    assert not dominates(planned, replace(planned, name="other"))
    assert not dominates(planned, replace(planned, reads=Tier.SPECIAL))
    assert not dominates(planned, replace(planned, samples=11))
    assert not dominates(replace(planned, reads=None), planned)
    groups = (ReleaseGroup("a", 1.0, 5.0), ReleaseGroup("b", 2.0, 9.0))
    two = Release("two", groups, 1.0, Tier.PERSONAL, 10)
    louder = replace(two, groups=(groups[0], ReleaseGroup("b", 2.0, 8.9)))
    traded = replace(
        two, groups=(ReleaseGroup("a", 1.0, 5.5), ReleaseGroup("b", 2.0, 8.9))
    )
    assert dominates(two, replace(two, groups=(groups[0], ReleaseGroup("b", 2.0, 9.1))))
    assert not dominates(two, louder)
    # Less noise on one group is not made good by more on another.
    assert traded.noise_multiplier > two.noise_multiplier
    assert not dominates(two, traded)
    # The same joint multiplier with other clips, other names, another number.
    assert not dominates(
        two, replace(two, groups=(groups[0], ReleaseGroup("b", 4.0, 18.0)))
    )
    assert not dominates(
        two, replace(two, groups=(groups[0], ReleaseGroup("c", 2.0, 9.0)))
    )
    assert not dominates(two, replace(two, groups=groups[:1]))
    assert not dominates(
        two, replace(two, groups=(*groups, ReleaseGroup("c", 1.0, 1e9)))
    )


class TestRenyi(FilterSuite):
    rates: tuple[float, ...] = (1.0, 0.3, 0.01)

    def start(self) -> PlanFilter:
        return PlanFilter.of(every(self.rates), DELTA, self.neighbours, "rdp")


class TestRenyiReplaceOne(TestRenyi):
    rates = (1.0, 0.3)
    neighbours: Neighbours = "replace-one"


class TestSquares(FilterSuite):
    def start(self) -> PlanFilter:
        return PlanFilter.of(every(self.rates), DELTA, self.neighbours, "gdp")


def every(rates: tuple[float, ...]) -> tuple[CountedRelease, ...]:
    """Return a plan with a release of each rate, so that all shapes are planned."""
    return tuple((release(4.0, rate), 3) for rate in rates)


def test_names_of_filters() -> None:
    assert filter_name("envelope", "rdp") == "F0"
    assert filter_name("filter", "rdp") == "F1"
    assert filter_name("filter", "gdp") == "F2"
    assert filter_name("filter", "pld") == "F2"
