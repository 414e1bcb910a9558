# SPDX-License-Identifier: Apache-2.0
"""Weights of sites by overlap: persons count once, and nothing moves far."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.budget.sites import (
    _MEMORY,
    LEAST_OVERLAP_WEIGHT,
    overlap_factors,
    site_weights,
)

ANY = st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=9)


def test_persons_at_two_sites_count_once() -> None:
    sizes, common = np.array([1000.0, 400.0]), 300.0
    factors = overlap_factors(common / sizes)
    assert factors @ sizes == pytest.approx(sizes.sum() - common)


def test_without_overlap_every_site_counts_whole() -> None:
    np.testing.assert_array_equal(
        site_weights(overlap_factors(np.zeros(3))), np.ones(3)
    )


@given(ANY, ANY)
def test_whatever_is_released_weights_stay_in_their_bounds(
    first: list[float], second: list[float]
) -> None:
    size = min(len(first), len(second))
    factors = overlap_factors(np.array(first[:size]))
    for weights in (
        site_weights(factors),
        site_weights(overlap_factors(np.array(second[:size]), factors)),
    ):
        assert weights.max() == 1.0
        assert (weights >= LEAST_OVERLAP_WEIGHT).all()


def test_a_faked_sketch_moves_a_site_to_a_half_at_most() -> None:
    honest = site_weights(overlap_factors(np.array([0.0, 0.2, 0.0])))
    faked = site_weights(overlap_factors(np.array([1e9, 0.2, -1e9])))
    assert faked[0] == LEAST_OVERLAP_WEIGHT
    np.testing.assert_array_equal(faked[1:], honest[1:])


def test_a_later_sketch_moves_a_factor_a_part_of_the_way() -> None:
    before = overlap_factors(np.array([0.0, 1.0]))
    after = overlap_factors(np.array([1.0, 1.0]), before)
    assert after[0] == pytest.approx(_MEMORY * 1.0 + (1 - _MEMORY) * 0.5)
    assert after[1] == 0.5
