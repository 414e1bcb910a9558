# SPDX-License-Identifier: Apache-2.0
"""The demo: twice in a row, and nothing of anybody else's is removed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lexfed.config import demo_config

Lexfed = Callable[..., Any]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make the demo small."""
    monkeypatch.chdir(tmp_path)

    def text(out: str = "runs/demo", seed: int = 7) -> str:
        full = demo_config(out, seed)
        return full.replace("6000", "1200") + "rounds = 2\n"

    monkeypatch.setattr("lexfed.config.demo_config", text)


def test_the_demo_works_twice(
    small: None, lexfed: Lexfed, expected: Callable[[str, str], None],
    rounded: Callable[[str], str],
) -> None:  # fmt: skip
    first = lexfed("demo", "--seeds", "2")
    assert first.code == 0, first.err
    assert first.out == ""
    assert "demo: 8 hospitals, 1 200 synthetic patients, 17 columns" in first.err
    # Noise decides some parts of so small a model in some runs, and not in others.
    changing = ("  training ", "  noise    ")
    lines = first.err.splitlines()
    steps = [line for line in lines if not line.startswith(changing)]
    text = rounded("\n".join(steps).replace("±", "")) + "\n"
    expected("demo.txt", text.split("Report:")[0])
    again = lexfed("demo", "--seeds", "2", "--json")
    assert again.code == 0, again.err
    result = json.loads(again.out)
    assert set(result["compare"]) == {"none", "cascade", "uniform"}
    assert result["stamp"] is None  # the demo's noise is real
    assert result["claims"]["record"]["epsilon"] <= 2.0


def test_a_foreign_folder_is_refused(small: None, lexfed: Lexfed) -> None:
    mine = Path("mine")
    mine.mkdir()
    (mine / "thesis.doc").write_text("mine")
    said = lexfed("demo", "--out", "mine")
    assert said.code == 2
    assert "`mine` exists and is not an earlier demo" in said.err
    # Not even next to a configuration of the demo.
    (mine / "config.toml").write_text(demo_config("mine"))
    assert lexfed("demo", "--out", "mine").code == 2
    assert (mine / "thesis.doc").read_text() == "mine"
    assert lexfed("demo", "--out", "mine/thesis.doc").code == 2


def test_an_empty_folder_is_taken(small: None, lexfed: Lexfed) -> None:
    Path("empty").mkdir()
    assert lexfed("demo", "--out", "empty", "--seeds", "2").code == 0
