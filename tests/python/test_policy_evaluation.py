# SPDX-License-Identifier: Apache-2.0
"""`lexfed.evaluate_policy`: the answers of `lexfed evaluate CONFIG`, as a value."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import lexfed
from lexfed.errors import ConfigError, RunFolderError
from lexfed.evaluate.own.evaluation import PolicyEvaluation
from lexfed.evaluate.own.questions import Omission
from lexfed.evaluate.suite import IncompleteTables
from support.configurations import configuration
from support.evaluation.own import CLAIMED, measured, summary

SITES: dict[str, object] = {
    "run": {"name": "trial"},
    "data.generator": {"patients": 300, "sites": 4},
    "budget.epsilon": 4.0,
    "budget.delta": 1e-2,
    "budget.unit": "client",
    "privacy.mechanism": "uniform",
    "federation": None,
}


@pytest.fixture
def config(place: Path) -> Path:
    path = place / "lexfed.toml"
    path.write_text(configuration(SITES))
    return path


def test_answers_are_a_value_and_a_page(
    config: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = lexfed.evaluate_policy(config, seeds=1, processes=1)
    assert capsys.readouterr() == ("", "")
    assert found.folder == Path("runs/trial-evaluation")
    assert found.page.stat().st_mode & 0o777 == 0o600
    assert not found.alarm
    assert repr(found).startswith("<PolicyEvaluation: 3 answers; runs/trial-")
    assert "The cost of protection" in str(found)
    shown = found._repr_html_()
    assert "Internal: not for publication" in shown
    assert "Left out: Attacks and audit" in shown
    with pytest.raises(RunFolderError, match="holds the results"):
        lexfed.evaluate_policy(config, seeds=1)
    again = lexfed.evaluate_policy(str(config), seeds=1, resume=True)
    assert str(again) == str(found)


def test_a_run_that_fails_is_told(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lexfed.evaluate.own import evaluation

    monkeypatch.setattr(evaluation, "measure", len)  # takes no job and its data
    with (
        pytest.warns(UserWarning, match="TypeError"),
        pytest.raises(IncompleteTables, match="no page yet"),
    ):
        lexfed.evaluate_policy(config, seeds=1, processes=1)


def test_an_alarm_shows(place: Path) -> None:
    broken = summary("audit", "", configured=[{**CLAIMED, "refuted": 1.0}])
    tables = tuple(measured(audit=broken).values())
    found = PolicyEvaluation("x", place, tables, (Omission("<b>", "why"),))
    assert found.alarm
    assert repr(found).startswith("<PolicyEvaluation: ALARM, 3 answers")
    assert "ALARM" in found._repr_html_()
    assert "&lt;b&gt;" in found._repr_html_()


@pytest.mark.parametrize(
    ("given", "more", "told"),
    [
        ("frame", {}, "got a `DataFrame`"),
        ("draft", {}, "got one of a data frame"),
        ("file", {"seeds": 0}, "`seeds`"),
        ("file", {"seeds": True}, "`seeds`"),
        ("file", {"processes": 1.5}, "`processes`"),
        ("missing.toml", {}, "missing.toml"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(
    given: str, more: dict[str, Any], told: str, config: Path, patients: pd.DataFrame
) -> None:
    table: Any = {"frame": patients, "file": config}.get(given, given)
    if given == "draft":
        table = lexfed.init(patients, target="died")
    with pytest.raises(ConfigError, match=r"expected|cannot|missing") as caught:
        lexfed.evaluate_policy(table, **more)
    assert told in caught.value.message
