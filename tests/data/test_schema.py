# SPDX-License-Identifier: Apache-2.0
"""A declaration is consistent or refused, and survives being written down."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.data.schema import Column, Schema
from lexfed.errors import ConfigError

NUMBER = Column("x", "number", range=(0, 1))
TARGET = Column("y", "flag")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "", "kind": "flag"}, "needs a name"),
        ({"kind": "date"}, "unknown kind"),
        ({"kind": "number"}, "needs a `range`"),
        ({"kind": "number", "range": (2, 1)}, "low < high"),
        ({"kind": "number", "range": (1, 1)}, "low < high"),
        ({"kind": "number", "range": (0, math.inf)}, "finite"),
        ({"kind": "number", "range": (math.nan, 1)}, "finite"),
        ({"kind": "number", "range": (-1.7e308, 1.7e308)}, "too wide"),
        ({"kind": "number", "range": (-1, 1), "scale": "log"}, "from 0 upwards"),
        ({"kind": "number", "range": (1e16, 1e16 + 2), "scale": "symlog"}, "narrow"),
        ({"kind": "number", "range": (0, 5e-324), "scale": "log"}, "too narrow"),
        ({"kind": "number", "range": (-5e-324, 0), "scale": "symlog"}, "too narrow"),
        ({"kind": "number", "range": (0, 1), "scale": "cube"}, "unknown scale"),
        ({"kind": "number", "range": (0, 1), "public_stats": (0, 0)}, "spread > 0"),
        ({"kind": "number", "range": (0, 1), "values": ("a",)}, "no list of `values`"),
        ({"kind": "flag", "range": (0, 1)}, "no `range`"),
        ({"kind": "flag", "public_stats": (0, 1)}, "no `range` or `public_stats`"),
        ({"kind": "text", "scale": "log"}, "no `scale`"),
        ({"kind": "flag", "scale": "linear"}, "no `scale`"),
        ({"kind": "category"}, "needs its list"),
        ({"kind": "category", "values": ()}, "needs its list"),
        ({"kind": "category", "values": ("a", "a")}, "twice"),
        ({"kind": "category", "values": ("a", " b")}, "space-padded"),
        ({"kind": "flag", "sources": ("c",)}, "made from itself"),
    ],
)
def test_contradictory_column_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Column(**{"name": "c", **fields})


@pytest.mark.parametrize(
    ("columns", "roles", "said"),
    [
        ((NUMBER, NUMBER, TARGET), {}, "declared twice"),
        ((NUMBER,), {}, "the target is not declared"),
        ((Column("y", "text"),), {}, "cannot be text"),
        ((Column("y", "category", values=("a",)),), {}, "two classes"),
        ((TARGET,), {"person": "y"}, "cannot be the person or site key"),
        ((TARGET,), {"person": "k", "site": "k"}, "both person and site"),
        ((TARGET, Column("z", "flag", sources=("y",))), {}, "made from the target"),
        (
            (
                TARGET,
                Column("a", "flag", sources=("b",)),
                Column("b", "flag", sources=("a",)),
            ),
            {},
            "through other columns",
        ),
    ],
)
def test_contradictory_schema_is_refused(
    columns: tuple[Column, ...], roles: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        Schema(columns, "y", **roles)


def test_features_leave_out_target_keys_and_text(schema: Schema) -> None:
    assert [c.name for c in schema.features()] == ["age", "sex", "ill", "dose"]
    assert [c.name for c in schema.features(exclude=("sex",))] == ["age", "ill", "dose"]


def test_a_key_declared_as_a_column_is_no_feature() -> None:
    key = Column("hospital", "category", values=("a", "b"))
    assert Schema((TARGET, NUMBER, key), "y", site="hospital").features() == (NUMBER,)


@pytest.mark.parametrize(
    ("target", "task", "classes"),
    [
        (TARGET, "binary", ("no", "yes")),
        (Column("y", "category", values=("a", "b")), "binary", ("a", "b")),
        (Column("y", "category", values=("a", "b", "c")), "multiclass", tuple("abc")),
        (Column("y", "number", range=(0, 1)), "regression", ()),
    ],
)
def test_task_follows_the_target(
    target: Column, task: str, classes: tuple[str, ...]
) -> None:
    schema = Schema((target,), "y")
    assert (schema.task, schema.classes) == (task, classes)


def test_ancestors_are_followed_through_columns_nobody_declared() -> None:
    made = Column("bmi2", "number", range=(0, 9), sources=("bmi",))
    bmi = Column("bmi", "number", range=(0, 9), sources=("height", "weight"))
    schema = Schema((TARGET, made, bmi), "y")
    assert schema.ancestors("bmi2") == {"bmi", "height", "weight"}


def test_unknown_column_is_named() -> None:
    with pytest.raises(ConfigError, match="column `nope`: not declared"):
        Schema((TARGET,), "y").by_name("nope")


NAMES = st.text("abcdefgh", min_size=1, max_size=6)
FLOATS = st.floats(-1e6, 1e6)


@st.composite
def columns(draw: st.DrawFn, name: str) -> Column:
    kind = draw(st.sampled_from(["number", "category", "flag", "text"]))
    missing = draw(st.booleans())
    if kind == "number":
        low = draw(st.floats(0, 1e6))
        wide = draw(st.floats(0.5, 1e6))
        stats = draw(st.none() | st.tuples(FLOATS, st.floats(0.1, 9)))
        return Column(
            name,
            "number",
            range=(low, low + wide),
            scale=draw(st.sampled_from(["auto", "linear", "log", "symlog"])),
            missing=missing,
            public_stats=stats,
        )
    if kind == "category":
        listed = draw(st.lists(NAMES, min_size=2, max_size=4, unique=True))
        return Column(name, "category", values=tuple(listed), missing=missing)
    return Column(name, "flag" if kind == "flag" else "text", missing=missing)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    listed = tuple(draw(columns(name)) for name in names)
    person = draw(st.none() | st.just("Person"))
    return Schema((*listed, Column("Y", "flag")), "Y", person=person)


@settings(max_examples=60, deadline=None)
@given(schemas())
def test_a_schema_survives_json(schema: Schema) -> None:
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_reading_back_is_strict(schema: Schema) -> None:
    plain = schema.to_dict()
    with pytest.raises(ConfigError, match="unknown field `extra`"):
        Schema.from_dict({**plain, "extra": 1})
    with pytest.raises(ConfigError, match="`target` is missing"):
        Schema.from_dict({"columns": plain["columns"]})
    with pytest.raises(ConfigError, match="field `columns`: expected a list"):
        Schema.from_dict({**plain, "columns": "age"})
    with pytest.raises(ConfigError, match="unknown field `mean`"):
        Column.from_dict({"name": "a", "kind": "flag", "mean": 3})


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", 3, "expected text"),
        ("range", [1], "two numbers"),
        ("range", ["0", "1"], "two numbers"),
        ("range", [False, True], "two numbers"),
        ("values", "abc", "list of texts"),
        ("missing", "yes", "true or false"),
    ],
)
def test_mistyped_fields_are_named(field: str, value: object, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Column.from_dict({"name": "a", "kind": "number", field: value})


def test_a_table_is_expected() -> None:
    with pytest.raises(ConfigError, match="expected a table"):
        Column.from_dict([1, 2])  # type: ignore[arg-type]  # what a broken file gives
