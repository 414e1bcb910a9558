# SPDX-License-Identifier: Apache-2.0
"""The examples of the guide run as they stand."""

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from lexfed.cli.app import app
from lexfed.run.results.run_result import RunResult
from support.shown_examples import block

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "python.md"


def _run(name: str, **given: object) -> dict[str, object]:
    text = block(GUIDE.read_text(encoding="utf-8"), name)
    names: dict[str, object] = {"__name__": "example", **given}
    exec(compile(text, name, "exec"), names)  # noqa: S102
    return names


def test_a_frame_and_keywords(place: Path, patients: pd.DataFrame) -> None:
    result = _run("python:frame", patients=patients)["result"]
    assert isinstance(result, RunResult)
    assert result.folder == Path("runs/table")


def test_an_estimator(
    place: Path, patients: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = patients["died"].map({0: "no", 1: "yes"})
    _run("python:sklearn", X=patients.drop(columns="died"), y=ends)
    assert capsys.readouterr().out


def test_a_draft(
    place: Path, patients: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    result = _run("python:init", patients=patients)["result"]
    assert isinstance(result, RunResult)
    assert capsys.readouterr().out.startswith("<RunDraft: 4 columns")


def test_a_file(
    place: Path, patients: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    patients.to_csv("patients.csv", index=False)
    patients.drop(columns="hba1c").to_csv("new.csv", index=False)
    import lexfed

    _run("python:frame", patients=patients)
    text = Path("runs/table/config.toml").read_text(encoding="utf-8")
    text = text.replace("frame:table", "patients.csv").replace('"table"', '"file"')
    Path("lexfed.toml").write_text(text, encoding="utf-8")
    _run("python:api")
    assert "epsilon" in capsys.readouterr().out
    assert lexfed.load("runs/file").claim is not None


def test_a_model_of_ones_own(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = block(GUIDE.read_text(encoding="utf-8"), "python:own-model")
    Path("my_models.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(place)
    _run("python:check-model")
    assert capsys.readouterr().out.startswith("can be trained privately")


def test_ten_lines_lead_to_a_claim_that_the_command_accepts(
    place: Path, patients: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = block(GUIDE.read_text(encoding="utf-8"), "python:ten-lines").splitlines()
    assert sum(bool(line.strip()) for line in lines) == 9
    patients.to_csv("patients.csv", index=False)
    _run("python:ten-lines")
    assert "<Claim: epsilon " in capsys.readouterr().out
    done = CliRunner().invoke(app, ["verify", "runs/table"])
    assert done.exit_code == 0, done.output
    assert "OK   claim" in done.output
