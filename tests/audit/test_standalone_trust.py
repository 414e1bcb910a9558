# SPDX-License-Identifier: Apache-2.0
"""Keys, policies, witnesses, pins and clocks, by both verifiers."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import mldsa

from lexfed.audit.entries import Genesis
from lexfed.audit.standalone import verify as standalone
from lexfed.audit.storage.write_protocol import StagedAppend
from lexfed.audit.tree.checkpoint import Checkpoint, cosign, mldsa44_message, sign
from lexfed.audit.tree.merkle import Tree
from lexfed.signing.keys import Signer
from lexfed.signing.notes import (
    MLDSA44_COSIGNER,
    NoteSignature,
    SignedNote,
    VerifierKey,
    parse_note,
)
from support.audit.two_verifiers import compared, failed, tables
from support.audit.worlds import (
    COORDINATOR,
    LOG,
    ORIGIN,
    START,
    FakeRun,
    fake_run,
    place,
    public_key,
    signer,
    write_log,
)

KEYS = tables(Path(__file__).with_name("test_verify_keys.py"))
NEW_LOG: Signer = KEYS.NEW_LOG
NEW_COORDINATOR: Signer = KEYS.NEW_COORDINATOR
WITNESSES: tuple[Signer, ...] = KEYS.WITNESSES


def checkpoint_of(entries: Sequence[bytes], origin: str = ORIGIN) -> Checkpoint:
    tree = Tree()
    for entry in entries:
        tree.append(entry)
    return Checkpoint(origin, tree.size, tree.root())


def witnessed(count: int, **settings: Any) -> FakeRun:
    run = fake_run(**settings)
    when = START + timedelta(minutes=5)
    run.cosigners = tuple((witness, when) for witness in WITNESSES[:count])
    return run


def rotated() -> FakeRun:
    run = fake_run()
    run.add(KEYS.log_rotation(), "rotation/1", COORDINATOR, LOG, NEW_LOG)
    run.log_signers = (NEW_LOG,)
    return run


# Rotation


def test_a_rotated_log_key_is_followed(tmp_path: Path) -> None:
    run = rotated()
    pin = sign(checkpoint_of(run.sealed()[:6]), LOG)
    write_log(tmp_path / "run/log", run.sealed()[:6], (LOG,))
    folder = run.write(tmp_path / "run")
    assert failed(compared(folder)) == []
    for known in (LOG, NEW_LOG):
        rows = compared(folder, KEYS.policy(known), pin)
        assert rows["log key"]["status"] == rows["pin"]["status"] == "OK"


@pytest.mark.parametrize("signers", [(LOG,), (signer(ORIGIN, "thief"),)])
def test_a_retired_or_unknown_key_does_not_sign(
    signers: tuple[Signer, ...], tmp_path: Path
) -> None:
    run = rotated()
    run.log_signers = signers
    assert failed(compared(run.write(tmp_path / "run"))) == ["log"]


def test_a_rotated_coordinator_signs_from_then_on(tmp_path: Path) -> None:
    run = fake_run()
    rotation = KEYS.coordinator_rotation()
    run.add(rotation, "rotation/1", COORDINATOR, NEW_COORDINATOR)
    run.drafts.insert(5, run.drafts.pop())
    for draft in run.drafts[6:]:
        draft.signers = (NEW_COORDINATOR,)
    assert failed(compared(run.write(tmp_path / "1"))) == []
    run.drafts[7].signers = (COORDINATOR,)
    assert failed(compared(run.write(tmp_path / "2"))) == ["entry signatures"]


ROTATIONS = {
    "from another": KEYS.log_rotation(old="0" * 64),
    "no vkey": KEYS.log_rotation(vkey=None),
    "vkey of the old": KEYS.log_rotation(vkey=LOG.verifier.vkey),
    "another name": KEYS.log_rotation(vkey=signer("x").verifier.vkey),
    "a cosigner's": KEYS.log_rotation(vkey=NEW_LOG.cosigner.vkey),
    "two keys": KEYS.log_rotation(new=public_key(NEW_COORDINATOR)),
    "wrong id": KEYS.log_rotation(
        new=public_key(NEW_LOG).model_copy(update={"keyid": "0" * 64})
    ),
    "coordinator from another": KEYS.coordinator_rotation(old="0" * 64),
    "coordinator with vkey": KEYS.coordinator_rotation(vkey=LOG.verifier.vkey),
}


@pytest.mark.parametrize("name", ROTATIONS)
def test_rotations_that_do_not_fit(name: str, tmp_path: Path) -> None:
    run = fake_run()
    run.add(ROTATIONS[name], "rotation/1", COORDINATOR, LOG, NEW_LOG)
    assert failed(compared(run.write(tmp_path / "run"))) == ["log"]


@pytest.mark.parametrize("vkey", ["", "no key", signer("x").verifier.vkey])
def test_entry_0_names_the_key_of_this_log(vkey: str, tmp_path: Path) -> None:
    run = fake_run()
    run.edit(Genesis, log=vkey)
    folder = run.write(tmp_path / "run")
    assert failed(compared(folder)) == ["log"]
    assert failed(compared(folder, KEYS.policy(LOG))) == ["log"]


def test_a_log_begins_with_a_genesis(tmp_path: Path) -> None:
    run = fake_run()
    del run.drafts[0]
    for number, each in enumerate((run, FakeRun())):
        folder = each.write(tmp_path / str(number))
        rows = compared(folder, KEYS.policy(LOG))
        assert rows["log"]["detail"].startswith("entry 0: entry 0 is not a genesis")


def test_what_a_writer_has_not_finished_is_no_part_of_the_log(tmp_path: Path) -> None:
    run = fake_run()
    run.drafts.append(run.drafts[-1])
    *entries, last = run.sealed()
    del run.drafts[-1]
    write_log(tmp_path / "run/log", [*entries, last])
    folder = run.write(tmp_path / "run")
    before = checkpoint_of(entries)
    stage = StagedAppend(ORIGIN, before.size, before.root, (last,))
    place(folder / "log/stage", stage.to_bytes(LOG))
    rows = compared(folder)
    assert failed(rows) == []
    assert "unfinished entries" in rows["log"]["detail"]
    (folder / "log/stage").unlink()
    assert failed(compared(folder)) == ["log"]


# Policies and witnesses


def test_only_a_policy_says_whose_log_it_is(tmp_path: Path) -> None:
    folder = fake_run().write(tmp_path / "run")
    assert compared(folder)["log key"]["status"] == "NOTE"
    assert compared(folder, b"quorum none\n")["log key"]["status"] == "NOTE"
    assert compared(folder, KEYS.policy(LOG))["log key"]["status"] == "OK"
    stranger = KEYS.policy(signer("other.example/log"))
    assert failed(compared(folder, stranger)) == ["log"]


@pytest.mark.parametrize(
    ("count", "quorum", "status"),
    [
        (3, "two", "OK"),
        (2, "two", "OK"),
        (1, "two", "FAIL"),
        (0, "two", "FAIL"),
        (2, "w1", "OK"),
        (1, "w1", "FAIL"),
        (3, "none", "NOTE"),
    ],
)
def test_a_quorum_of_witnesses(
    count: int, quorum: str, status: str, tmp_path: Path
) -> None:
    asked = KEYS.policy(LOG, quorum=quorum, witnesses=WITNESSES)
    rows = compared(witnessed(count).write(tmp_path / "run"), asked)
    assert rows["witnesses"]["status"] == status
    assert ("cannot be excluded" in rows["witnesses"]["detail"]) == (status != "OK")


def test_witnesses_that_the_log_names_itself_are_only_a_note(tmp_path: Path) -> None:
    own = KEYS.policy(LOG, quorum="two", witnesses=WITNESSES)
    run = witnessed(2, witnesses=own)
    row = compared(run.write(tmp_path / "1"))["witnesses"]
    assert row["status"] == "NOTE"
    assert "quorum `two` met" in row["detail"]
    del run.blobs[next(d for d, content in run.blobs.items() if content == own)]
    assert "witnesses" in failed(compared(run.write(tmp_path / "2")))


def test_a_wrong_cosignature_fails(tmp_path: Path) -> None:
    folder = witnessed(2).write(tmp_path / "run")
    path = folder / "log/checkpoint"
    lines = path.read_bytes().split(b"\n")
    name, _, value = lines[-2].rpartition(b" ")
    changed = value[:40] + (b"A" if value[40:41] != b"A" else b"B") + value[41:]
    path.write_bytes(b"\n".join([*lines[:-2], name + b" " + changed, b""]))
    asked = KEYS.policy(LOG, quorum="two", witnesses=WITNESSES)
    assert "witnesses" in failed(compared(folder, asked))
    assert failed(compared(folder)) == []


def cosigned_by_mldsa(folder: Path, seconds: int) -> bytes:
    """Let an ML-DSA-44 witness cosign, and return a policy that asks for it."""
    private = mldsa.MLDSA44PrivateKey.from_seed_bytes(bytes(32))
    name = "quantum.example"
    key = VerifierKey(name, MLDSA44_COSIGNER, private.public_key().public_bytes_raw())
    path = folder / "log/checkpoint"
    note = parse_note(path.read_bytes())
    message = mldsa44_message(Checkpoint.parse(note.body), name, seconds)
    value = seconds.to_bytes(8, "big") + private.sign(message)
    mark = NoteSignature(name, key.key_id, value)
    path.write_bytes(note.with_signatures([mark]).to_bytes())
    return f"witness q {key.vkey}\nquorum q\n".encode()


def test_a_witness_of_the_years_after_quantum_computers(tmp_path: Path) -> None:
    folder = fake_run().write(tmp_path / "run")
    asked = cosigned_by_mldsa(folder, int(START.timestamp()) + 300)
    assert compared(folder, asked)["witnesses"]["status"] == "OK"
    path = folder / "log/checkpoint"
    text = path.read_bytes()
    path.write_bytes(
        text[:-100] + (b"A" if text[-100:-99] != b"A" else b"B") + text[-99:]
    )
    assert failed(compared(folder, asked)) == ["witnesses", "times"]


def test_an_older_cryptography_cannot_check_such_a_witness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fake_run().write(tmp_path / "run")
    asked = cosigned_by_mldsa(folder, int(START.timestamp()) + 300)
    monkeypatch.setitem(
        __import__("sys").modules,
        "cryptography.hazmat.primitives.asymmetric.mldsa",
        None,
    )
    monkeypatch.delattr("cryptography.hazmat.primitives.asymmetric.mldsa")
    found = standalone.verify(str(folder), asked, None)
    row = {each["claim"]: each for each in found["checks"]}["witnesses"]
    assert row["status"] == "FAIL"
    assert "newer `cryptography`" in row["detail"]


# Pins and clocks


def test_a_pin_shows_what_was_cut_off_or_replaced(tmp_path: Path) -> None:
    whole, short, other = fake_run(), fake_run(), fake_run(sites=2)
    note = sign(checkpoint_of(whole.sealed()), LOG)
    assert failed(compared(whole.write(tmp_path / "whole"), None, note)) == []
    del short.drafts[-1:]
    folder = short.write(tmp_path / "short")
    assert failed(compared(folder)) == []
    assert failed(compared(folder, None, note)) == ["pin"]
    assert failed(compared(other.write(tmp_path / "other"), None, note)) == ["pin"]


def signed_for_another() -> bytes:
    """Return a checkpoint of another log under the key and name of this one."""
    other = checkpoint_of([b"x"], "x.example")
    mark = NoteSignature(LOG.name, LOG.verifier.key_id, LOG.sign(other.body()))
    return SignedNote(other.body(), (mark,)).to_bytes()


PINS = {
    "the key of this log, another log": signed_for_another(),
    "empty": b"",
    "no note": b"pin",
    "another key": sign(checkpoint_of([b"x"]), signer(ORIGIN, "thief")),
    "another log": sign(checkpoint_of([b"x"], "x.example"), signer("x.example")),
}


@pytest.mark.parametrize("name", PINS)
def test_a_pin_is_a_signed_checkpoint_of_this_log(name: str, tmp_path: Path) -> None:
    folder = fake_run().write(tmp_path / "run")
    assert failed(compared(folder, None, PINS[name])) == ["pin"]


def test_entries_dated_after_their_cosignature_are_named(tmp_path: Path) -> None:
    asked = KEYS.policy(LOG, quorum="two", witnesses=WITNESSES)
    run = witnessed(2)
    assert compared(run.write(tmp_path / "1"), asked)["times"]["status"] == "OK"
    run.drafts[6].place["time"] = "2027-11-15T12:00:00Z"
    row = compared(run.write(tmp_path / "2"), asked)["times"]
    assert (row["status"], row["index"]) == ("FAIL", 6)


def test_entries_dated_before_an_earlier_cosignature_are_named(tmp_path: Path) -> None:
    asked = KEYS.policy(LOG, quorum="two", witnesses=WITNESSES)
    run = witnessed(2)
    folder = run.write(tmp_path / "run")
    early = checkpoint_of(run.sealed()[:5])
    for seen, status in ((START, "OK"), (START + timedelta(days=365), "FAIL")):
        mark = cosign(early.body(), WITNESSES[0], int(seen.timestamp()))
        note = parse_note(sign(early, LOG)).with_signatures([mark])
        place(folder / "log/cosigned/5", note.to_bytes())
        row = compared(folder, asked)["times"]
        assert row["status"] == status
    assert row["index"] == 5
    place(folder / "log/cosigned/6", note.to_bytes())
    assert failed(compared(folder, asked)) == ["log"]


@pytest.mark.parametrize(
    ("time", "status"),
    [("2025-11-15T12:00:00Z", "NOTE"), ("2026-19-39T29:59:69Z", "FAIL")],
)
def test_strange_clocks(time: str, status: str, tmp_path: Path) -> None:
    run = fake_run()
    run.drafts[6].place["time"] = time
    assert compared(run.write(tmp_path / "run"))["times"]["status"] == status
