# SPDX-License-Identifier: Apache-2.0
"""Slots follow from the declaration; values stay in their own slots and bounds."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.data.encoding import (
    Encoding,
    build_encoding,
    decode_target,
    effective_tiers,
    encode,
    encode_target,
    scaled_values,
    unscaled_values,
)
from lexfed.data.reading.checked_tables import read_files, read_frames
from lexfed.data.reading.frames import frame_of_arrays
from lexfed.data.schema import SCALES, Column, NumberScale, Schema
from lexfed.errors import ConfigError
from lexfed.tiers import Tier

TARGET = Column("y", "flag")


def test_slots_name_column_kind_tier_and_levels(
    schema: Schema, tiers: dict[str, Tier]
) -> None:
    encoding = build_encoding(schema, tiers)
    assert [(s.name, s.kind, s.tier.label, s.levels) for s in encoding.slots] == [
        ("age", "number", "non_personal", 1),
        ("sex=f", "onehot", "personal", 2),
        ("sex=m", "onehot", "personal", 2),
        ("ill", "flag", "special", 1),
        ("ill?", "missing", "special", 1),
        ("dose", "number", "special", 1),
        ("dose?", "missing", "special", 1),
    ]
    assert encoding.width == 7
    assert encoding.model_tiers == (Tier.NON_PERSONAL, Tier.PERSONAL, Tier.SPECIAL)
    assert encoding.slots_of(Tier.SPECIAL).tolist() == [3, 4, 5, 6]
    assert encoding.slots_of(Tier.IDENTIFIER).tolist() == []
    assert encoding.slots_of_column("sex").tolist() == [1, 2]
    assert encoding.columns_of(Tier.SPECIAL) == ("ill", "dose")


def test_values_of_a_small_table(
    register: Path, schema: Schema, tiers: dict[str, Tier]
) -> None:
    table = read_files([register], schema)
    matrix = encode(build_encoding(schema, tiers), table)
    half = 2 * np.log1p(15) / np.log1p(1000) - 1
    np.testing.assert_allclose(matrix[0], [-0.7, 1, 0, 1, 0, half, 0], atol=1e-15)
    assert matrix[1, 5:].tolist() == [0, 1]
    assert matrix[3, 1:3].tolist() == [0, 0]
    assert matrix[3, 5] == 1
    assert matrix[4, 3:6].tolist() == [0, 1, -1]
    assert encode_target(table).tolist() == [0, 1, 0, 0, 1, 0, 1]


def test_target_key_text_and_identifier_cannot_be_features(
    schema: Schema, tiers: dict[str, Tier]
) -> None:
    for name, said in (
        ("relapsed", "the target cannot be a feature"),
        ("pid", "keys cannot be features"),
        ("mrn", "text cannot be a feature"),
        ("nope", "not declared"),
    ):
        with pytest.raises(ConfigError, match=said):
            build_encoding(schema, tiers, ["age", name])
    tiers["ill"] = Tier.IDENTIFIER
    assert "ill" not in build_encoding(schema, tiers).columns
    with pytest.raises(ConfigError, match="an identifier cannot be a feature"):
        build_encoding(schema, tiers, ["ill"])


def test_two_columns_cannot_make_the_same_slot() -> None:
    odd = Column("x?", "number", range=(0, 1), missing=False)
    schema = Schema((Column("x", "number", range=(0, 1)), odd, TARGET), "y")
    tiers = dict.fromkeys(("x", "x?", "y"), Tier.PERSONAL)
    with pytest.raises(ConfigError, match=r"slot `x\?`: two columns make it"):
        build_encoding(schema, tiers)


def test_excluded_columns_own_no_slots(schema: Schema, tiers: dict[str, Tier]) -> None:
    encoding = build_encoding(schema, tiers, exclude=("dose", "sex"))
    assert encoding.columns == ("age", "ill")


def test_an_engineered_column_takes_its_most_sensitive_source() -> None:
    made = Column("risk", "number", range=(0, 1), sources=("bmi", "age"))
    bmi = Column("bmi", "number", range=(0, 1), sources=("weight",))
    schema = Schema((TARGET, made, bmi), "y")
    tiers = {
        "y": Tier.PERSONAL,
        "risk": Tier.NON_PERSONAL,
        "bmi": Tier.NON_PERSONAL,
        "age": Tier.PERSONAL,
        "weight": Tier.SPECIAL,
    }
    effective = effective_tiers(schema, tiers)
    assert effective["risk"] == effective["bmi"] == Tier.SPECIAL
    encoding = build_encoding(schema, tiers)
    assert {slot.tier for slot in encoding.slots} == {Tier.SPECIAL}
    assert build_encoding(schema, {**tiers, "weight": Tier.IDENTIFIER}).slots == ()


def test_every_untagged_column_is_named(schema: Schema) -> None:
    with pytest.raises(ConfigError) as caught:
        build_encoding(schema, {"age": Tier.PERSONAL})
    named = {problem.where for problem in caught.value.problems}
    assert named == {f"column `{c}`" for c in ("sex", "ill", "dose", "relapsed", "mrn")}
    assert "[law.columns]" in caught.value.hint


def test_an_encoding_survives_json_and_is_strict(
    schema: Schema, tiers: dict[str, Tier]
) -> None:
    encoding = build_encoding(schema, tiers, ["dose", "age"])
    plain = json.loads(json.dumps(encoding.to_dict()))
    assert Encoding.from_dict(plain) == encoding
    with pytest.raises(ConfigError, match="unknown field"):
        Encoding.from_dict({**plain, "slots": []})
    with pytest.raises(ConfigError, match="`tiers`: expected one of"):
        Encoding.from_dict({**plain, "tiers": {"age": "public"}})


def test_serving_fewer_tiers_keeps_the_lower_slots(
    register: Path, schema: Schema, tiers: dict[str, Tier]
) -> None:
    table = read_files([register], schema)
    full = build_encoding(schema, tiers)
    low = full.upto(Tier.PERSONAL)
    for tier in low.model_tiers:
        np.testing.assert_array_equal(
            encode(low, table)[:, low.slots_of(tier)],
            encode(full, table)[:, full.slots_of(tier)],
        )
    assert low.slots_of(Tier.SPECIAL).tolist() == []


@st.composite
def number_columns(draw: st.DrawFn) -> Column:
    scale: NumberScale = draw(st.sampled_from(SCALES))
    lows = [0.0, 0.001, 1.0, 250.0] + ([] if scale == "log" else [-1e6, -3.0])
    low = draw(st.sampled_from(lows))
    wide = draw(st.floats(0.01, 1e9))
    return Column("x", "number", range=(low, low + wide), scale=scale)


@settings(max_examples=100, deadline=None)
@given(number_columns(), st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=9))
def test_every_entry_is_finite_and_in_bounds(column: Column, raw: list[float]) -> None:
    values = np.array([*raw, np.nan, *(column.range or ())])
    frame = frame_of_arrays("f", {"x": values, "y": np.arange(len(values)) % 2})
    schema = Schema((column, TARGET), "y")
    table = read_frames([frame], schema)
    encoding = build_encoding(schema, {"x": Tier.PERSONAL, "y": Tier.PERSONAL})
    matrix = encode(encoding, table)
    assert np.isfinite(matrix).all()
    assert (np.abs(matrix) <= 1).all()
    assert matrix[-2:, 0].tolist() == [-1, 1]
    assert matrix[-3].tolist() == [0, 1]


def test_public_statistics_replace_the_range_as_scale() -> None:
    column = Column("x", "number", range=(0, 100), public_stats=(50, 10))
    values = np.array([50.0, 70.0, 1e9, np.nan])
    np.testing.assert_array_equal(scaled_values(column, values), [0, 2, 5, np.nan])
    np.testing.assert_array_equal(
        unscaled_values(column, np.array([0, 2, 9.0])), [50, 70, 100]
    )


def test_number_targets_come_back_on_their_own_scale() -> None:
    target = Column("y", "number", range=(1, 1000), scale="log")
    schema = Schema((target,), "y")
    frame = frame_of_arrays("f", {"y": np.array([1.0, 10.0, 1000.0])})
    coded = encode_target(read_frames([frame], schema))
    ten = np.log(11 / 2) / np.log(1001 / 2)
    np.testing.assert_allclose(coded, [-1, 2 * ten - 1, 1])
    np.testing.assert_allclose(decode_target(schema, coded), [1, 10, 1000])
    # A prediction far outside is clamped, not overflowed.
    np.testing.assert_allclose(decode_target(schema, np.array([1e6])), [1000])
    assert unscaled_values(
        Column("z", "number", range=(0, 9), scale="log"), np.array([1.0])
    ) == pytest.approx(9)
    flags = Schema((TARGET,), "y")
    assert decode_target(flags, np.array([0.3])).tolist() == [0.3]


def test_auto_bends_a_feature_and_not_the_target() -> None:
    columns = (Column(name, "number", range=(0, 1e6)) for name in ("x", "y"))
    schema = Schema(tuple(columns), "y")
    values = np.array([0.0, 1e3, 2.5e5, 1e6])
    table = read_frames([frame_of_arrays("f", {"x": values, "y": values})], schema)
    coded = encode_target(table)
    np.testing.assert_allclose(coded, [-1, -0.998, -0.5, 1])
    np.testing.assert_allclose(decode_target(schema, coded), values)
    encoding = build_encoding(schema, {"x": Tier.PERSONAL, "y": Tier.PERSONAL})
    bent = 2 * np.log1p([0, 1, 250, 1000]) / np.log1p(1000) - 1
    np.testing.assert_allclose(encode(encoding, table)[:, 0], bent)


def test_slots_show_the_tail_of_a_range_and_whether_it_is_linear(
    schema: Schema, tiers: dict[str, Tier]
) -> None:
    # Age is linear from 18 to 98, the dose is declared `log`, the rest has no range.
    slots = build_encoding(schema, tiers).slots
    assert {slot.name for slot in slots if slot.tail} == {"age", "dose"}
    assert [slot.name for slot in slots if slot.linear] == ["age"]
    signed = Schema((Column("t", "number", range=(-1, 3)), TARGET), "y")
    encoding = build_encoding(signed, {"t": Tier.PERSONAL, "y": Tier.PERSONAL})
    # The flag for a missing value has no range of its own.
    assert [(s.name, s.tail) for s in encoding.slots] == [("t", 0.5), ("t?", 0.0)]
    again = Encoding.from_dict(encoding.to_dict())
    assert again.slots == encoding.slots


def test_a_table_read_without_its_target_has_none(
    register: Path, schema: Schema
) -> None:
    table = read_files([register], schema, target=False)
    with pytest.raises(ConfigError, match="was not read"):
        encode_target(table)
