# SPDX-License-Identifier: Apache-2.0
"""The folder of a witness: refused unless it is the one the witness left."""

import os
import stat
from pathlib import Path

import pytest

from lexfed.audit.witness.cosigner import (
    Witness,
    WitnessFolder,
    create_folder,
    digest_of,
    keys_of,
    parse_logs,
)
from lexfed.errors import AuditError, LexfedError, RunFolderError
from lexfed.signing.keys import Signer, load_key
from lexfed.signing.notes import ED25519, VerifierKey, parse_note
from support.audit.witnessed import (
    ORIGIN,
    WITNESS,
    Book,
    know,
    make_witness,
    numbered,
    policy_of,
    signer,
)

LOG = signer().verifier
OTHER = signer("audit.example.org/run-2", seed=2).verifier


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_witness(tmp_path / "w")


@pytest.fixture
def used(folder: Path) -> Path:
    witness = Witness(folder, lambda: 1_000)
    witness.add_checkpoint(numbered(3).ask(0))
    witness.close()
    return folder


def state_of(folder: Path) -> Path:
    (file,) = (folder / "state").iterdir()
    return file


def test_a_new_witness_has_a_key_of_its_own(tmp_path: Path) -> None:
    key = create_folder(tmp_path / "w", WITNESS)
    folder = tmp_path / "w"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "witness.pem").stat().st_mode) == 0o600
    assert (folder / "vkey").read_text() == f"{key.vkey}\n"
    assert Signer(WITNESS, load_key(folder / "witness.pem")).cosigner == key
    opened = WitnessFolder(folder)
    assert opened.logs == {}
    opened.close()


def test_a_witness_is_not_made_twice(folder: Path) -> None:
    before = (folder / "vkey").read_text()
    with pytest.raises(RunFolderError, match="never overwritten"):
        create_folder(folder, WITNESS)
    assert (folder / "vkey").read_text() == before


def test_a_list_of_logs_that_is_there_stays(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir(mode=0o700)
    know(folder, signer())
    create_folder(folder, WITNESS)
    opened = WitnessFolder(folder)
    assert list(opened.logs) == [ORIGIN]
    opened.close()


def test_two_processes_do_not_share_a_folder(folder: Path) -> None:
    first = WitnessFolder(folder)
    with pytest.raises(RunFolderError, match="held by another process"):
        WitnessFolder(folder)
    first.close()
    WitnessFolder(folder).close()


@pytest.mark.parametrize("name", ["vkey", "logs", "witness.pem"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(RunFolderError, match=name):
        WitnessFolder(folder)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="gone"):
        Witness(tmp_path / "gone")


def test_a_key_that_others_can_read_is_refused(folder: Path) -> None:
    os.chmod(folder / "witness.pem", 0o640)
    with pytest.raises(RunFolderError, match="open to other users"):
        WitnessFolder(folder)


def test_a_public_key_of_another_key_is_refused(folder: Path) -> None:
    (folder / "vkey").write_text(signer(WITNESS, seed=5).cosigner.vkey + "\n")
    with pytest.raises(AuditError, match="not the public key of") as caught:
        WitnessFolder(folder)
    assert WITNESS in caught.value.hint


def test_a_log_with_the_key_of_the_witness_is_refused(folder: Path) -> None:
    own = Signer("audit.example.org/mine", load_key(folder / "witness.pem"))
    know(folder, own)
    with pytest.raises(AuditError, match="has the key of this witness"):
        WitnessFolder(folder)


# State


def test_the_state_is_a_note_that_anyone_can_check(used: Path) -> None:
    witness = Witness(used)
    policy = policy_of(witness.key, quorum="all")
    trusted = policy.check(state_of(used).read_bytes())
    assert trusted.quorum_met
    assert trusted.witnesses == {"w1": 1_000}
    witness.close()


def damaged(note: bytes) -> dict[str, bytes]:
    body, _, lines = note.partition(b"\n\n")
    log_line, witness_line = lines.splitlines(keepends=True)
    return {
        "empty": b"",
        "not a note": b"nothing",
        "without our signature": body + b"\n\n" + log_line,
        "another size": note.replace(b"\n3\n", b"\n2\n"),
        "another root": numbered(3).note(2).split(b"\n\n")[0] + b"\n\n" + lines,
        "a changed signature": note.replace(
            witness_line, witness_line[:-8] + b"AAAAAA==\n"[-8:]
        ),
        "too long": note + b"x" * 70_000,
    }


@pytest.mark.parametrize("name", damaged(numbered(3).note() + b"\xe2\x80\x94 w x\n"))
def test_a_damaged_state_is_refused(used: Path, name: str) -> None:
    file = state_of(used)
    content = damaged(file.read_bytes())[name]
    assert content != file.read_bytes()
    file.write_bytes(content)
    with pytest.raises(AuditError, match=file.name):
        WitnessFolder(used)


def test_the_state_of_another_log_is_refused(used: Path) -> None:
    file = state_of(used)
    file.rename(file.with_name("0" * 64))
    with pytest.raises(AuditError, match=f"is of `{ORIGIN}`"):
        WitnessFolder(used)


def test_the_state_of_another_witness_is_refused(used: Path, tmp_path: Path) -> None:
    other = make_witness(tmp_path / "v")
    (other / "state").mkdir()
    (other / "state" / state_of(used).name).write_bytes(state_of(used).read_bytes())
    with pytest.raises(AuditError, match="not cosigned by"):
        WitnessFolder(other)


def test_a_link_in_the_state_is_refused(used: Path, tmp_path: Path) -> None:
    file = state_of(used)
    target = tmp_path / "elsewhere"
    file.rename(target)
    file.symlink_to(target)
    with pytest.raises(AuditError, match="link"):
        WitnessFolder(used)


def test_a_forgotten_log_stays_in_the_state(used: Path) -> None:
    know(used, signer("audit.example.org/run-2", seed=2))
    WitnessFolder(used).close()
    know(used, signer())
    witness = Witness(used)
    assert witness.add_checkpoint(numbered(5).ask(0)).body == b"3\n"
    witness.close()


def test_what_a_killed_process_left_is_ignored(used: Path) -> None:
    (used / "part").write_bytes(b"half a no")
    witness = Witness(used)
    log = numbered(4)
    assert witness.add_checkpoint(log.ask(3)).status == 200
    kept = parse_note(state_of(used).read_bytes())
    assert kept.body == parse_note(log.note()).body
    witness.close()


# The list of logs


def test_lines_comments_and_addresses_are_read() -> None:
    text = f"# mine\n\n \t\nlog {LOG.vkey}\n  log\t{OTHER.vkey}  https://x.example\n"
    assert parse_logs(text, "logs") == {LOG.name: (LOG,), OTHER.name: (OTHER,)}


def test_two_keys_of_one_origin_are_one_log() -> None:
    new = signer(seed=3).verifier
    text = f"log {LOG.vkey}\nlog {new.vkey}"
    assert parse_logs(text, "logs") == {LOG.name: (LOG, new)}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("log", "expected `log <vkey>`"),
        (f"logs {LOG.vkey}", "expected `log <vkey>`"),
        (f"log {LOG.vkey} a b", "expected `log <vkey>`"),
        (f"witness w {LOG.vkey}", "expected `log <vkey>`"),
        ("quorum none", "expected `log <vkey>`"),
        (f"log {LOG.vkey}\r", "base64"),
        ("log a+b+c", "verifier key"),
        (f"log {signer().cosigner.vkey}", "cosigner's key"),
        (f"log {LOG.vkey}\nlog {LOG.vkey}", "there twice"),
        (f"log {LOG.vkey}\nlog {signer('other', 1).verifier.vkey}", "there twice"),
    ],
)
def test_a_wrong_line_is_named(line: str, said: str) -> None:
    number = 2 + line.count("\n")
    with pytest.raises(AuditError, match=said) as caught:
        parse_logs(f"# first\n{line}\n", "the list")
    assert caught.value.message.startswith(f"the list:{number}: ")


def test_a_list_that_is_not_text_is_refused(folder: Path) -> None:
    (folder / "logs").write_bytes(b"\xff")
    with pytest.raises(AuditError, match="not UTF-8 at byte 0"):
        WitnessFolder(folder)


def test_every_failure_gives_the_folder_back(folder: Path) -> None:
    (folder / "logs").write_text("nonsense")
    for _ in range(3):
        with pytest.raises(LexfedError, match="expected `log"):
            WitnessFolder(folder)
    know(folder, signer())
    WitnessFolder(folder).close()


def test_a_project_stands_for_the_logs_one_level_below() -> None:
    key = VerifierKey("audit.example.org/study/*", ED25519, signer().public)
    logs = parse_logs(f"log {key.vkey}\n", "logs")
    [found] = keys_of(logs, "audit.example.org/study/run-1")
    assert found == VerifierKey(
        "audit.example.org/study/run-1", ED25519, signer().public
    )
    for origin in (
        "audit.example.org/study",
        "audit.example.org/study/a/b",
        "audit.example.org/other/run-1",
        "run-1",
    ):
        assert keys_of(logs, origin) == ()


def test_a_log_of_its_own_name_has_exactly_its_own_keys() -> None:
    name = "audit.example.org/study/run-1"
    family = VerifierKey("audit.example.org/study/*", ED25519, signer().public)
    own = VerifierKey(name, ED25519, signer(seed=2).public)
    logs = parse_logs(f"log {family.vkey}\nlog {own.vkey}\n", "logs")
    assert keys_of(logs, name) == (own,)


def test_a_witness_of_a_project_keeps_each_log_to_one_history(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    made = Witness.create(folder, WITNESS)
    made.close()
    key = VerifierKey("audit.example.org/*", ED25519, signer().public)
    (folder / "logs").write_text(f"log {key.vkey}\n")
    witness = Witness(folder)
    try:
        for name in ("audit.example.org/run-1", "audit.example.org/run-2"):
            book = numbered(3, by=signer(name))
            assert witness.add_checkpoint(book.ask(0)).status == 200
            fork = Book("another", "history", "here", by=signer(name))
            assert witness.add_checkpoint(fork.ask(3)).status == 409
            assert (folder / "conflicts" / digest_of(name)).exists()
        stranger = numbered(3, by=signer("audit.example.org/run-3", seed=9))
        assert witness.add_checkpoint(stranger.ask(0)).status == 403
        elsewhere = numbered(3, by=signer("other.example.org/run-1"))
        assert witness.add_checkpoint(elsewhere.ask(0)).status == 404
    finally:
        witness.close()
