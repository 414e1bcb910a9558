# SPDX-License-Identifier: Apache-2.0
"""Drawings are well-formed, say their numbers, and need no colour."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.report.markup.svg import (
    AxisScale,
    Panel,
    bar,
    budget_panels,
    figure,
    metric_curve,
    steps,
    text,
    ticks,
)

NUMBERS = st.floats(-1e6, 1e6)


def _parsed(drawing: object) -> ElementTree.Element:
    return ElementTree.fromstring(str(drawing))  # noqa: S314 - our own bytes


def _words(drawing: object) -> list[str]:
    return [node.text or "" for node in _parsed(drawing).iter("text")]


def test_panels_print_what_was_spent_of_what() -> None:
    drawn = budget_panels(
        [
            Panel("whole record", [(1, 0.5), (2, 1.9999999)], 2.0),
            Panel("special columns", [(1, 0.0), (2, 0.123)], None),
            Panel("personal columns", [], 1.0),
        ],
        4,
    )
    words = _words(drawn)
    assert "ε 2.00 of 2.00" in words
    assert "ε 0.13" in words
    assert "ε 0.00 of 1.00" in words
    assert len(_parsed(drawn).findall("polyline")) == 2


def test_a_curve_marks_where_tiers_begin() -> None:
    rounds = [(1, "", 0.5), (2, "personal", 0.6), (3, "special", 0.7)]
    words = _words(metric_curve("AUC", rounds, 3))
    assert "personal" in words
    assert "special" in words
    assert "AUC 0.700" in words


def test_a_flat_curve_is_drawn() -> None:
    assert "rmse 0.000" in _words(metric_curve("rmse", [(1, "", 0.0), (2, "", 0.0)], 9))


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
