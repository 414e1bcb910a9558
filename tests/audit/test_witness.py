# SPDX-License-Identifier: Apache-2.0
"""A witness answers as the specification says and remembers what it signed."""

import errno
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.tree.checkpoint import Checkpoint, sign, verify_cosignature
from lexfed.audit.tree.proof_files import ConsistencyProof
from lexfed.audit.witness.conflict_proof import Conflict
from lexfed.audit.witness.cosigner import MAX_REQUEST, Witness, WitnessReply, digest_of
from lexfed.errors import AuditError
from lexfed.signing.notes import NoteSignature, SignedNote, parse_note
from support.audit.witnessed import (
    ORIGIN,
    WITNESS,
    Book,
    know,
    make_witness,
    numbered,
    signer,
)

Patch = pytest.MonkeyPatch


class Clock:
    """A clock that tests can set."""

    def __init__(self) -> None:
        self.now = 1_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_witness(tmp_path / "w")


@pytest.fixture
def witness(folder: Path, clock: Clock) -> Iterator[Witness]:
    opened = Witness(folder, clock)
    yield opened
    opened.close()


def cosigned_at(answer: WitnessReply, note: bytes, by: Witness) -> int:
    assert answer.status == 200, answer
    line = answer.body.decode()
    assert line.startswith("\u2014 ")
    assert line.endswith("\n")
    return verify_cosignature(parse_note(note).body, NoteSignature.parse(line), by.key)


def conflict(size: int) -> WitnessReply:
    return WitnessReply(409, f"{size}\n".encode(), "text/x.tlog.size")


# The rules, in the order of the specification


def test_the_first_checkpoint_is_cosigned_with_the_time(
    witness: Witness, clock: Clock
) -> None:
    log = numbered(3)
    clock.now = 1_234
    assert cosigned_at(witness.add_checkpoint(log.ask(0)), log.note(), witness) == 1_234


def test_a_log_that_grows_is_cosigned_again(witness: Witness) -> None:
    log = numbered(3)
    witness.add_checkpoint(log.ask(0))
    for old, new in ((3, 5), (5, 6), (6, 6), (6, 300)):
        log.add(*(f"more {n}" for n in range(new - log.tree.size)))
        answer = witness.add_checkpoint(log.ask(old))
        cosigned_at(answer, log.note(), witness)


def test_the_empty_log_is_cosigned(witness: Witness) -> None:
    log = Book()
    cosigned_at(witness.add_checkpoint(log.ask(0)), log.note(), witness)
    log.add("first")
    cosigned_at(witness.add_checkpoint(log.ask(0)), log.note(), witness)


def malformed() -> dict[str, bytes]:
    log = numbered(8)
    good = log.ask(3)
    old, _, rest = good.partition(b"\n")
    return {
        "nothing": b"",
        "binary": bytes(range(256)),
        "no old line": rest,
        "old without a number": b"old \n" + rest,
        "old with a leading zero": b"old 03\n" + rest,
        "old with a sign": b"old +3\n" + rest,
        "old beyond 2^63": b"old %d\n" % 2**64 + rest,
        "old of many digits": b"old " + b"9" * 5_000 + b"\n" + rest,
        "CRLF": good.replace(b"\n", b"\r\n"),
        "no checkpoint": old + b"\n\n",
        "no signature": old + b"\n\n" + log.note().split(b"\n\n")[0] + b"\n",
        "a hash of 31 bytes": old + b"\n" + b"A" * 40 + b"AA==\n\n" + log.note(),
        "64 proof lines": old + b"\n" + (b"A" * 43 + b"=\n") * 64 + b"\n" + log.note(),
        "cut off": good[:-1],
        "too long": good + b"x" * MAX_REQUEST,
        "extension line": good.replace(b"\n\n\xe2", b"\nmore\n\n\xe2"),
        "size 0 and a root": ConsistencyProof(
            0, (), log.note().replace(b"\n8\n", b"\n0\n")
        ).to_bytes(),
    }


@pytest.mark.parametrize("name", malformed())
def test_malformed_requests_are_400(witness: Witness, name: str) -> None:
    answer = witness.add_checkpoint(malformed()[name])
    assert answer.status == 400
    assert len(answer.body) < 400


def test_sixty_three_proof_lines_are_read(witness: Witness) -> None:
    body = ConsistencyProof(3, (bytes(32),) * 63, numbered(8).note()).to_bytes()
    assert witness.add_checkpoint(body) == conflict(0)


def test_an_unknown_origin_is_404(witness: Witness) -> None:
    other = numbered(3, by=signer("audit.example.org/run-2"))
    assert witness.add_checkpoint(other.ask(0)).status == 404


def test_a_key_we_do_not_know_for_the_origin_is_403(witness: Witness) -> None:
    thief = numbered(3, by=signer(seed=2))
    assert witness.add_checkpoint(thief.ask(0)).status == 403


def test_a_wrong_signature_of_a_known_key_is_403(witness: Witness) -> None:
    log = numbered(3)
    note = parse_note(log.note())
    other = parse_note(log.note(2))
    body = SignedNote(note.body, other.signatures).to_bytes()
    asked = ConsistencyProof(0, (), body).to_bytes()
    assert witness.add_checkpoint(asked).status == 403


def test_signatures_of_unknown_keys_are_ignored_and_not_kept(witness: Witness) -> None:
    log = numbered(3)
    note = parse_note(log.note())
    stranger = NoteSignature("stranger.example", b"\x01\x02\x03\x04", b"x" * 64)
    twin = NoteSignature(ORIGIN, b"\x01\x02\x03\x04", b"x" * 64)
    crowd = SignedNote(note.body, (stranger, *note.signatures, twin)).to_bytes()
    answer = witness.add_checkpoint(ConsistencyProof(0, (), crowd).to_bytes())
    cosigned_at(answer, log.note(), witness)
    kept = parse_note(witness.latest(digest_of(ORIGIN)).body)
    assert [each.name for each in kept.signatures] == [ORIGIN, WITNESS]


def test_an_old_size_beyond_the_checkpoint_is_400(witness: Witness) -> None:
    log = numbered(3)
    witness.add_checkpoint(log.ask(0))
    body = ConsistencyProof(4, (), log.note()).to_bytes()
    answer = witness.add_checkpoint(body)
    assert answer.status == 400
    assert b"old size" in answer.body


@pytest.mark.parametrize("old", [0, 1, 2, 4])
def test_another_old_size_is_409_with_the_size(witness: Witness, old: int) -> None:
    log = numbered(3)
    witness.add_checkpoint(log.ask(0))
    log.add("a", "b")
    assert witness.add_checkpoint(log.ask(old)) == conflict(3)


def test_an_unseen_log_is_at_size_0(witness: Witness) -> None:
    assert witness.add_checkpoint(numbered(3).ask(2)) == conflict(0)


def test_a_rollback_is_409(witness: Witness) -> None:
    log = numbered(5)
    witness.add_checkpoint(log.ask(0))
    assert witness.add_checkpoint(log.ask(0, 4)) == conflict(5)
    assert witness.add_checkpoint(log.ask(4, 4)) == conflict(5)


def test_a_fork_is_422_and_changes_nothing(witness: Witness) -> None:
    log, fork = numbered(3), Book("entry 0", "changed", "entry 2", "entry 3")
    witness.add_checkpoint(log.ask(0))
    assert witness.add_checkpoint(fork.ask(3)).status == 422
    log.add("true")
    cosigned_at(witness.add_checkpoint(log.ask(3)), log.note(), witness)


@pytest.mark.parametrize("change", ["missing", "longer", "swapped", "bit"])
def test_a_wrong_proof_is_422(witness: Witness, change: str) -> None:
    log = numbered(3)
    witness.add_checkpoint(log.ask(0))
    log.add("a", "b", "c", "d")
    proof = log.tree.consistency_proof(3, 7)
    wrong = {
        "missing": proof[:-1],
        "longer": (*proof, bytes(32)),
        "swapped": (proof[1], proof[0], *proof[2:]),
        "bit": (bytes([proof[0][0] ^ 1]) + proof[0][1:], *proof[1:]),
    }[change]
    body = ConsistencyProof(3, wrong, log.note()).to_bytes()
    assert witness.add_checkpoint(body).status == 422


@pytest.mark.parametrize("size", [0, 3])
def test_a_proof_where_nothing_is_to_prove_is_422(witness: Witness, size: int) -> None:
    # From size 0 every log grows, and from its own size a log does not grow.
    log = numbered(3)
    if size:
        witness.add_checkpoint(log.ask(0))
    body = ConsistencyProof(size, (bytes(32),), log.note()).to_bytes()
    assert witness.add_checkpoint(body).status == 422


def test_same_size_and_other_root_is_409_in_plain_text(witness: Witness) -> None:
    log, fork = numbered(3), Book("entry 0", "entry 1", "changed")
    witness.add_checkpoint(log.ask(0))
    answer = witness.add_checkpoint(fork.ask(3))
    assert answer.status == 409
    # With the type of a size, a client would try again with the same old size.
    assert answer.content_type.startswith("text/plain")


# Memory


def test_two_roots_for_one_size_leave_a_proof(folder: Path, witness: Witness) -> None:
    log, fork = numbered(3), Book("entry 0", "entry 1", "changed")
    witness.add_checkpoint(log.ask(0))
    witness.add_checkpoint(fork.ask(3))
    kept = folder / "conflicts" / digest_of(ORIGIN)
    first = kept.read_bytes()
    said = Conflict.parse(first).verify(signer().verifier)
    assert said == f"`{ORIGIN}` signed two roots for size 3"
    witness.add_checkpoint(Book("x", "y", "z").ask(3))
    assert kept.read_bytes() == first


def test_a_proof_that_cannot_be_kept_does_not_change_the_refusal(
    folder: Path, witness: Witness
) -> None:
    log, fork = numbered(3), Book("entry 0", "entry 1", "changed")
    witness.add_checkpoint(log.ask(0))
    (folder / "conflicts").write_text("in the way")
    assert witness.add_checkpoint(fork.ask(3)).status == 409
    log.add("more")
    cosigned_at(witness.add_checkpoint(log.ask(3)), log.note(), witness)


def test_it_remembers_after_a_restart(folder: Path, clock: Clock) -> None:
    log = numbered(3)
    first = Witness(folder, clock)
    first.add_checkpoint(log.ask(0))
    first.close()
    log.add("more")
    again = Witness(folder, clock)
    assert again.add_checkpoint(log.ask(0)) == conflict(3)
    cosigned_at(again.add_checkpoint(log.ask(3)), log.note(), again)
    again.close()


def test_the_latest_checkpoint_is_served_with_both_signatures(witness: Witness) -> None:
    assert witness.latest(digest_of(ORIGIN)).status == 404
    log = numbered(3)
    line = witness.add_checkpoint(log.ask(0)).body
    assert witness.latest(digest_of(ORIGIN)).body == log.note() + line


def test_logs_do_not_mix(folder: Path, clock: Clock) -> None:
    other = signer("audit.example.org/run-2", seed=2)
    know(folder, signer(), other)
    witness = Witness(folder, clock)
    assert witness.origins == (ORIGIN, other.name)
    one, two = numbered(3), numbered(5, by=other)
    cosigned_at(witness.add_checkpoint(one.ask(0)), one.note(), witness)
    cosigned_at(witness.add_checkpoint(two.ask(0)), two.note(), witness)
    assert witness.add_checkpoint(one.ask(0)) == conflict(3)
    assert witness.add_checkpoint(two.ask(0)) == conflict(5)
    witness.close()


def test_a_rotated_key_continues_the_log(folder: Path, witness: Witness) -> None:
    old, new = numbered(3), numbered(5, by=signer(seed=2))
    witness.add_checkpoint(old.ask(0))
    assert witness.add_checkpoint(new.ask(3)).status == 403
    know(folder, signer(), signer(seed=2))
    witness.reload()
    cosigned_at(witness.add_checkpoint(new.ask(3)), new.note(), witness)
    both = sign(Checkpoint(ORIGIN, 5, new.tree.root()), signer(), signer(seed=2))
    answer = witness.add_checkpoint(ConsistencyProof(5, (), both).to_bytes())
    cosigned_at(answer, both, witness)
    kept = witness.latest(digest_of(ORIGIN)).body
    assert kept == both + answer.body


def test_a_wrong_list_leaves_the_old_one_in_force(
    folder: Path, witness: Witness
) -> None:
    (folder / "logs").write_text("nonsense\n")
    with pytest.raises(AuditError, match="logs:1: expected `log <vkey>`"):
        witness.reload()
    log = numbered(1)
    cosigned_at(witness.add_checkpoint(log.ask(0)), log.note(), witness)


def test_times_never_go_back(witness: Witness, clock: Clock) -> None:
    log = numbered(3)
    witness.add_checkpoint(log.ask(0))
    log.add("more")
    clock.now -= 1
    answer = witness.add_checkpoint(log.ask(3))
    assert (answer.status, b"clock" in answer.body) == (500, True)
    clock.now += 1
    assert cosigned_at(witness.add_checkpoint(log.ask(3)), log.note(), witness) == 1_000


def test_a_clock_before_1970_signs_nothing(witness: Witness, clock: Clock) -> None:
    clock.now = 0
    assert witness.add_checkpoint(numbered(1).ask(0)).status == 500


@pytest.mark.parametrize("call", ["fsync", "rename", "write"])
def test_a_failed_write_is_500_until_the_next_start(
    folder: Path, clock: Clock, monkeypatch: Patch, call: str
) -> None:
    log = numbered(3)
    witness = Witness(folder, clock)
    witness.add_checkpoint(log.ask(0))
    log.add("more")

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        assert witness.add_checkpoint(log.ask(3)).status == 500
    # The disk works again, but nobody knows what is on it.
    assert witness.add_checkpoint(log.ask(3)).status == 500
    witness.close()
    again = Witness(folder, clock)
    # Both outcomes are sound: nothing was acknowledged.
    known = 3 if again.add_checkpoint(log.ask(0)) == conflict(3) else 4
    cosigned_at(again.add_checkpoint(log.ask(known)), log.note(), again)
    again.close()


def test_a_stopped_witness_answers_500(folder: Path, clock: Clock) -> None:
    witness = Witness(folder, clock)
    witness.close()
    assert witness.add_checkpoint(numbered(1).ask(0)).status == 500


def test_the_race_of_the_specification_cannot_happen(folder: Path) -> None:
    """A for size N is checked, then B for N + K comes before A is stored.

    The clock is read between check and store: there A waits for B to finish, which
    it can only do if check and store are two steps.
    """
    log = numbered(9)
    finished = threading.Event()
    answers: dict[str, WitnessReply] = {}
    asked: list[threading.Thread] = []

    def second() -> None:
        answers["B"] = served.add_checkpoint(log.ask(2, 9))
        finished.set()

    def clock() -> int:
        if not asked:
            asked.append(threading.Thread(target=second))
            return 1_000
        if len(asked) == 1:
            asked.append(asked[0])
            asked[0].start()
            finished.wait(timeout=0.3)
        return 1_001

    served = Witness(folder, clock)
    served.add_checkpoint(log.ask(0, 2))
    answers["A"] = served.add_checkpoint(log.ask(2, 5))
    asked[0].join()
    cosigned_at(answers["A"], log.note(5), served)
    assert answers["B"] == conflict(5)
    served.close()


def test_requests_at_once_are_cosigned_one_after_the_other(
    folder: Path, clock: Clock
) -> None:
    log = numbered(9)
    witness = Witness(folder, clock)
    gate = threading.Barrier(8)
    answers: dict[int, WitnessReply] = {}

    def submit(new: int) -> None:
        body = log.ask(0, new)
        gate.wait()
        answers[new] = witness.add_checkpoint(body)

    threads = [threading.Thread(target=submit, args=(new,)) for new in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (won,) = [new for new, answer in answers.items() if answer.status == 200]
    assert [a for new, a in answers.items() if new != won] == [conflict(won)] * 7
    assert witness.add_checkpoint(log.ask(0)) == conflict(won)
    witness.close()


def test_by_default_it_tells_the_time_of_the_machine(folder: Path) -> None:
    log = numbered(1)
    witness = Witness(folder)
    before = int(time.time())
    at = cosigned_at(witness.add_checkpoint(log.ask(0)), log.note(), witness)
    assert before <= at <= time.time()
    witness.close()


def test_the_name_of_a_witness_is_a_key_name(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="not a key name"):
        Witness.create(tmp_path / "w", "two words")
    assert not (tmp_path / "w").exists()
