# SPDX-License-Identifier: Apache-2.0
"""Bounds from guesses: the published formula, exact cases, and how often they err."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from lexfed.evaluate.empirical.one_run_bounds import one_run, one_run_mu


def p_value(r: int, v: int, m: int, delta: float, epsilon: float) -> float:
    """Return the p-value of section 6, term by term."""
    p = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    beta = sum(binom.pmf(k, r, p) for k in range(v, r + 1))
    alpha, within = 0.0, 0.0
    for i in range(1, v + 1):
        within += binom.pmf(v - i, r, p)
        alpha = max(alpha, within / i)
    return float(min(1.0, beta + 2 * m * delta * alpha))


@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-3])
@pytest.mark.parametrize(("r", "v"), [(20, 20), (60, 50), (100, 70)])
def test_the_bound_is_where_the_published_p_value_crosses(
    r: int, v: int, delta: float
) -> None:
    bound = one_run(r, v, 200, delta)
    assert bound > 0.0
    assert p_value(r, v, 200, delta, bound) <= 0.05 + 1e-9
    assert p_value(r, v, 200, delta, bound + 2e-4) > 0.05


def test_nothing_is_found_where_guesses_are_those_of_coins() -> None:
    assert one_run(100, 50, 100, 1e-5) == 0.0
    assert one_run_mu(100, 50, 100) == 0.0
    assert one_run(100, 0, 100, 1e-5) == 0.0


def test_a_delta_of_one_excuses_everything() -> None:
    assert one_run(100, 100, 100, 1.0) == 0.0


@given(
    st.integers(1, 60).flatmap(
        lambda r: st.tuples(st.just(r), st.integers(0, r - 1), st.integers(r, 100))
    )
)
def test_more_correct_guesses_never_lower_a_bound(drawn: tuple[int, int, int]) -> None:
    r, v, m = drawn
    assert one_run(r, v, m, 1e-5) <= one_run(r, v + 1, m, 1e-5) + 1e-4
    assert one_run_mu(r, v, m) <= one_run_mu(r, v + 1, m) + 1e-4


@cache
def gaussian_bound(m: int, v: int) -> float:
    return one_run_mu(m, v, m)


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("m", [20, 120])
def test_a_gaussian_is_never_refuted_by_what_it_does_itself(m: int, mu: float) -> None:
    """Independent coins, all guessed: the count is Bin(m, Phi(mu/2)) exactly.

    So the chance that the bound is above the truth is a sum. Control: an estimate
    without the bound's caution is above it far more often.
    """
    chances = binom.pmf(np.arange(m + 1), m, norm.cdf(mu / 2.0))
    bounds = np.array([gaussian_bound(m, v) for v in range(m + 1)])
    assert chances[bounds > mu].sum() <= 0.05
    naive = 2.0 * norm.ppf(np.arange(m + 1) / m)
    assert chances[naive > mu].sum() > 0.1


def test_the_bound_errs_as_rarely_as_it_says() -> None:
    """Of 100 audits at most 5 % err; more than 14 with probability below 1e-3.

    The control: what is 1.5 is found to be more than 1.1 nearly always.
    """
    generator = np.random.default_rng(1)
    counts = generator.binomial(400, 1.0 / (1.0 + math.exp(-1.5)), size=100)
    found = np.array([one_run(400, int(count), 400, 0.0) for count in counts])
    assert (found > 1.5).sum() <= 14
    assert (found > 1.1).sum() > 90


def test_the_gaussian_bound_errs_rarely_and_sees_more() -> None:
    """A fifth of the coins of mu = 1 is guessed; both bounds hold, one is sharper."""
    generator = np.random.default_rng(2)
    found, general = [], []
    for _ in range(20):
        coins = generator.integers(2, size=2000) == 1
        scores = coins - 0.5 + generator.normal(size=2000)
        order = np.argsort(scores)
        v = int((~coins[order[:200]]).sum() + coins[order[-200:]].sum())
        found.append(one_run_mu(400, v, 2000))
        general.append(one_run(400, v, 2000, 1e-5))
    assert max(found) <= 1.0
    assert float(np.median(found)) > 0.4
    assert 1.0 < float(np.median(general)) < 4.4


@pytest.mark.parametrize(
    ("asked", "name"),
    [((0, 0, 5), "guesses"), ((6, 1, 5), "guesses"), ((5, 6, 5), "correct")],
)
def test_impossible_counts_are_refused(asked: tuple[int, int, int], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        one_run_mu(*asked)
    with pytest.raises(ValueError, match=name):
        one_run(*asked, 1e-5)
