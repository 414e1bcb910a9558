# SPDX-License-Identifier: Apache-2.0
"""Public rules on columns: what they say, what they refuse, what missing means."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.data.conditions import (
    Comparison,
    check_condition,
    matching_rows,
    parse_condition,
)
from lexfed.data.reading.checked_tables import read_frames
from lexfed.data.reading.frames import frame_of_arrays
from lexfed.data.schema import Column, Schema
from lexfed.data.table import Table
from lexfed.errors import ConfigError

SCHEMA = Schema(
    (
        Column("age", "number", range=(0, 110)),
        Column("blood type", "category", values=("A", "B", "0")),
        Column("pregnant", "flag"),
        Column("note", "text"),
        Column("y", "flag", missing=False),
    ),
    "y",
    person="p",
)


def table_of(**columns: Any) -> Table:
    count = len(columns["age"])
    given = {
        "p": np.array([f"k{i}" for i in range(count)], dtype=object),
        "blood type": np.array(["A"] * count, dtype=object),
        "pregnant": np.zeros(count),
        "note": np.array(["n"] * count, dtype=object),
        "y": np.arange(count) % 2,
    }
    given.update({name.replace("_", " "): np.asarray(v) for name, v in columns.items()})
    return read_frames([frame_of_arrays("f", given)], SCHEMA)


def test_a_rule_is_read_into_comparisons() -> None:
    rule = parse_condition(
        "age < 18 and `blood type` in [\"A\", 'B'] and pregnant == true"
    )
    assert rule.comparisons == (
        Comparison("age", "<", (18.0,)),
        Comparison("blood type", "in", ("A", "B")),
        Comparison("pregnant", "=", (True,)),
    )
    assert rule.columns == ("age", "blood type", "pregnant")
    assert parse_condition("a >= -1.5e2 and a <= .5").columns == ("a",)
    assert parse_condition("a != 2.").comparisons == (Comparison("a", "!=", (2.0,)),)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "ends too early"),
        ("age", "ends too early"),
        ("age <", "ends too early"),
        ("age < 18 and", "ends too early"),
        ("age < 18 or age > 60", "has no `and`"),
        ("age < 18 age > 60", "has no `and`"),
        ("18 < age", "where a column is expected"),
        ("age 18", "where a comparison is expected"),
        ("age [ 18", "where a comparison is expected"),
        ("age in 18", "has no `[`"),
        ("age in [18 19]", "has no `,`"),
        ("age in []", "where a value is expected"),
        ("age in [18", "ends too early"),
        ("age < young", "where a value is expected"),
        ("age < 18; import os", "cannot be read from"),
        ("__import__('os')", "cannot be read from"),
        ("age < 18.5.3", "cannot be read from"),
        ("age < 18x", "cannot be read from"),
        ("a" * 1001, "longer than"),
    ],
)
def test_what_is_not_a_rule_is_refused(text: str, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_condition(text)
    assert what in caught.value.problems[0].what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("weight < 3", "no column `weight`"),
        ('p = "k1"', "no column `p`"),
        ('note = "n"', "a key or text"),
        ("age = true", "is a number"),
        ('age < "18"', "is a number"),
        ("age < 0", "no value of its declared range"),
        ("age <= 110", "every value of its declared range"),
        ("age = 111", "outside its declared range"),
        ("`blood type` < 3", "use `=`"),
        ('`blood type` = "AB"', "no declared value `AB`"),
        ("`blood type` = 3", "no declared value `3.0`"),
        ('`blood type` in ["A", "B", "0"]', "every value"),
        ("pregnant > 0", "use `=`"),
        ("pregnant = 1", "`true` or `false`"),
        ("pregnant in [true, false]", "every value"),
    ],
)
def test_rules_that_do_not_fit_the_columns_are_refused(text: str, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_condition(parse_condition(text), SCHEMA)
    assert what in caught.value.problems[0].what


def test_a_key_among_the_columns_is_refused() -> None:
    schema = Schema((*SCHEMA.columns, Column("p", "number", range=(0, 9))), "y", "p")
    with pytest.raises(ConfigError, match="a key or text"):
        check_condition(parse_condition("p < 3"), schema)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age < 18", [True, False, False]),
        ("age <= 18", [True, True, False]),
        ("age > 18", [False, False, True]),
        ("age >= 18", [False, True, True]),
        ("age = 18", [False, True, False]),
        ("age != 18", [True, False, True]),
        ("age in [17, 60]", [True, False, True]),
        ('`blood type` = "B"', [False, True, False]),
        ('`blood type` != "B"', [True, False, True]),
        ("pregnant = true", [False, False, True]),
        ("pregnant != true", [True, True, False]),
        ("y = true", [False, True, False]),
        ('age < 20 and `blood type` = "A"', [True, False, False]),
    ],
)
def test_a_rule_holds_where_it_says(text: str, expected: list[bool]) -> None:
    table = table_of(
        age=[17.0, 18.0, 60.0],
        blood_type=np.array(["A", "B", "A"], dtype=object),
        pregnant=[0.0, 0.0, 1.0],
    )
    rule = parse_condition(text)
    check_condition(rule, SCHEMA)
    assert matching_rows(rule, table).tolist() == expected


def test_a_missing_value_counts_as_one_for_which_the_rule_holds() -> None:
    table = table_of(
        age=[np.nan, np.nan, 40.0, 40.0],
        blood_type=np.array(["A", "B", None, "X"], dtype=object),
        pregnant=[0.0, 0.0, np.nan, 0.0],
    )
    assert matching_rows(parse_condition("age < 18"), table).tolist() == [
        True,
        True,
        False,
        False,
    ]
    # What is known says no; what is missing cannot overrule it.
    both = parse_condition('age < 18 and `blood type` = "A"')
    assert matching_rows(both, table).tolist() == [True, False, False, False]
    # A value outside the declared list is missing.
    assert (
        matching_rows(parse_condition('`blood type` = "B"'), table).tolist()
        == [False] + [True] * 3
    )
    assert matching_rows(parse_condition("pregnant = true"), table).tolist() == [
        False,
        False,
        True,
        False,
    ]


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("age<>=! in[],'\"`.e-1and\n\\(){}:;%"), max_size=40))
def test_any_text_is_a_rule_or_an_error(text: str) -> None:
    try:
        rule = parse_condition(text)
    except ConfigError:
        return
    assert rule.comparisons


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 110), min_size=2, max_size=9), st.integers(0, 8))
def test_a_row_depends_on_its_own_values_only(ages: list[float], place: int) -> None:
    rule = parse_condition("age < 18 and pregnant = false")
    before = matching_rows(rule, table_of(age=ages))
    other = list(ages)
    other[place % len(ages)] = 0.0
    after = matching_rows(rule, table_of(age=other))
    same = np.arange(len(ages)) != place % len(ages)
    assert (before[same] == after[same]).all()
