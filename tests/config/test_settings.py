# SPDX-License-Identifier: Apache-2.0
"""Grids: which keys may be searched, how values are read, where they are written."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.config import loads
from lexfed.config.search_grid import (
    MOST_SETTINGS,
    SEARCHABLE,
    SearchSetting,
    parse_grid,
    searched_configs,
    set_key,
    toml_value,
)
from lexfed.config.text.positions import key_lines
from lexfed.config.writing.tuned_values import with_setting
from lexfed.errors import ConfigError

GOOD = (Path(__file__).parent / "good.toml").read_text()
TABLES = tomllib.loads(GOOD)


def problems(*texts: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        parse_grid(texts)
    return [str(problem) for problem in refused.value.problems]


def test_settings_are_all_combinations() -> None:
    grid = parse_grid(
        ["federation.rounds=5, 10", 'federation.model=["logistic", "mlp:64,32"]']
    )
    assert [str(setting) for setting in grid.settings()] == [
        'federation.rounds = 5, federation.model = "logistic"',
        'federation.rounds = 5, federation.model = "mlp:64,32"',
        'federation.rounds = 10, federation.model = "logistic"',
        'federation.rounds = 10, federation.model = "mlp:64,32"',
    ]
    assert grid.to_json() == {
        "federation.rounds": [5, 10],
        "federation.model": ["logistic", "mlp:64,32"],
    }


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("federation.learning_rate=0.1,1,1e-3", (0.1, 1, 1e-3)),
        ("budget.schedule=constant,cosine", ("constant", "cosine")),
        ('budget.schedule="constant"', ("constant",)),
        ("federation.model=mlp:8", ("mlp:8",)),
        ("federation.model={a=1}", ("{a=1}",)),
        ("federation.momentum=true", (True,)),
        ("federation.learning_rate=.3,1,-.5e-3", (0.3, 1, -0.0005)),
    ],
)
def test_values_are_read_like_toml_or_as_words(
    text: str, values: tuple[object, ...]
) -> None:
    ((_, found),) = parse_grid([text]).axes
    assert found == values


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((), ["--grid: nothing to search"]),
        (("rounds",), ["--grid rounds: expected `KEY=V1,V2,...`"]),
        (
            ("federation.round=1",),
            ["--grid federation.round=1: `federation.round` cannot be searched"],
        ),
        (
            ("budget.epsilon=1,2",),
            ["--grid budget.epsilon=1,2: `budget.epsilon` cannot be searched"],
        ),
        (
            ("federation.rounds=1,,2",),
            ["--grid federation.rounds=1,,2: a value is empty"],
        ),
        (("federation.rounds=",), ["--grid federation.rounds=: a value is empty"]),
        (
            ("federation.rounds=1,1",),
            ["--grid federation.rounds=1,1: a value is given twice"],
        ),
        (
            ("federation.rounds=[1",),
            ["--grid federation.rounds=[1: not an array as TOML has it"],
        ),
        (
            ("federation.rounds=[[1]]",),
            ["--grid federation.rounds=[[1]]: expected numbers or texts"],
        ),
        (
            ("federation.rounds=[]",),
            ["--grid federation.rounds=[]: expected numbers or texts"],
        ),
        (
            ("federation.rounds=1", "federation.rounds=2"),
            ["--grid federation.rounds=2: `federation.rounds` is given twice"],
        ),
        (
            ("a=1", "b=2"),
            [
                "--grid a=1: `a` cannot be searched",
                "--grid b=2: `b` cannot be searched",
            ],
        ),
    ],
)
def test_mistakes(texts: tuple[str, ...], expected: list[str]) -> None:
    assert problems(*texts) == expected


def test_a_grid_has_a_limit() -> None:
    many = ",".join(str(n) for n in range(1, 40))
    found = problems(f"federation.rounds={many}", f"federation.batch_size={many}")
    assert found == [f"--grid: {39 * 39} settings, more than {MOST_SETTINGS}"]


def test_a_key_like_another_gets_a_hint() -> None:
    with pytest.raises(ConfigError) as refused:
        parse_grid(["federation.learnin_rate=1"])
    assert refused.value.hint == "did you mean `federation.learning_rate`?"


def test_every_setting_follows_the_rules_of_the_file() -> None:
    settings = parse_grid(["federation.rounds=2,3"]).settings()
    assert [c.federation.rounds for c in searched_configs(TABLES, settings)] == [2, 3]
    wrong = parse_grid(
        ["federation.rounds=2,0,1.5", "federation.momentum=2"]
    ).settings()
    with pytest.raises(ConfigError) as refused:
        searched_configs(TABLES, wrong)
    found = [str(problem) for problem in refused.value.problems]
    assert found == [
        "with federation.rounds = 2, federation.momentum = 2: `federation.momentum`: "
        "expected a number of at least 0 and below 1, got: `2`",
        "with federation.rounds = 0, federation.momentum = 2: `federation.rounds`: "
        "expected a whole number of at least 1 and at most 100000, got: `0`",
        "with federation.rounds = 1.5, federation.momentum = 2: `federation.rounds`: "
        "expected a whole number of at least 1 and at most 100000, got: `1.5`",
    ]


def test_many_mistakes_are_counted() -> None:
    rounds = parse_grid(["federation.rounds=0,-1,-2,-3,-4,-5,-6"]).settings()
    with pytest.raises(ConfigError) as refused:
        searched_configs(TABLES, rounds)
    assert len(refused.value.problems) == 6
    assert str(refused.value.problems[-1]) == "--grid: and 2 more problems"


def test_only_keys_that_exist_can_be_searched() -> None:
    from lexfed.config.tables.root import Config
    from lexfed.config.text.wording import schema_node

    schema = Config.model_json_schema()
    for path in SEARCHABLE:
        assert path[-1] in schema_node(schema, path[:-1])["properties"]


# Writing


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


def test_what_cannot_be_written_is_said() -> None:
    text = "federation.model = 'linear'\n"
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


def test_values_are_written_the_way_toml_does() -> None:
    for value in (True, False, 3, 0.25, 'so"uth'):
        assert tomllib.loads(f"x = {toml_value(value)}") == {"x": value}
