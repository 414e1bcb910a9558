# SPDX-License-Identifier: Apache-2.0
"""Bins, histograms and bases of number columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.models.shape_functions import (
    BINS,
    CENTRES,
    FUNCTIONS,
    basis_values,
    bin_numbers,
    column_basis,
    learned_shares,
    on_simplex,
    public_shares,
)

SHARES = st.lists(st.floats(0.0, 1.0), min_size=BINS, max_size=BINS).map(
    lambda values: (np.array(values) + 1e-9) / (np.sum(values) + BINS * 1e-9)
)


def test_bins_divide_the_range_equally() -> None:
    assert bin_numbers(CENTRES).tolist() == list(range(BINS))
    beyond = np.array([-7.0, -1.0, 1.0, 7.0, np.inf, -np.inf])
    assert bin_numbers(beyond).tolist() == [0, 0, BINS - 1, BINS - 1, BINS - 1, 0]


def test_functions_are_interpolated_and_constant_beyond() -> None:
    basis = np.random.default_rng(1).normal(size=(2, BINS, 3))
    at = np.stack([CENTRES, CENTRES[::-1]], axis=-1)
    found = basis_values(at, basis)
    assert np.allclose(found[:, 0], basis[0])
    assert np.allclose(found[:, 1], basis[1, ::-1])
    middle = np.stack([(CENTRES[:-1] + CENTRES[1:]) / 2] * 2, axis=-1)
    between = (basis[:, :-1] + basis[:, 1:]) / 2
    assert np.allclose(basis_values(middle, basis)[:, 0], between[0])
    ends = basis_values(np.array([[-5.0, 5.0]]), basis)
    assert np.allclose(ends[0], [basis[0, 0], basis[1, -1]])


def test_a_value_that_is_no_number_has_a_function_that_is_none() -> None:
    basis = np.ones((1, BINS, 1))
    assert np.isnan(basis_values(np.array([[np.nan]]), basis)).all()


@given(st.lists(st.floats(-3.0, 3.0), min_size=2, max_size=40))
def test_the_simplex_is_reached_by_the_shortest_way(values: list[float]) -> None:
    """The nearest point: the way there is at right angles to no shorter one."""
    start = np.array(values)
    found = on_simplex(start)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0)
    corners = np.eye(len(values))
    assert ((corners - found) @ (start - found)).max() <= 1e-9


@given(SHARES)
def test_functions_are_uncorrelated_with_their_variances(shares: np.ndarray) -> None:
    functions, variances, slope = column_basis(shares, 0.01)
    assert functions.shape == (BINS, FUNCTIONS)
    used = variances > 0.0
    assert (functions[:, ~used] == 0.0).all()
    covariance = functions.T @ (shares[:, None] * functions)
    assert np.allclose(covariance, np.diag(variances), atol=1e-6)
    assert np.allclose(shares @ functions, 0.0, atol=1e-6)
    assert variances.sum() <= 1.0 + 1e-9
    assert (np.diff(variances) <= 1e-12).all()
    assert np.isfinite(slope).all()


def test_a_line_is_in_the_first_functions() -> None:
    shares = np.full(BINS, 1.0 / BINS)
    functions, _, slope = column_basis(shares, 0.001)
    line = CENTRES / np.sqrt(shares @ CENTRES**2)
    left = line - functions @ slope
    assert shares @ left**2 < 0.01


def test_outlying_values_do_not_stretch_the_functions() -> None:
    """One in ten thousand at the end of the range: the rest keep their differences."""
    shares = np.zeros(BINS)
    shares[:6] = 1.0 / 6
    shares[-1], shares[0] = 1e-4, shares[0] - 1e-4
    functions, variances, _ = column_basis(shares, 0.01)
    assert (variances > 0.0).sum() >= 3
    spread = np.ptp(functions[:6, 0]) / np.ptp(functions[:, 0])
    assert spread > 0.5


def test_one_value_has_no_function() -> None:
    functions, variances, _ = column_basis(np.eye(BINS)[3], 0.01)
    assert not functions.any()
    assert not variances.any()


def test_two_values_have_one_function() -> None:
    shares = (np.eye(BINS)[3] + np.eye(BINS)[20]) / 2
    _, variances, _ = column_basis(shares, 0.01)
    assert (variances > 0.0).sum() == 1


def test_without_noise_a_histogram_is_the_counted_one() -> None:
    shares = np.random.default_rng(2).dirichlet(np.ones(BINS))
    found = learned_shares(shares, 1e-12, public_shares(0.0))
    assert np.allclose(found, shares, atol=1e-6)


def test_with_much_noise_a_histogram_is_the_guess() -> None:
    guess = public_shares(1.0)
    far = guess + np.random.default_rng(3).normal(size=BINS)
    assert np.allclose(learned_shares(far, 1e9, guess), guess, atol=1e-6)


def test_regions_are_told_apart_where_bins_are_not() -> None:
    """With noise as large as shares, humps of any place and width are met better than
    by counts alone: over 300 of them the mean squared error of the distribution
    function is .73 of theirs, with a standard error of about .03."""
    draw = np.random.default_rng(4)
    guess, errors = public_shares(1.0), np.zeros(2)
    for _ in range(300):
        width = np.exp(draw.uniform(-3.0, -0.9))
        shares = np.exp(-0.5 * ((CENTRES - draw.uniform(-0.9, 0.5)) / width) ** 2)
        shares = (shares + 1e-9) / (shares + 1e-9).sum()
        noisy = shares + draw.normal(0.0, 0.05, BINS)
        for place, found in enumerate(
            (learned_shares(noisy, 0.05**2, guess), on_simplex(noisy))
        ):
            errors[place] += ((np.cumsum(found) - np.cumsum(shares)) ** 2).mean()
    assert errors[0] < 0.9 * errors[1]
