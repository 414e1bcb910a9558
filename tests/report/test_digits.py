# SPDX-License-Identifier: Apache-2.0
"""Spending is never printed too low, protection never too high."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.report.wording.rounding import (
    count,
    delta,
    factor,
    round_down_all,
    round_down_to,
    round_up,
    round_up_all,
    round_up_digits,
    round_up_to,
)

POSITIVE = st.floats(1e-6, 1e6)


@given(POSITIVE)
def test_spent_is_rounded_up_but_for_the_ninth_digit(value: float) -> None:
    printed = float(round_up(value))
    assert printed >= value * (1 - 1e-8)
    assert printed <= value + max(0.01, value * 0.1)


@given(st.lists(POSITIVE, min_size=1, max_size=5))
def test_a_column_has_one_number_of_decimals(values: list[float]) -> None:
    for printed in (round_up_all(values), round_down_all(values)):
        places = {Decimal(text).as_tuple().exponent for text in printed}
        assert len(places) == 1
    assert all(
        float(text) <= value * (1 + 1e-8)
        for text, value in zip(round_down_all(values), values, strict=True)
    )


def test_columns_without_numbers_are_empty() -> None:
    assert round_up_all([]) == round_down_all([]) == []
    assert round_down_all([0.0]) == ["0"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0, "2.00"),
        ("2.0", "2.00"),
        (0.30000000000000004, "0.30"),
        (0.301, "0.31"),
        (4.2738477, "4.28"),
        (0.0, "0.00"),
        (0.0123, "0.013"),
        (1.991, "2.00"),
        (0.0421, "0.043"),
        (1e-4, "0.00010"),
    ],
)
def test_known_numbers(value: float | str, text: str) -> None:
    assert round_up(value) == text


def test_numbers_of_arrays_are_printed_as_others() -> None:
    assert round_up(np.float64(4.2738477)) == "4.28"


@pytest.mark.parametrize(
    ("places", "value", "up", "down"),
    [
        (2, 0.999, "1.00", "0.99"),
        (2, 0.29, "0.29", "0.29"),
        (3, 0.1 + 0.2, "0.300", "0.300"),
        (4, 1.00001, "1.0001", "1.0000"),
    ],
)
def test_decimals_that_a_table_asks_for(
    places: int, value: float, up: str, down: str
) -> None:
    assert (round_up_to(places, value), round_down_to(places, value)) == (up, down)


def test_probabilities_are_written_as_in_configurations() -> None:
    assert delta(1e-6) == "1e-6"
    assert delta("2.5e-07") == "2.5e-7"
    assert delta(0.001) == "0.001"


@given(st.floats(1e-30, 1e-3))
def test_one_digit_is_rounded_up(value: float) -> None:
    found = round_up_digits(value)
    assert value * (1 - 1e-8) <= found <= value * 2.0000001


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0, 6.9])
def test_factor_is_never_below_the_exponential(epsilon: float) -> None:
    assert float(factor(epsilon).replace(" ", "")) >= math.exp(epsilon) * (1 - 1e-8)


def test_large_factors_are_words_or_whole() -> None:
    assert factor(8.0) == "2 981"
    assert factor(100.0) == "more than a million"
    assert factor("800.0") == "more than a million"


def test_nouns_follow_their_number() -> None:
    assert count(1, "entry", "entries") == "1 entry"
    assert count(0, "round") == "0 rounds"
