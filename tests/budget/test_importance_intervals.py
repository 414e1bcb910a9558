# SPDX-License-Identifier: Apache-2.0
"""Intervals of importances hold as often as they say, and noise names no leader."""

import numpy as np
import pytest

from lexfed.budget.importance_intervals import (
    ERROR,
    ImportanceInterval,
    ImportanceRanking,
    importance_ranking,
    length_interval,
)
from support.federation.worlds import encoding

TRIALS = 4000
MISSES = ERROR + 6.11 * (ERROR * (1 - ERROR) / TRIALS) ** 0.5
"""A share of misses of at most 5 % is above this with a chance below 1e-9."""


@pytest.mark.parametrize("degrees", [1, 4, 30])
@pytest.mark.parametrize("length", [0.0, 0.5, 3.0, 40.0])
def test_an_interval_misses_as_seldom_as_it_says(degrees: int, length: float) -> None:
    random = np.random.default_rng(degrees)
    signal = np.zeros(degrees)
    signal[0] = length
    missed = wide = 0
    for _ in range(TRIALS):
        found = length_interval(signal + random.normal(size=degrees), 1.0, ERROR)
        missed += not found.low <= length <= found.high
        wide += found.high - found.low > 0.0
    assert missed / TRIALS < MISSES
    # Not by being empty or endless: half as long an interval misses far more.
    assert wide > 0.9 * TRIALS


def test_a_narrower_interval_would_miss_more() -> None:
    random = np.random.default_rng(3)
    missed = 0
    for _ in range(TRIALS):
        found = length_interval(8.0 + random.normal(size=1), 1.0, ERROR)
        half = (found.high - found.low) / 4.0
        middle = (found.high + found.low) / 2.0
        missed += abs(middle - 8.0) > half
    assert missed / TRIALS > 2 * ERROR


def test_large_signals_have_the_same_ends_from_both_formulas() -> None:
    below, above = (
        length_interval(np.array([1000.0 + step]), 1.0, 0.01) for step in (-1e-3, 1e-3)
    )
    assert below.low == pytest.approx(above.low, abs=5e-3)
    assert below.high == pytest.approx(above.high, abs=5e-3)


def test_without_noise_both_ends_are_the_length() -> None:
    found = length_interval(np.array([3.0, 4.0]), 0.0, ERROR)
    assert found == ImportanceInterval(5.0, 5.0)


def ranking(strengths: dict[str, float], seed: int) -> ImportanceRanking:
    """Rank the register's columns; each has its strength in its first slot."""
    code = encoding()
    values = np.random.default_rng(seed).normal(size=(code.width, 1))
    for name, strength in strengths.items():
        values[code.slots_of_column(name)[0]] += strength
    return importance_ranking(code, values, np.ones(code.width), code.columns)


def test_noise_alone_names_no_leader() -> None:
    named = sum(ranking({}, seed).is_decided for seed in range(500))
    # 5 % at most; of 500 trials above 11 % with a chance below 1e-9.
    assert named / 500 < 0.11
    found = ranking({}, 1)
    assert found.shown == ()
    assert str(found).startswith("undecided, noise decides this order")
    assert found.to_json()["decided"] is False


def test_a_leader_beyond_the_noise_is_named() -> None:
    for seed in range(20):
        found = ranking({"age": 40.0, "ill": 20.0}, seed)
        assert found.leaders == ("age",)
        assert str(found) == "`age` is the most important, beyond the noise"
        assert set(found.shown) >= {"age", "ill"}


def test_two_that_are_alike_are_both_named() -> None:
    found = ranking({"age": 40.0, "ill": 40.0}, 0)
    assert set(found.leaders) == {"age", "ill"}
    assert not found.is_decided
    said = "undecided: within the noise the most important may be any of `age`, `ill`"
    assert str(found) == said


def test_the_order_is_the_same_in_another_unit() -> None:
    found = ranking({"age": 40.0, "ill": 20.0}, 0)
    assert found.over(7.0).leaders == found.leaders
    low = found.intervals["age"].low
    assert found.over(7.0).intervals["age"].low == pytest.approx(low / 7.0)


def test_nothing_released_ranks_nothing() -> None:
    empty = ImportanceRanking({})
    assert str(empty) == "nothing is known about any column"
    assert empty.leaders == ()
    assert not empty.is_decided


def test_many_that_are_alike_are_counted() -> None:
    alike = {f"c{number}": ImportanceInterval(1.0, 2.0) for number in range(7)}
    said = "undecided: within the noise the most important may be any of 7 columns"
    assert str(ImportanceRanking(alike)) == said
    del alike["c6"]
    assert str(ImportanceRanking(alike)).endswith(
        "any of " + ", ".join(f"`{name}`" for name in alike)
    )


def test_columns_without_a_release_are_left_out_and_narrow_the_others() -> None:
    """Fewer intervals share the chance of a miss, so each of them is shorter."""
    code = encoding()
    values, noise = np.full((code.width, 1), 20.0), np.ones(code.width)
    every = importance_ranking(code, values, noise, code.columns).intervals
    two = importance_ranking(code, values, noise, ("age", "ill")).intervals
    assert list(two) == ["age", "ill"]
    for name, one in two.items():
        assert every[name].low < one.low < one.high < every[name].high
