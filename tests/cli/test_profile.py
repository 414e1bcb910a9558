# SPDX-License-Identifier: Apache-2.0
"""`lexfed profile` as a user sees it: what it says, costs and leads to."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.run.profile_files import NUMBERS_ONLY, written

Lexfed = Callable[..., Any]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table and a configuration whose ranges are open."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, text=NUMBERS_ONLY)
    return tmp_path


def test_from_open_ranges_to_a_verified_model(lexfed: Lexfed, here: Path) -> None:
    said = lexfed("profile", "--epsilon", "8")
    assert said.code == 0, said.err
    assert "whole record (ε, δ) = (8.00, 1e-6) per person" in said.err
    assert "6 columns, of which these are open: age, bmi; people that 3" in said.err
    assert "lexfed init --profile runs/visits-profile" in said.err
    assert "age" in said.out
    page = (here / "runs/visits-profile/profile.html").read_text()
    assert "whole record (ε, δ) = (8.00, 1e-6)" in page
    assert "per attribute (bmi, diagnosis)" in page
    assert lexfed("verify", "runs/visits-profile").code == 0
    said = lexfed("init", "--profile", "runs/visits-profile")
    assert said.code == 0, said.err
    assert "wrote profiled.toml, filled in from the profile: age, bmi" in said.err
    assert lexfed("check", "profiled.toml").code == 0
    said = lexfed("plan", "profiled.toml")
    assert "together with the profile paid for before the record reaches" in said.out
    assert lexfed("run", "profiled.toml").code == 0
    assert lexfed("verify", "runs/visits").code == 0


def test_a_profile_as_json_in_its_own_folder(lexfed: Lexfed, here: Path) -> None:
    said = lexfed("profile", "--epsilon", "4", "--out", "p", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert found["folder"] == "p"
    assert found["claims"]["record"]["epsilon"] <= 4.0
    assert [column["name"] for column in found["profile"]["columns"]][:2] == [
        "ward",
        "bed",
    ]
    again = lexfed("profile", "--epsilon", "4", "--out", "p")
    assert again.code == 2
    assert "already contains a run" in again.err
    assert lexfed("profile", "--epsilon", "4", "--out", "p", "--resume").code == 0


def test_what_is_too_little_is_refused_before_anything_is_spent(
    lexfed: Lexfed, here: Path
) -> None:
    said = lexfed("profile", "--epsilon", "0.001")
    assert said.code == 2
    assert "epsilon 0.001 is too small to say anything" in said.err
    assert "hint: use `--epsilon" in said.err
    assert not (here / "runs").exists()
    said = lexfed("profile", "--epsilon", "1000")
    assert "below `budget.epsilon` = 12" in said.err


def test_undecided_tiers_are_asked_for_first(lexfed: Lexfed, here: Path) -> None:
    written(here, ('tier = "personal", reason = "about the person"', 'tier = "?"'))
    said = lexfed("profile")
    assert said.code == 2
    assert "`law.columns.age.tier` is not decided yet" in said.err
    assert "range" not in said.err
    assert lexfed("profile", "nowhere.toml").code == 2


def test_what_is_left_out_is_said(lexfed: Lexfed, here: Path) -> None:
    written(
        here,
        ('bmi = { kind = "number" }', 'bmi = { kind = "number", range = [10, 60] }'),
        ("special = 8.0", "special = 0.01"),
        text=NUMBERS_ONLY,
    )
    said = lexfed("profile", "--epsilon", "0.8")
    assert said.code == 0, said.err
    assert "left out, declared and hidden in noise: bmi, diagnosis" in said.err
    assert "how many people sites share" in said.err


def test_what_was_not_found_stays_open(lexfed: Lexfed, here: Path) -> None:
    rows = (here / "patients.csv").read_text().splitlines()
    rows[0] += ",empty"
    (here / "patients.csv").write_text(
        "\n".join([rows[0], *(r + "," for r in rows[1:])])
    )
    written(
        here,
        (
            "[data.columns]\n",
            '[data.columns]\nempty = { kind = "number", range = "?" }\n',
        ),
        (
            "[law.columns]\n",
            '[law.columns]\nempty = { tier = "personal", reason = "x" }\n',
        ),
        (
            'hospital = { kind = "text" }',
            'hospital = { kind = "category", values = "?" }',
        ),
        text=NUMBERS_ONLY,
    )
    said = lexfed("profile", "--epsilon", "6", "--out", "p")
    assert said.code == 0, said.err
    assert "nothing was found of `empty`" in said.err
    said = lexfed("init", "--profile", "p", "--out", "next.toml")
    assert "`empty` is still open, since nothing was found" in said.err
    assert "`hospital` is still open and was not profiled" in said.err
    said = lexfed("check", "next.toml")
    assert said.code == 2
    assert "`data.columns.empty.range` is not decided yet" in said.err


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("init",), "either a table or `--profile DIR`"),
        (("init", "patients.csv", "--profile", "p"), "either a table or"),
        (("init", "--profile", "nowhere"), "`nowhere` holds no log"),
        (("profile", "--epsilon", "much"), "--epsilon"),
    ],
)
def test_wrong_usage_is_said(
    lexfed: Lexfed, here: Path, arguments: tuple[str, ...], what: str
) -> None:
    said = lexfed(*arguments)
    assert said.code == 2
    assert what in said.err


def test_a_filled_configuration_stays_where_its_paths_lead(
    lexfed: Lexfed, here: Path
) -> None:
    assert lexfed("profile", "--epsilon", "4", "--out", "p").code == 0
    (here / "other").mkdir()
    said = lexfed("init", "--profile", "p", "--out", "other/next.toml")
    assert said.code == 2
    assert "are relative to" in said.err
    assert not (here / "other/next.toml").exists()
    said = lexfed("init", "--profile", "p", "--out", "lexfed.toml")
    assert "`lexfed.toml` exists already" in said.err


def test_seeded_noise_is_warned_of(lexfed: Lexfed, here: Path) -> None:
    said = lexfed("profile", "--epsilon", "4")
    assert "`run.test` is on" in said.err
    assert "NOT PRIVATE" in (here / "runs/visits-profile/profile.html").read_text()
    assert "metrics" not in said.err
