# SPDX-License-Identifier: Apache-2.0
"""Grids: which keys may be searched, how values are read, where they are written."""

import tomllib
from pathlib import Path

import pytest

from lexfed.config.search_grid import (
    MOST_SETTINGS,
    SEARCHABLE,
    parse_grid,
    searched_configs,
    toml_value,
)
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


def test_values_are_written_the_way_toml_does() -> None:
    for value in (True, False, 3, 0.25, 'so"uth'):
        assert tomllib.loads(f"x = {toml_value(value)}") == {"x": value}
