# SPDX-License-Identifier: Apache-2.0
"""Statistics of columns: their bounds, their meaning, and that they decide nothing."""

from math import log, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.law.tagger.fusion import NOTHING
from lexfed.law.tagger.recognise.recogniser import sample_of
from lexfed.law.tagger.statistics import (
    Statistics,
    divergence,
    evidence_of_statistics,
    kernel_entropy,
    numbers_of,
    shannon,
    statistics_of,
)
from lexfed.law.tagger.suggestions import DescribedColumn


def of(*values: str, reference: dict[str, float] | None = None) -> Statistics:
    return statistics_of(sample_of(DescribedColumn("t", "x", values=values)), reference)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=8),
            st.floats(allow_nan=False, allow_infinity=False).map(str),
            st.integers(-9, 9).map(str),
        ),
        max_size=60,
    )
)
def test_every_figure_is_between_0_and_1(values: list[str]) -> None:
    figures = of(*values)
    for figure in vars(figures).values():
        assert figure is None or 0.0 <= figure <= 1.0


def test_entropy_of_discrete_values() -> None:
    assert shannon({"a": 8}) == 0.0
    assert shannon({"a": 1, "b": 1, "c": 1, "d": 1}) == pytest.approx(1.0)
    # Two equal halves of eight: 1 bit of the 3 that eight values can have.
    assert shannon({"a": 4, "b": 4}) == pytest.approx(1 / 3)
    quarter = -(0.25 * log2(0.25) + 0.75 * log2(0.75)) / 3
    assert shannon({"a": 2, "b": 6}) == pytest.approx(quarter)
    assert shannon({}) == 0.0


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


def test_uniqueness_missingness_and_length() -> None:
    figures = of("aaaa", "aaaa", "bbbb", "", "NA", "?")
    assert figures.uniqueness == pytest.approx(2 / 3)
    assert figures.missingness == pytest.approx(0.5)
    assert figures.length == pytest.approx(4 / 64)
    assert of("x" * 300).length == 1.0
    assert of("", "").missingness == 1.0


def test_divergence_from_a_stated_reference() -> None:
    counts = {"m": 50, "f": 50}
    assert divergence(counts) == 0.0
    assert divergence(counts, {"m": 0.5, "f": 0.5}) == 0.0
    kl = 0.5 * log(0.5 / 0.9) + 0.5 * log(0.5 / 0.1)
    stated = divergence(counts, {"m": 0.9, "f": 0.1})
    assert stated == pytest.approx(1 - np.exp(-kl))
    assert divergence({"z": 10}, {"m": 1.0}) > 0.99
    assert divergence({}) == 0.0
    assert of("m", "f", reference={"m": 0.9, "f": 0.1}).divergence == pytest.approx(
        stated
    )


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
