# SPDX-License-Identifier: Apache-2.0
"""`lexfed evaluate`: talk, files, exit codes, and what it refuses."""

import json
from pathlib import Path

import pytest

from lexfed.cli.commands.evaluate import public_tables as module
from lexfed.cli.commands.evaluate.public_tables import (
    EvaluationOptions,
    evaluate,
)
from lexfed.errors import DataError, RunFolderError
from lexfed.evaluate.catalogue import quick
from lexfed.evaluate.harness.tables import Job, ResultTable
from lexfed.evaluate.suite import IncompleteTables
from support.evaluation.results import table_of

GOOD = table_of(
    *(
        Job("plan", "iot_like", method, 0, 500, {"sites": 2})
        for method in ("uniform", "cascade")
    ),
    name="good",
    shows=("rounds", "record_epsilon"),
    drawing="rounds",
)
BROKEN = table_of(Job("plan", "iot_like", "nobody", 0, 500), name="broken")


@pytest.fixture(autouse=True)
def _made_up_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that need no file of others."""
    tables: dict[str, ResultTable] = {"good": GOOD, "broken": BROKEN}
    monkeypatch.setattr(module, "NAMES", tuple(tables))
    monkeypatch.setattr(module, "table", tables.__getitem__)


def test_missing_data_are_said_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEXFED_DATA", raising=False)
    monkeypatch.setattr(module, "quick", quick)
    with pytest.raises(DataError) as caught:
        evaluate(True, [], None, EvaluationOptions(tmp_path / "out", False, 1, False))
    assert "LEXFED_DATA" in str(caught.value) + caught.value.hint


def test_tables_are_written_and_what_is_missing_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, page = tmp_path / "out", tmp_path / "docs" / "results.md"
    with pytest.raises(IncompleteTables, match="not whole: broken") as caught:
        evaluate(False, [], page, EvaluationOptions(out, False, 1, False))
    assert caught.value.exit_code == 1
    assert "--resume" in caught.value.hint
    told = capsys.readouterr()
    assert "2 tables, 3 runs, 3 to do; 1 process, about" in told.err
    assert "defect: iot_like, nobody, seed 0: KeyError" in told.err
    assert "3/3" not in told.err
    assert "**Not whole**: 0 of 1 runs" in told.out
    assert {each.name for each in out.glob("*.csv")} == {"results.csv", "good.csv"}
    assert "- [" in page.read_text()
    assert (page.parent / "results" / "good-iot_like-cascade.svg").exists()
    about = (page.parent / "results" / "good.md").read_text()
    assert "](good-iot_like-cascade.svg)" in about
    with pytest.raises(RunFolderError, match="holds the results"):
        evaluate(False, ["good"], None, EvaluationOptions(out, False, 1, False))
    evaluate(False, ["good"], None, EvaluationOptions(out, True, 1, True))
    told = capsys.readouterr()
    assert "2 runs, 0 to do" in told.err
    (found,) = json.loads(told.out)
    assert found["whole"]
    assert {line["method"] for line in found["lines"]} == {"uniform", "cascade"}
