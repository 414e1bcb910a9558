# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lexfed.config import Config, ConfigProblem, examine, from_mapping, load, loads
from lexfed.errors import ConfigError, Problem

GOOD = (Path(__file__).parent / "good.toml").read_text()


def problems(text: str) -> list[str]:
    return [str(problem) for problem in examine(text, "f").problems]


def test_load_reads_every_value(tmp_path: Path) -> None:
    path = tmp_path / "lexfed.toml"
    path.write_text(GOOD)
    config = load(path)
    assert config == load(str(path)) == loads(GOOD)
    assert config.run.folder == "runs/readmission"
    assert config.data.columns["age"].range == (0.0, 110.0)
    assert config.law.columns["blood type"].category == "health"
    assert config.budget.caps.special == 0.3
    assert config.privacy.clip.default == 1.0
    assert config.federation.local_steps == 1


def test_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "lexfed.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert load(path) == loads(GOOD)


def test_unreadable_files_are_problems(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file") as caught:
        load(tmp_path / "none.toml")
    assert "lexfed init" in caught.value.hint
    assert caught.value.exit_code == 2
    with pytest.raises(ConfigError, match="cannot be read: is a directory"):
        load(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read: embedded null"):
        load("a\0b")
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'a = "\xe9"')
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        load(latin)


def test_all_problems_at_once_in_the_order_of_the_file() -> None:
    text = GOOD.replace("epsilon = 2.0", "epsilon = 0").replace("rounds", "round")
    text = text.replace("[0, 110]", "[1, 0]").replace("units = 6000\n", "")
    found = examine(text, "f").problems
    assert [(problem.line, problem.key) for problem in found] == [
        (8, "data.units"),
        (18, "data.columns.age"),
        (35, "budget.epsilon"),
        (54, "federation.round"),
    ]
    with pytest.raises(ConfigError) as caught:
        loads(text, "f")
    assert caught.value.problems == found
    assert str(caught.value).splitlines() == [str(problem) for problem in found]


def test_problem_carries_its_place() -> None:
    (problem,) = examine(GOOD.replace("seed = 7", "seed = -7"), "my.toml").problems
    assert isinstance(problem, ConfigProblem)
    assert isinstance(problem, Problem)
    assert (problem.file, problem.line, problem.key) == ("my.toml", 6, "run.seed")


def test_consequences_of_a_reported_mistake_are_not_reported() -> None:
    # Without a valid unit nobody knows whether `local_steps` is right.
    text = GOOD.replace('"record"', '"x"').replace("rounds = 30", "local_steps = 3")
    assert [p.key for p in examine(text).problems] == ["budget.unit"]
    # A wrong column is not also said to be unknown to the law.
    text = GOOD.replace('age = { kind = "number"', 'age = { kind = "nothing"')
    assert [p.key for p in examine(text).problems] == ["data.columns.age.kind"]


def test_empty_file() -> None:
    assert problems("") == [
        "f:1: `version` is missing",
        "f:1: `[run]` is missing",
        "f:1: `[data]` is missing",
        "f:1: `[budget]` is missing",
    ]


def test_tables_that_are_no_tables() -> None:
    assert problems("run = 1\ndata = []\nbudget = 'x'\nversion = 1") == [
        "f:1: `run`: expected a table, got: `1`",
        "f:2: `data`: expected a table, got: `[]`",
        'f:3: `budget`: expected a table, got: `"x"`',
    ]
    assert "f:2: `data.columns`: expected a table, got: `[1]`" in problems(
        "[data]\ncolumns = [1]"
    )


def test_monsters() -> None:
    assert problems("a = " + "[" * 5000) == [
        "f:1: arrays or tables are nested too deeply"
    ]
    assert problems("a = " + "[" * 50 + "]" * 50) == [
        "f:1: arrays or tables are nested too deeply"
    ]
    assert problems("a = " + "9" * 5000) == ["f:1: holds a number of too many digits"]
    assert any(
        problem.endswith("got: a number of many digits")
        for problem in problems("[budget]\nepsilon = " + "9" * 4000)
    )
    huge = GOOD.replace("patients.csv", "p" * 5000 + ".csv")
    (problem,) = problems(huge)
    assert "expected text of at most 4096 characters" in problem
    assert len(problem) < 200


def test_texts() -> None:
    for value, expected in {
        '""': '`data.source`: expected some text, got: `""`',
        "inf": "`data.source`: expected text in quotes, got: `inf`",
    }.items():
        (problem,) = examine(GOOD.replace('"patients.csv"', value)).problems
        assert problem.what == expected
    (problem,) = examine(GOOD.replace('["north", "south"]', "[1, 2.5]")).problems[:1]
    assert problem.what == (
        "`data.columns.ward.values[0]`: expected text in quotes, got: `1`"
    )
    sites = '{ column = "hospital", names = ["east", "west"] }'
    (problem,) = examine(GOOD.replace(sites, "{ files = [] }")).problems
    assert problem.what == (
        "`data.sites.files`: expected an array of texts in quotes, at least one, "
        "got: `[]`"
    )


def test_column_without_a_name() -> None:
    text = GOOD.replace("age = { kind", '"" = { kind')
    assert "f:19: a column's name must not be empty or very long" in problems(text)


def test_syntax_hints() -> None:
    hints = {
        "a = None": "leave the key out to use its default",
        "a = no": "write `false`",
        "a = [1 2]": "",
        "a = 1\nb": "",
        "a = {b = 1": "",
    }
    for text, hint in hints.items():
        (problem,) = examine(text).problems
        assert problem.what.startswith("not valid TOML at ")
        assert problem.hint == hint
    assert examine("a = 1\nb").problems[0].line == 2


def test_from_mapping_follows_the_rules_of_the_file() -> None:
    config = loads(GOOD)
    assert from_mapping(config.to_json()) == config
    with pytest.raises(ConfigError) as caught:
        from_mapping({**config.to_json(), "version": 3})
    assert str(caught.value) == "configuration: `version`: expected `1`, got: `3`"


def test_import_is_light() -> None:
    heavy = ["torch", "pandas", "sklearn", "dp_accounting", "scipy", "pyarrow"]
    code = f"import sys, lexfed.config; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COVERAGE_PROCESS_START": ""},
    )
    assert done.stdout.strip() == "[]"


def test_config_is_frozen() -> None:
    config = loads(GOOD)
    assert isinstance(config, Config)
    with pytest.raises(ValueError, match="frozen"):
        config.budget.epsilon = 99.0  # type: ignore[misc]  # the point of the test
