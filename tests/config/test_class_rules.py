# SPDX-License-Identifier: Apache-2.0
"""Classes of records in a configuration: what is accepted and what is refused."""

from pathlib import Path

import pytest

from lexfed.config import demo_config, examine

GOOD = (Path(__file__).parent / "good.toml").read_text()
CLASS = """
[[budget.classes]]
name = "minors"
where = "age < 18"
epsilon = 0.5
"""


def problems(text: str) -> list[tuple[str, int | None]]:
    return [(problem.what, problem.line) for problem in examine(text).problems]


@pytest.mark.parametrize("text", [GOOD, demo_config()])
def test_a_class_is_accepted(text: str) -> None:
    assert problems(text + CLASS) == []
    config = examine(text + CLASS).require()
    (one,) = config.budget.classes
    assert (one.name, one.where, one.epsilon) == ("minors", "age < 18", 0.5)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("age < 18", "age <"), "rule `age <`: ends too early"),
        (("age < 18", "weight < 18"), "there is no column `weight`"),
        (("age < 18", "age < -1"), "no value of its declared range"),
        (("epsilon = 0.5", "epsilon = 50.0"), "expected below `budget.epsilon`"),
        (("epsilon = 0.5", "epsilon = 0"), "expected"),
        (("epsilon = 0.5", ""), "is missing"),
        (('"minors"', '"two words"'), "expected a name of up to 64"),
    ],
)
def test_what_is_wrong_is_said_at_its_line(change: tuple[str, str], what: str) -> None:
    assert change[0] in CLASS
    ((found, line),) = problems(GOOD + CLASS.replace(*change))
    assert what in found
    start = len(GOOD.splitlines())
    assert line is not None
    assert start < line <= start + len(CLASS.splitlines())


def test_two_classes_need_two_names() -> None:
    ((found, _),) = problems(GOOD + CLASS + CLASS)
    assert found == "`budget.classes[1].name`: there are two classes `minors`"


def test_classes_are_refused_for_sites() -> None:
    text = GOOD.replace('unit = "record"', 'unit = "client"')
    assert any(
        found == '`budget.classes` needs `unit = "record"`, got: `"client"`'
        for found, _ in problems(text + CLASS)
    )


def test_without_a_mechanism_a_class_is_only_not_used() -> None:
    loose = CLASS.replace("0.5", "50.0")
    assert problems(GOOD.replace('"cascade"', '"none"') + loose) == []


def test_a_wrong_column_is_reported_once() -> None:
    """A rule on a column whose declaration is wrong is not reported too."""
    text = GOOD.replace("range = [0, 110]", "range = [110, 0]")
    assert text != GOOD
    assert len(problems(text + CLASS)) == 1
