# SPDX-License-Identifier: Apache-2.0
"""Every mistake gets words, a place and exit code 2; nothing is written or spent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

Lexfed = Callable[..., Any]
Edit = Callable[..., None]
Expected = Callable[[str, str], None]

CONFIGURATION = {
    "unknown-key": (("seed = 3", "sead = 3"),),
    "impossible-budget": (("epsilon = 8.0", "epsilon = -1"),),
    "delta": (("delta = 1e-6", "delta = 0.01"),),
    "delta-counted": (
        ("delta = 1e-6", 'delta = 0.005\nneighbours = "replace-one"'),
        ("units = 200\n", ""),
    ),
    "delta-sites": (("delta = 1e-6", 'delta = 0.34\nunit = "client"'),),
    "target-unknown": (('target = "readmitted"', 'target = "readmited"'),),
    "target-among-features": (
        (
            'values = ["none", "cardiac"] }',
            'values = ["x"], sources = ["readmitted"] }',
        ),
    ),
    "identifier-among-features": (
        ('values = ["none", "cardiac"] }', 'values = ["x"], sources = ["patient"] }'),
    ),
    "no-tag": (('bmi = { tier = "special", reason = "health" }\n', ""),),
    "missing-file": (("patients.csv", "nofile.csv"),),
    "folder": (("patients.csv", "folder.csv"),),
    "strange-file": (("patients.csv", "patients.ods"),),
    "out-is-a-file": (("seed = 3", 'seed = 3\nout = "patients.csv"'),),
    "out-below-a-file": (("seed = 3", 'seed = 3\nout = "patients.csv/run"'),),
    "strict": (
        ("range = [18, 100]", "range = [18, 93]"),
        ('["none", "cardiac"]', '["none"]'),
        ("units = 200", "units = 200\nstrict = true"),
    ),
    "cap-and-allocation": (
        ("delta = 1e-6", 'delta = 1e-6\nallocation = "inverse"\ncaps.special = 0.001'),
    ),
    "not-toml": (("[budget]", "[[["),),
    "many": (("seed = 3", "sead = 3"), ("epsilon = 8.0", "epsilon = 0")),
    "model-unknown": (("rounds = 1", 'rounds = 1\nmodel = "nowhere:make"'),),
    "model-batch-norm": (("rounds = 1", 'rounds = 1\nmodel = "normed:make"'),),
}


def cell(frame: pd.DataFrame, row: int, column: str, value: str) -> pd.DataFrame:
    changed = frame.astype(object)
    changed.loc[row, column] = value
    return changed


DATA: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "nan": lambda t: cell(t, 3, "bmi", "nan"),
    "infinity": lambda t: cell(t, 3, "bmi", "1e999"),
    "text-for-number": lambda t: cell(t, 3, "bmi", "hush"),
    "target-missing": lambda t: cell(t, 3, "readmitted", ""),
    "key-missing": lambda t: cell(t, 3, "patient", ""),
    "column-missing": lambda t: t.drop(columns=["bmi", "age"]),
    "too-many-of-a-person": lambda t: pd.concat([t, t.iloc[:2]]),
}


def assert_nothing_happened(place: Path) -> None:
    assert not (place / "runs").exists()
    assert {p.name for p in place.iterdir()} <= {
        "lexfed.toml", "patients.csv", "folder.csv", "normed.py", "__pycache__",
        "a.csv", "b.csv",
    }  # fmt: skip


@pytest.mark.parametrize("name", CONFIGURATION)
def test_a_mistake_in_the_configuration(
    lexfed: Lexfed, place: Path, edit: Edit, expected: Expected,
    name: str,
) -> None:  # fmt: skip
    edit(*CONFIGURATION[name])
    (place / "folder.csv").mkdir()
    (place / "folder.csv" / "thesis").touch()
    (place / "normed.py").write_text(
        "from torch import nn\n"
        "def make(slots, outputs):\n"
        "    return nn.Sequential(nn.BatchNorm1d(slots), nn.Linear(slots, outputs))\n"
    )
    said = lexfed("run")
    assert said.code == 2
    assert said.out == ""
    expected(f"mistake-{name}.txt", said.err)
    assert_nothing_happened(place)
    assert [p.name for p in (place / "folder.csv").iterdir()] == ["thesis"]


@pytest.mark.parametrize("name", DATA)
def test_a_mistake_in_the_data(
    lexfed: Lexfed, place: Path, table: pd.DataFrame,
    expected: Expected, name: str,
) -> None:  # fmt: skip
    DATA[name](table).to_csv("patients.csv", index=False)
    said = lexfed("run")
    assert said.code == 2
    expected(f"mistake-{name}.txt", said.err)
    assert "hush" not in said.err
    assert_nothing_happened(place)


SITES = (
    ('source = "patients.csv"\n', ""),
    (
        '{ column = "hospital", names = ["north", "south", "west"] }',
        '{ files = ["a.csv", "b.csv"] }',
    ),
    ('hospital = { kind = "text" }\n', ""),
    ('hospital = { tier = "non_personal", reason = "says where, not who" }\n', ""),
)
SECOND: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "site-without-column": lambda t: t.drop(columns=["bmi"]),
    "site-with-other-type": lambda t: t.assign(age="old"),
}


@pytest.mark.parametrize("name", SECOND)
def test_a_mistake_at_one_site(
    lexfed: Lexfed, place: Path, edit: Edit, table: pd.DataFrame,
    expected: Expected, name: str,
) -> None:  # fmt: skip
    edit(*SITES)
    table.iloc[:100].to_csv("a.csv", index=False)
    SECOND[name](table.iloc[100:]).to_csv("b.csv", index=False)
    said = lexfed("run")
    assert said.code == 2
    expected(f"mistake-{name}.txt", said.err)
    assert_nothing_happened(place)


def test_one_file_per_site(
    lexfed: Lexfed, place: Path, edit: Edit, table: pd.DataFrame
) -> None:
    edit(*SITES)
    table.iloc[:100].to_csv("a.csv", index=False)
    table.iloc[100:].to_csv("b.csv", index=False)
    assert lexfed("run").code == 0


def test_bent_values_are_counted_on_the_screen_only(
    lexfed: Lexfed, place: Path, edit: Edit, table: pd.DataFrame
) -> None:
    edit(("range = [18, 100]", "range = [18, 50]"), ('"none", "cardiac"', '"none"'))
    many = int((table["age"] > 50).sum())
    rare = int((table["diagnosis"] == "cardiac").sum())
    table.assign(extra=1).to_csv("patients.csv", index=False)
    for command in ("check", "plan", "run"):
        said = lexfed(command)
        assert said.code == 0
        assert f"column `age`: {many} values outside the declared range" in said.err
        assert f"column `diagnosis`: {rare} values not in the declared" in said.err
        assert "not declared, so not read: `extra`" in said.err
        assert "clamped" not in said.out
    for file in (place / "runs" / "visits").rglob("*"):
        assert file.is_dir() or b"clamped" not in file.read_bytes()


def test_rows_beyond_the_cap_are_counted(
    lexfed: Lexfed, place: Path, edit: Edit, table: pd.DataFrame
) -> None:
    edit(("units = 200", 'units = 200\nexcess_records = "drop"'))
    pd.concat([table, table.iloc[:2]]).to_csv("patients.csv", index=False)
    assert "2 rows beyond `records_per_person` dropped" in lexfed("check").err


def test_check_lists_everything_and_has_json(
    lexfed: Lexfed, place: Path, edit: Edit, expected: Expected
) -> None:
    edit(*CONFIGURATION["many"])
    said = lexfed("check", "--json")
    assert said.code == 2
    expected("check.json", said.out)


def test_check_prices_the_run_too(
    lexfed: Lexfed, place: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lexfed.errors import Refused
    from lexfed.run import PricedRun

    def refuse(_: PricedRun) -> None:
        raise Refused("the plan is refused: too much")

    monkeypatch.setattr(PricedRun, "ledger", refuse)
    said = lexfed("check")
    assert said.code == 2
    assert "the plan is refused: too much" in said.err
    assert lexfed("plan").code == 3


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("none", []),
        ("command", ["runn"]),
        ("option", ["run", "--foo"]),
        ("argument", ["predict", "somewhere"]),
        ("value", ["plan", "--rounds", "0"]),
        ("no-config", ["plan"]),
        ("config-is-a-folder", ["plan", "folder"]),
        ("no-run", ["predict", "folder", "patients.csv"]),
        ("no-tier", ["predict", "folder", "patients.csv", "--tiers", "secret"]),
        ("identifier", ["predict", "folder", "x.csv", "--tiers", "identifier"]),
        ("no-table", ["init", "nothing.csv"]),
        ("resume-nothing", ["run", "visits.toml", "--resume"]),
    ],
)
def test_wrong_usage(
    lexfed: Lexfed, place: Path, expected: Expected, name: str, arguments: list[str]
) -> None:
    (place / "folder").mkdir()
    (place / "lexfed.toml").rename("visits.toml")
    said = lexfed(*arguments)
    assert said.code == 2
    assert said.out == ""
    expected(f"usage-{name}.txt", said.err)
    assert not (place / "runs").exists()


def test_init_never_overwrites(lexfed: Lexfed, place: Path) -> None:
    before = (place / "lexfed.toml").read_text()
    assert "exists already" in lexfed("init", "patients.csv").err
    said = lexfed("init", "patients.csv", "--out", "no/where.toml")
    assert (said.code, "cannot write `no/where.toml`" in said.err) == (2, True)
    assert (place / "lexfed.toml").read_text() == before
