# SPDX-License-Identifier: Apache-2.0
"""Values of the command line in the place of those of the file."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.config.examination import examine
from lexfed.config.overrides import (
    examine_overridden,
    overridden_text,
    run_overrides,
)
from lexfed.errors import ConfigError
from support.configurations import columns, configuration

TEXT = configuration(
    {
        "run": {"name": "small"},
        "data": {"source": "patients.csv", "target": "ill"},
        "data.sites": {"count": 2},
        "budget.neighbours": "replace-one",
        **columns({"age": ("personal", [0, 100]), "ill": ("special", "flag")}),
    }
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lexfed.toml"
    path.write_text("# kept\n" + TEXT)
    return path


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("federation.rounds=20", ("federation", "rounds"), 20),
        (" federation.rounds = 20 ", ("federation", "rounds"), 20),
        ("federation.learning_rate=.5", ("federation", "learning_rate"), 0.5),
        ("run.test=true", ("run", "test"), True),
        ("federation.model=mlp:64,32", ("federation", "model"), "mlp:64,32"),
        ('federation.model="linear"', ("federation", "model"), "linear"),
        (
            "data.columns.age.range=[0, 90]",
            ("data", "columns", "age", "range"),
            [0, 90],
        ),
        (
            'data.columns."a=b".range=[0, 9]',
            ("data", "columns", "a=b", "range"),
            [0, 9],
        ),
        ("budget.caps={special = 0.2}", ("budget", "caps"), {"special": 0.2}),
        ("data.source=runs/a=b.csv", ("data", "source"), "runs/a=b.csv"),
    ],
)
def test_keys_and_values_are_those_of_toml(
    text: str, path: tuple[str, ...], value: object
) -> None:
    [found] = run_overrides([text])
    assert (found.path, found.value) == (path, value)
    # What a hint repeats is read as the same.
    [again] = run_overrides([found.words[1]])
    assert (again.path, again.value) == (path, value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("federation.rounds", "expected `KEY=VALUE`"),
        ("=5", "expected `KEY=VALUE`"),
        ("#=5", "expected `KEY=VALUE`"),
        ("a b=5", "expected `KEY=VALUE`"),
        (f"{'a.' * 200}b=5", "expected `KEY=VALUE`"),
        ("federation.rounds=", "the value is empty"),
        ("budget.caps={special", "not a value as TOML has it"),
        ("federation.rounds=5\nbudget.epsilon=9", "visible characters on one line"),
        ("run.name=\u202ex", "visible characters on one line"),
        (f"run.name={'[' * 5000}", "nested too deeply"),
    ],
)
def test_a_mistake_is_named(text: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what) as caught:
        run_overrides([text])
    assert str(caught.value).startswith("--set ")
    assert caught.value.problems[0].hint


def test_every_mistake_is_named_and_nothing_is_given_twice() -> None:
    with pytest.raises(ConfigError) as caught:
        run_overrides(["x", "run.name=a"], name="b", seed=3)
    assert [problem.what for problem in caught.value.problems] == [
        "expected `KEY=VALUE`, with the key dotted as TOML has it",
        "`run.name` is given twice",
    ]


@given(st.text(max_size=40))
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        [found] = run_overrides([text])
    except ConfigError:
        return
    assert "value" in tomllib.loads(f"value = {found.written}")


def test_the_effective_configuration_is_what_a_file_with_the_values_says(
    file: Path,
) -> None:
    overrides = run_overrides(
        ["federation.rounds=7", "data.columns.age.range=[0, 90]"], "other", 5
    )
    found = examine_overridden(file, overrides).require()
    text = overridden_text(file, overrides)
    assert text.startswith("# kept\n")
    assert examine(text).require().digest == found.digest
    assert (found.run.name, found.run.seed, found.federation.rounds) == ("other", 5, 7)
    assert found.digest != examine_overridden(file, ()).require().digest
    assert overridden_text(file, ()) == file.read_text()


def test_a_table_is_replaced_as_a_whole(file: Path) -> None:
    file.write_text(TEXT + "\n[budget.caps]\nspecial = 0.3\npersonal = 0.5\n")
    overrides = run_overrides(["budget.caps={special = 0.1}"])
    found = examine_overridden(file, overrides).require()
    assert (found.budget.caps.special, found.budget.caps.personal) == (0.1, None)
    text = overridden_text(file, overrides)
    assert examine(text).require().digest == found.digest


@pytest.mark.parametrize(
    ("text", "where", "what", "hint"),
    [
        (
            "federation.rouns=3",
            "--set federation.rouns",
            "unknown key `federation.rouns`",
            "did you mean `rounds`?",
        ),
        ("federatoin.rounds=3", "--set federatoin.rounds", "unknown", "[federation]"),
        ("rounds=3", "--set rounds", "unknown key `rounds`", "`[federation]`"),
        ("budget.epsilon=-1", "--set budget.epsilon", "a number above 0", ""),
        ("federation.rounds=many", "--set federation.rounds", "a whole number", ""),
        ("run.name.x=3", "--set run.name.x", "`run.name` is a value", "run.name=..."),
    ],
)
def test_a_problem_of_a_value_has_its_option_for_its_place(
    file: Path, text: str, where: str, what: str, hint: str
) -> None:
    problems = examine_overridden(file, run_overrides([text])).problems
    assert problems[0].where == where
    assert what in problems[0].what
    assert hint in problems[0].hint


def test_a_list_is_given_as_a_whole(file: Path) -> None:
    file.write_text(
        TEXT + '\n[[budget.classes]]\nname = "a"\nwhere = "age < 18"\nepsilon = 0.5\n'
    )
    [problem] = examine_overridden(
        file, run_overrides(["budget.classes.epsilon=1"])
    ).problems
    assert "`budget.classes` is a list" in problem.what


def test_other_problems_keep_their_lines(file: Path) -> None:
    file.write_text("sead = 3\n" + TEXT)
    found = examine_overridden(file, run_overrides(["federation.rounds=3"]))
    assert [problem.where for problem in found.problems] == [f"{file}:1"]


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, file: Path) -> None:
    overrides = run_overrides(["federation.rounds=3"])
    [gone] = examine_overridden(tmp_path / "no.toml", overrides).problems
    assert gone.what == "there is no such file"
    file.write_text("[[[")
    [broken] = examine_overridden(file, overrides).problems
    assert "not valid TOML" in broken.what
