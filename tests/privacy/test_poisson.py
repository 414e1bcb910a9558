# SPDX-License-Identifier: Apache-2.0
"""Poisson values: tables and rejection against exact numbers, digit by digit."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from lexfed.privacy.noise import poisson
from lexfed.privacy.noise.poisson import centred_poisson
from lexfed.randomness import SeededSource

REJECT = 1e-9
"""Error probability of every statistical test here, for any seed."""

MEANS = (2**16, 2**16 + 1, 100_003, 2**24, 2**41 + 7, 2**60)


def chi_square(values: np.ndarray, mean: int) -> float:
    """P-value of centred values against the Poisson law in up to 40 cells."""
    root = math.sqrt(mean)
    edges = np.unique(np.floor(np.linspace(-4 * root, 4 * root, 41)))
    cumulated = stats.poisson.cdf(edges + mean, mean)
    expected = np.diff(cumulated, prepend=0.0, append=1.0) * len(values)
    cells = np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1)
    keep = expected > 5
    observed = np.append(cells[keep], cells[~keep].sum())
    model = np.append(expected[keep], expected[~keep].sum())
    positive = model > 0
    if observed[~positive].any():
        return 0.0  # what has probability 0 was seen
    return float(stats.chisquare(observed[positive], model[positive]).pvalue)


@pytest.mark.parametrize("mean", [1, 7, 300, 2**16 - 1, 2**16, 2**20])
def test_both_methods_against_exact_cells(mean: int) -> None:
    values = centred_poisson(SeededSource(1), mean, 300_000)
    assert values.dtype == np.int64
    assert chi_square(values, mean) > REJECT
    # Negative control: noise of a mean smaller by five per cent is noticed.
    less = centred_poisson(SeededSource(1), mean * 19 // 20 or 2, 300_000)
    assert chi_square(less, mean) < REJECT


def test_a_sampler_that_accepts_everything_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 1_000_000
    error = 6.11 * math.sqrt(2 / count)  # 6.11 standard errors of a variance are 1e-9
    values = centred_poisson(SeededSource(2), 2**16, count)
    assert abs(values.var() / 2**16 - 1) < error
    assert abs(values.mean()) < 6.11 * 2**8 / math.sqrt(count)
    everything = lambda _source, _mean, _scale, x: np.ones(len(x), bool)  # noqa: E731
    monkeypatch.setattr(poisson, "_accepted", everything)
    proposals = centred_poisson(SeededSource(2), 2**16, count)
    assert abs(proposals.var() / 2**16 - 1) > error


def proposals(mean: int) -> tuple[float, np.ndarray]:
    """The scale of proposals and values over the whole range that is accepted."""
    root = math.sqrt(mean)
    reach = int(12 * root)
    grid = np.linspace(-reach, reach, 97).astype(np.int64)
    return root / math.sqrt(1 - 4 / root), np.append(grid, [-1, 0, 1])


@pytest.mark.parametrize("mean", MEANS)
def test_acceptance_is_a_probability_and_floats_stay_inside_the_bound(
    mean: int,
) -> None:
    scale, values = proposals(mean)
    floats = poisson._log_acceptance(mean, scale, values.astype(float))
    for value, found in zip(values, floats, strict=True):
        exact = poisson._exact_log_acceptance(mean, scale, int(value))
        assert exact < 0
        assert abs(exact - float(found)) < 2.0**-27 < poisson._GUARD / 2


@pytest.mark.parametrize("mean", [2**16, 2**30])
def test_proposal_times_acceptance_is_the_poisson_law(mean: int) -> None:
    # Exact: q(X) exp(A(X)) is p(L + X) up to a constant, with laws written anew.
    scale, values = proposals(mean)
    constants = []
    with mpmath.workprec(300):
        for value in values[::8]:
            x, k = int(value), mean + int(value)
            ends = [(x + half) / mpmath.mpf(scale) for half in (-0.5, 0.5)]
            proposal = mpmath.ncdf(ends[1]) - mpmath.ncdf(ends[0])
            target = mpmath.exp(-mean) * mpmath.mpf(mean) ** k / mpmath.gamma(k + 1)
            chance = mpmath.exp(poisson._exact_log_acceptance(mean, scale, x))
            constants.append(proposal * chance / target)
        spread = max(constants) / min(constants) - 1
        assert abs(spread) < mpmath.mpf(2) ** -120
        assert constants[0] > 0.97  # how much is accepted


@pytest.mark.parametrize("mean", [1, 40, 2**16 - 1])
def test_tables_are_the_poisson_law(mean: int) -> None:
    lowest, cells, firsts = poisson._table(mean)
    values = np.arange(lowest, lowest + len(cells))
    table = np.array(cells, dtype=float) / 2.0**192
    assert np.allclose(table, stats.poisson.cdf(values, mean), rtol=1e-9, atol=1e-30)
    assert cells == sorted(cells)
    assert [int(first) for first in firsts] == [cell >> 128 for cell in cells]
    # What is left out on both sides together.
    with mpmath.workprec(300):
        left = mpmath.gammainc(lowest, mean, regularized=True) if lowest else 0
        assert 1 - mpmath.mpf(cells[-1]) / 2**192 + left < mpmath.mpf(2) ** -98


class Fixed:
    """Words that a test chose, then zeros or ones."""

    private = False

    def __init__(self, *words: int, fill: int = 0) -> None:
        self._first = words
        self._fill = fill
        self.calls = 0

    def words(self, count: int) -> np.ndarray:
        self.calls += 1
        if self.calls == 1:
            return np.array(self._first, dtype=np.uint64)
        return np.full(count, self._fill, dtype=np.uint64)


@pytest.mark.parametrize("fill", [0, 2**64 - 1])
def test_words_on_the_edge_of_a_cell_take_more_bits(fill: int) -> None:
    lowest, cells, firsts = poisson._table(1000)
    middle = int(np.searchsorted(firsts, 2**63))
    edge = int(firsts[middle])
    source = Fixed(edge, edge + 1, 0, fill=fill)
    values = centred_poisson(source, 1000, 3)
    assert source.calls == 3  # the edge and 0 ask for more
    below = lowest + middle - 1000
    assert values[0] == (below if fill == 0 else below + 1)
    assert values[1] == below + 1
    smallest = sum(cell <= (2**128 - 1 if fill else 0) for cell in cells)
    assert values[2] == lowest - 1000 + smallest


@pytest.mark.parametrize("fill", [0, 2**64 - 1])
def test_close_calls_of_a_rejection_are_decided_exactly(fill: int) -> None:
    mean, value = 2**16, 300
    scale, _ = proposals(mean)
    chance = math.exp(poisson._exact_log_acceptance(mean, scale, value))
    word = int(chance * 2**32)
    # Cells of 2^-32 below and above the chance, and the one that holds it.
    for shift, expected in [(-100, True), (-1, True), (1, False), (100, False)]:
        source = Fixed(word + shift, fill=fill)
        accepted = poisson._accepted(source, mean, scale, np.array([value]))
        assert bool(accepted[0]) == expected
        assert source.calls == 2
    source = Fixed(word, fill=fill)
    assert poisson._accepted(source, mean, scale, np.array([value]))[0] == (fill == 0)
    source = Fixed(word // 2)
    assert poisson._accepted(source, mean, scale, np.array([value]))[0]
    assert source.calls == 1  # far from it 32 bits are enough


def test_proposals_out_of_range_are_rejected() -> None:
    scale, _ = proposals(2**16)
    far = np.array([12 * 256, 12 * 256 + 1, -12 * 256, -12 * 256 - 1])
    # The smallest uniform accepts whatever may be accepted.
    accepted = poisson._accepted(Fixed(0, 0), 2**16, scale, far)
    assert accepted.tolist() == [True, False, True, False]


def test_seeds_repeat_and_chunks_are_fresh() -> None:
    for mean in (1000, 2**20):
        first, second = (centred_poisson(SeededSource(7), mean, 70_000) for _ in "ab")
        assert np.array_equal(first, second)
        half = poisson._CHUNK
        assert not np.array_equal(first[:half], first[half : 2 * half])


def test_nothing_and_nonsense() -> None:
    assert len(centred_poisson(SeededSource(1), 5, 0)) == 0
    for mean, count in [(0, 1), (-1, 1), (2**60 + 1, 1), (5, -1)]:
        with pytest.raises(ValueError, match="expected"):
            centred_poisson(SeededSource(1), mean, count)
