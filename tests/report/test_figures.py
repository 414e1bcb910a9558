# SPDX-License-Identifier: Apache-2.0
"""Drawings are well-formed, say their numbers, and need no colour."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.report.markup.svg import (
    AxisScale,
    bar,
    figure,
    steps,
    text,
    ticks,
)

NUMBERS = st.floats(-1e6, 1e6)


def _parsed(drawing: object) -> ElementTree.Element:
    return ElementTree.fromstring(str(drawing))  # noqa: S314 - our own bytes


@pytest.mark.parametrize(("share", "width"), [(0.5, "50"), (2.0, "100"), (-1.0, "0")])
def test_bars_stay_in_their_cell(share: float, width: str) -> None:
    [rectangle] = _parsed(bar(share, "σ")).findall("rect")
    assert rectangle.get("width") == width


@given(NUMBERS, NUMBERS, st.integers(2, 8))
def test_ticks_are_few_and_inside(one: float, other: float, most: int) -> None:
    low, high = sorted((one, other))
    found = ticks(low, high, most)
    margin = (high - low) * 1e-6 + 1e-9
    assert len(found) <= most
    assert all(low - margin <= tick <= high + margin for tick in found)
    assert found == sorted(found)


def test_text_of_others_is_escaped() -> None:
    drawn = figure(10, 10, "<b>", [text(0, 0, '<script>"')])
    assert "<script>" not in str(drawn)
    assert _parsed(drawn).find("title").text == "<b>"  # type: ignore[union-attr]


def test_steps_rise_at_each_place() -> None:
    corners = steps([1.0, 3.0], [10.0, 20.0], AxisScale(0.0, 4.0, 100.0, 0.0))
    assert corners == [(10.0, 100.0), (10.0, 75.0), (20.0, 75.0), (20.0, 25.0)]
