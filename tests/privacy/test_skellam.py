# SPDX-License-Identifier: Apache-2.0
"""Skellam noise: its law, and its sums over sites."""

import math

import numpy as np
import pytest
from scipy import stats

from lexfed.privacy.noise import gaussian, poisson
from lexfed.randomness import SecureSource, SeededSource
from support.privacy import skellam_exact

REJECT = 1e-9
"""Error probability of every statistical test here, for any seed."""


def chi_square(values: np.ndarray, variance: int) -> float:
    """P-value of the values against the Skellam law in up to 40 cells."""
    root = math.sqrt(variance)
    reach = int(10 * root) + 40
    law = np.exp(skellam_exact.log_probabilities(variance, reach))
    cells = np.bincount(np.clip(values, -reach, reach) + reach, minlength=len(law))
    width = max(1, int(root / 5))
    starts = np.arange(0, len(law), width)
    expected = np.add.reduceat(law, starts) * len(values)
    observed = np.add.reduceat(cells, starts)
    keep = expected > 5
    model = np.append(expected[keep], expected[~keep].sum())
    seen = np.append(observed[keep], observed[~keep].sum())
    return float(stats.chisquare(seen, model * seen.sum() / model.sum()).pvalue)


@pytest.mark.parametrize("half", [1, 12, 2000, 2**16])
def test_values_have_the_skellam_law(half: int) -> None:
    values = poisson.skellam(SeededSource(1), half, 400_000)
    assert values.dtype == np.int64
    assert chi_square(values, 2 * half) > REJECT
    # Negative control: three per cent more deviation is noticed.
    more = poisson.skellam(SeededSource(1), max(half + 1, half * 106 // 100), 400_000)
    assert chi_square(more, 2 * half) < REJECT


@pytest.mark.parametrize("half", [2**30, 2**60])
def test_moments_at_large_variances(half: int) -> None:
    count = 400_000
    values = poisson.skellam(SeededSource(2), half, count) / math.sqrt(2 * half)
    # Standard errors 1/sqrt(n), sqrt(2/n), sqrt(96/n); 6.11 of them are 1e-9.
    assert abs(values.mean()) < 6.11 / math.sqrt(count)
    assert abs(values.var() - 1) < 6.11 * math.sqrt(2 / count)
    assert abs((values**4).mean() - 3) < 6.11 * math.sqrt(96 / count)
    assert stats.kstest(values, "norm").pvalue > REJECT
    assert abs((values * 0.97).var() - 1) > 6.11 * math.sqrt(2 / count)


@pytest.mark.parametrize(("half", "sites"), [(1, 5), (30, 8), (2**16, 3)])
def test_shares_add_up_to_a_skellam_variable(half: int, sites: int) -> None:
    source = SeededSource(3)
    total = sum(poisson.skellam(source, half, 200_000) for _ in range(sites))
    assert chi_square(np.asarray(total), 2 * half * sites) > REJECT
    # Negative control: a site that leaves out its share is noticed.
    source = SeededSource(3)
    less = sum(poisson.skellam(source, half, 200_000) for _ in range(sites - 1))
    assert chi_square(np.asarray(less), 2 * half * sites) < REJECT


def test_closure_exactly() -> None:
    # The convolution of two laws is the law of the summed variance, to the last digits.
    one, other, both = (
        np.exp(skellam_exact.log_probabilities(variance, 150))
        for variance in (6, 10, 16)
    )
    assert np.allclose(np.convolve(one, other)[150:-150], both, rtol=0, atol=1e-15)


def test_values_within_a_call_are_independent() -> None:
    for half in (500, 2**20):
        values = poisson.skellam(SeededSource(4), half, 200_000) / math.sqrt(2 * half)
        for lag in (1, 100_000):
            product = values[:-lag] * values[lag:]
            error = 6.11 / math.sqrt(len(product))  # 1e-9 for products of unit variance
            assert abs(product.mean()) < error


def test_seeds_repeat_and_secure_draws_do_not() -> None:
    seeded = [poisson.skellam(SeededSource(7), 10**6, 101) for _ in range(2)]
    assert np.array_equal(seeded[0], seeded[1])
    secure = [poisson.skellam(SecureSource(), 10**6, 101) for _ in range(2)]
    assert not np.array_equal(secure[0], secure[1])
    assert len(poisson.skellam(SeededSource(1), 1, 0)) == 0
    for half, count in [(0, 1), (2**61, 1), (1, -1)]:
        with pytest.raises(ValueError, match="expected"):
            poisson.skellam(SeededSource(1), half, count)


def test_the_distance_of_a_share_is_four_of_a_gaussian_value() -> None:
    assert poisson.SKELLAM_VARIATION == 2.0**-88 == 4 * gaussian.TOTAL_VARIATION
