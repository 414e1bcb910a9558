# SPDX-License-Identifier: Apache-2.0
"""Beginning and reopening the log of a run: what must be there, and what must not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lexfed.audit.entries import ChangeEntry, Genesis, RecordOfProcessing, RoundEntry
from lexfed.audit.log.access import rotate_key
from lexfed.audit.log.audit_log import AuditLog
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.storage.durable_store import Store
from lexfed.config import loads
from lexfed.errors import AuditError, LexfedError, RunFolderError
from lexfed.run import PricedRun, price, resume, start, train
from lexfed.run.audit_log.logbook import run_keys
from lexfed.run.driver.open_run import OpenRun, base_of, finished_result
from lexfed.run.intake.population import load_population
from lexfed.signing.keys import create_key
from support.configurations import columns, configuration
from support.run.interrupted_runs import failures, stop_after

PricedOf = Callable[..., PricedRun]
IN_PROCESS = configuration({"federation.engine": "inprocess"})


def interrupted(priced: PricedRun, path: Path, text: str, rounds: int = 2) -> None:
    opened = start(priced, path, text)
    with pytest.raises(KeyboardInterrupt):
        train(priced, opened, stop_after(rounds))


def contents(path: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}


# Keys


def test_keys_are_made_once_and_kept(tmp_path: Path) -> None:
    first = run_keys(tmp_path / "keys", "a.example/x/1", ["north", "south"])
    again = run_keys(tmp_path / "keys", "a.example/x/2", ["north", "south"], make=False)
    assert again.log.coordinator.public == first.log.coordinator.public
    assert again.log.log.public == first.log.log.public
    assert again.log.log.name == "a.example/x/2"
    assert {n: s.public for n, s in again.sites.items()} == {
        n: s.public for n, s in first.sites.items()
    }
    for file in (tmp_path / "keys").rglob("*.pem"):
        private = not file.name.endswith(".pub.pem")
        assert file.stat().st_mode & 0o777 == (0o600 if private else 0o644)


def test_a_new_run_takes_the_newest_keys(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    run_keys(keys, "a.example/x/1", [])
    for number in (2, 10, 9):
        create_key(keys / f"log-{number}.pem")
    newest = run_keys(keys, "a.example/x/1", []).log.log.public
    (keys / "log-9.pem").unlink()
    assert run_keys(keys, "a.example/x/1", []).log.log.public == newest
    (keys / "log-10.pem").unlink()
    assert run_keys(keys, "a.example/x/1", []).log.log.public != newest


@pytest.mark.parametrize("name", ["coordinator.pem", "log.pem", "sites/2.pem"])
def test_a_resumed_run_makes_no_new_keys(
    tmp_path: Path, priced_of: PricedOf, name: str
) -> None:
    priced, path = priced_of(IN_PROCESS), tmp_path / "run"
    interrupted(priced, path, IN_PROCESS)
    (tmp_path / "keys" / name).unlink()
    with pytest.raises(RunFolderError, match=r"cannot use key|does not hold"):
        resume(priced, path, IN_PROCESS)
    assert not (tmp_path / "keys" / name).exists()


def test_the_keys_of_sites_are_those_of_the_beginning(
    tmp_path: Path, priced_of: PricedOf
) -> None:
    priced, path = priced_of(IN_PROCESS), tmp_path / "run"
    interrupted(priced, path, IN_PROCESS)
    site = tmp_path / "keys" / "sites" / "2.pem"
    shutil.copytree(tmp_path / "keys", tmp_path / "safe")
    site.unlink()
    site.with_name("2.pub.pem").unlink()
    create_key(site)
    before = contents(path / "log")
    with pytest.raises(RunFolderError, match="is not the one this run was begun with"):
        resume(priced, path, IN_PROCESS)
    assert contents(path / "log") == before
    shutil.copy(tmp_path / "safe" / "sites" / "2.pem", site)
    assert train(priced, resume(priced, path, IN_PROCESS)).rounds == 7
    assert failures(path) == []


def test_keys_rotated_in_the_middle_of_a_run(
    tmp_path: Path, priced_of: PricedOf
) -> None:
    priced, path = priced_of(IN_PROCESS), tmp_path / "run"
    interrupted(priced, path, IN_PROCESS, 2)
    rotate_key(path, "log")
    rotate_key(path, "coordinator")
    opened = resume(priced, path, IN_PROCESS)
    with pytest.raises(KeyboardInterrupt):
        train(priced, opened, stop_after(4))
    rotate_key(path, "log")
    assert train(priced, resume(priced, path, IN_PROCESS)).rounds == 7
    evidence = read_evidence(path)
    assert len(evidence.custody.log_keys) == 3
    assert len(evidence.of(RoundEntry)) == 7
    assert failures(path) == []


# What is left of a beginning


def test_a_log_left_empty_is_used(
    tmp_path: Path, config_text: str, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    priced, path = priced_of(config_text), tmp_path / "run"

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(AuditLog, "append_all", dies)
        with pytest.raises(KeyboardInterrupt):
            start(priced, path, config_text)
    origin = (path / "log" / "checkpoint").read_text().split("\n")[0]
    train(priced, start(priced, path, config_text))
    assert read_evidence(path).origin == origin
    assert failures(path) == []


def test_a_log_that_was_being_made_is_made(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    start(priced, path, config_text).close()
    origin = read_evidence(path).origin
    # As if it had died between the first checkpoint and its name.
    for file in ("events.jsonl", "parties.json", "log/checkpoint"):
        (path / file).unlink()
    shutil.rmtree(path / "log" / "tile")
    for signed in (path / "log" / "signed").iterdir():
        if signed.name != "0":
            signed.unlink()
    shutil.rmtree(tmp_path / "keys" / "pins")
    train(priced, start(priced, path, config_text))
    assert read_evidence(path).origin == origin
    assert failures(path) == []


def test_a_beginning_is_not_logged_twice(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    start(priced, path, config_text).close()
    (path / "events.jsonl").unlink()  # died before its first event
    train(priced, start(priced, path, config_text))
    kinds = [record.kind for record in read_evidence(path).records]
    assert kinds.count("genesis") == kinds.count("policy") == 1
    assert failures(path) == []


def test_the_beginning_of_another_configuration_is_refused(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    start(priced, path, config_text).close()
    (path / "events.jsonl").unlink()
    other = config_text.replace("epsilon = 3.0", "epsilon = 2.5")
    with pytest.raises(RunFolderError, match="begun with another config") as refused:
        start(priced_of(other), path, other)
    assert "nothing was released from it: remove it" in refused.value.hint
    shutil.rmtree(path)
    start(priced_of(other), path, other).close()


def test_an_entry_too_large_to_begin_with_is_named(
    tmp_path: Path, config_text: str, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("lexfed.audit.log.audit_log.MAX_ENTRY", 100)
    with pytest.raises(AuditError, match=r"entry 0 \(`genesis`\) has \d+ bytes"):
        start(priced_of(config_text), tmp_path / "run", config_text)
    assert not (tmp_path / "run").exists()


# What is left of a log


def test_a_run_without_its_log_is_not_continued(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    interrupted(priced, path, config_text)
    shutil.move(path / "log", tmp_path / "log")
    with pytest.raises(RunFolderError, match="holds no log that can be opened"):
        resume(priced, path, config_text)
    assert not (path / "log").exists()
    # Nor with an empty one.
    origin = read_origin(tmp_path / "log")
    signer = run_keys(tmp_path / "keys", origin, ()).log.log
    Store.create(path / "log", signer, origin).close()
    with pytest.raises(AuditError, match="was damaged: log: entry 0"):
        resume(priced, path, config_text)
    shutil.rmtree(path / "log")
    shutil.move(tmp_path / "log", path / "log")
    assert train(priced, resume(priced, path, config_text)).rounds == 7


def read_origin(log: Path) -> str:
    return (log / "checkpoint").read_text().split("\n")[0]


@pytest.mark.parametrize(
    "content", [b"", b"\xff\n1\n", b"origin\nmany\n", b"a b\n5\nx\n", b"o\n-1\n\n"]
)
def test_a_damaged_checkpoint_is_an_error(
    tmp_path: Path, config_text: str, priced_of: PricedOf, content: bytes
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    interrupted(priced, path, config_text)
    (path / "log" / "checkpoint").write_bytes(content)
    with pytest.raises(LexfedError) as refused:
        resume(priced, path, config_text)
    assert refused.value.exit_code in (1, 2)
    assert type(refused.value) in (AuditError, RunFolderError)


def test_a_log_restored_to_its_beginning_is_refused(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    # A backup from before the first entry; nothing but the pin knows better.
    priced, path = priced_of(config_text), tmp_path / "run"
    start(priced, path, config_text).close()
    origin = read_origin(path / "log")
    (path / "events.jsonl").unlink()
    shutil.rmtree(path / "log")
    signer = run_keys(tmp_path / "keys", origin, ()).log.log
    Store.create(path / "log", signer, origin).close()
    before = contents(path / "log")
    with pytest.raises(AuditError, match="0 entries, but 4 were published"):
        start(priced, path, config_text)
    assert contents(path / "log") == before


# Going on


def test_every_change_of_version_is_logged(
    tmp_path: Path, config_text: str, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    priced, path = priced_of(config_text), tmp_path / "run"
    interrupted(priced, path, config_text, 1)
    own = read_evidence(path).genesis.software
    versions = ["lexfed-9.9.9", "lexfed-9.9.9", own, "lexfed-9.9.9"]
    for number, version in enumerate(versions, start=2):
        monkeypatch.setattr("lexfed.run.audit_log.opening.SOFTWARE", version)
        opened = resume(priced, path, config_text)
        with pytest.raises(KeyboardInterrupt):
            train(priced, opened, stop_after(number))
    train(priced, resume(priced, path, config_text))
    changes = [found.entry for found in read_evidence(path).of(ChangeEntry)]
    # To the other one, back, and there again; not each time it starts.
    assert len(changes) == 3
    assert changes[0].after == changes[1].before == changes[2].after
    assert changes[0].before == changes[1].after == changes[2].before
    assert failures(path) == []


def test_a_finished_run_is_found(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, path = priced_of(config_text), tmp_path / "run"
    interrupted(priced, path, config_text)
    assert finished_result(priced.config, path) is None
    result = train(priced, resume(priced, path, config_text))
    found = finished_result(priced.config, path)
    assert found is not None
    assert found.to_json() == result.to_json()
    other = loads(config_text.replace("seed = 3", "seed = 4"))
    with pytest.raises(RunFolderError, match="another configuration"):
        finished_result(other, path)
    assert base_of(path) == tmp_path
    (path / "events.jsonl").write_text("")
    with pytest.raises(RunFolderError, match="does not say where it was started"):
        base_of(path)


@pytest.mark.parametrize(
    ("target", "again"),
    [
        ("lexfed.run.audit_log.opening._total", start),
        ("lexfed.run.driver.open_run.notes_of", resume),
    ],
)
def test_what_fails_after_the_log_was_opened_lets_it_go(
    tmp_path: Path, config_text: str, priced_of: PricedOf,
    monkeypatch: pytest.MonkeyPatch, target: str, again: Callable[..., OpenRun],
) -> None:  # fmt: skip
    priced, path = priced_of(config_text), tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(target, broken)
        with pytest.raises(KeyboardInterrupt):
            start(priced, path, config_text)
    train(priced, again(priced, path, config_text))
    assert failures(path) == []


def broken(*_: object) -> None:
    raise KeyboardInterrupt


def test_what_people_state_is_logged_before_the_first_round(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    (tmp_path / "dpia.pdf").write_bytes(b"an assessment")
    stated = (
        '\n[audit.record]\npurposes = "care"\n'
        '[audit.documents]\ndpia = { file = "dpia.pdf", issued = "2026-10-01" }\n'
    )
    text = config_text + stated
    priced = price(loads(text), priced_of(config_text).population)
    train(priced, start(priced, tmp_path / "run", text))
    evidence = read_evidence(tmp_path / "run")
    kinds = [record.kind for record in evidence.records]
    assert kinds[4:7] == ["record-of-processing", "document", "round"]
    [record] = evidence.of(RecordOfProcessing)
    assert json.loads(evidence.blobs.get(record.entry.text)) == {"purposes": "care"}
    assert failures(tmp_path / "run") == []


def test_sites_are_in_no_order_and_without_names(
    tmp_path: Path, priced_of: PricedOf
) -> None:
    start(priced_of(IN_PROCESS), tmp_path / "run", IN_PROCESS).close()
    evidence = read_evidence(tmp_path / "run")
    [genesis] = [found.entry for found in evidence.of(Genesis)]
    assert genesis.parties == ()
    ids = [party.key.keyid for party in evidence.parties if party.key is not None]
    assert ids == sorted(ids)
    names = json.loads((tmp_path / "run" / "parties.json").read_text())
    assert sorted(names.values()) == ids
    roster = evidence.blobs.get(genesis.roster or "")
    listed = genesis.model_dump_json() + roster.decode()
    assert not [name for name in names if name in listed]


@pytest.mark.slow
def test_five_hundred_sites_with_keys_begin_and_verify(tmp_path: Path) -> None:
    rows = "".join(f"{n % 2},{n % 50}\n" for n in range(1000))
    (tmp_path / "table.csv").write_text(f"y,x\n{rows}")
    changes = {
        "run": {"name": "many"},
        "data": {"source": "table.csv", "target": "y", "units": 1000, "test_size": 0.0},
        "data.sites": {"count": 500, "partition": "iid"},
        **columns({"y": ("personal", "flag"), "x": ("personal", [0, 50])}),
        "budget": {"epsilon": 2.0, "delta": 1e-7},
        "federation.engine": "inprocess",
    }
    text = configuration(changes)
    config = loads(text)
    priced = price(config, load_population(config, tmp_path))
    start(priced, tmp_path / "run", text, tmp_path).close()
    evidence = read_evidence(tmp_path / "run")
    assert len(evidence.parties) == 500
    assert max(map(len, evidence.view.entries)) < 8192
    assert failures(tmp_path / "run") == []
