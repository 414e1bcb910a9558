# SPDX-License-Identifier: Apache-2.0
"""The clip finds its quantile, pays for its bits, and stays in its bounds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.budget import tower_steering
from lexfed.budget.tower_steering import (
    BIT_SHARE,
    bit_weight,
    has_clip_bits,
    next_radius,
)
from lexfed.privacy.releases import CLIP_BIT, Release, ReleaseGroup
from lexfed.tiers import Tier


def test_the_update_is_the_published_one() -> None:
    # C <- C exp(-eta (bbar - gamma)), eta .2, gamma .5; bits are centred.
    assert next_radius(2.0, 0.3, 0.5, 0.2) == pytest.approx(2.0 * math.exp(-0.06))
    assert next_radius(2.0, -0.5, 0.9, 0.2) == pytest.approx(2.0 * math.exp(0.18))


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.9])
def test_it_finds_the_quantile(quantile: float) -> None:
    norms = np.random.default_rng(3).lognormal(0.0, 1.0, 4000)
    radius = 1.0
    for _ in range(200):
        bits = float(np.mean(np.where(norms <= radius, 0.5, -0.5)))
        radius = next_radius(radius, bits, quantile, 0.2)
    assert np.mean(norms <= radius) == pytest.approx(quantile, abs=0.01)


@given(
    bits=st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=50),
    quantile=st.floats(0.01, 0.99),
    rate=st.floats(0.01, 1.0),
)
def test_the_radius_stays_in_its_bounds(
    bits: list[float], quantile: float, rate: float
) -> None:
    radius = 1.0
    for bit in bits:
        after = next_radius(radius, bit, quantile, rate)
        assert tower_steering.SMALLEST_RADIUS <= after <= tower_steering.LARGEST_RADIUS
        assert abs(math.log(after / radius)) <= rate * (1 + 1e-9)
        if math.isnan(bit):
            assert after == radius
        radius = after


def test_what_is_not_a_number_moves_nothing() -> None:
    assert next_radius(2.0, math.nan, 0.5, 0.2) == 2.0


def test_bits_take_their_share_of_the_joint_square() -> None:
    own, bit = 1.0, bit_weight(1.0)
    assert bit**2 / (own**2 + bit**2) == pytest.approx(BIT_SHARE)


def test_bits_are_known_by_their_name() -> None:
    tower = ReleaseGroup("tower", 1.0, 2.0)
    alone = Release("tower", (tower,), 1.0, Tier.SPECIAL, 3)
    both = Release(
        "tower", (tower, ReleaseGroup(CLIP_BIT, 0.5, 4.0)), 1.0, Tier.SPECIAL, 4
    )
    assert has_clip_bits(both)
    assert not has_clip_bits(alone)
    assert not has_clip_bits(None)
