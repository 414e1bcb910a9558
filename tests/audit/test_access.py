# SPDX-License-Identifier: Apache-2.0
"""Opening a log of an earlier run: keys by what they hold, and handing jobs over."""

import os
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import Deletion, KeyRotation
from lexfed.audit.log import access
from lexfed.audit.log.access import key_files, keys_folder, rotate_key
from lexfed.audit.log.audit_log import AuditLog, LogKeys
from lexfed.audit.storage.write_protocol import StagedAppend
from lexfed.audit.tree.checkpoint import open_checkpoint
from lexfed.audit.tree.merkle import leaf_hash
from lexfed.audit.vocabulary import KeyRole
from lexfed.errors import AuditError, RunFolderError
from lexfed.signing.keys import (
    Signer,
    create_key,
    fingerprint,
    load_key,
    load_public,
    public_path,
)
from lexfed.signing.notes import VerifierKey, parse_note
from support.audit.open_logs import Logged, logged
from support.audit.two_verifiers import compared, failed
from support.audit.worlds import ORIGIN, fake_run

DELETION = Deletion(artefact="backup", digest=None)


@pytest.fixture
def run(tmp_path: Path) -> Logged:
    """A run that is over, in `run`, with its keys in `keys`."""
    return logged(tmp_path)


def appended(run: Logged) -> int:
    log = run.open()
    try:
        return log.append(DELETION, f"deletion/{log.size}").index
    finally:
        log.close()


def log_key(path: Path) -> VerifierKey:
    return Signer(ORIGIN, load_key(path)).verifier


def signers_of(run: Logged) -> list[bytes]:
    note = parse_note((run.log / "checkpoint").read_bytes())
    return [signature.key_id for signature in note.signatures]


def policy_of(*keys: VerifierKey) -> bytes:
    return "".join(f"log {key.vkey}\n" for key in keys).encode() + b"quorum none\n"


# Finding keys


def test_the_journal_says_where_the_keys_are(run: Logged) -> None:
    assert keys_folder(run.run).resolve() == run.keys.resolve()
    assert appended(run) == 9


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[1]\n", id="a list"),
        pytest.param(b'"keys"\n', id="text"),
        pytest.param(b'{"type": "start"}\n', id="older"),
        pytest.param(b'{"keys": "a", "keys": "b"}\n', id="twice"),
        pytest.param(b'{"keys": "\xff"}\n', id="not UTF-8"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b'{"keys": "' + b"x" * 100_000, id="long"),
    ],
)
def test_a_folder_without_a_journal_names_no_keys(run: Logged, line: bytes) -> None:
    (run.run / "events.jsonl").write_bytes(line)
    with pytest.raises(RunFolderError, match="does not say where its keys") as refused:
        run.open()
    assert "--keys DIR" in refused.value.hint
    (run.run / "events.jsonl").unlink()
    with pytest.raises(RunFolderError, match="does not say where its keys"):
        rotate_key(run.run, "log")
    # Whoever names them needs no journal.
    access.open_for_appending(run.run, run.keys).close()


def test_keys_are_found_by_what_they_hold(run: Logged) -> None:
    for role in ("coordinator", "log"):
        for suffix in (".pem", ".pub.pem"):
            shutil.move(run.keys / f"{role}{suffix}", run.keys / f"{role}-7{suffix}")
        create_key(run.keys / f"{role}.pem")  # of another run
        create_key(run.keys / f"{role}-12.pem")
        assert list(key_files(run.keys, role)) == [1, 7, 12]
    assert appended(run) == 9
    assert run.failures() == []


def test_other_names_are_no_keys(run: Logged) -> None:
    for name in ("log-1.pem", "log-02.pem", "log-.pem", "log.pem.bak", "xlog.pem"):
        (run.keys / name).write_text("not a key")
    assert key_files(run.keys, "log") == {1: run.keys / "log.pem"}
    assert key_files(run.keys / "missing", "log") == {}
    with pytest.raises(RunFolderError, match="cannot read"):
        key_files(run.keys / "log.pem", "log")


@pytest.mark.parametrize("role", ["coordinator", "log"])
def test_a_missing_key_is_named(run: Logged, role: KeyRole) -> None:
    path = run.keys / f"{role}.pem"
    key = load_public(public_path(path))
    path.unlink()
    with pytest.raises(RunFolderError, match=f"does not hold the {role}'s key") as told:
        run.open()
    assert "--keys DIR" in told.value.hint
    assert fingerprint(key)[:16] in told.value.message


def test_a_log_that_does_not_verify_is_not_opened(run: Logged) -> None:
    bundle = run.log / "tile/entries/000.p/9"
    bundle.write_bytes(bundle.read_bytes().replace(b"payload", b"paylaod", 1))
    with pytest.raises(AuditError):
        run.open()


def test_a_log_older_than_its_pin_is_not_opened(run: Logged, tmp_path: Path) -> None:
    shutil.copytree(run.log, tmp_path / "backup")
    appended(run)
    shutil.rmtree(run.log)
    shutil.copytree(tmp_path / "backup", run.log)
    with pytest.raises(AuditError, match="9 entries, but 10 were published"):
        run.open()
    run.pin.unlink()
    with pytest.raises(AuditError, match="9 entries, but 11 were published"):
        access.open_for_appending(run.run, floor=11)
    run.open().close()  # control


# Rotation


def test_a_new_coordinator_signs_from_then_on(run: Logged) -> None:
    record, path, _ = rotate_key(run.run, "coordinator")
    assert path.name == "coordinator-2.pem"
    new = Signer("coordinator", load_key(path)).fingerprint
    old = Signer("coordinator", load_key(run.keys / "coordinator.pem")).fingerprint
    assert {key for key, _ in record.envelope.signatures} == {old, new}
    appended(run)
    last = run.evidence().records[-1]
    assert [key for key, _ in last.envelope.signatures] == [new]
    retired = Signer("coordinator", load_key(run.keys / "coordinator.pem"))
    with pytest.raises(RunFolderError, match="coordinator's key is not the one in"):
        AuditLog.open(run.log, LogKeys(retired, run_log_signer(run)))
    assert run.failures() == []


def run_log_signer(run: Logged) -> Signer:
    return Signer(ORIGIN, load_key([*key_files(run.keys, "log").values()][-1]))


def test_the_first_checkpoint_of_a_new_log_key_carries_both_signatures(
    run: Logged,
) -> None:
    before = (run.log / "checkpoint").read_bytes()
    old = log_key(run.keys / "log.pem")
    record, path, _ = rotate_key(run.run, "log")
    new = log_key(path)
    assert isinstance(record.entry, KeyRotation)
    assert record.entry.vkey == new.vkey
    assert sorted(signers_of(run)) == sorted([old.key_id, new.key_id])
    overlap = (run.log / "checkpoint").read_bytes()
    for key in (old, new):
        assert open_checkpoint(overlap, key).checkpoint.size == 10
        # Either key, and a checkpoint from before, lead to the log as it is.
        assert run.failures(policy_of(key), before) == []
    assert run.pin.read_bytes() == overlap
    # From the next checkpoint on the new key signs alone, and the old pin holds.
    appended(run)
    assert signers_of(run) == [new.key_id]
    for pin in (before, overlap):
        assert run.failures(policy_of(old), pin) == []


def test_three_rotations_before_two_verifiers(tmp_path: Path) -> None:
    # In the middle of a run, so that every key signs entries of every kind.
    whole = fake_run(certified=True)
    run = logged(tmp_path, whole, entries=5)
    first = (run.log / "checkpoint").read_bytes()
    keys = [log_key(run.keys / "log.pem")]
    rest = iter([(draft.entry, draft.key) for draft in whole.drafts[5:-1]])
    for role in ("log", "coordinator", "log"):
        path = rotate_key(run.run, role)[1]
        if role == "log":
            keys.append(log_key(path))
        log = run.open()
        log.append_all([next(rest)])
        log.close()
    log = run.open()
    log.append_all([*rest])
    log.close()
    assert [key.name for key in keys] == [ORIGIN] * 3
    for key in keys:
        assert failed(compared(run.run, policy_of(key), first)) == []
    rows = compared(run.run)
    assert failed(rows) == []
    assert "3 key rotations" in rows["entry signatures"]["detail"]
    # Control: the key of another run leads nowhere.
    other = logged(tmp_path / "other")
    stranger = policy_of(log_key(other.keys / "log.pem"))
    assert failed(compared(run.run, stranger)) == ["log"]


def test_a_new_key_without_a_rotation_fails(run: Logged) -> None:
    new = Signer(ORIGIN, create_key(run.keys / "log-2.pem"))
    evidence = run.evidence()
    keys = access.keys_in_force(evidence.custody, ORIGIN, run.keys)
    log = AuditLog.open(run.log, keys, successor=new)
    log.append(DELETION, "deletion/1")
    log.close()
    assert "not signed by" in run.failures()[0]
    assert failed(compared(run.run)) == ["log"]
    with pytest.raises(AuditError, match="not signed by"):
        run.open()


def test_a_number_is_never_used_twice(run: Logged) -> None:
    for expected in ("log-2.pem", "log-3.pem"):
        assert rotate_key(run.run, "log")[1].name == expected
    # Whoever removes a stolen key does not get its number again.
    (run.keys / "log.pem").unlink()
    (run.keys / "log-2.pem").unlink()
    assert rotate_key(run.run, "log")[1].name == "log-4.pem"
    assert run.failures() == []


def test_a_backup_from_before_a_rotation_is_refused(
    run: Logged, tmp_path: Path
) -> None:
    shutil.copytree(run.log, tmp_path / "backup")
    rotate_key(run.run, "log")
    appended(run)
    shutil.rmtree(run.log)
    shutil.copytree(tmp_path / "backup", run.log)
    with pytest.raises(AuditError, match=r"pin .* not signed by") as refused:
        run.open()
    assert "before its key was replaced" in refused.value.hint


# Interruptions


def staged(run: Logged, *entries: Any) -> None:
    """Leave the files of a writer that is killed before its checkpoint."""
    signer = run_log_signer(run)
    evidence = run.evidence()
    checkpoint = evidence.view.signed.checkpoint
    stage = StagedAppend(ORIGIN, checkpoint.size, checkpoint.root, entries)
    (run.log / "stage").write_bytes(stage.to_bytes(signer))


def test_what_was_interrupted_is_finished_under_the_old_key(
    run: Logged, tmp_path: Path
) -> None:
    old = log_key(run.keys / "log.pem")
    shutil.copytree(run.log, tmp_path / "before")
    index = appended(run)
    data = run.evidence().view.entries[index]
    shutil.rmtree(run.log)
    shutil.copytree(tmp_path / "before", run.log)
    run.pin.unlink()
    staged(run, data)
    record, *_ = rotate_key(run.run, "log")
    assert record.index == index + 1
    assert leaf_hash(data).hex() == record.previous
    # The checkpoint of what was interrupted is the old key's.
    note = parse_note((run.log / "signed" / str(index + 1)).read_bytes())
    assert [signature.key_id for signature in note.signatures] == [old.key_id]
    assert run.failures() == []


OPERATIONS = ("fsync", "replace", "rename", "link", "unlink")


def killed_at(number: int, job: Callable[[], object]) -> bool:
    """Do something in a process that dies before its n-th durable operation."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == signal.SIGKILL
    left = number

    def fragile(real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return operation

    for name in OPERATIONS:
        setattr(os, name, fragile(getattr(os, name)))
    try:
        job()
    finally:
        os._exit(0)


@pytest.mark.slow
@pytest.mark.parametrize("role", ["coordinator", "log"])
def test_a_rotation_killed_at_every_moment(tmp_path: Path, role: KeyRole) -> None:
    fresh = logged(tmp_path / "fresh")
    before = (fresh.log / "checkpoint").read_bytes()
    old = log_key(fresh.keys / "log.pem")
    number, rotated = 1, []
    while True:
        base = tmp_path / str(number)
        shutil.copytree(tmp_path / "fresh", base)
        run = Logged(base / "run", base / "keys")
        killed = killed_at(number, partial(rotate_key, run.run, role))
        assert run.failures(policy_of(old), before) == []
        # Whoever comes next finishes what was begun, and can go on.
        run.open().close()
        rotated.append(len(run.evidence().custody.extra))
        rotate_key(run.run, role)
        assert len(run.evidence().custody.extra) == rotated[-1] + 1
        assert run.failures(policy_of(old), before) == []
        if not killed:
            break
        number += 1
    # Control: the kills came on both sides of the entry, which is never lost again.
    assert rotated == sorted(rotated)
    assert set(rotated) == {0, 1}
    assert rotated.count(0) > 5
