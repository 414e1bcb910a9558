# SPDX-License-Identifier: Apache-2.0
"""The analytic Gaussian against 60-digit arithmetic."""

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.privacy.accountants.gdp import delta_from, epsilon_from, mu_from

MUS = [1e-6, 1e-4, 1e-2, 0.1, 0.49, 0.51, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0]
DELTAS = [1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9]


def exact_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        lost = mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        return mpmath.ncdf(m / 2 - e / m) - lost


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("delta", DELTAS)
def test_epsilon_is_exact_from_above(mu: float, delta: float) -> None:
    epsilon = epsilon_from(mu, delta)
    assert exact_delta(mu, epsilon) <= delta
    if epsilon > 0:
        assert exact_delta(mu, epsilon * (1 - 1e-9)) > delta


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("ratio", [0.0, 0.5, 3.0, 8.0, 20.0, 35.0])
def test_delta_is_exact_from_above(mu: float, ratio: float) -> None:
    epsilon = max(0.0, ratio * mu + mu * mu / 2)
    exact = exact_delta(mu, epsilon)
    assert exact <= delta_from(mu, epsilon) <= exact * (1 + 1e-9)


@given(st.floats(1e-3, 60), st.floats(1e-12, 0.5))
def test_mu_fits_the_budget_and_fills_it(epsilon: float, delta: float) -> None:
    mu = mu_from(epsilon, delta)
    assert epsilon_from(mu, delta) <= epsilon
    assert epsilon_from(mu * (1 + 1e-9), delta) > epsilon


@given(st.floats(1e-3, 50), st.floats(1e-3, 50))
def test_more_mu_costs_more(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert epsilon_from(low, 1e-6) <= epsilon_from(high, 1e-6)


def test_edges() -> None:
    assert epsilon_from(0.0, 1e-6) == 0.0
    assert epsilon_from(1.0, 1.0) == 0.0
    assert epsilon_from(1.0, 2.0) == 0.0
    assert epsilon_from(1.0, 0.0) == math.inf
    assert epsilon_from(math.inf, 1e-6) == math.inf
    assert epsilon_from(1e-9, 1e-6) == 0.0
    assert delta_from(0.0, 0.0) == 0.0
    assert delta_from(1.0, math.inf) == 0.0
    assert delta_from(math.inf, 1.0) == 1.0
    assert mu_from(1.0, 1.0) == math.inf
    with pytest.raises(ValueError, match="epsilon"):
        mu_from(0.0, 1e-6)


def test_known_values_and_the_classical_formula_is_something_else() -> None:
    assert epsilon_from(1.0, 1e-5) == pytest.approx(4.3772, abs=5e-5)
    assert epsilon_from(2.0, 1e-6) == pytest.approx(10.9972, abs=5e-5)
    classical = math.sqrt(2 * math.log(1.25e5)) / 10.0
    assert epsilon_from(1 / classical, 1e-5) > 10.3
