# SPDX-License-Identifier: Apache-2.0
"""Cosignatures of witnesses, in both algorithms."""

import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import mldsa

from lexfed.audit.tree.checkpoint import (
    MAX_TIME,
    Checkpoint,
    cosign,
    ed25519_message,
    mldsa44_message,
    sign,
    verify_cosignature,
)
from lexfed.errors import AuditError
from lexfed.signing.notes import (
    MLDSA44_COSIGNER,
    NoteSignature,
    VerifierKey,
    parse_note,
)
from support.log.judge import Judge
from support.log.plain import ORIGIN, signer

LOG = signer()
WITNESS = signer("witness.example/w1", 7)
ROOT = bytes(range(32))
HEAD = Checkpoint(ORIGIN, 42, ROOT)
BODY = HEAD.body()
TIME = 1_790_000_000


def test_a_cosignature_is_time_and_signature() -> None:
    line = cosign(BODY, WITNESS, TIME)
    assert len(line.value) == 72
    assert int.from_bytes(line.value[:8], "big") == TIME
    assert ed25519_message(BODY, TIME) == b"cosignature/v1\ntime 1790000000\n" + BODY
    assert verify_cosignature(BODY, line, WITNESS.cosigner) == TIME


def test_another_program_accepts_the_cosignature(judge: Judge, tmp_path: Path) -> None:
    note = parse_note(sign(HEAD, LOG)).with_signatures([cosign(BODY, WITNESS, TIME)])
    path = tmp_path / "note"
    path.write_bytes(note.to_bytes())
    keys = [LOG.verifier.vkey, WITNESS.cosigner.vkey]
    assert judge.run("note", path, *keys).stdout == "OK 2 signatures\n"
    late = cosign(BODY, WITNESS, TIME + 1)
    moved = NoteSignature(
        late.name, late.key_id, late.value[:7] + b"\0" + late.value[8:]
    )
    path.write_bytes(note.with_signatures([moved]).to_bytes())
    assert not judge.accepts("note", path, *keys)


@pytest.mark.parametrize("bit", range(0, 72 * 8, 7))
def test_every_changed_bit_of_a_cosignature_is_refused(bit: int) -> None:
    line = cosign(BODY, WITNESS, TIME)
    value = bytearray(line.value)
    value[bit // 8] ^= 1 << bit % 8
    with pytest.raises(AuditError):
        verify_cosignature(
            BODY, NoteSignature(line.name, line.key_id, bytes(value)), WITNESS.cosigner
        )


def test_a_cosignature_binds_the_checkpoint() -> None:
    line = cosign(BODY, WITNESS, TIME)
    with pytest.raises(AuditError, match="is wrong"):
        verify_cosignature(BODY.replace(b"42", b"43"), line, WITNESS.cosigner)
    with pytest.raises(AuditError, match="three lines"):
        verify_cosignature(b"no checkpoint\n", line, WITNESS.cosigner)


def test_a_cosignature_names_its_key() -> None:
    line = cosign(BODY, WITNESS, TIME)
    other = signer("witness.example/w2", 7)
    with pytest.raises(AuditError, match="not by the key"):
        verify_cosignature(BODY, line, other.cosigner)
    with pytest.raises(AuditError, match="is a log's"):
        verify_cosignature(BODY, line, WITNESS.verifier)


@pytest.mark.parametrize("size", [1, 8, 71, 73, 2428])
def test_a_cosignature_has_72_bytes(size: int) -> None:
    line = NoteSignature(WITNESS.name, WITNESS.cosigner.key_id, bytes(size))
    with pytest.raises(AuditError, match=f"expected 72 bytes, got: {size}"):
        verify_cosignature(BODY, line, WITNESS.cosigner)


@pytest.mark.parametrize("time", [0, -1, MAX_TIME + 1, 2**64])
def test_a_cosignature_states_a_time(time: int) -> None:
    with pytest.raises(AuditError, match="has no time"):
        cosign(BODY, WITNESS, time)


def test_times_that_no_clock_shows_are_refused_though_signed() -> None:
    assert verify_cosignature(BODY, cosign(BODY, WITNESS, MAX_TIME), WITNESS.cosigner)
    for time in (0, MAX_TIME + 1):
        value = time.to_bytes(8, "big") + WITNESS.sign(ed25519_message(BODY, time))
        line = NoteSignature(WITNESS.name, WITNESS.cosigner.key_id, value)
        with pytest.raises(AuditError, match="has no time"):
            verify_cosignature(BODY, line, WITNESS.cosigner)


def test_only_checkpoints_are_cosigned() -> None:
    with pytest.raises(AuditError, match="three lines"):
        cosign(b"pay 100 to mallory\n", WITNESS, TIME)


class Quantum:
    """A witness with an ML-DSA-44 key."""

    def __init__(self, name: str = "witness.example/pq") -> None:
        self.private = mldsa.MLDSA44PrivateKey.generate()
        public = self.private.public_key().public_bytes_raw()
        self.key = VerifierKey(name, MLDSA44_COSIGNER, public)

    def cosign(self, head: Checkpoint, time: int) -> NoteSignature:
        message = mldsa44_message(head, self.key.name, time)
        value = time.to_bytes(8, "big") + self.private.sign(message)
        return NoteSignature(self.key.name, self.key.key_id, value)


def test_ml_dsa_cosignatures_verify() -> None:
    witness = Quantum()
    line = witness.cosign(HEAD, TIME)
    assert len(line.value) == 2428
    assert verify_cosignature(BODY, line, witness.key) == TIME
    with pytest.raises(AuditError, match="is wrong"):
        verify_cosignature(BODY.replace(b"42", b"43"), line, witness.key)
    assert VerifierKey.parse(witness.key.vkey) == witness.key


def test_the_ml_dsa_message_is_that_of_the_specification() -> None:
    assert mldsa44_message(HEAD, "w", 5) == (
        b"subtree/v1\n\0"
        + b"\x01w"
        + bytes(7)
        + b"\x05"
        + bytes([len(ORIGIN)])
        + ORIGIN.encode()
        + bytes(8)
        + bytes(7)
        + b"\x2a"
        + ROOT
    )


def test_long_names_do_not_fit_an_ml_dsa_message() -> None:
    witness = Quantum("w" * 256)
    line = NoteSignature(witness.key.name, witness.key.key_id, b"\1" * 2428)
    with pytest.raises(AuditError, match="longer than 255 bytes"):
        verify_cosignature(BODY, line, witness.key)


def test_without_ml_dsa_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    witness = Quantum()
    line = witness.cosign(HEAD, TIME)
    name = "cryptography.hazmat.primitives.asymmetric"
    monkeypatch.delattr(f"{name}.mldsa")
    monkeypatch.setitem(sys.modules, f"{name}.mldsa", None)
    with pytest.raises(AuditError, match="cannot check the ML-DSA-44") as caught:
        verify_cosignature(BODY, line, witness.key)
    assert "pip install" in caught.value.hint
