# SPDX-License-Identifier: Apache-2.0
"""Envelopes: what is signed, their one spelling, and openssl as a second judge."""

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.errors import AuditError
from lexfed.signing.dsse import PAYLOAD_TYPE, SignedEnvelope, pae
from lexfed.signing.keys import Signer, create_key, public_path
from support.log.plain import signer

ALICE = signer("alice.example", 1)
BOB = signer("bob.example", 2)
KEYS = {one.fingerprint: one.public for one in (ALICE, BOB)}
PAYLOAD = b'{"hello":"world"}'


def test_the_encoding_is_that_of_the_specification() -> None:
    assert pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    assert pae("", b"") == b"DSSEv1 0  0 "


def test_lengths_are_of_bytes() -> None:
    assert pae("\u00e9", "\u00e9".encode()) == b"DSSEv1 2 \xc3\xa9 2 \xc3\xa9"


@settings(deadline=None)
@given(st.text(max_size=5), st.binary(max_size=5), st.text(max_size=5), st.binary())
def test_no_two_pairs_share_an_encoding(a: str, b: bytes, c: str, d: bytes) -> None:
    assert (pae(a, b) == pae(c, d)) == ((a, b) == (c, d))


def test_an_envelope_comes_back_and_verifies() -> None:
    envelope = SignedEnvelope.sign(PAYLOAD, ALICE, BOB)
    data = envelope.to_bytes()
    assert SignedEnvelope.parse(data) == envelope
    assert envelope.payload_type == PAYLOAD_TYPE
    envelope.verify(KEYS, set(KEYS))
    envelope.verify(KEYS, [ALICE.fingerprint])


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=200), st.sampled_from([(ALICE,), (BOB, ALICE)]))
def test_the_bytes_are_those_of_rfc_8785(
    payload: bytes, signers: tuple[Signer, ...]
) -> None:
    data = SignedEnvelope.sign(payload, *signers).to_bytes()
    assert rfc8785.dumps(json.loads(data)) == data
    assert SignedEnvelope.parse(data).to_bytes() == data


def test_who_must_sign_must_have_signed() -> None:
    envelope = SignedEnvelope.sign(PAYLOAD, ALICE)
    with pytest.raises(AuditError, match=f"not signed by key {BOB.fingerprint[:16]}"):
        envelope.verify(KEYS, KEYS)
    with pytest.raises(AuditError, match="not signed by key"):
        envelope.verify({}, {ALICE.fingerprint})
    with pytest.raises(AuditError, match="nobody's signature was asked for"):
        envelope.verify(KEYS, set())


def test_a_wrong_signature_of_a_known_key_refuses_the_envelope() -> None:
    right = SignedEnvelope.sign(PAYLOAD, ALICE)
    forged = SignedEnvelope(
        PAYLOAD, PAYLOAD_TYPE, (*right.signatures, (BOB.fingerprint, bytes(64)))
    )
    forged.verify({ALICE.fingerprint: ALICE.public}, {ALICE.fingerprint})
    with pytest.raises(AuditError, match=f"signature of key {BOB.fingerprint[:16]}"):
        forged.verify(KEYS, {ALICE.fingerprint})


def test_signatures_bind_payload_and_type() -> None:
    right = SignedEnvelope.sign(PAYLOAD, ALICE)
    for other in (
        SignedEnvelope(PAYLOAD + b" ", PAYLOAD_TYPE, right.signatures),
        SignedEnvelope(PAYLOAD, "application/json", right.signatures),
    ):
        with pytest.raises(AuditError, match="is wrong"):
            other.verify(KEYS, {ALICE.fingerprint})


def test_a_signature_counts_for_its_own_key_only() -> None:
    (_, value), *_ = SignedEnvelope.sign(PAYLOAD, ALICE).signatures
    moved = SignedEnvelope(PAYLOAD, PAYLOAD_TYPE, ((BOB.fingerprint, value),))
    with pytest.raises(AuditError, match="is wrong"):
        moved.verify(KEYS, {BOB.fingerprint})


@pytest.mark.parametrize("bit", range(0, 8 * len(PAYLOAD), 5))
def test_every_changed_bit_of_the_payload_is_refused(bit: int) -> None:
    changed = bytearray(PAYLOAD)
    changed[bit // 8] ^= 1 << bit % 8
    right = SignedEnvelope.sign(PAYLOAD, ALICE)
    other = SignedEnvelope(bytes(changed), PAYLOAD_TYPE, right.signatures)
    with pytest.raises(AuditError, match="is wrong"):
        other.verify(KEYS, {ALICE.fingerprint})


def files() -> dict[str, bytes]:
    right = SignedEnvelope.sign(PAYLOAD, ALICE).to_bytes()
    value: dict[str, Any] = json.loads(right)
    one: dict[str, Any] = value["signatures"][0]

    def changed(**fields: Any) -> bytes:
        return rfc8785.dumps({**value, **fields})

    def signature(**fields: Any) -> bytes:
        return changed(signatures=[{**one, **fields}])

    return {
        "empty": b"",
        "list": b"[]",
        "text": b'"x"',
        "no-payload": rfc8785.dumps({k: v for k, v in value.items() if k != "payload"}),
        "one-more-key": changed(extra=1),
        "duplicate-key": right.replace(b'{"payload"', b'{"payload":"","payload"'),
        "spaces": json.dumps(value).encode(),
        "unsorted": json.dumps(
            dict(reversed(value.items())), separators=(",", ":")
        ).encode(),
        "escaped": right.replace(b"application", rb"\u0061pplication"),
        "trailing-newline": right + b"\n",
        "payload-number": changed(payload=1),
        "payload-null": changed(payload=None),
        "payload-not-base64": changed(payload="!"),
        "payload-unpadded": changed(payload=value["payload"].rstrip("=")),
        "payload-url-alphabet": changed(payload="_-_-"),
        "payload-with-free-bits": changed(payload="AB=="),
        "type-number": changed(payloadType=1),
        "type-empty": changed(payloadType=""),
        "type-with-quote": changed(payloadType='a"b'),
        "type-with-space": changed(payloadType="a b"),
        "type-long": changed(payloadType="a" * 201),
        "signatures-none": changed(signatures=[]),
        "signatures-object": changed(signatures={}),
        "signatures-17": changed(signatures=[one] * 17),
        "signatures-many": changed(signatures=[one] * 1000),
        "signature-twice": changed(signatures=[one, one]),
        "signature-text": changed(signatures=["x"]),
        "signature-one-more-key": signature(cert=""),
        "signature-without-keyid": changed(signatures=[{"sig": one["sig"]}]),
        "keyid-number": signature(keyid=1),
        "keyid-empty": signature(keyid=""),
        "keyid-upper-case": signature(keyid=one["keyid"].upper()),
        "keyid-short": signature(keyid=one["keyid"][:-2]),
        "sig-list": signature(sig=[]),
        "sig-short": signature(sig=base64.b64encode(bytes(63)).decode()),
        "sig-long": signature(sig=base64.b64encode(bytes(65)).decode()),
        "sig-malformed": signature(sig="A"),
        "deep": b"[" * 5000,
        "not-utf8": b"\xff" + right,
    }


@pytest.mark.parametrize("name", files())
def test_any_other_bytes_are_refused(name: str) -> None:
    with pytest.raises(AuditError):
        SignedEnvelope.parse(files()[name])


def test_an_envelope_needs_a_signer() -> None:
    with pytest.raises(AuditError, match="expected 1 to 16 signatures"):
        SignedEnvelope.sign(PAYLOAD)


def test_openssl_accepts_the_signature(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    key = tmp_path / "keys" / "coordinator.pem"
    one = Signer("coordinator.example", create_key(key))
    envelope = SignedEnvelope.parse(SignedEnvelope.sign(PAYLOAD, one).to_bytes())
    message, value = tmp_path / "message", tmp_path / "value"
    value.write_bytes(envelope.signatures[0][1])
    command = [openssl, "pkeyutl", "-verify", "-pubin", "-rawin"]
    command += ["-inkey", str(public_path(key))]
    command += ["-in", str(message), "-sigfile", str(value)]
    signed = b"DSSEv1 %d %b %d %b" % (
        len(PAYLOAD_TYPE),
        PAYLOAD_TYPE.encode(),
        len(PAYLOAD),
        PAYLOAD,
    )
    for content, expected in ((signed, 0), (PAYLOAD, 1)):
        message.write_bytes(content)
        assert subprocess.run(command, capture_output=True).returncode == expected
