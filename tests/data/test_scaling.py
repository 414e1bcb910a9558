# SPDX-License-Identifier: Apache-2.0
"""The transform follows from the public range, and scaling can be undone."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.data.encoding import scaled_values, tail, unscaled_values
from lexfed.data.schema import SCALES, Column, NumberScale, Transform, backward, forward


def number(
    low: float,
    high: float,
    scale: NumberScale = "auto",
    stats: tuple[float, float] | None = None,
) -> Column:
    return Column("x", "number", range=(low, high), scale=scale, public_stats=stats)


@pytest.mark.parametrize(
    ("low", "high", "transform"),
    [
        (1, 20, "log"),
        (1, 19.999, "linear"),
        (0.001, 0.02, "log"),
        (18, 98, "linear"),
        (5e-324, 1e300, "log"),
        (0, 1000, "log"),
        (-0.0, 1000, "log"),
        (0, 999.9, "linear"),
        (-1, 1000.5, "symlog"),
        (-1000.5, 1, "symlog"),
        (-1000, 1000, "linear"),
        (-1e9, 0, "linear"),
        (-1e9, -1, "linear"),
        (-40, 40, "linear"),
    ],
)
def test_auto_follows_the_range(low: float, high: float, transform: Transform) -> None:
    assert number(low, high).resolved_scale() == transform


@pytest.mark.parametrize(("low", "high"), [(0, 1e6), (1, 1e6), (-1e6, 1e6)])
def test_auto_is_linear_for_targets_and_beside_public_statistics(
    low: float, high: float
) -> None:
    assert number(low, high).resolved_scale() != "linear"
    assert number(low, high).resolved_scale(target=True) == "linear"
    assert number(low, high, stats=(3.0, 2.0)).resolved_scale() == "linear"
    assert Column("x", "flag").resolved_scale() == "linear"


def test_a_stated_scale_is_kept() -> None:
    stated: tuple[Transform, ...] = ("linear", "log", "symlog")
    for scale in stated:
        column = number(0, 1e6, scale, stats=(3.0, 2.0))
        assert column.resolved_scale() == column.resolved_scale(target=True) == scale


@pytest.mark.parametrize(
    ("transform", "ends", "value", "place"),
    [
        ("linear", (0, 10), 3.0, 3.0),
        ("log", (0, 5000), 10.0, math.log(3)),
        ("log", (2, 500), 8.0, math.log(5)),
        ("log", (1, 1e6), 2e3, math.log(3)),
        ("symlog", (-2000, 500), -4.0, -math.asinh(2)),
        ("symlog", (-2000, 5000), 10.0, math.asinh(2)),
        ("symlog", (100, 5000), 100.0, math.asinh(20)),
        ("symlog", (-5000, -100), -100.0, -math.asinh(20)),
    ],
)
def test_values_of_the_transforms(
    transform: Transform, ends: tuple[float, float], value: float, place: float
) -> None:
    assert forward(transform, ends, np.array([value])) == pytest.approx(place)
    assert backward(transform, ends, np.array([place])) == pytest.approx(value)


@pytest.mark.parametrize("transform", ["linear", "log", "symlog"])
def test_places_far_outside_become_the_nearest_end(transform: Transform) -> None:
    far = np.array([-1e300, -1e4, 1e4, 1e300])
    assert backward(transform, (2, 500), far).tolist() == [2, 2, 500, 500]


@st.composite
def numbers(draw: st.DrawFn) -> Column:
    scale = draw(st.sampled_from(SCALES))
    smallest = 0.0 if scale == "log" else -1e9
    low = draw(st.just(0.0) | st.floats(smallest, 1e9, allow_subnormal=False))
    # A width of at least a thousandth: rounding of a narrower range is its own.
    least = max(1e-3, abs(low) * 1e-3)
    wide = draw(st.floats(least, least * 1e9))
    stats = draw(st.none() | st.tuples(st.floats(-9, 9), st.floats(0.1, 9)))
    return number(low, low + wide, scale, stats)


@settings(max_examples=300, deadline=None)
@given(numbers(), st.floats(0, 1), st.booleans())
def test_scaling_can_be_undone(column: Column, share: float, target: bool) -> None:
    low, high = column.range or (0.0, 1.0)
    values = np.array([low, low + share * (high - low), high]).clip(low, high)
    there = scaled_values(column, values, target=target)
    assert (np.diff(there) >= 0).all()
    back = unscaled_values(column, there, target=target)
    size = max(-low, high) + (50.0 if column.public_stats else 0.0)
    np.testing.assert_allclose(back, values, rtol=1e-12, atol=1e-12 * size)


def test_a_target_is_undone_as_a_target() -> None:
    column, values = number(0, 1e6), np.array([1e4])
    coded = scaled_values(column, values, target=True)
    assert unscaled_values(column, coded, target=True) == pytest.approx(1e4)
    # Negative control: as a feature it went through another curve.
    assert unscaled_values(column, coded)[0] < 1e3


def test_public_statistics_are_on_the_transformed_scale() -> None:
    column = number(0, 5000, "log", stats=(math.log(3), 2.0))
    assert scaled_values(column, np.array([10.0])) == pytest.approx(0.0)
    assert unscaled_values(column, np.array([0.0])) == pytest.approx(10.0)
    assert unscaled_values(column, np.array([1e9])).tolist() == [5000]
    assert unscaled_values(column, np.array([-1e9])).tolist() == [0]


def test_a_wide_range_no_longer_crowds_one_end() -> None:
    amounts = np.random.default_rng(0).lognormal(8, 1, 10_000)
    bent = scaled_values(number(0, 1e6), amounts)
    flat = scaled_values(number(0, 1e6, "linear"), amounts)
    # Spread in [-1, 1]: a log-normal of one unit keeps a width, the linear map none.
    assert bent.std() > 10 * flat.std()


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (number(0, 100), 1.0),
        (number(-100, 0), -1.0),
        (number(-5, 5), 0.0),
        (number(-1, 3), 0.5),
        (number(-3, 1), -0.5),
        (number(18, 98), 1.0),
        (number(-98, -18), -1.0),
        (number(1e308, 1.7e308), 1.0),
        (number(0, 5000, "linear"), 1.0),
        (number(0, 5000), 1.0),
        (number(0, 100, "log"), 1.0),
        (number(-1, 3, "symlog"), 0.5),
        (number(0, 100, stats=(50, 10)), 0.0),
        (Column("x", "flag"), 0.0),
        (Column("x", "category", values=("a", "b")), 0.0),
    ],
)
def test_the_tail_is_where_a_range_reaches(column: Column, expected: float) -> None:
    assert tail(column) == expected
