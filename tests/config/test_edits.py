# SPDX-License-Identifier: Apache-2.0
"""New values are written where they belong; every other byte is the author's."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.config import examine, loads, scaffold
from lexfed.config.edits import (
    ColumnDecision,
    LearnedDomain,
    with_decisions,
    with_learned_domains,
    with_setting,
)
from lexfed.config.open_decisions import is_open
from lexfed.config.search_grid import SEARCHABLE, SearchSetting, parse_grid, set_key
from lexfed.config.text.positions import key_lines
from lexfed.config.text.wording import quoted
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
            '[law]\ncolumns = { x = { tier = "y" }, '
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
            f"x = 1\r\n[law.columns]\r\nage = {OPEN}\r\n\r\n[b]\r\ny = 2\r\n",
            f"x = 1\r\n[law.columns]\r\n{AGE_LINE}\r\n{BLOOD_LINE}\r\n"
            "\r\n[b]\r\ny = 2\r\n",
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
    ("before", "after"),
    [
        (
            f"[law]\ncolumns.age = {OPEN} # why\n[z]\n",
            f"[law]\ncolumns.{AGE_LINE} # why\ncolumns.{BLOOD_LINE}\n[z]\n",
        ),
        (
            f"law.columns.age = {OPEN}\nx = 1\n",
            f"law.columns.{AGE_LINE}\nlaw.columns.{BLOOD_LINE}\nx = 1\n",
        ),
    ],
    ids=["in a table", "at the top"],
)
def test_dotted_keys_are_added_to(before: str, after: str) -> None:
    assert with_decisions(before, BOTH, "lexfed.toml") == after


def test_comments_about_what_follows_stay_with_it() -> None:
    text = "[law.columns] # c\n  x = 1 # d\n\n\n# about z\n[z]\n# end\n"
    result = with_decisions(text, {"age": AGE}, "lexfed.toml")
    assert result == text.replace("# d\n", f"# d\n{AGE_LINE}\n")


@pytest.mark.parametrize(
    "text", ["[[law.columns]]\nx = 1\n", "law = 3\n", "[law]\ncolumns = []\n"]
)
def test_a_way_of_writing_that_cannot_be_added_to(text: str) -> None:
    with pytest.raises(ConfigError, match="cannot add to") as caught:
        with_decisions(text, BOTH, "lexfed.toml")
    assert AGE_LINE in caught.value.hint
    assert BLOOD_LINE in caught.value.hint


def test_a_file_that_would_be_rearranged_is_left_alone() -> None:
    """`tomlkit` puts entries of an array together that the author wrote apart."""
    text = "[[many]]\nx = 1\n[z]\n[[many]]\nx = 2\n"
    with pytest.raises(ConfigError, match="cannot add to"):
        with_decisions(text, BOTH, "lexfed.toml")


def test_a_decision_leaves_nothing_else_in_its_table() -> None:
    """A key that no decision has would survive, so the edit is refused."""
    text = '[law.columns.age]\ntier = "?"\nnote = "?"\n'
    with pytest.raises(ConfigError, match="cannot add to"):
        with_decisions(text, {"age": AGE}, "lexfed.toml")


def test_a_table_that_has_every_key_needs_no_more() -> None:
    text = '[law.columns.age]\ntier = "?"\ncategory = "?"\nreason = "?"\n'
    found = tomllib.loads(with_decisions(text, {"age": AGE}, "lexfed.toml"))
    assert found["law"]["columns"]["age"] == AGE.keys()
    assert with_decisions(text, {}, "lexfed.toml") == text


def test_what_is_open() -> None:
    assert is_open({"tier": "?", "reason": "?"})
    assert is_open({})
    assert not is_open({"tier": "?", "reason": "known"})
    assert not is_open({"tier": "special", "reason": "?"})
    assert is_open("?")
    assert not is_open("special")


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
        assert after["law"]["columns"].pop(name) == decisions[name].keys()
        before["law"]["columns"].pop(name, None)
    assert after == before
    head = text.partition("[law.columns]")[0]
    assert result.startswith(head)
    assert result.endswith(text[text.rindex("[budget]") :])


# Learned domains

GOOD = (Path(__file__).parent / "good.toml").read_text()
AGES = LearnedDomain(range=(0.0, 110.0))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '[data] # d\nx = 1 # x\n\n[data.columns]\nage = { range = "?" } # y\n',
            '[data] # d\nx = 1 # x\nprofile = "p"\n\n[data.columns]\n'
            "age = { range = [0, 110] } # y\n",
        ),
        (
            '[data]\nprofile = "old"\n[data.columns]\nage = { kind = "number" }\n',
            '[data]\nprofile = "p"\n[data.columns]\n'
            'age = { kind = "number", range = [0, 110] }\n',
        ),
        (
            '[data]\r\n[data.columns.age]\r\nkind = "number"\r\n',
            '[data]\r\nprofile = "p"\r\n[data.columns.age]\r\nkind = "number"\r\n'
            "range = [0, 110]\r\n",
        ),
        (
            'data = { columns = { age = { range = "?" } } }\n',
            'data = { columns = { age = { range = [0, 110] } }, profile = "p" }\n',
        ),
    ],
)
def test_only_what_was_learned_is_written(before: str, after: str) -> None:
    assert with_learned_domains(before, {"age": AGES}, "p", "x.toml") == after


def test_the_result_is_a_configuration() -> None:
    text = GOOD.replace("[0, 110]", '"?"').replace(', values = ["north", "south"]', "")
    learned = {"age": AGES, "ward": LearnedDomain(values=("north", 'so"uth'))}
    found = examine(
        with_learned_domains(text, learned, "runs/profile", "x.toml")
    ).require()
    assert found.data.profile == "runs/profile"
    assert found.data.columns["age"].range == (0.0, 110.0)
    assert found.data.columns["ward"].values == ("north", 'so"uth')


def test_what_cannot_be_added_to_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"x\.toml: cannot add to `\[data\]`"):
        with_learned_domains("data = 1\n", {}, "p", "x.toml")


@settings(max_examples=100)
@given(
    st.floats(-1e250, 1e250),
    st.floats(1e-300, 1e250),
    st.lists(st.text(min_size=1), min_size=1, unique=True),
    st.text(min_size=1).filter(lambda name: name.strip()),
)
def test_every_value_is_written_so_that_it_is_read_again(
    low: float, width: float, values: list[str], name: str
) -> None:
    other = name + "2"
    text = scaffold("table.csv", [(name, "number"), (other, "category")])
    learned = {
        name: LearnedDomain(range=(low, low + width)),
        other: LearnedDomain(values=tuple(values)),
    }
    columns = tomllib.loads(with_learned_domains(text, learned, "p", "x"))["data"][
        "columns"
    ]
    assert columns[name]["range"] == [low, low + width]
    assert columns[other]["values"] == values


# Settings of a search


@pytest.mark.parametrize("path", SEARCHABLE)
@pytest.mark.parametrize("text", [GOOD, GOOD.replace("\n", "\r\n"), GOOD.rstrip()])
def test_a_setting_is_written_and_nothing_else(
    path: tuple[str, ...], text: str
) -> None:
    setting = SearchSetting(((path, "new"),))
    result = with_setting(text, setting)
    wanted = tomllib.loads(text)
    set_key(wanted, path, "new")
    assert tomllib.loads(result) == wanted
    # Every other line stays as it was.
    lost = set(text.splitlines()) - set(result.splitlines())
    assert len(lost) <= 1


def test_tables_that_are_not_there_are_made() -> None:
    text = 'version = 1\n[run]\nname = "x" # mine\n'
    setting = SearchSetting(
        ((("federation", "rounds"), 3), (("privacy", "clip", "default"), 0.5))
    )
    result = with_setting(text, setting)
    assert result.startswith(text)
    assert tomllib.loads(result)["privacy"] == {"clip": {"default": 0.5}}
    assert key_lines(result)[("federation", "rounds")] == 6


def test_an_empty_inline_table_is_filled() -> None:
    text = "privacy = { clip = {} }"
    setting = SearchSetting(((("privacy", "clip", "default"), 0.5),))
    assert with_setting(text, setting) == "privacy = { clip = { default = 0.5 } }"
    assert with_setting("privacy = {}", setting) == (
        "privacy = { clip = { default = 0.5 } }"
    )


def test_what_cannot_be_written_is_said() -> None:
    text = "federation = 1\n"
    setting = SearchSetting(((("federation", "rounds"), 3),))
    with pytest.raises(ConfigError, match=r"cannot change `federation.rounds`"):
        with_setting(text, setting)


@given(
    st.sampled_from([0.5, 1e-7, 3, "logistic", "mlp:8,4", 'a"b']),
    st.sampled_from(SEARCHABLE),
)
def test_values_survive_writing(value: float | str, path: tuple[str, ...]) -> None:
    found: Any = tomllib.loads(with_setting(GOOD, SearchSetting(((path, value),))))
    for part in path:
        found = found[part]
    assert found == value


def test_the_written_file_is_a_configuration() -> None:
    setting = parse_grid(["federation.rounds=7"]).settings()[0]
    assert loads(with_setting(GOOD, setting)).federation.rounds == 7


# Odd but legal files


@st.composite
def odd_files(draw: st.DrawFn) -> tuple[str, frozenset[str]]:
    """Return a legal file that says `[law.columns]` in some way, and its columns.

    Every line has a comment of its own, so that a lost or moved one is noticed.
    """
    names = draw(st.lists(NAMES, min_size=0, max_size=4, unique=True))
    blank = st.sampled_from(["", " ", "\t"])
    number = iter(range(10_000))

    def lines(*texts: str) -> list[str]:
        found = []
        for text in texts:
            if draw(st.booleans()):
                found += [f"{draw(blank)}# own line {next(number)}", ""]
            indent = "" if text.startswith("[") else draw(blank)
            found.append(f"{indent}{text}{draw(blank)}# comment {next(number)}")
        return found

    def entry(name: str) -> str:
        mark = draw(st.sampled_from(["'?'", '"?"', '"""?"""']))
        return f"{quoted(name)}{draw(blank)}={draw(blank)}{{tier={mark}}}"

    entries = [entry(name) for name in names]
    shape = draw(
        st.sampled_from(
            ["table", "inline", "all inline", "dotted", "top", "tables", "none"]
        )
    )
    head, law = lines("x = 1", "a.b.c = [1, # inner\n 2]"), []
    if shape == "table":
        law = lines("[law.columns]", *entries)
    elif shape == "inline":
        law = lines("[law]", f"columns = {{{', '.join(entries)}}}")
    elif shape == "all inline":
        head += lines(f"law = {{ j = 1, columns = {{{', '.join(entries)}}} }}")
    elif shape == "dotted":
        law = lines("[ law ]", *(f"columns . {one}" for one in entries), "j = 1")
    elif shape == "top":
        head += lines(*(f"law.columns.{one}" for one in entries), "y = 2")
    elif shape == "tables":
        for name in names:
            law += lines(f"[law.columns.{quoted(name)}]", "tier = '?'")
    else:
        names = []
    around = [lines("[[many]]", "x = {}", "[[many]]", "[many.inner]", "z = 0")]
    if shape in ("table", "tables"):
        around.append(lines("[law]", "j = 1"))
    around.insert(draw(st.integers(0, len(around))), law)
    text = "\n".join([*head, *(line for part in around for line in part)])
    text += draw(st.sampled_from(["", "\n", "\n\n", "\n# end"]))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from(["", "\ufeff"])) + text, frozenset(names)


@settings(max_examples=150)
@given(odd_files(), st.data())
def test_an_odd_file_keeps_its_comments_and_layout(
    odd: tuple[str, frozenset[str]], data: st.DataObject
) -> None:
    text, names = odd
    new = data.draw(NAMES.filter(lambda name: name not in names))
    chosen = data.draw(st.lists(st.sampled_from([*sorted(names), new]), unique=True))
    decisions = {name: ColumnDecision("special", "health", "why") for name in chosen}
    try:
        result = with_decisions(text, decisions, "lexfed.toml")
    except ConfigError:
        # `tomlkit` does not take a header `[law.columns]` behind its sub-tables.
        assert new in chosen
        assert '[law.columns."' in text
        return
    wanted = tomllib.loads(text.removeprefix("\ufeff"))
    for name, decision in decisions.items():
        set_key(wanted, ("law", "columns", name), decision.keys())
    assert tomllib.loads(result.removeprefix("\ufeff")) == wanted
    assert result.startswith("\ufeff") == text.startswith("\ufeff")
    assert comments(result) == comments(text)
    if not decisions:
        assert result == text
    if "\r\n" in text:
        assert not re.search(r"(?<!\r)\n", result)
    before, after = text.split("\n"), result.split("\n")
    lost = [line for line in before[:-1] if line not in after]
    assert len(lost) <= max(1, len(decisions))


def comments(text: str) -> list[str]:
    return re.findall("# (?:own line|comment|inner|end)[^\r\n]*", text)
