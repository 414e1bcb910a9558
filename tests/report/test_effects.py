# SPDX-License-Identifier: Apache-2.0
"""Effects of columns in the report: read strictly, drawn whole, and called by name."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.report.documents.report_page import render
from lexfed.report.learned_effects import LearnedEffects, read_effects
from lexfed.report.sections.effects import effect_section
from report.conftest import SPELLS, MakeDossier
from report.effects import AGE, EFFECTS, WARD, explained, of_classes


def test_the_strongest_comes_first_and_says_its_tier(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(explained(EFFECTS))
    found = effect_section(dossier)
    assert found is not None
    ward, age = found.strongest
    assert (ward.column, ward.tier, age.column, age.tier) == (
        "ward", "non-personal", "age", "personal",
    )  # fmt: skip
    assert [row.value for row in ward.rows] == ["+0.70 ± 0.20", "−0.700 ± 0.000"]
    assert (age.missing, ward.missing) == ("+0.25 ± 0.10", "")
    assert found.factors == "personal × 1.25"
    page = render(dossier, "0" * 64).decode()
    words = " ".join(re.sub("<[^>]*>", "", page).split())
    assert "What the model learned released values" in words
    assert "adds to the log-odds of yes" in words
    assert "Nothing here is a cause" in words
    assert "the guarantee covers it" in words
    assert "which no log entry vouches for" in words


def test_without_privacy_nothing_is_called_covered(dossier_of: MakeDossier) -> None:
    page = render(dossier_of(explained(EFFECTS, mechanism="none")), "0" * 64).decode()
    part = page[page.index('id="effects"') : page.index('id="record"')]
    assert "NOT PRIVATE" in part
    assert "guarantee covers" not in part


def test_every_class_has_a_line_of_its_own(dossier_of: MakeDossier) -> None:
    found = effect_section(dossier_of(explained(of_classes(3))))
    assert found is not None
    assert "solid `class 0`, dashed `class 1`, dotted `class 2`" in found.lines
    chart = found.strongest[1].chart
    assert chart is not None
    assert chart.count("<polyline") == 6  # and each its band
    assert [row.value for row in found.strongest[0].rows] == ["", ""]
    assert "class 2 +1.4 ± 0.4" in found.strongest[0].rows[0].bars


def test_of_many_classes_those_that_differ_most_are_drawn(
    dossier_of: MakeDossier,
) -> None:
    found = effect_section(dossier_of(explained(of_classes(7))))
    assert found is not None
    assert "`class 3`, dashed `class 4`" in found.lines
    assert found.lines.endswith("3 other classes not drawn.")


def test_forty_columns_are_folded_after_twelve(dossier_of: MakeDossier) -> None:
    many = [{**AGE, "column": f"c{n}", "strength": [float(n)]} for n in range(40)]
    dossier = dossier_of(explained({**EFFECTS, "columns": many}))
    found = effect_section(dossier)
    assert found is not None
    assert [each.column for each in found.strongest] == [
        f"c{n}" for n in range(39, 27, -1)
    ]
    assert len(found.others) == 28
    page = render(dossier, "0" * 64).decode()
    assert "<summary>28 columns with smaller effects</summary>" in page


def test_many_levels_are_cut_to_the_largest(dossier_of: MakeDossier) -> None:
    levels = [f"l{n}" for n in range(20)]
    wide = {
        **WARD, "levels": levels, "effect": [[float(n)] for n in range(20)],
        "deviation": [[0.1]] * 20,
    }  # fmt: skip
    found = effect_section(dossier_of(explained({**EFFECTS, "columns": [wide]})))
    assert found is not None
    assert [row.name for row in found.strongest[0].rows] == levels[12:]
    assert found.strongest[0].left_out == "12 levels with smaller effects not drawn"


@pytest.mark.parametrize("scale", ["target", "encoded target", "unheard of"])
def test_a_number_says_its_units(scale: str, dossier_of: MakeDossier) -> None:
    plain = {**EFFECTS, "scale": scale, "outputs": ["days"], "factors": {}}
    found = effect_section(dossier_of(explained(plain)))
    assert found is not None
    assert found.adds.startswith("the prediction of `days`")
    assert ("in its units" in found.adds) == (scale == "target")


def test_names_are_text(dossier_of: MakeDossier) -> None:
    odd = {
        **EFFECTS, "outputs": [SPELLS],
        "columns": [
            {**AGE, "column": SPELLS, "tier": SPELLS},
            {**WARD, "column": "<script>", "levels": [SPELLS, "`</svg>`"]},
        ],
    }  # fmt: skip
    page = render(dossier_of(explained(odd)), "0" * 64).decode()
    assert 'id="effects"' in page
    assert "<script" not in page
    assert "<img" not in page
    assert "\u202e" not in page


def damaged() -> list[Any]:
    """Return effects of shapes that no run writes."""
    age_with: list[dict[str, Any]] = [
        {"kind": "pie"}, {"along": [0.0, 1.0]}, {"along": [0.0, 0.7, 0.5]},
        {"along": [0.0, 0.5, 2.0]}, {"at": []}, {"effect": [[1.0]]},
        {"effect": [[1.0, 2.0]] * 3}, {"deviation": [[float("nan")]] * 3},
        {"strength": []}, {"strength": [True]}, {"missing": 3},
        {"missing": {"effect": [], "deviation": []}}, {"column": 4},
        {"missing": {"effect": [1.0], "deviation": []}},
    ]  # fmt: skip
    return [
        None, 3, [], {}, {**EFFECTS, "columns": []}, {**EFFECTS, "outputs": []},
        {**EFFECTS, "factors": []}, {**EFFECTS, "columns": [3]},
        {**EFFECTS, "columns": [{**WARD, "levels": []}]},
        {**EFFECTS, "factors": {"personal": 1e400}},
        *({**EFFECTS, "columns": [{**AGE, **change}]} for change in age_with),
    ]  # fmt: skip


@pytest.mark.parametrize("value", damaged())
def test_effects_that_no_run_writes_are_none(value: object) -> None:
    assert read_effects(EFFECTS) is not None
    assert read_effects(value) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*AGE, *EFFECTS]), inner, max_size=9)
    ),
    max_leaves=20,
)


@given(JSON)
def test_whatever_is_in_the_file_is_read_or_left_out(value: object) -> None:
    for given_up in (value, {**EFFECTS, "columns": [value]}):
        found = read_effects(given_up)
        assert found is None or isinstance(found, LearnedEffects)


def test_a_page_without_effects_has_no_section(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(explained({}))
    assert effect_section(dossier) is None
    assert 'id="effects"' not in render(dossier, "0" * 64).decode()
