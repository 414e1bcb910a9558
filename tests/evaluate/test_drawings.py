# SPDX-License-Identifier: Apache-2.0
"""Figures are SVG files of their own, made from whole tables only."""

import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import Any

import pytest

from lexfed.evaluate.harness.summary import Summary, summarise
from lexfed.evaluate.harness.tables import Job, Result
from lexfed.evaluate.results.budget_panels import Panel, budget_panels
from lexfed.evaluate.results.figures import draw, end_labels, learning_lines, series
from support.evaluation.results import result_of, table_of

SVG = "{http://www.w3.org/2000/svg}"


def summary_of(
    drawing: str, values: Any, jobs: tuple[Job, ...], **more: Any
) -> Summary:
    def found(job: Job) -> Result:
        own = values(job) if callable(values) else values
        return {**result_of(own), "job": job.facts}

    return summarise(table_of(*jobs, drawing=drawing, **more), found)


def words(svg: bytes) -> list[str]:
    """Parse a file and return its words."""
    root = ET.fromstring(svg)  # noqa: S314 - our own file
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title") is not None
    assert root.find(f"{SVG}style") is not None
    return [each.text or "" for each in root.iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("drawing", "fact"),
    [("epsilon", "record_epsilon"), ("alpha", "alpha"), ("sites", "sites")],
)
def test_curves_name_every_method_and_place(drawing: str, fact: str) -> None:
    jobs = tuple(
        Job("train", dataset, method, seed, None, {fact: at, "equal": "record"})
        for dataset in ("a", "b", "c")
        for method in ("uniform", "cascade")
        for at in (0.1, 1.0)
        for seed in (0, 1)
    )
    summary = summary_of(
        drawing,
        lambda job: {"auc": 0.6 + 0.01 * job.seed + 0.1 * job.setting[fact]},
        jobs,
        across=("dataset", "equal", fact, "method"),
    )
    (name,) = draw(summary)
    found = words(draw(summary)[name])
    assert name == "made-up.svg"
    assert found.count("cascade") == found.count("uniform") == 3
    assert {"0.1", "1", "a, equal record ε"} <= set(found)


def test_a_line_without_a_number_is_left_out() -> None:
    jobs = (
        Job("train", "a", "none", 0),
        Job("train", "a", "cascade", 0, None, {"alpha": 0.5}),
    )
    summary = summary_of(
        "alpha", {"auc": 0.7}, jobs, across=("dataset", "alpha", "method")
    )
    found = words(draw(summary)["made-up.svg"])
    assert "cascade" in found
    assert "none" not in found


def test_attacks_are_drawn_with_their_bound() -> None:
    values = {"auc": 0.51, "low": 0.5, "high": 0.52, "bound": 0.63}
    jobs = (Job("attack", "a", "cascade", 0), Job("attack", "a", "none", 0))
    summary = summary_of(
        "attack",
        lambda job: values if job.method == "cascade" else {"auc": 0.6},
        jobs,
        shows=("auc", "low", "high", "bound"),
    )
    svg = draw(summary)["made-up.svg"]
    assert "a · cascade" in words(svg)
    assert svg.count(b'class="bound"') == 1


def test_plans_are_drawn_by_round_and_by_column() -> None:
    values = {
        "rounds_by_scope": {"record": [0.5, 1.0], "special": [0.0, 0.3]},
        "noise": {"age": 2.0, "marker": 9.0},
    }
    jobs = (Job("plan", "a", "cascade", 0),)
    rounds = draw(summary_of("rounds", values, jobs))
    assert "special" in words(rounds["made-up-a-cascade.svg"])
    noise = draw(summary_of("noise", values, jobs))
    assert {"age", "marker"} <= set(words(noise["made-up-a-cascade.svg"]))


def test_what_was_refused_is_not_drawn() -> None:
    assert draw(summary_of("rounds", {}, (Job("plan", "a", "cascade", 0),))) == {}


def test_a_radar_compares_methods_that_have_every_quality() -> None:
    jobs = tuple(Job("train", "a", m, 0) for m in ("x", "y", "z"))
    values = {
        "x": {"auc": 0.7, "brier": 0.2, "gap_auc_sex": 0.1},
        "y": {"auc": 0.8, "brier": 0.1, "gap_auc_sex": 0.1},
        "z": {"auc": 0.8},
    }
    summary = summary_of(
        "radar",
        lambda job: values[job.method],
        jobs,
        shows=("auc", "brier", "gap_auc_sex"),
    )
    svg = draw(summary)["made-up.svg"]
    found = words(svg)
    assert {"x", "y", "gap auc sex"} <= set(found)
    assert "z" not in found
    assert svg.count(b"<polygon") == 2


def test_a_table_that_is_not_whole_is_not_drawn() -> None:
    table = table_of(Job("train", "a", "x", 0), drawing="radar")
    assert draw(summarise(table, lambda _: None)) == {}
    assert draw(summary_of("", {"auc": 0.5}, (Job("train", "a", "x", 0),))) == {}


def test_labels_do_not_touch() -> None:
    labels = end_labels([(50.0, "a"), (50.0, "b"), (51.0, "c")], 0.0, 20.0, 60.0)
    heights = [float(str(label).split('y="')[1].split('"')[0]) for label in labels]
    assert min(b - a for a, b in pairwise(heights)) >= 11.9
    assert max(heights) <= 64.0
    assert end_labels([], 0.0, 0.0, 1.0) == []
    assert series(8) == series(0)


def test_learning_is_drawn_from_the_paths_of_all_seeds() -> None:
    jobs = [
        Job("train", "small", method, seed)
        for method in ("none", "quick", "slow")
        for seed in (0, 1)
    ]
    paths = {
        "none": [],
        "quick": [[1, 0.7, 0.1], [2, 0.8, 0.2], [3, 0.9, 0.3]],
        "slow": [[2, 0.5, None], [4, 0.6, None], [6, 0.7, None]],
    }

    def told(job: Job) -> Result:
        made = result_of({"auc": 0.9, "path": paths[job.method]})
        return {**made, "job": job.facts}

    summary = summarise(table_of(*jobs, drawing="learning"), told)
    lines = learning_lines(summary.results, summary.table.across)
    found = {
        (line.facts["method"], line.facts["round"]): line.values["auc"].mean
        for line in lines
    }
    # A run that is over stays where it ended; before its first point nothing is known.
    assert found == pytest.approx(
        {
            ("quick", 1): 0.7,
            ("quick", 2): 0.8,
            ("quick", 4): 0.9,
            ("slow", 2): 0.5,
            ("slow", 4): 0.6,
            ("slow", 8): 0.7,
        }
    )
    (drawn,) = draw(summary).values()
    assert {"quick", "slow", "1", "2", "4", "8"} <= set(words(drawn))
    assert "none" not in words(drawn)


def test_panels_print_what_was_spent_of_what() -> None:
    drawn = budget_panels(
        [
            Panel("whole record", [(1, 0.5), (2, 1.9999999)], 2.0),
            Panel("special columns", [(1, 0.0), (2, 0.123)], None),
            Panel("personal columns", [], 1.0),
        ],
        4,
    )
    root = ET.fromstring(str(drawn))  # noqa: S314 - our own bytes
    said = {each.text for each in root.iter("text")}
    assert {"ε 2.00 of 2.00", "ε 0.13", "ε 0.00 of 1.00"} <= said
    assert len(root.findall("polyline")) == 2
