# SPDX-License-Identifier: Apache-2.0
"""A data frame goes wherever a file goes, and stays in memory."""

import dataclasses
import json
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import lexfed
from lexfed.cli.app import app
from lexfed.errors import ConfigError, DataError
from lexfed.python.settings import Settings

TEXT = """\
version = 1

[run]
name = "patients"

[data]
source = "patients.csv"  # a comment
target = "died"
sites = { count = 2 }

[data.columns]
age = { kind = "number", range = [0, 110] }
died = { kind = "flag" }

[law.columns]
age = { tier = "personal", reason = "a test" }
died = { tier = "special", reason = "a test" }

[budget]
epsilon = 4.0
delta = 1e-4
neighbours = "replace-one"

[federation]
engine = "inprocess"
rounds = 1
"""


def _files(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    }


def test_keywords_train_a_model_that_verifies(
    place: Path, patients: pd.DataFrame, settings: Settings
) -> None:
    assert lexfed.check(patients, **settings).ok
    plan = lexfed.plan(patients, **settings)
    assert not _files(place)
    rounds: list[int] = []
    result = lexfed.train(
        patients, on_round=lambda each: rounds.append(each.round), **settings
    )
    assert result.to_json()["claims"] == plan["claims"]
    assert len(rounds) == result.rounds
    assert lexfed.verify(result).ok
    assert lexfed.verify("runs/patients").ok
    assert lexfed.load("runs/patients").metrics == result.metrics
    assert result.folder == Path("runs/patients")
    # Nothing but the run, its keys and its ledgers: the table is in no file.
    assert {name.split("/")[0] for name in _files(place)} == {
        "keys", "ledgers", "runs", "state",
    }  # fmt: skip
    assert not [n for n in _files(place) if n.endswith((".csv", ".parquet"))][1:]
    again = lexfed.train(patients, resume=True, **settings)
    assert again.metrics == result.metrics
    second = lexfed.train(patients, **settings)
    assert second.folder == Path("runs/patients-2")
    assert lexfed.load("runs/patients").metrics == result.metrics


def test_the_log_says_that_the_table_was_in_memory(
    place: Path, patients: pd.DataFrame, settings: Settings
) -> None:
    result = lexfed.train(patients, **settings)
    text = (result.folder / "config.toml").read_text()
    assert 'source = "frame:table"' in text
    assert 'reason = "stated in a call from Python, without a reason"' in text
    tags = json.loads((result.folder / "tags.json").read_text())
    assert "died" in json.dumps(tags)
    assert lexfed.write_report(result, formats=["html"]).verdict.ok
    # The command line has no such table, and says whose it is.
    Path("lexfed.toml").write_text(text)
    said = CliRunner().invoke(app, ["check", "lexfed.toml"])
    assert said.exit_code != 0
    with pytest.raises(ConfigError, match="in the memory of a program") as refused:
        lexfed.plan("lexfed.toml")
    assert "lexfed.train(frame" in refused.value.hint
    with pytest.raises(ConfigError, match="in the memory of a program"):
        lexfed.tag("lexfed.toml")


def test_a_file_and_its_frame_are_the_same_run(
    place: Path, patients: pd.DataFrame
) -> None:
    seeded = TEXT.replace("[data]\n", "test = true\n\n[data]\n", 1)
    Path("lexfed.toml").write_text(seeded)
    patients.to_csv("patients.csv", index=False)
    from_file = lexfed.plan("lexfed.toml")
    assert lexfed.plan(patients, "lexfed.toml") == from_file
    assert lexfed.plan(pl.from_pandas(patients), Path("lexfed.toml")) == from_file
    result = lexfed.train(patients, "lexfed.toml")
    text = (result.folder / "config.toml").read_text()
    assert text == seeded.replace('"patients.csv"', '"frame:patients.csv"')
    scores = lexfed.predict(result, patients.head(5))
    assert (scores.values == lexfed.predict(result, "patients.csv").values[:5]).all()


def test_one_frame_for_each_site(
    place: Path, patients: pd.DataFrame, settings: Settings
) -> None:
    halves = {"north.a": patients[:150], "São Paulo": pl.from_pandas(patients[150:])}
    del settings["sites"]
    result = lexfed.train(halves, **settings)
    parties = json.loads((result.folder / "parties.json").read_text())
    assert list(parties) == ["north.a", "São Paulo"]
    assert len(list((place / "ledgers").glob("*.ledger"))) == 2
    Path("lexfed.toml").write_text(TEXT.replace("sites = { count = 2 }\n", ""))
    assert lexfed.check(halves, "lexfed.toml").ok
    settings["sites"] = 2
    assert "each frame is a site" in str(lexfed.check(halves, **settings))
    assert "without slashes" in str(
        lexfed.check({"a/b": patients}, **_without(settings, "sites"))
    )


def _without(settings: Settings, *keys: str) -> Settings:
    kept = {key: value for key, value in settings.items() if key not in keys}
    return cast(Settings, kept)


def test_frames_are_charged_to_one_ledger_unless_they_are_named(
    place: Path, patients: pd.DataFrame, settings: Settings
) -> None:
    lexfed.train(patients, **settings)
    settings["name"] = "other"
    lexfed.train(patients, **settings)
    assert len(list((place / "ledgers").glob("*.ledger"))) == 1
    settings |= {"name": "third", "data_set": "cohort"}
    result = lexfed.train(patients, **settings)
    assert len(list((place / "ledgers").glob("*.ledger"))) == 2
    assert 'source = "frame:cohort"' in (result.folder / "config.toml").read_text()


def test_tags_of_a_frame_are_those_of_its_file(
    place: Path, patients: pd.DataFrame
) -> None:
    tags = lexfed.tag(patients)
    patients.to_csv("rows.csv", index=False)
    assert [each.suggestion.tier for each in tags] == [
        each.suggestion.tier for each in lexfed.tag("rows.csv")
    ]
    assert len(tags) == 4
    assert tags[0] is next(iter(tags))
    assert tags[1:] == tags.columns[1:]
    decided = tags.decisions()
    assert set(decided) == set(patients.columns) - set(tags.review)
    assert decided["hba1c"]["tier"] == "special"
    assert decided["hba1c"]["by"] == "rule"
    with pytest.raises(DataError):
        lexfed.tag(3)
    with pytest.raises(DataError, match="without a name"):
        lexfed.tag(pd.DataFrame({"": [1]}))


def test_decisions_of_tags_tell_nothing_of_values() -> None:
    plain = pd.DataFrame({"age": [34] * 60, "hba1c": [5.5] * 60, "q7": ["x"] * 60})
    decided = lexfed.tag(plain).decisions()
    assert set(decided) == {"age", "hba1c"}
    for changed in (
        plain.assign(q7=[f"a{n}@example.org" for n in range(60)]),
        plain.assign(hba1c=["4111111111111111"] * 60),
        plain.assign(age=[34.5, np.nan] * 30),
    ):
        tags = lexfed.tag(changed)
        found = tags.decisions()
        # What values ask for is a person's to decide; no rule writes it down.
        assert set(found) | set(tags.review) == set(plain.columns)
        assert "q7" in tags.review
        assert found == {name: decided[name] for name in found}
        assert "values" not in str(found)


def test_tags_are_decisions_once_they_are_handed_over(
    place: Path, patients: pd.DataFrame, settings: Settings
) -> None:
    tags = lexfed.tag(patients)
    settings["tiers"] = tags
    assert lexfed.check(patients, **settings).ok is not bool(tags.review)
    every = tags.columns
    doubtful = dataclasses.replace(
        tags,
        columns=tuple(
            dataclasses.replace(
                one, suggestion=dataclasses.replace(one.suggestion, review=True)
            )
            if one.suggestion.column.name == "age"
            else one
            for one in every
        ),
    )
    settings["tiers"] = doubtful
    assert "column `age` has no tier" in str(lexfed.check(patients, **settings))


def test_scores_need_the_columns(
    place: Path, patients: pd.DataFrame, settings: Settings
) -> None:
    result = lexfed.train(patients, **settings)
    few = lexfed.predict(result, patients[["ward"]], tiers="non_personal")
    assert few.columns == ("p_yes",)
    with pytest.raises(DataError, match="column `hba1c`"):
        lexfed.predict(result.folder, patients.drop(columns="hba1c"))
    with pytest.raises(DataError, match="not a table"):
        lexfed.predict(result, [[1, 2]])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"target": None}, "`target`: is missing"),
        ({"columns": None}, "`columns`: is missing"),
        ({"tiers": None}, "`tiers`: is missing"),
        ({"epsilon": None}, "`epsilon`: is missing"),
        ({"epsilom": 2}, "`epsilom`: there is no such keyword"),
        ({"neighbours": None}, "`data.units` is missing"),
        ({"epsilon": -1}, "`budget.epsilon`"),
        ({"epsilon": "2"}, "`budget.epsilon`"),
        ({"target": "dead"}, "`data.target`: column `dead`"),
        ({"columns": ["age"]}, "`columns`: expected a mapping, got a `list`"),
        ({"columns": {"age": 3}}, "cannot tell what a `int` says about it"),
        ({"columns": {"age": []}}, "cannot tell what a `list` says about it"),
        ({"columns": {"age": (True, False)}}, "cannot tell what a `tuple`"),
        ({"columns": {"age": "numbers"}}, "`data.columns.age.kind`"),
        ({"columns": {7: bool}}, "`data.target`"),
        ({"tiers": {"age": "secret"}}, "`law.columns.age.tier`"),
        ({"tiers": {"age": 3}}, "`tiers`, column `age`: a `int` is no tier"),
        ({"tiers": "suggested"}, "`tiers`: expected a mapping or `lexfed.tag(...)`"),
        ({"tiers": {}}, "column `age` has no tier"),
        ({"sites": True}, "cannot tell what a `bool` says about sites"),
        ({"sites": 0}, "`data.sites.count`"),
        ({"sites": "ward"}, "cannot tell what a `str` says about sites"),
        ({"more": {"rounds": 3}}, "`more`, `rounds`: is not a key of a table"),
        ({"more": {"budget.epsilon": 3}}, "is stated by a keyword"),
        ({"more": {"version.a": 3}}, "`version` is no table"),
        ({"more": {"federation.round": 3}}, "`federation.round`"),
        ({"data_set": "a/b"}, "without slashes"),
        ({"name": "a b"}, "`run.name`"),
        ({"name": "a\x1b[2K"}, "`run.name`"),
    ],
)
def test_what_a_call_leaves_out_or_misspells_is_said(
    place: Path,
    patients: pd.DataFrame,
    settings: Settings,
    change: dict[str, object],
    said: str,
) -> None:
    changed = {k: v for k, v in ({**settings, **change}).items() if v is not None}
    found = lexfed.check(patients, **changed)  # type: ignore[arg-type]
    assert not found.ok
    assert said in str(found), str(found)
    assert "\x1b" not in str(found)
    assert not _files(place)


def test_other_shapes_of_what_is_stated(
    place: Path, patients: pd.DataFrame, settings: Settings
) -> None:
    settings |= {
        "sites": ("ward", ["a", "b"]),
        "out": place / "elsewhere",
        "caps": {"special": 1.0},
        "test_size": 0.1,
        "more": {"federation.engine": "simulation", "federation.rounds": 1},
    }
    settings["columns"] = {
        **settings["columns"], "age": {"kind": "number", "range": (0, 110)},
        "ward": "text",
    }  # fmt: skip
    assert lexfed.train(patients, **settings).folder == place / "elsewhere"
    settings |= {"sites": {"count": 3}, "name": "b", "out": "b"}
    assert lexfed.check(patients, **settings).ok


def test_two_places_that_state_a_run_are_one_too_many(
    place: Path, patients: pd.DataFrame
) -> None:
    Path("lexfed.toml").write_text(TEXT)
    for found in (
        lexfed.check(patients, "lexfed.toml", epsilon=2),
        lexfed.check("lexfed.toml", "lexfed.toml"),
        lexfed.check("lexfed.toml", epsilon=2),
    ):
        assert not found.ok
        assert "state" in str(found)


@pytest.mark.parametrize(
    "text",
    ["", "[data", "data = 3", "[data]\nsource = 3", "version = 1\n[data]\n", "\x00"],
)
def test_a_broken_file_is_said_with_its_lines(
    place: Path, patients: pd.DataFrame, text: str
) -> None:
    Path("lexfed.toml").write_text(text)
    for source in (patients, {"north": patients}):
        found = lexfed.check(source, "lexfed.toml")
        assert not found.ok
        assert "lexfed.toml" in str(found)
    assert "cannot be read" in str(lexfed.check(patients, "missing.toml"))


def test_the_demo_is_a_run(place: Path) -> None:
    def stop(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lexfed.demo("runs/shown", stop)
    assert "synthetic:hospital" in Path("runs/shown/config.toml").read_text()
