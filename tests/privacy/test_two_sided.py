# SPDX-License-Identifier: Apache-2.0
"""Two-sided geometric noise: the law by enumeration and by counting."""

import math
from dataclasses import dataclass, field

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.privacy.noise import laplace
from lexfed.privacy.noise.laplace import (
    kurtosis_of,
    reach_of,
    spread_within,
    two_sided_geometric,
    variance_of,
)
from lexfed.randomness import SecureSource, SeededSource

SCALES = [0.02, 0.3, 1.0, 7.5, 400.0]
DRAWN = 200_000


@pytest.mark.parametrize("scale", SCALES)
def test_digits_make_the_geometric_law(scale: float) -> None:
    """The product over digits of k, with 60 digits, against (1 - r) r^k."""
    chances = laplace._digits(scale)
    with mpmath.workdps(60):
        ratio = mpmath.exp(-1 / mpmath.mpf(scale))
        for value in (0, 1, 2, 3, 5, 12, 63, 100, 1023):
            law = (1 - ratio) * ratio**value
            found = mpmath.mpf(1)
            for digit, chance in enumerate(chances):
                heads = mpmath.ldexp(chance, -128)
                found *= heads if value >> digit & 1 else 1 - heads
            if value >> len(chances):
                found = mpmath.mpf(0)
            assert abs(found - law) <= mpmath.ldexp(1, -120)


def test_a_digit_with_half_its_chance_is_another_law() -> None:
    """Negative control of the enumeration."""
    with mpmath.workdps(60):
        ratio = mpmath.exp(-1)
        chances = [chance // 2 for chance in laplace._digits(1.0)]
        zero = mpmath.mpf(1)
        for chance in chances:
            zero *= 1 - mpmath.ldexp(chance, -128)
        assert abs(zero - (1 - ratio)) > 0.01


def _counted(scale: float, values: NDArray[np.int64]) -> float:
    """Return how far counts of -3 .. 3 are from the law, in deviations."""
    ratio = math.exp(-1.0 / scale)
    worst = 0.0
    for value in range(-3, 4):
        chance = (1 - ratio) / (1 + ratio) * ratio ** abs(value)
        spread = math.sqrt(len(values) * chance * (1 - chance))
        found = float(np.sum(values == value))
        worst = max(worst, abs(found - len(values) * chance) / spread)
    return worst


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5])
def test_values_occur_as_often_as_the_law_says(scale: float) -> None:
    """7 counts, 6 deviations: exceeded with probability below 2e-8."""
    values = two_sided_geometric(SeededSource(1), scale, DRAWN)
    assert _counted(scale, values) < 6.0


def test_rounded_laplace_floats_would_be_noticed() -> None:
    """Negative control: rounding a continuous Laplace is another law."""
    values = np.rint(np.random.default_rng(1).laplace(0, 1.0, DRAWN)).astype(np.int64)
    assert _counted(1.0, values) > 6.0


@pytest.mark.parametrize("scale", [0.5, 3.0, 50.0, 2.0**30])
def test_moments_are_those_that_are_stated(scale: float) -> None:
    """6 deviations of a mean and of a mean square: below 1e-8 each."""
    values = two_sided_geometric(SeededSource(2), scale, DRAWN).astype(np.float64)
    spread = math.sqrt(variance_of(scale) / DRAWN)
    assert abs(values.mean()) < 6 * spread
    error = variance_of(scale) * math.sqrt((kurtosis_of(scale) - 1) / DRAWN)
    assert abs(float(np.mean(values**2)) - variance_of(scale)) < 6 * error


@pytest.mark.parametrize("scale", SCALES)
def test_moments_by_summation(scale: float) -> None:
    ratio = math.exp(-1.0 / scale)
    k = np.arange(1, int(60 * scale) + 60, dtype=np.float64)
    law = (1 - ratio) / (1 + ratio) * ratio**k
    second, fourth = 2 * float(law @ k**2), 2 * float(law @ k**4)
    assert variance_of(scale) == pytest.approx(second, rel=1e-9)
    assert kurtosis_of(scale) == pytest.approx(fourth / second**2, rel=1e-9)


@pytest.mark.parametrize("scale", SCALES)
def test_hardly_anything_lies_beyond_the_reach(scale: float) -> None:
    with mpmath.workdps(60):
        ratio = mpmath.exp(-1 / mpmath.mpf(scale))
        beyond = 2 * ratio ** (reach_of(scale) + 1) / (1 + ratio)
        assert beyond < mpmath.ldexp(1, -100)


@pytest.mark.parametrize("scale", [0.02, 0.5, 1.0, 16.0, 1000.0])
def test_one_value_lies_within_its_spread(scale: float) -> None:
    within = spread_within((scale,), 0.95)
    ratio = math.exp(-1.0 / scale)
    assert 2 * ratio ** (within + 1) / (1 + ratio) <= 0.05 * (1 + 1e-6)
    if within:
        assert 2 * ratio**within / (1 + ratio) > 0.05 * (1 - 1e-6)


def test_sums_lie_within_their_spread() -> None:
    """The share of 200,000 sums: 5 deviations, exceeded with chance below 1e-6."""
    parts = [two_sided_geometric(SeededSource(at), 20.0, DRAWN) for at in (4, 5)]
    total = np.abs(parts[0] + parts[1])
    within = spread_within((20.0, 20.0), 0.95)
    slack = 5 * math.sqrt(0.95 * 0.05 / DRAWN)
    assert float(np.mean(total <= within)) >= 0.95 - slack
    assert float(np.mean(total <= within - 1)) <= 0.95 + slack
    # Negative control: the spread of one value is too narrow for two.
    alone = spread_within((20.0,), 0.95)
    assert float(np.mean(total <= alone)) < 0.95 - 10 * slack


def test_laws_that_are_too_long_are_refused() -> None:
    with pytest.raises(ValueError, match="scale"):
        spread_within((1001.0, 1.0), 0.95)
    with pytest.raises(ValueError, match="scale"):
        spread_within((1.1e5,), 0.95)
    with pytest.raises(ValueError, match="confidence"):
        spread_within((1.0,), 0.9999)


@dataclass
class _Told:
    """A source that gives the words it was told, request by request."""

    requests: list[list[int]] = field(default_factory=list)
    private: bool = False

    def words(self, count: int) -> NDArray[np.uint64]:
        told = self.requests.pop(0)
        assert len(told) == count
        return np.array(told, dtype=np.uint64)


def test_ties_are_decided_by_further_bits() -> None:
    chance = (5 << 64) + 9
    source = _Told([[4, 5, 5, 6], [8, 9]])
    assert laplace._coins(source, chance, 4).tolist() == [True, True, False, False]
    assert source.requests == []


def test_values_repeat_with_a_seed_and_never_without() -> None:
    drawn = [two_sided_geometric(SeededSource(3), 9.0, 50) for _ in range(2)]
    assert (drawn[0] == drawn[1]).all()
    # Two lists of 50 values of entropy above 4 bits: equal with chance below 1e-60.
    fresh = [two_sided_geometric(SecureSource(), 9.0, 50) for _ in range(2)]
    assert (fresh[0] != fresh[1]).any()


def test_numbers_out_of_range_are_refused() -> None:
    for scale in (0.0, 0.019, 2.0**40 * 1.01, math.nan, math.inf):
        with pytest.raises(ValueError, match="scale"):
            two_sided_geometric(SeededSource(1), scale, 1)
    with pytest.raises(ValueError, match="count"):
        two_sided_geometric(SeededSource(1), 1.0, -1)
    assert len(two_sided_geometric(SeededSource(1), 1.0, 0)) == 0
