# SPDX-License-Identifier: Apache-2.0
"""Schedules keep their proportions, and their rounds together meet the budget."""

import itertools
from collections import Counter
from typing import Any, get_args

import dp_accounting
import pytest
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.budget.noise_plan import calibrated
from lexfed.budget.noise_schedule import NoiseSchedule, ScheduleName
from lexfed.privacy.accountants.composition import epsilon
from lexfed.privacy.accountants.gdp import Step
from lexfed.terms import Neighbours

NAMES: tuple[ScheduleName, ...] = get_args(ScheduleName)
RELATIONS: tuple[Neighbours, ...] = ("add-remove", "replace-one")

schedules = st.builds(
    NoiseSchedule,
    st.sampled_from(NAMES),
    ratio=st.floats(1.0, 50.0),
    drops=st.lists(st.floats(0.05, 0.95), min_size=1, max_size=5, unique=True).map(
        lambda drops: tuple(sorted(drops))
    ),
    save=st.floats(0.05, 1.0),
    save_until=st.floats(0.0, 1.0),
)


@given(schedules, st.integers(1, 60), st.booleans())
def test_noise_never_grows_and_ends_at_the_base(
    schedule: NoiseSchedule, rounds: int, sampled: bool
) -> None:
    noise = schedule.noise(rounds, sampled)
    rates = schedule.rates(rounds)
    assert len(noise) == len(rates) == rounds
    assert noise[-1] == pytest.approx(1.0) or schedule.name == "step"
    assert all(a >= b * (1 - 1e-12) for a, b in itertools.pairwise(noise))
    assert rates[-1] == 1.0
    assert list(rates) == sorted(rates)


@pytest.mark.parametrize("name", ["geometric", "cosine", "step"])
def test_the_first_round_has_the_ratio(name: Any) -> None:
    noise = NoiseSchedule(name, ratio=3.0).noise(9)
    assert noise[0] == pytest.approx(3.0)
    assert noise[-1] == pytest.approx(1.0)


def test_one_round_has_nothing_to_fall_from() -> None:
    for name in NAMES:
        schedule = NoiseSchedule(name)
        assert schedule.rates(1) == (1.0,)
        if name != "step":
            assert schedule.noise(1) == (1.0,)


def test_saving_lowers_the_rate_where_there_is_sampling_else_raises_the_noise() -> None:
    saving = NoiseSchedule("time-adaptive", save=0.25, save_until=0.6)
    assert saving.rates(5) == (0.25, 0.25, 0.25, 1.0, 1.0)
    assert saving.noise(5) == (4.0, 4.0, 4.0, 1.0, 1.0)
    assert saving.noise(5, sampled=True) == (1.0,) * 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"ratio": 0.5},
        {"drops": ()},
        {"drops": (0.5, 0.5)},
        {"drops": (0.7, 0.5)},
        {"drops": (0.5, 1.5)},
        {"save": 0.0},
        {"save_until": 1.5},
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        NoiseSchedule("step", **wrong)


def independent(
    steps: tuple[Step, ...], delta: float, neighbours: Neighbours, grid: float = 1e-4
) -> float:
    """Price by the accountant of dp-accounting, one event per round.

    A coarser grid of losses rounds up by more, so it forgives nothing.
    """
    relation = {
        "add-remove": dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
        "replace-one": dp_accounting.NeighboringRelation.REPLACE_ONE,
    }[neighbours]
    accountant = PLDAccountant(relation, grid)
    # Rounds that are alike are composed at once: the same convolutions, in a tree.
    for step, count in Counter(steps).items():
        event: Any = dp_accounting.GaussianDpEvent(step.noise_multiplier)
        if step.sampling_rate < 1.0:
            event = dp_accounting.PoissonSampledDpEvent(step.sampling_rate, event)
        accountant.compose(event, count)
    return float(accountant.get_epsilon(delta))


@settings(max_examples=25, deadline=None)
@given(
    schedules,
    st.integers(1, 40),
    st.floats(0.1, 8.0),
    st.sampled_from([1e-6, 1e-5]),
    st.sampled_from(RELATIONS),
)
def test_full_batches_cost_exactly_the_budget(
    schedule: NoiseSchedule,
    rounds: int,
    budget: float,
    delta: float,
    neighbours: Neighbours,
) -> None:
    steps = calibrated(schedule, rounds, budget, delta, neighbours)
    spent = epsilon(steps, delta, neighbours)
    assert spent <= budget
    assert spent == pytest.approx(budget, rel=1e-9)
    relative = [step.noise_multiplier / steps[-1].noise_multiplier for step in steps]
    noise = schedule.noise(rounds)
    assert relative == pytest.approx([value / noise[-1] for value in noise])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_sampled_rounds_cost_the_budget_under_another_accountant(
    name: ScheduleName, neighbours: Neighbours
) -> None:
    schedule = NoiseSchedule(name)
    steps = calibrated(schedule, 12, 1.5, 1e-5, neighbours, rate=0.2)
    assert [step.sampling_rate for step in steps] == pytest.approx(
        [0.2 * part for part in schedule.rates(12)]
    )
    spent = independent(steps, 1e-5, neighbours)
    assert 0.98 * 1.5 <= spent <= 1.5 * (1 + 1e-9)


@pytest.mark.slow
def test_many_levels_of_noise_cost_little_more_than_they_must() -> None:
    steps = calibrated(NoiseSchedule("cosine"), 150, 2.0, 1e-5, rate=0.05)
    assert len({step.noise_multiplier for step in steps}) == 150
    spent = independent(steps, 1e-5, "add-remove", grid=1e-3)
    assert 0.95 * 2.0 <= spent <= 2.0


def test_renyi_accounting_prices_schedules_too() -> None:
    steps = calibrated(NoiseSchedule("time-adaptive"), 20, 2.0, 1e-5, "add-remove", 0.1,
                       "rdp")  # fmt: skip
    assert 0.99 * 2.0 <= epsilon(steps, 1e-5, "add-remove", "rdp") <= 2.0
    assert independent(steps, 1e-5, "add-remove") <= 2.0
