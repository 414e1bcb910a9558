# SPDX-License-Identifier: Apache-2.0
"""The sampler against exact probabilities, and its slow path against its fast one."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from lexfed.privacy.noise import gaussian
from lexfed.privacy.noise.gaussian import delta_sampler, rounded_gaussian
from lexfed.randomness import SecureSource, SeededSource

REJECT = 1e-9
"""Error probability of every statistical test here, for any seed."""


def chi_square(values: np.ndarray, scale: float) -> float:
    """P-value of the values against round(N(0, scale^2)) in about 40 cells."""
    reach = int(4 * scale) + 1
    width = max(1, reach // 20)
    edges = np.arange(-reach, reach + width, width) - 0.5
    inner = np.diff(stats.norm.cdf(edges / scale))
    expected = np.concatenate(
        [[stats.norm.cdf(edges[0] / scale)], inner, [stats.norm.sf(edges[-1] / scale)]]
    )
    cells = np.bincount(np.searchsorted(edges, values), minlength=len(expected))
    keep = expected * len(values) > 5
    observed = np.append(cells[keep], cells[~keep].sum())
    model = np.append(expected[keep], expected[~keep].sum()) * len(values)
    positive = model > 0
    return float(stats.chisquare(observed[positive], model[positive]).pvalue)


@pytest.mark.parametrize("scale", [0.4, 1.0, 3.0, 50.0])
def test_small_scales_against_exact_cells(scale: float) -> None:
    values = rounded_gaussian(SeededSource(1), scale, 400_000)
    assert chi_square(values, scale) > REJECT
    # Negative control: three per cent less noise is noticed.
    wrong = rounded_gaussian(SeededSource(1), 0.97 * scale, 400_000)
    assert chi_square(wrong, scale) < REJECT


@pytest.mark.parametrize("scale", [2.0**20, 1e9, 2.0**40])
def test_large_scales_against_the_normal(scale: float) -> None:
    count = 400_000 if scale < 2.0**40 else 100_000
    values = rounded_gaussian(SeededSource(2), scale, count) / scale
    assert stats.kstest(values, "norm").pvalue > REJECT
    assert stats.kstest(values / 0.97, "norm").pvalue < 1e-3
    # Standard errors 1/sqrt(n), sqrt(2/n), sqrt(24/n); 6.11 of them are 1e-9.
    assert abs(values.mean()) < 6.11 / math.sqrt(count)
    assert abs(values.var() - 1) < 6.11 * math.sqrt(2 / count)
    assert abs((values**4).mean() - 3) < 6.11 * math.sqrt(96 / count)
    assert abs((values / 0.97).var() - 1) > 6.11 * math.sqrt(2 / count)


def test_values_are_independent_across_pairs() -> None:
    values = rounded_gaussian(SeededSource(3), 1e6, 200_000) / 1e6
    half = values.reshape(2, -1)
    for first, second in [(half[0], half[1]), (values[:-1], values[1:])]:
        for one, other in [(first, second), (first**2 - 1, second**2 - 1)]:
            # The standard error of a mean of products is the product of deviations.
            error = one.std() * other.std() / math.sqrt(len(one))
            assert abs((one * other).mean()) < 6.11 * error


@pytest.mark.parametrize("scale", [0.7, 1e3, 2.0**30, 2.0**40])
def test_the_fast_path_decides_as_the_slow_one(scale: float) -> None:
    # Exact before statistical: every value the floats are sure of is the one that
    # 500-bit arithmetic gives, whatever the missing bits are.
    count = 600
    values = rounded_gaussian(SeededSource(4), scale, count).reshape(2, -1)
    words = SeededSource(4).words(count)
    for pair in range(count // 2):
        exact = gaussian._decide(
            SeededSource(pair),
            int(words[pair]),
            int(words[count // 2 + pair]),
            np.array([scale, scale]),
        )
        if scale < 2.0**38:
            assert tuple(values[:, pair]) == exact
        else:  # a few pairs per hundred were decided with other bits
            assert np.abs(values[:, pair] - exact).max() <= 1


def test_float_errors_stay_inside_the_stated_bound() -> None:
    # Words over the whole range of the fast path, dense near both of its edges and
    # near the zeros of sine and cosine, with the missing bits all zeros or all ones.
    rng = np.random.default_rng(5)
    count = 300
    small = (2.0 ** rng.uniform(44.01, 63, count)).astype(np.uint64)
    first = np.concatenate([small, np.uint64(2**64 - 1) - small])
    quarter = rng.integers(0, 4, 2 * count, dtype=np.uint64) * np.uint64(2**62)
    second = quarter + (2.0 ** rng.uniform(0, 61, 2 * count)).astype(np.uint64)
    words = np.concatenate([first, second])
    uniform, radius, values = gaussian._standard_pairs(words)
    bound = gaussian._error(uniform, radius)
    assert bound.max() <= gaussian._GUARD
    ends = [np.full(8, fill, dtype=np.uint64) for fill in (0, 2**64 - 1)]
    with mpmath.workprec(500):
        for pair in range(2 * count):
            for end in ends:
                exact = gaussian._exact_pair(int(first[pair]), int(second[pair]), end)
                errors = [
                    abs(e - v) for e, v in zip(exact, values[:, pair], strict=True)
                ]
                assert max(errors) <= bound[pair]


def test_edges_of_the_uniform_take_the_slow_path() -> None:
    class Fixed:
        private = False

        def __init__(self) -> None:
            self.calls = 0

        def words(self, count: int) -> np.ndarray:
            self.calls += 1
            if self.calls == 1:
                return np.array([0, 2**64 - 1, 2**63, 0, 0, 0], dtype=np.uint64)
            return np.zeros(count, dtype=np.uint64)

    source = Fixed()
    values = rounded_gaussian(source, 100.0, 6)
    assert source.calls == 3  # the first two pairs ask for more bits, the third not
    # u = 2^-321: sqrt(-2 ln u) is about 21.1; u near 1 gives 0.
    assert values[0] == round(100 * math.sqrt(2 * 321 * math.log(2)))
    assert values[1] == 0
    assert values[2] == round(100 * math.sqrt(2 * math.log(2)))


def test_seeds_repeat_and_secure_draws_do_not() -> None:
    seeded = [rounded_gaussian(SeededSource(7), 1e6, 101) for _ in range(2)]
    assert np.array_equal(seeded[0], seeded[1])
    assert seeded[0].dtype == np.int64
    assert seeded[0].shape == (101,)
    secure = [rounded_gaussian(SecureSource(), 1e6, 101) for _ in range(2)]
    assert not np.array_equal(secure[0], secure[1])


def test_a_source_is_not_asked_twice_for_the_same_noise() -> None:
    source = SeededSource(8)
    first, second = (rounded_gaussian(source, 1e6, 100) for _ in range(2))
    assert not np.array_equal(first, second)


def test_nothing_and_nonsense() -> None:
    assert len(rounded_gaussian(SeededSource(1), 1.0, 0)) == 0
    for scale, count in [(0.0, 1), (-1.0, 1), (math.nan, 1), (2.0**41, 1), (1.0, -1)]:
        with pytest.raises(ValueError, match="expected"):
            rounded_gaussian(SeededSource(1), scale, count)


def test_the_charge_for_the_sampler() -> None:
    assert delta_sampler(0, 1.0) == 0.0
    one = delta_sampler(10**9, 2.0)
    assert one == pytest.approx(10**9 * (1 + math.exp(2.0)) * 2.0**-90)
    assert one < 1e-16
    assert delta_sampler(1, 1e6) == 1.0


@pytest.mark.parametrize("count", [1, 6, 7])
def test_each_value_can_have_its_own_scale(count: int) -> None:
    # Exact: the same bits at scale s give the values of the pair drawn with s alone.
    scales = np.geomspace(1.0, 2.0**30, count)
    mixed = rounded_gaussian(SeededSource(5), scales, count)
    for place, scale in enumerate(scales):
        alone = rounded_gaussian(SeededSource(5), float(scale), count)
        assert mixed[place] == alone[place]


def test_scales_must_be_one_or_one_each() -> None:
    with pytest.raises(ValueError, match="expected 3 scales, got: 2"):
        rounded_gaussian(SeededSource(5), np.ones(2), 3)
