# SPDX-License-Identifier: Apache-2.0
"""`lexfed.init`: decisions that show, from names and kinds alone, and no file lost."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lexfed
from lexfed.config import load
from lexfed.config.drafting.first_draft import ColumnDraft
from lexfed.errors import ConfigError, DataError, LexfedError, RunFolderError
from lexfed.python.drafts import RunDraft
from support.hostile_names import HOSTILE

MARKUP = '<img src=x onerror="alert(1)">'


@pytest.fixture
def draft(place: Path, patients: pd.DataFrame) -> RunDraft:
    return lexfed.init(patients, target="died", epsilon=4, sites=2)


def test_a_draft_of_a_frame_is_planned_and_trained(
    draft: RunDraft, patients: pd.DataFrame
) -> None:
    assert draft.in_memory
    assert lexfed.check(patients, draft).ok
    assert lexfed.plan(patients, draft, rounds=1)["claims"] is not None
    result = lexfed.train(patients, draft)
    assert lexfed.verify(result).ok
    assert result.claim is not None
    assert result.claim.epsilon <= 4
    written = (result.folder / "config.toml").read_text(encoding="utf-8")
    assert 'source = "frame:table"' in written
    assert not Path("lexfed.toml").exists()


def test_decisions_show_with_who_took_them(place: Path, patients: pd.DataFrame) -> None:
    draft = lexfed.init(
        patients.assign(zq=1.5, note=[f"seen {n}" for n in range(len(patients))]),
        target="died",
        columns={"ward": ["a", "b"]},
        tiers={"ward": ("non_personal", "a building"), "hba1c": "identifier"},
        units=300,
    )
    shown = draft._repr_html_()
    for words in ("you", "a building", "rule", "left out", "free text", "add-remove"):
        assert words in shown
    assert ("hba1c", "an identifier, as you say") in draft.left_out
    assert draft.widened == ("zq",)
    assert repr(draft) == "<RunDraft: 4 columns, 2 left out, 1 to look at>"
    assert draft.review == ("zq",)
    columns = draft.config.law.columns
    assert (columns["ward"].by, columns["age"].by) == ("person", "rule")
    assert str(draft) == draft.text
    settled = lexfed.init(
        patients.assign(zq=1.5),
        target="died",
        columns={"zq": (0, 2)},
        tiers={"zq": "personal"},
    )
    assert (settled.widened, settled.review) == ((), ())
    assert "should look" not in settled._repr_html_()


def test_no_value_enters(place: Path, patients: pd.DataFrame) -> None:
    strange = patients.assign(place=np.where(patients["age"] > 50, "Xanadu", "Utopia"))
    strange.loc[5, "age"] = 77.125
    draft = lexfed.init(strange, target="died")
    for text in (draft.text, draft._repr_html_(), repr(draft)):
        for value in ("Xanadu", "Utopia", "77.125"):
            assert value not in text
    other = strange.assign(age=strange["age"] / 2, place="Utopia")
    assert lexfed.init(other, target="died").text == draft.text


def test_a_file_is_drafted_as_the_command_does(
    place: Path, patients: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    patients.to_csv("patients.csv", index=False, sep=";", decimal=",", na_rep="NA")
    Path("conf").mkdir()
    draft = lexfed.init("patients.csv", target="died", out="conf/mine.toml")
    assert not draft.in_memory
    assert draft.text == Path("conf/mine.toml").read_text(encoding="utf-8")
    assert load(Path("conf/mine.toml")) == draft.config
    assert draft.config.data.source == "../patients.csv"
    assert any("semicolon" in remark for remark in draft.remarks)
    assert "semicolon" not in draft._repr_html_()
    assert lexfed.check(draft).ok
    from typer.testing import CliRunner

    from lexfed.cli.app import app

    words = ["init", "patients.csv", "--target", "died", "--yes", "--out", "c.toml"]
    assert CliRunner().invoke(app, words).exit_code == 0
    ours = lexfed.init(Path("patients.csv"), target="died")
    assert ours.text == Path("c.toml").read_text(encoding="utf-8")
    with pytest.raises(RunFolderError, match="exists already") as caught:
        lexfed.init("patients.csv", target="died", out="conf/mine.toml")
    assert "lexfed.train(" in caught.value.hint
    with pytest.raises(RunFolderError, match="no such file"):
        lexfed.init("patients.csv", target="died", out="nowhere/mine.toml")
    link = Path("link.toml")
    link.symlink_to("elsewhere.toml")
    with pytest.raises(RunFolderError, match="exists already"):
        lexfed.init("patients.csv", target="died", out=link)
    assert not Path("elsewhere.toml").exists()


def test_other_libraries_and_sites(place: Path, patients: pd.DataFrame) -> None:
    # NaN is a value in polars, so gaps are filled.
    frame = pl.from_pandas(patients.fillna({"age": 50.0}))
    same = lexfed.init(patients, target="died").text
    assert lexfed.init(frame, target="died").text == same
    draft = lexfed.init(patients, target="died", sites=("ward", ["a", "b"]))
    assert draft.config.data.sites is not None
    assert draft.config.data.sites.names == ("a", "b")
    north, south = patients.iloc[:150], patients.iloc[150:]
    plain = lexfed.init(north, target="died")
    assert lexfed.check({"north": north, "south": south}, plain).ok


Wrong = Callable[[pd.DataFrame], object]
INIT: Any = lexfed.init
"""Calls below state what its types forbid, too."""


@pytest.mark.parametrize(
    ("call", "kind", "told", "hint"),
    [
        (lambda t: INIT(t, target="dead"), ConfigError, "no column `dead`", ""),
        (lambda t: INIT(t, target=3), ConfigError, "name of a column", ""),
        (
            lambda t: INIT(t.assign(qqq=t["hba1c"]), target="qqq"),
            ConfigError, "lowest and highest", "`target_range=(LOW, HIGH)`",
        ),
        (
            lambda t: INIT(t, target="died", sites=("ward", [])),
            ConfigError, "All sites", 'sites=("COLUMN"',
        ),
        (lambda t: INIT(t, target="died", sites=True), ConfigError, "sites", ""),
        (lambda t: INIT(t, target="died", sites=1.5), ConfigError, "sites", ""),
        (lambda t: INIT(t, target="died", units=0), ConfigError, "units", ""),
        (
            lambda t: INIT(t, target="died", epsilon=float("nan")),
            ConfigError, "above 0", "",
        ),
        (
            lambda t: INIT(t, target="died", classes="no,yes"),
            ConfigError, "list of texts", "",
        ),
        (
            lambda t: INIT(t, target="died", columns={"agee": (0, 1)}),
            ConfigError, "no column of the model", "did you mean `age`",
        ),
        (
            lambda t: INIT(t, target="died", columns={"died": bool}),
            ConfigError, "is the target", "`classes`",
        ),
        (
            lambda t: INIT(t, target="died", columns={"age": (110, 0)}),
            ConfigError, "age", "",
        ),
        (
            lambda t: INIT(t, target="died", tiers={"age": "secret"}),
            ConfigError, "expected one of", "",
        ),
        (
            lambda t: INIT(t, target="died", tiers={"died": "identifier"}),
            ConfigError, "target cannot", "",
        ),
        (
            lambda t: INIT(
                t.assign(note=[f"x{n}" for n in range(len(t))]),
                target="died",
                tiers={"note": "special"},
            ),
            ConfigError, "is left out: free text", "`out`",
        ),
        (lambda t: INIT({"a": t}, target="died"), ConfigError, "mapping", "one"),
        (lambda t: INIT(t.head(0), target="died"), DataError, "no rows", ""),
        (lambda _: INIT(7, target="died"), DataError, "not a table", ""),
        (lambda _: INIT("no.csv", target="died"), DataError, "no.csv", ""),
        (
            lambda t: lexfed.train(INIT(t, target="died")),
            ConfigError, "does not hold", "lexfed.train(frame, draft)",
        ),
        (
            lambda t: lexfed.train(INIT(t, target="died"), epsilon=3),
            ConfigError, "states everything", "",
        ),
        (
            lambda t: lexfed.train(t, INIT(t, target="died"), epsilon=3),
            ConfigError, "both state the run", "",
        ),
    ],
)  # fmt: skip
def test_what_means_nothing_is_refused_in_words(
    call: Wrong,
    kind: type[LexfedError],
    told: str,
    hint: str,
    place: Path,
    patients: pd.DataFrame,
) -> None:
    with pytest.raises(kind) as caught:
        call(patients)
    said = f"{caught.value.message} {caught.value.hint}"
    assert told in said
    assert hint in said
    assert "--" not in said
    assert not list(place.iterdir())


def test_two_readings_are_decided_by_keywords(place: Path) -> None:
    rows = "".join(f"0{1 + n % 9}/0{1 + n % 7}/2021;{n % 2}\n" for n in range(60))
    Path("t.csv").write_text(f"admission;died\n{rows}")
    with pytest.raises(ConfigError) as caught:
        lexfed.init("t.csv", target="died")
    assert '`dates="day-first"`' in caught.value.hint
    draft = lexfed.init("t.csv", target="died", dates="day-first")
    assert draft.config.data.written.to_dict()["dates"] == "day-first"


@pytest.mark.parametrize("name", HOSTILE.values())
def test_names_that_hide_something_are_refused(
    name: str, place: Path, patients: pd.DataFrame
) -> None:
    strange = patients.rename(columns={"hba1c": name})
    with pytest.raises(DataError, match="hidden character") as caught:
        lexfed.init(strange, target="died")
    assert caught.value.message.isprintable()
    with pytest.raises(ConfigError, match="no column") as unknown:
        lexfed.init(patients, target=name)
    assert f"{unknown.value.message}{unknown.value.hint}".isprintable()


def test_a_name_of_a_data_set_is_one_word(place: Path, patients: pd.DataFrame) -> None:
    with pytest.raises(ConfigError, match="without slashes"):
        lexfed.init(patients, target="died", data_set="../else")
    draft = lexfed.init(patients, target="died", data_set="cohort")
    assert draft.config.data.source == "frame:cohort"
    assert draft.config.run.name == "cohort"


def test_names_are_text_in_a_notebook(place: Path, patients: pd.DataFrame) -> None:
    strange = patients.rename(columns={"hba1c": MARKUP})
    draft: Any = lexfed.init(
        strange, target="died", tiers={MARKUP: ("special", MARKUP)}
    )
    assert MARKUP not in draft._repr_html_()
    assert "&lt;img" in draft._repr_html_()
    undecided = replace(draft, columns=(ColumnDraft("zq", {"kind": "text"}, "why"),))
    assert "zq" in undecided._repr_html_()
