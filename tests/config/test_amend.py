# SPDX-License-Identifier: Apache-2.0
"""Decisions are written where they belong; every other byte is the author's."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.config import scaffold
from lexfed.config.writing.column_decisions import (
    ColumnDecision,
    is_open,
    with_decisions,
)
from lexfed.errors import ConfigError

AGE = ColumnDecision("personal", "demographic", 'the name says "age"')
BLOOD = ColumnDecision("special", "health", "blood")
AGE_LINE = (
    'age = { tier = "personal", category = "demographic", '
    'reason = "the name says \\"age\\"" }'
)
BLOOD_LINE = (
    '"blood type" = { tier = "special", category = "health", reason = "blood" }'
)
OPEN = '{ tier = "?", reason = "?" }'
BOTH = {"age": AGE, "blood type": BLOOD}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"[law.columns]\nage = {OPEN} # why\n# end\n\n[budget]\nx = 1\n",
            f"[law.columns]\n{AGE_LINE} # why\n{BLOOD_LINE}\n"
            "# end\n\n[budget]\nx = 1\n",
        ),
        (
            f'[law.columns]\n"blood type" = {OPEN}\nage = {OPEN}',
            f"[law.columns]\n{BLOOD_LINE}\n{AGE_LINE}",
        ),
        ("[law.columns]", f"[law.columns]\n{AGE_LINE}\n{BLOOD_LINE}\n"),
        ("x = 1", f"x = 1\n\n[law.columns]\n{AGE_LINE}\n{BLOOD_LINE}\n"),
        ("", f"\n[law.columns]\n{AGE_LINE}\n{BLOOD_LINE}\n"),
        (
            "[law]\njurisdictions = []\n[z]\n",
            "[law]\njurisdictions = []\n[z]\n\n"
            f"[law.columns]\n{AGE_LINE}\n{BLOOD_LINE}\n",
        ),
        (
            "[law]\ncolumns = {}\n[z]\n",
            f"[law]\ncolumns = {{ {AGE_LINE}, {BLOOD_LINE} }}\n[z]\n",
        ),
        (
            '[law]\ncolumns = { x = { tier = "y" } }\n',
            '[law]\ncolumns = { x = { tier = "y" } , '
            f"{AGE_LINE}, {BLOOD_LINE} }}\n",
        ),
        (
            '[law.columns.age]\ntier = "?" # a\nreason = "?"\n'
            '[law.columns."blood type"]\n',
            '[law.columns.age]\ntier = "personal" # a\n'
            'reason = "the name says \\"age\\""\ncategory = "demographic"\n'
            '[law.columns."blood type"]\ntier = "special"\ncategory = "health"\n'
            'reason = "blood"\n',
        ),
        (
            f"x = 1\r\n[law.columns]\r\nage = {OPEN}\r\n\r\n[b]\r\ny = 2\n",
            f"x = 1\r\n[law.columns]\r\n{AGE_LINE}\r\n{BLOOD_LINE}\r\n"
            "\r\n[b]\r\ny = 2\n",
        ),
    ],
    ids=[
        "replaced and added", "replaced", "empty table", "no law", "empty file",
        "law without columns", "empty inline table", "inline table", "own tables",
        "windows",
    ],
)  # fmt: skip
def test_where_decisions_go(before: str, after: str) -> None:
    assert with_decisions(before, BOTH, "lexfed.toml") == after


@pytest.mark.parametrize(
    "text",
    [f"[law]\ncolumns.age = {OPEN}\n[z]\n", f"law.columns.age = {OPEN}\nx = 1\n"],
    ids=["dotted", "dotted at the top"],
)
def test_a_way_of_writing_that_cannot_be_added_to(text: str) -> None:
    with pytest.raises(ConfigError, match="cannot add to") as caught:
        with_decisions(text, BOTH, "lexfed.toml")
    assert AGE_LINE in caught.value.hint
    assert BLOOD_LINE in caught.value.hint
    found = tomllib.loads(with_decisions(text, {"age": AGE}, "lexfed.toml"))
    assert found["law"]["columns"] == {"age": AGE.fields()}


def test_a_table_that_has_every_key_needs_no_more() -> None:
    text = '[law.columns.age]\ntier = "?"\ncategory = "?"\nreason = "?"\n'
    found = tomllib.loads(with_decisions(text, {"age": AGE}, "lexfed.toml"))
    assert found["law"]["columns"]["age"] == AGE.fields()
    assert with_decisions(text, {}, "lexfed.toml") == text


def test_what_is_open() -> None:
    assert is_open({"tier": "?", "reason": "?"})
    assert is_open({})
    assert not is_open({"tier": "?", "reason": "known"})
    assert not is_open({"tier": "special", "reason": "?"})
    assert not is_open("?")


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(
    st.lists(NAMES, min_size=1, max_size=6, unique=True),
    st.data(),
)
def test_any_names_and_any_reasons(names: list[str], data: st.DataObject) -> None:
    text = scaffold("patients.csv", [(name, "flag") for name in names])
    if data.draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    chosen = data.draw(st.lists(st.sampled_from([*names, "new"]), unique=True))
    reason = data.draw(NAMES)
    decisions = {name: ColumnDecision("special", "health", reason) for name in chosen}
    result = with_decisions(text, decisions, "lexfed.toml")
    before, after = tomllib.loads(text), tomllib.loads(result)
    for name in chosen:
        assert after["law"]["columns"].pop(name) == decisions[name].fields()
        before["law"]["columns"].pop(name, None)
    assert after == before
    head = text.partition("[law.columns]")[0]
    assert result.startswith(head)
    assert result.endswith(text[text.rindex("[budget]") :])
