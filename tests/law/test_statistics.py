# SPDX-License-Identifier: Apache-2.0
"""Figures of values: their bounds, their meaning, and that they decide nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.law.tagger.fusion import NOTHING
from lexfed.law.tagger.recognise.recogniser import sample_of
from lexfed.law.tagger.suggestions import DescribedColumn
from lexfed.law.tagger.value_evidence import (
    evidence_of_statistics,
    kernel_entropy,
    numbers_of,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(), max_size=60))
def test_spread_is_between_0_and_1(numbers: list[float]) -> None:
    assert 0.0 <= kernel_entropy(numbers) <= 1.0


def test_spread_of_numbers() -> None:
    rng = np.random.default_rng(7)
    normal = kernel_entropy(list(rng.normal(size=128)))
    uniform = kernel_entropy(list(rng.uniform(size=128)))
    clumps = kernel_entropy([0.0] * 64 + [1.0] * 64)
    spike = kernel_entropy([0.0] * 127 + [1000.0])
    # exp(2 (log sqrt(12) - log sqrt(2 pi e))) = 12 / (2 pi e) = .70 for the uniform.
    # The smoothing of 128 values moves both by less than .2.
    assert normal > 0.85
    assert uniform == pytest.approx(12 / (2 * np.pi * np.e), abs=0.2)
    assert clumps < 0.5 * uniform
    assert spike < 0.1
    assert kernel_entropy([3.0] * 50) == 0.0
    assert kernel_entropy([1.0, 2.0]) == 0.0


def test_spread_does_not_depend_on_units() -> None:
    rng = np.random.default_rng(8)
    numbers = list(rng.normal(size=100))
    scaled = [1e300 * n for n in numbers]
    assert kernel_entropy(scaled) == pytest.approx(kernel_entropy(numbers))


@pytest.mark.parametrize("values", [("E11.9",), ("1-2",), ("0x10",), ("1,5",), ("",)])
def test_codes_are_no_numbers(values: tuple[str, ...]) -> None:
    assert numbers_of(sample_of(DescribedColumn("t", "x", values=values))) is None


def test_numbers_are_numbers() -> None:
    sample = sample_of(
        DescribedColumn("t", "x", values=("1", "-2.5", "1e3", ".5", "3."))
    )
    assert numbers_of(sample) == [1.0, -2.5, 1000.0, 0.5, 3.0]


def test_statistics_confirm_and_do_not_decide() -> None:
    rng = np.random.default_rng(9)
    columns = [
        tuple(f"{n:05}" for n in range(100)),
        tuple(f"{x:.3f}" for x in rng.normal(size=100)),
        ("a", "b") * 50,
    ]
    for values in columns:
        found = list(
            evidence_of_statistics(sample_of(DescribedColumn("t", "x", values=values)))
        )
        assert sum(abs(item.weight) for item in found) < NOTHING
        assert all(item.kind == "statistics" for item in found)
