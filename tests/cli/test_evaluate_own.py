# SPDX-License-Identifier: Apache-2.0
"""`lexfed evaluate CONFIG`: what it writes, says and refuses, and how it is called."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lexfed.cli.app import app
from lexfed.cli.commands.evaluate.own_data import evaluate_own, publish_answers
from lexfed.cli.commands.evaluate.public_tables import EvaluationOptions
from lexfed.errors import ClaimError, ConfigError, RunFolderError
from lexfed.evaluate.own import questions
from lexfed.evaluate.own.evaluation import PolicyEvaluation, published
from lexfed.evaluate.suite import RESULTS, IncompleteTables, ResultJournal
from support.configurations import configuration
from support.evaluation.own import CLAIMED, measured, summary

PERSONS: dict[str, object] = {
    "run": {"name": "trial"},
    "data.generator": {"patients": 300, "sites": 4},
    "budget.epsilon": 4.0,
    "privacy.mechanism": "uniform",
    "federation": None,
}
SITES = {**PERSONS, "budget.delta": 1e-2, "budget.unit": "client"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "lexfed.toml"
    path.write_text(configuration(SITES))
    return path


def test_a_page_and_every_run_are_written_and_no_row_stays(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    evaluate_own(config, 1, EvaluationOptions(out, False, 1, False))
    told = capsys.readouterr()
    assert "warning: Internal: not for publication" in told.err
    assert "left out: Attacks and audit: these attacks are on people" in told.err
    assert " to do; 1 process, about" in told.err
    assert "The cost of protection is not significant over one split" in told.out
    assert {each.name for each in out.iterdir()} == {
        *("asked.json", "results.jsonl", "results.csv", "evaluation.html")
    }
    with pytest.raises(RunFolderError, match="holds the results"):
        evaluate_own(config, 1, EvaluationOptions(out, False, 1, False))
    assert {each.stat().st_mode & 0o777 for each in out.iterdir()} == {0o600}
    assert "no protection: solved exactly" in (out / "evaluation.html").read_text()
    before = (out / RESULTS).read_bytes()
    evaluate_own(config, 1, EvaluationOptions(out, True, 1, True))
    told = capsys.readouterr()
    assert ", 0 to do" in told.err
    assert (out / RESULTS).read_bytes() == before
    found = json.loads(told.out)
    assert found["internal"]
    assert len(found["answers"]) == 3
    assert {one["part"] for one in found["left_out"]} >= {"Attacks and audit"}
    config.write_text(configuration({**SITES, "budget.epsilon": 3.0}))
    with pytest.raises(RunFolderError, match="of another configuration") as caught:
        evaluate_own(config, 1, EvaluationOptions(out, True, 1, False))
    assert "--out" in caught.value.hint


def test_what_is_missing_leaves_no_page(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "asked.json").write_text('{"configuration": "earlier"}')
    (out / "evaluation.html").write_text("of an earlier evaluation")
    monkeypatch.setattr(
        "lexfed.cli.commands.evaluate.own_data.run_jobs", lambda _: None
    )
    with pytest.raises(
        IncompleteTables, match="no page yet; open: What does protection"
    ) as caught:
        evaluate_own(config, 1, EvaluationOptions(out, True, 1, False))
    assert "--resume" in caught.value.hint
    assert {each.name for each in out.iterdir()} == {
        *("asked.json", "results.jsonl", "results.csv")
    }


def test_folders_of_others_are_left_alone(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "tables"
    journal = ResultJournal(out, False)
    journal.add({"key": "x", "job": {}, "status": "done", "values": {}, "note": ""})
    with pytest.raises(RunFolderError, match="evaluation of tables"):
        evaluate_own(config, 1, EvaluationOptions(out, True, 1, False))
    journal.close()
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(RunFolderError, match="cannot write") as caught:
        evaluate_own(config, 1, EvaluationOptions(file, False, 1, False))
    assert "--out" in caught.value.hint


def test_a_folder_in_use_is_left_as_it_is(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "busy"
    journal = ResultJournal(out, False)
    (out / "asked.json").write_text('{"configuration": "of the other"}')
    (out / ".rows-other").mkdir()
    (out / ".rows-other" / "table.csv").write_text("rows of the other evaluation")
    with pytest.raises(RunFolderError, match="another evaluation"):
        evaluate_own(config, 1, EvaluationOptions(out, False, 1, False))
    assert (out / ".rows-other" / "table.csv").exists()
    assert "of the other" in (out / "asked.json").read_text()
    journal.close()


@pytest.mark.parametrize("test_size", [0.0, 0.2])
def test_a_folder_of_data_beside_results_survives(
    test_size: float, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused or not, `--out .` removes and overwrites nothing of anybody else."""
    held = {tmp_path / "data" / name: name for name in ("people.csv", "table.csv")}
    (tmp_path / "data").mkdir()
    for path, text in held.items():
        path.write_text(text)
    config.write_text(configuration({**SITES, "data.test_size": test_size}))
    locked = []

    def nothing(_: object) -> None:
        with pytest.raises(RunFolderError, match="another evaluation"):
            ResultJournal(tmp_path, True)
        locked.append(list(tmp_path.glob(".rows-*/table.csv")))

    monkeypatch.setattr("lexfed.cli.commands.evaluate.own_data.run_jobs", nothing)
    expected = IncompleteTables if test_size else ConfigError
    with pytest.raises(expected):
        evaluate_own(config, 1, EvaluationOptions(tmp_path, False, 1, False))
    assert [len(found) for found in locked] == [1] * (expected is IncompleteTables)
    assert {path: path.read_text() for path in held} == held
    assert list(tmp_path.glob(".rows-*")) == []


@pytest.mark.parametrize("name", ["asked.json", "results.csv", "evaluation.html"])
def test_files_of_others_are_not_overwritten(
    name: str, config: Path, tmp_path: Path
) -> None:
    (tmp_path / name).write_text("mine")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(RunFolderError, match=f"a file `{name}` of something else"):
        evaluate_own(config, 1, EvaluationOptions(tmp_path, False, 1, False))
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / name).read_text() == "mine"


def test_a_journal_of_somebody_else_is_not_cut(config: Path, tmp_path: Path) -> None:
    (tmp_path / RESULTS).write_text('{"mine": 1}')  # a line without its end
    for resume, words in ((True, "evaluation of tables"), (False, "holds the results")):
        with pytest.raises(RunFolderError, match=words):
            evaluate_own(config, 1, EvaluationOptions(tmp_path, resume, 1, False))
    assert (tmp_path / RESULTS).read_text() == '{"mine": 1}'


def test_what_contradicts_a_proof_ends_with_a_page_and_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = summary("audit", "", configured=[{**CLAIMED, "refuted": 1.0}])
    tables = tuple(measured(audit=broken).values())
    with pytest.raises(ClaimError, match="better than the proof") as caught:
        publish_answers(published(PolicyEvaluation("x", tmp_path, tables, ())), False)
    assert caught.value.exit_code == 1
    assert "AN ATTACK SEEMS TO DO BETTER" in capsys.readouterr().out
    assert "AN ATTACK SEEMS TO DO BETTER" in (tmp_path / "evaluation.html").read_text()
    sound = PolicyEvaluation("x", tmp_path, tuple(measured().values()), ())
    publish_answers(published(sound), False)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["evaluate", "missing.toml"], "missing.toml"),
        (["evaluate", "--jobs", "0", "lexfed.toml"], "--jobs"),
        (["evaluate", "lexfed.toml", "--seeds", "0"], "--seeds"),
        (["evaluate", "lexfed.toml", "--quick"], "--quick is for tables"),
        (["evaluate", "--table", "noise", "lexfed.toml"], "--table is for tables"),
        (["evaluate", "--seeds", "3"], "--seeds is for a configuration"),
        (["evaluate", "lexfed.toml", "more.toml"], "more.toml"),
        (["evaluate", "--table", "nois"], "did you mean `noise`?"),
        (["evaluate", "fetch", "nothing"], "LEXFED_DATA: not set"),
    ],
)
def test_wrong_calls_name_what_is_wrong(
    words: list[str], told: str, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(config.parent)
    monkeypatch.delenv("LEXFED_DATA", raising=False)
    found = CliRunner().invoke(app, words)
    assert found.exit_code != 0
    shown = found.output + str(found.exception) + getattr(found.exception, "hint", "")
    assert told in shown.replace("\n", " ")


def test_help_shows_both_ways() -> None:
    found = CliRunner().invoke(app, ["evaluate", "--help"]).output
    assert "[CONFIG]" in found
    assert "fetch" in found
    assert (
        "--archive" in CliRunner().invoke(app, ["evaluate", "fetch", "--help"]).output
    )


@pytest.mark.slow
def test_persons_are_attacked_and_nothing_is_refuted(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The audit errs with probability 5 %, but here its bounds are far from claims."""
    monkeypatch.setattr(questions, "CANARIES", 100)
    path = tmp_path / "lexfed.toml"
    path.write_text(configuration(PERSONS))
    evaluate_own(path, 2, EvaluationOptions(tmp_path / "out", False, 2, True))
    found = json.loads(capsys.readouterr().out)
    assert found["left_out"] == []
    assert [one["table"] for one in found["tables"]] == [
        *("cost", "tailoring", "membership", "attribute-inference", "audit")
    ]
    assert all(one["whole"] for one in found["tables"])
    assert found["answers"][2]["headline"] == (
        "Membership attacks, attribute inference and an audit with canaries did no "
        "better than the proof allows."
    )
