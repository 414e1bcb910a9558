# SPDX-License-Identifier: Apache-2.0
"""What a profile learned is written where it belongs; every other byte stays."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.config import examine, scaffold
from lexfed.config.writing.learned_domains import LearnedDomain, with_learned_domains
from lexfed.errors import ConfigError

GOOD = (Path(__file__).parent / "good.toml").read_text()
AGE = LearnedDomain(range=(0.0, 110.0))


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
    assert with_learned_domains(before, {"age": AGE}, "p", "x.toml") == after


def test_the_result_is_a_configuration() -> None:
    text = GOOD.replace("[0, 110]", '"?"').replace(', values = ["north", "south"]', "")
    learned = {"age": AGE, "ward": LearnedDomain(values=("north", 'so"uth'))}
    found = examine(
        with_learned_domains(text, learned, "runs/profile", "x.toml")
    ).require()
    assert found.data.profile == "runs/profile"
    assert found.data.columns["age"].range == (0.0, 110.0)
    assert found.data.columns["ward"].values == ("north", 'so"uth')


def test_what_cannot_be_added_to_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"x\.toml: cannot add to `\[data\]`"):
        with_learned_domains("data.x = 1\n", {}, "p", "x.toml")


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
