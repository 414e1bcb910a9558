# SPDX-License-Identifier: Apache-2.0
"""Runs that adapt: what they write down, and how they go on after a crash."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import ChangeEntry
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.verify import Status, verify_run
from lexfed.budget.noise_feedback import Signal
from lexfed.config import loads
from lexfed.run import RunResult, load_population, price, read_result, start, train
from lexfed.run.results.notes import adaptation_lines
from run.test_crashes import Ended, crash

DESCENT = "rounds = 4\nlearning_rate = 1.0"
FILTER = '\n[adapt]\nnoise = "convergence"\nguarantee = "filter"\n'
EVERYTHING = """
[adapt]
noise = "feedback"
clip = "quantile"
learning_rate = "feedback"
patience = 2
"""


def descending(text: str, table: str) -> str:
    return text.replace("rounds = 1", DESCENT) + table


def ran(text: str, path: Path) -> RunResult:
    config = loads(text)
    priced = price(config, load_population(config, Path()))
    return train(priced, start(priced, path, text))


def rows(path: Path) -> list[dict[str, str]]:
    with (path / "adaptation.csv").open() as file:
        return list(csv.DictReader(file))


def failures(path: Path) -> list[str]:
    checks = verify_run(path).checks
    return [str(check) for check in checks if check.status is Status.FAIL]


@pytest.mark.parametrize("table", [FILTER, EVERYTHING])
def test_what_steered_a_run_is_written_down(
    tmp_path: Path, config_text: str, table: str
) -> None:
    result = ran(descending(config_text, table), tmp_path / "run")
    found = rows(result.folder)
    charged = [
        row
        for line in (result.folder / "events.jsonl").read_text().splitlines()
        if (row := json.loads(line))["type"] == "charge" and row["stage"] > 0
    ]
    assert [int(row["round"]) for row in found] == [row["round"] for row in charged]
    for row, event in zip(found, charged, strict=True):
        sigma = event["release"]["groups"][0]["sigma"]
        planned = _planned(result, event["release"]["name"])
        assert float(row["noise"]) == pytest.approx(sigma / planned, rel=1e-5)
        assert row["frozen"] == "0"
    assert len(result.adapted) == 3
    assert all("4 planned" in line for line in result.adapted)
    assert failures(result.folder) == []
    assert read_result(result.folder).adapted == result.adapted


def _planned(result: RunResult, name: str) -> float:
    groups = result.plan["groups"]
    return float(next(g["sigma"] for g in groups if g["release"] == name))


def test_a_run_that_does_not_adapt_says_nothing_of_it(
    tmp_path: Path, config_text: str
) -> None:
    result = ran(config_text, tmp_path / "run")
    assert not (result.folder / "adaptation.csv").exists()
    assert result.adapted == ()


def test_a_plan_says_what_will_adapt(config_text: str) -> None:
    said = {}
    for table in (FILTER, EVERYTHING, ""):
        config = loads(descending(config_text, table))
        said[table] = "\n".join(
            adaptation_lines(price(config, load_population(config, Path())))
        )
    assert "0.824 to 1.18 times the planned; a filter" in said[FILTER]
    assert (
        "1 to 1.43 times the planned; the plan below is the envelope"
        in (said[EVERYTHING])
    )
    for words in ("clip follows", "learning rate follows", "earns nothing"):
        assert words in said[EVERYTHING]
    assert said[""] == ""


def test_an_early_end_is_said_and_earns_nothing(
    tmp_path: Path, config_text: str
) -> None:
    table = "\n[adapt]\npatience = 1\n"
    whole = ran(descending(config_text, ""), tmp_path / "whole")
    early = ran(descending(config_text, table), tmp_path / "early")
    assert early.rounds < whole.rounds
    assert any("ending early earns nothing" in line for line in early.adapted)
    assert early.claim is not None
    assert whole.claim is not None
    assert early.claim.epsilon == whole.claim.epsilon
    assert early.claim.releases == whole.claim.releases
    assert failures(early.folder) == []


def test_a_frozen_tower_is_logged_once(
    tmp_path: Path, config_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Signal.is_sound
    calls: list[int] = []

    def is_sound(signal: Signal, longest: float) -> bool:
        calls.append(1)
        return honest(signal, longest) and len(calls) != 2

    monkeypatch.setattr(Signal, "is_sound", is_sound)
    result = ran(descending(config_text, FILTER), tmp_path / "run")
    changes = [
        found.entry.what for found in read_evidence(result.folder).of(ChangeEntry)
    ]
    assert changes == ["adaptation-frozen"]
    assert "frozen at the most noise" in result.adapted[0]
    assert not any("frozen" in line for line in result.adapted[1:])
    frozen = [row for row in rows(result.folder) if row["frozen"] == "1"]
    assert {row["stage"] for row in frozen} == {"tower non_personal"}
    # The round that froze it is asked before; all later ones have the most noise.
    assert frozen[1:]
    for row in frozen[1:]:
        assert float(row["noise"]) == pytest.approx(1 / 0.85, rel=1e-5)
    assert failures(result.folder) == []


@pytest.mark.parametrize(
    "table", [EVERYTHING, pytest.param(FILTER, marks=pytest.mark.slow)]
)
def test_a_crash_in_the_middle_of_adaptation_changes_nothing(
    tmp_path: Path, config_text: str, table: str
) -> None:
    """Where no round is lost, the run goes on to the same bytes.

    Where one is, everything after it may differ, and still keeps to the plan.
    """
    text = descending(config_text, table).replace("simulation", "inprocess", 1)
    config = tmp_path / "lexfed.toml"
    config.write_text(text)
    moments = [[at] for at in (60, 131, 207, 290, 350)]
    whole, *crashed = crash(config, tmp_path / "runs", [[], *moments])
    kept = 0
    for ended in crashed:
        assert ended.ends == [9, 0]
        assert failures(ended.run) == []
        numbers = [row["round"] for row in ended.events("charge")]
        assert numbers == list(range(1, len(numbers) + 1))
        if not ended.events("lost"):
            kept += 1
            _same(whole, ended)
    assert kept > 0


def _same(whole: Ended, ended: Ended) -> None:
    names = ("model.safetensors", "state.safetensors", "metrics.csv", "adaptation.csv")
    for name in names:
        assert ended.bytes_of(name) == whole.bytes_of(name), name
    assert ended.events("charge") == whole.events("charge")


def test_results_of_adapting_runs_are_json(tmp_path: Path, config_text: str) -> None:
    result = ran(descending(config_text, FILTER), tmp_path / "run")
    stored: dict[str, Any] = json.loads((result.folder / "result.json").read_text())
    assert stored["adapted"] == list(result.adapted)
