# SPDX-License-Identifier: Apache-2.0
"""Writes that a run folder accepts or refuses, and crashes that it survives."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lexfed.errors import AuditError, Refused, RunFolderError
from lexfed.run import PricedRun, RoundReport, read_result, resume, start, train
from lexfed.run.folder import RunFolder, is_run_file, never_began
from lexfed.run.results.metrics import MetricsFile
from support.configurations import configuration
from support.run.interrupted_runs import stop_after

PricedOf = Callable[..., PricedRun]
IN_PROCESS = configuration({"federation.engine": "inprocess"})


class Disk(NamedTuple):
    total: int
    used: int
    free: int


def events(path: Path) -> list[dict[str, Any]]:
    lines = (path / "events.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def contents(path: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}


def interrupted(priced: PricedRun, path: Path, text: str, rounds: int) -> None:
    folder = start(priced, path, text)
    with pytest.raises(KeyboardInterrupt):
        train(priced, folder, stop_after(rounds))


def test_a_run_leaves_the_promised_files(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced = priced_of(config_text)
    reports: list[RoundReport] = []
    result = train(priced, start(priced, tmp_path / "run", config_text), reports.append)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {
        "config.toml", "tags.json", "encoding.json", "plan.json", "events.jsonl",
        "state.safetensors", "metrics.csv", "model.safetensors", "claim.json",
        "result.json", "lock", "log", "parties.json",
    }  # fmt: skip
    assert all(is_run_file(path) for path in (tmp_path / "run").iterdir())
    assert (tmp_path / "run" / "config.toml").read_text() == config_text
    assert [report.round for report in reports] == list(range(1, result.rounds + 1))
    assert reports[-1].spent() <= priced.budget.epsilon
    kinds = [row["type"] for row in events(tmp_path / "run")]
    assert kinds == ["start", *["charge"] * result.rounds, "end"]
    back = read_result(tmp_path / "run")
    assert back.to_json() == result.to_json()
    assert result.to_json()["stamp"] == "NOT PRIVATE"


def test_metrics_have_one_line_per_round(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced = priced_of(config_text)
    result = train(priced, start(priced, tmp_path / "run", config_text))
    lines = (tmp_path / "run" / "metrics.csv").read_text().splitlines()
    assert lines[0] == "round,stage,auc,accuracy"
    assert [line.split(",")[0] for line in lines[1:]] == [
        str(number) for number in range(1, result.rounds + 1)
    ]
    assert float(lines[-1].split(",")[2]) == pytest.approx(result.metrics["auc"], 1e-5)


def test_half_a_line_and_lines_of_lost_rounds_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("round,stage,auc\n1,a,0.5\n2,a,0.6\n3,a,0.7\nnonsense\n4,a,0.")
    measured = MetricsFile(path, ["auc"], durable=2)
    assert measured.last == 2
    measured.append(3, 'with "quotes", and comma', {"auc": 0.25})
    assert path.read_text() == (
        'round,stage,auc\n1,a,0.5\n2,a,0.6\n3,"with ""quotes"", and comma",0.25\n'
    )


def test_a_line_that_cannot_be_written_stops_the_run(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    measured = MetricsFile(path, ["auc"], durable=0)
    path.unlink()
    path.mkdir()
    with pytest.raises(RunFolderError, match=r"metrics\.csv`: is a directory"):
        measured.append(1, "a", {"auc": 0.5})


def test_an_interrupted_run_ends_like_a_whole_one(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced = priced_of(config_text)
    train(priced, start(priced, tmp_path / "whole", config_text))
    interrupted(priced, tmp_path / "cut", config_text, 3)
    (tmp_path / "cut" / "metrics.csv").write_text("round,stage,auc,accuracy\n1,a,1,1")
    result = train(priced, resume(priced, tmp_path / "cut", config_text))
    assert result.rounds == 7
    for name in ("model.safetensors", "claim.json"):
        whole = (tmp_path / "whole" / name).read_bytes()
        assert (tmp_path / "cut" / name).read_bytes() == whole, name
    assert events(tmp_path / "cut")[1:] == events(tmp_path / "whole")[1:]


def test_a_partial_release_is_spent_and_lost(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    interrupted(priced, path, config_text, 3)
    # Put the folder back to the middle of writing round 3.
    before = tmp_path / "before"
    interrupted(priced, before, config_text, 2)
    shutil.copy(before / "state.safetensors", path / "state.safetensors")
    (path / "state.safetensors.part").write_bytes(b"half")
    # Lost, then interrupted again before anything else is released.
    folder = resume(priced, path, config_text)
    with pytest.raises(KeyboardInterrupt):
        train(priced, folder, stop_after(4))
    # The log knows that round 4 was released: a state that forgot it does not help.
    shutil.copy(before / "state.safetensors", path / "state.safetensors")
    result = train(priced, resume(priced, path, config_text))
    assert (result.rounds, result.lost) == (5, 2)
    assert [row["round"] for row in events(path) if row["type"] == "charge"] == [
        1, 2, 3, 4, 5, 6, 7,
    ]  # fmt: skip
    assert [row["round"] for row in events(path) if row["type"] == "lost"] == [3, 4]
    assert result.claim is not None
    assert result.claim.rounds == 7  # what was paid for


def test_a_finished_run_is_returned_as_it_is(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    first = train(priced, start(priced, path, config_text))
    before = contents(path)
    again = train(priced, resume(priced, path, config_text))
    assert again.to_json() == first.to_json()
    assert contents(path) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("test = true", "test = false"),
        ("epsilon = 3.0", "epsilon = 2.9"),
        ("seed = 3", "seed = 4"),
    ],
)
def test_another_configuration_is_refused(
    tmp_path: Path, config_text: str, priced_of: PricedOf, old: str, new: str
) -> None:
    interrupted(priced_of(config_text), tmp_path / "run", config_text, 2)
    before = (tmp_path / "run" / "events.jsonl").read_bytes()
    text = config_text.replace(old, new)
    with pytest.raises(RunFolderError, match="started with another configuration"):
        resume(priced_of(text), tmp_path / "run", text)
    assert (tmp_path / "run" / "events.jsonl").read_bytes() == before
    # The folder was let go: the right configuration goes on.
    train(
        priced_of(config_text),
        resume(priced_of(config_text), tmp_path / "run", config_text),
    )


def test_other_data_are_refused(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    interrupted(priced, path, config_text, 2)
    text = (path / "events.jsonl").read_text()
    (path / "events.jsonl").write_text(text.replace(priced.programme.digest, "0" * 64))
    with pytest.raises(RunFolderError, match="with other data"):
        resume(priced, path, config_text)


def test_a_second_process_is_refused(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    folder = start(priced, path, config_text)
    # The first process is in the middle of a line: nobody may cut it off.
    with (path / "events.jsonl").open("ab") as file:
        file.write(b'{"half')
    with pytest.raises(RunFolderError, match="in use by another process"):
        resume(priced, path, config_text)
    with pytest.raises(RunFolderError, match="already contains a run"):
        start(priced, path, config_text)
    assert (path / "events.jsonl").read_bytes().endswith(b'{"half')
    folder.close()


def test_half_a_line_is_not_read_and_an_earlier_one_is_an_error(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    interrupted(priced, path, config_text, 2)
    file = path / "events.jsonl"
    good = file.read_bytes()
    file.write_bytes(good + b'{"type": "charge", "rou')
    torn = file.read_bytes()
    resume(priced, path, config_text).close()
    assert file.read_bytes() == torn  # nothing is cut before something is appended
    with pytest.raises(KeyboardInterrupt):
        train(priced, resume(priced, path, config_text), stop_after(3))
    assert file.read_bytes().startswith(good + b'{"release"')
    assert all(events(path))
    lines = good.splitlines(keepends=True)
    file.write_bytes(lines[0] + b"{broken\n" + b"".join(lines[2:]))
    with pytest.raises(RunFolderError, match=r"events\.jsonl:2: not a JSON line"):
        resume(priced, path, config_text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"type": "charge", "round": 9, "release": null}\n', "jsonl:4: not an event"),
        (b'{"type": "charge"}\n', "jsonl:4: not an event"),
        (b'{"type": "lost", "round": "x"}\n', "jsonl:4: not an event"),
        (b"[]\n", "jsonl:4: expected a JSON object"),
    ],
)
def test_events_that_do_not_fit_are_errors(
    tmp_path: Path, config_text: str, priced_of: PricedOf, line: bytes, message: str
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    interrupted(priced, path, config_text, 2)
    with (path / "events.jsonl").open("ab") as file:
        file.write(line)
    with pytest.raises(RunFolderError, match=message):
        train(priced, resume(priced, path, config_text))


def test_a_state_without_its_charges_is_an_error(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    interrupted(priced, path, config_text, 3)
    lines = (path / "events.jsonl").read_bytes().splitlines(keepends=True)
    (path / "events.jsonl").write_bytes(b"".join(lines[:2]))
    with pytest.raises(AuditError, match="lists 1 charged rounds, the log 3"):
        resume(priced, path, config_text)


def test_a_damaged_state_is_never_read(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    interrupted(priced, path, config_text, 3)
    state = path / "state.safetensors"
    content = state.read_bytes()
    state.write_bytes(content[:100])
    with pytest.raises(AuditError, match="is not the file that was logged"):
        resume(priced, path, config_text)
    state.write_bytes(content)
    opened = resume(priced, path, config_text)
    state.write_bytes(content[:100])  # while it is open
    with pytest.raises(RunFolderError, match="is damaged"):
        train(priced, opened)


def test_a_folder_left_before_the_first_event_can_be_used(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    path.mkdir()
    for name in ("lock", "config.toml", "tags.json.part", "events.jsonl"):
        (path / name).write_text("")
    assert never_began(path)
    resume(priced, path, config_text).close()
    assert [row["type"] for row in events(path)] == ["start"]
    assert not never_began(path)
    with pytest.raises(RunFolderError, match="already contains a run"):
        start(priced, path, config_text)


@pytest.mark.parametrize("name", ["thesis.doc", "model.safetensors"])
def test_a_foreign_folder_is_left_alone(
    tmp_path: Path, config_text: str, priced_of: PricedOf, name: str
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("mine")
    with pytest.raises(RunFolderError, match="is not a run folder"):
        start(priced_of(config_text), tmp_path / "run", config_text)
    assert [file.name for file in (tmp_path / "run").iterdir()] == [name]
    with pytest.raises(RunFolderError, match="is not a run folder"):
        start(priced_of(config_text), tmp_path / "run" / name, config_text)
    with pytest.raises(RunFolderError, match="cannot create"):
        start(priced_of(config_text), tmp_path / "run" / name / "below", config_text)


def test_two_processes_that_create_the_same_folder(
    tmp_path: Path, config_text: str, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    priced, path = priced_of(config_text), tmp_path / "run"
    start(priced, path, config_text).close()
    # The other one wins between our look and our lock.
    monkeypatch.setattr("lexfed.run.folder.never_began", lambda _: True)
    with pytest.raises(RunFolderError, match="already contains a run"):
        start(priced, path, config_text)


def test_no_round_is_paid_that_the_disk_cannot_keep(
    tmp_path: Path, config_text: str, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    priced, path = priced_of(config_text), tmp_path / "run"
    folder = start(priced, path, config_text)
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda _: Disk(1000, 900, 100))
        with pytest.raises(RunFolderError, match="round 1 was not begun"):
            train(priced, folder)
    assert [row["type"] for row in events(path)] == ["start"]
    assert train(priced, resume(priced, path, config_text)).rounds == 7


def test_a_site_that_cannot_pay_ends_the_run_with_its_reason(
    tmp_path: Path, priced_of: PricedOf
) -> None:
    priced, path = priced_of(IN_PROCESS), tmp_path / "run"
    interrupted(priced, path, IN_PROCESS, 3)
    ledger = path / "sites" / "2.jsonl"
    lines = ledger.read_text().splitlines(keepends=True)
    opened = resume(priced, path, IN_PROCESS)
    ledger.write_text("".join(lines[:2]))  # a site that remembers less
    result = train(priced, opened)
    assert result.rounds == 3
    assert "site `" in result.stopped
    assert "refused" in result.stopped
    assert result.claim is not None
    assert [row["type"] for row in events(path)][-3:] == ["refusal", "lost", "end"]


def test_a_run_that_nobody_pays_for_is_refused(
    tmp_path: Path, priced_of: PricedOf
) -> None:
    priced, path = priced_of(IN_PROCESS), tmp_path / "run"
    interrupted(priced, tmp_path / "other", IN_PROCESS, 3)
    folder = start(priced, path, IN_PROCESS)
    shutil.copytree(tmp_path / "other" / "sites", path / "sites")
    with pytest.raises(Refused, match="refused"):
        train(priced, folder)
    assert not (path / "model.safetensors").exists()
    # The folder was let go, and these ledgers are not those of this run.
    with pytest.raises(
        AuditError, match=r"`sites/1\.jsonl` holds a charge that is not"
    ):
        resume(priced, path, IN_PROCESS)


def test_a_damaged_site_ledger_is_an_error(tmp_path: Path, priced_of: PricedOf) -> None:
    priced, path = priced_of(IN_PROCESS), tmp_path / "run"
    interrupted(priced, path, IN_PROCESS, 2)
    kept = (path / "sites" / "1.jsonl").read_text()
    (path / "sites" / "1.jsonl").write_text("{}\n")
    with pytest.raises(AuditError, match=r"1\.jsonl` holds a charge that is not"):
        resume(priced, path, IN_PROCESS)
    (path / "sites" / "1.jsonl").write_text(kept)
    opened = resume(priced, path, IN_PROCESS)
    (path / "sites" / "1.jsonl").write_text("{}\n")  # while it is open
    with pytest.raises(RunFolderError, match=r"1\.jsonl:1: not an event"):
        train(priced, opened)
    (path / "sites" / "1.jsonl").write_text(kept)
    opened = resume(priced, path, IN_PROCESS)
    shutil.rmtree(path / "sites")
    (path / "sites").write_text("a file")
    with pytest.raises(RunFolderError, match="cannot write"):
        train(priced, opened)
    with pytest.raises(AuditError, match="`sites` is not a folder"):
        resume(priced, path, IN_PROCESS)


def test_what_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="no readable result"):
        read_result(tmp_path)
    with pytest.raises(RunFolderError, match="holds no run to continue"):
        RunFolder.open(tmp_path)
