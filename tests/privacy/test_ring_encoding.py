# SPDX-License-Identifier: Apache-2.0
"""Integers of the ring: norms never grow, rings are wide enough, wraps are rare."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.errors import ConfigError
from lexfed.privacy.grid import CLIP_ROUNDING
from lexfed.privacy.ring_encoding import RING_BITS, Encoding, ring_bits
from lexfed.privacy.skellam import skellam
from lexfed.randomness import SeededSource
from lexfed.secagg import ring
from support.skellam_exact import log_probabilities


@settings(derandomize=True, deadline=None)
@given(
    st.floats(1e-6, 1e6),
    st.integers(1, 10**6),
    st.floats(100.0, 1e5),
)
def test_scales_are_fine_enough_and_powers_of_two(
    clip: float, dimension: int, fineness: float
) -> None:
    encoding = Encoding(clip, dimension, fineness)
    assert math.frexp(encoding.scale)[0] == 0.5
    achieved = clip * encoding.scale / math.sqrt(dimension)
    assert fineness * (1 - 1e-12) <= achieved <= 2.0 * fineness
    assert encoding.l2 == clip * encoding.scale


def test_a_scale_that_is_just_enough_is_not_doubled() -> None:
    assert Encoding(1.0, 4, 128.0).scale == 256.0
    assert Encoding(1.0, 4, 128.001).scale == 512.0


@settings(derandomize=True, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 200), st.floats(1e-3, 1e3))
def test_no_encoded_contribution_is_longer_than_charged(
    seed: int, dimension: int, clip: float
) -> None:
    encoding = Encoding(clip, dimension)
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((5, dimension)) ** 3
    # As long as clipping in single precision can leave them.
    longest = encoding.clip_to * (1.0 + CLIP_ROUNDING)
    rows *= longest / np.linalg.norm(rows, axis=1, keepdims=True)
    for row in rows:
        integers = encoding.encode(row[None])
        assert (np.abs(integers) <= np.abs(row * encoding.scale)).all()
        assert sum(int(k) ** 2 for k in integers) <= encoding.l2**2
        assert np.abs(integers).sum() <= encoding.l1
    # Negative control: rounding away from zero would not keep the charge.
    away = np.ceil(np.abs(rows * encoding.scale))
    assert (np.linalg.norm(away, axis=1) > encoding.l2 * (1 - 1e-4)).any()


def test_the_sum_is_that_of_rounded_rows_and_nearly_the_sum() -> None:
    encoding = Encoding(1.0, 50)
    rows = np.random.default_rng(1).standard_normal((40, 50))
    rows *= encoding.clip_to / np.linalg.norm(rows, axis=1, keepdims=True)
    total = encoding.encode(rows)
    assert total.dtype == np.int64
    assert np.array_equal(total, sum(encoding.encode(row[None]) for row in rows))
    # One more unit moves the integer sum by its own integers, and by nothing else.
    assert np.array_equal(total - encoding.encode(rows[1:]), encoding.encode(rows[:1]))
    assert np.abs(encoding.decode(total) - rows.sum(axis=0)).max() < 40 / encoding.scale
    # The bias of one contribution is at most a hundredth of the clip.
    one = encoding.decode(encoding.encode(rows[:1])) - rows[0]
    assert np.linalg.norm(one) < 0.01


@settings(derandomize=True, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 300))
def test_one_unit_more_moves_a_rounded_sum_by_no_more_than_charged(
    seed: int, dimension: int
) -> None:
    encoding = Encoding(1.0, dimension)
    rng = np.random.default_rng(seed)
    error = 1e-4
    rows = rng.standard_normal((6, dimension))
    longest = encoding.clip_to_in_sums(error) * (1.0 + CLIP_ROUNDING)
    rows *= longest / np.linalg.norm(rows, axis=1, keepdims=True)
    # Sums as wrong as stated, in opposite directions along the unit that is added.
    wrong = rows[0] * error / longest
    more = encoding.encode_sum(rows.sum(axis=0) + wrong, 6)
    less = encoding.encode_sum(rows[1:].sum(axis=0) - wrong, 6)
    assert more.dtype == np.int64
    moved = more - less
    assert sum(int(k) ** 2 for k in moved) <= encoding.l2**2
    assert np.abs(moved).sum() <= encoding.l1
    assert np.abs(more).max() <= encoding.bound(6, 1.0)


def test_rounding_a_sum_is_paid_for() -> None:
    # Negative control: clipped to the whole clip, the worst unit moves it further.
    encoding = Encoding(1.0, 400)
    step = 1.0 / encoding.scale
    rest = np.full(400, 0.49 * step)
    unit = np.full(400, (math.floor(encoding.l2 / 20) - 0.9) * step)
    moved = encoding.encode_sum(rest + unit, 2) - encoding.encode_sum(rest, 2)
    assert np.linalg.norm(moved) > np.linalg.norm(unit) * encoding.scale
    assert 0.985 < encoding.clip_to_in_sums(0.0) < encoding.clip_to - 0.004
    with pytest.raises(ValueError, match="summation_error"):
        encoding.clip_to_in_sums(0.1)


@pytest.mark.parametrize("total", [[2.0, 1.0], [math.nan, 0.0], [1e300, 1e300]])
def test_sums_that_nobody_clipped_are_refused(total: list[float]) -> None:
    with pytest.raises(ValueError, match="not finite or longer than 2"):
        Encoding(1.0, 2).encode_sum(np.array(total), 2)
    with pytest.raises(ValueError, match="expected a vector of 3"):
        Encoding(1.0, 3).encode_sum(np.array(total), 2)


@pytest.mark.parametrize(
    "row",
    [[1.1, 0.0], [math.nan, 0.0], [math.inf, 0.0], [1e300, 1e300], [0.8, 0.61]],
)
def test_contributions_that_were_not_clipped_are_refused(row: list[float]) -> None:
    with pytest.raises(ValueError, match="not finite or above 1"):
        Encoding(1.0, 2).encode(np.array([[0.1, 0.1], row]))


@pytest.mark.parametrize("shape", [(2,), (3, 3), (1, 1, 2)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected rows of 2"):
        Encoding(1.0, 2).encode(np.zeros(shape))


@pytest.mark.parametrize(
    "arguments", [(0.0, 1), (math.inf, 1), (1.0, 0), (1.0, 2**29), (1.0, 1, 99.0)]
)
def test_nonsense_is_refused(arguments: tuple[float, int]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Encoding(*arguments)


def test_rings_hold_signed_sums() -> None:
    assert ring_bits(2**15 - 1) == 16
    assert ring_bits(2**15) == 24
    assert ring_bits(2**23 - 1) == 24
    assert ring_bits(2**23) == 32
    assert ring_bits(2**31 - 1) == 32
    assert RING_BITS == ring.WIDTHS
    for bound in (1, 2**15 - 1, 2**15, 2**23, 2**31 - 1):
        assert ring_bits(bound) == ring.bits_for(bound)
    with pytest.raises(ConfigError, match="need 33 bits") as caught:
        ring_bits(2**31)
    assert "fewer units" in caught.value.hint


def test_the_bound_is_attained_by_data_and_kept_by_noise() -> None:
    encoding = Encoding(1.0, 4)
    rows = np.zeros((7, 4))
    rows[:, 0] = encoding.clip_to
    deviation = math.sqrt(2 * 5000)
    bound = encoding.bound(7, deviation)
    assert encoding.encode(rows)[0] > 7 * (encoding.l2 - 2)
    assert bound == 7 * 256 + 800
    # 1e5 values: beyond 8 deviations with probability below 1e5 * 2e-13.
    noise = skellam(SeededSource(1), 5000, 100_000)
    assert np.abs(noise).max() <= bound - 7 * 256
    assert np.abs(noise).max() > 3 * deviation


@pytest.mark.parametrize("variance", [0.5, 10.0, 1000.0])
def test_wraps_are_no_likelier_than_stated(variance: float) -> None:
    deviation = math.sqrt(variance)
    reach = int(30 * deviation) + 40
    law = np.exp(log_probabilities(variance, reach))
    beyond = np.abs(np.arange(-reach, reach + 1)) > 8 * deviation
    stated = Encoding(1.0, 1).wrap_probability(deviation)
    assert law[beyond].sum() <= stated
    assert Encoding(1.0, 10).wrap_probability(deviation) == min(1.0, 10 * stated)


def test_wrap_probability_is_small_where_it_matters() -> None:
    assert Encoding(1.0, 10**6).wrap_probability(1e4) < 3e-8
    assert Encoding(1.0, 10**6).wrap_probability(0.1) == 1.0
