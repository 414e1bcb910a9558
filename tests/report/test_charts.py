# SPDX-License-Identifier: Apache-2.0
"""Charts stretch with the page, and say what they show without colour or eyes."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.report.markup.charts import (
    Axes,
    SpendingCurve,
    calibration_plot,
    metric_curve,
    roc_curve,
)

TIERS = [(1, "", 0.5), (2, "personal", 0.6), (3, "special", 0.7)]


def _parsed(drawing: object) -> ElementTree.Element:
    return ElementTree.fromstring(str(drawing))  # noqa: S314 - our own bytes


def _words(drawing: object) -> list[str]:
    return [node.text or "" for node in _parsed(drawing).iter("text")]


def _spoken(drawing: object) -> str | None:
    return _parsed(drawing).get("aria-label")


@pytest.mark.parametrize(
    ("curve", "reached", "lines"),
    [
        (SpendingCurve("whole record", [(1, 0.5), (2, 1.9999999)], 2.0),
         "2.00 of 2.00", 1),
        (SpendingCurve("special columns", [(1, 0.0), (2, 0.123)], None), "0.13", 1),
        (SpendingCurve("personal columns", [], 1.0), "0.00 of 1.00", 0),
    ],
)  # fmt: skip
def test_spending_says_what_was_spent_of_what(
    curve: SpendingCurve, reached: str, lines: int
) -> None:
    assert curve.reached == reached
    drawn = curve.drawn(4)
    assert f"{curve.title}: ε {reached}" in (_spoken(drawn) or "")
    assert len(list(_parsed(drawn).iter("polyline"))) == lines


def test_a_curve_marks_where_tiers_begin() -> None:
    drawn = metric_curve("AUC", TIERS, 3, 0.5)
    assert {"personal", "special"} <= set(_words(drawn))
    assert _spoken(drawn) == "AUC after each round, 0.700 in the end"
    places = {node.get("y") for node in _parsed(drawn).iter("text")
              if node.get("class") == "strong"}  # fmt: skip
    assert len(places) == 2, "names on one line would meet where rounds are few"


def test_a_flat_curve_is_drawn() -> None:
    drawn = metric_curve("rmse", [(1, "", 0.0), (2, "", 0.0)], 9)
    assert _spoken(drawn) == "rmse after each round, 0.000 in the end"


def test_nothing_in_a_chart_is_stretched_but_its_lines() -> None:
    drawn = _parsed(metric_curve("AUC", TIERS, 3))
    assert drawn.get("viewBox") is None
    for inner in drawn.iter("svg"):
        assert all(node.tag == "polyline" for node in inner) or inner is drawn


def test_a_roc_curve_marks_the_threshold() -> None:
    assert (
        len(list(_parsed(roc_curve([(0, 0), (1, 1)], (0.1, 0.8))).iter("circle"))) == 1
    )
    assert not list(_parsed(roc_curve([(0, 0), (1, 1)], None)).iter("circle"))


def test_calibration_has_a_dot_for_each_group() -> None:
    drawn = _parsed(calibration_plot([(0.2, 0.1), (0.8, 0.9)], [(0, 0.2), (0.7, 1)]))
    assert len(list(drawn.iter("circle"))) == 2
    assert [n.get("class") for n in drawn.iter("line")].count("thin") == 2
    assert _parsed(calibration_plot([(5.0, 5.0)], []))  # one point has no extent


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(0, 1))
def test_places_stay_inside(low: float, extent: float, share: float) -> None:
    axes = Axes((low, low + extent), (low, low + extent), 100.0)
    value = low + share * (axes.x[1] - low)
    assert -0.01 <= float(axes.across(value).rstrip("%")) <= 100.01
    assert -0.01 <= axes.down(value) <= 100.01
