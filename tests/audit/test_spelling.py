# SPDX-License-Identifier: Apache-2.0
"""Verifier keys, names, base64 and numbers have one spelling each."""

import base64
from dataclasses import replace

import pytest

from lexfed.errors import AuditError
from lexfed.signing.notes import (
    ED25519,
    ED25519_COSIGNER,
    VerifierKey,
    check_name,
    verify_ed25519,
)
from lexfed.signing.strict_text import decode_base64, encode_base64, parse_decimal
from support.log.plain import signer

ALICE = signer("alice.example", 1)
ALICE_ID = ALICE.verifier.key_id


def test_a_key_is_one_line_of_text() -> None:
    # The example key of golang's note package.
    vkey = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    key = VerifierKey.parse(vkey)
    assert key.vkey == vkey
    assert (key.name, key.algorithm, key.key_id.hex()) == (
        "PeterNeumann",
        ED25519,
        "c74f20a3",
    )


@pytest.mark.parametrize(
    "vkey",
    [
        "",
        "alice.example",
        "alice.example+00000000",
        "alice.example+00000000+",
        "alice.example+00000000+AQ==",
        ALICE.verifier.vkey.replace("+", "-", 1),
        ALICE.verifier.vkey + "=",
        ALICE.verifier.vkey + "\n",
        " " + ALICE.verifier.vkey,
        "\ud800" + ALICE.verifier.vkey,
        ALICE.verifier.vkey.replace("alice", "mallory"),
        ALICE.verifier.vkey.replace(ALICE_ID.hex(), ALICE_ID.hex().upper()),
        ALICE.verifier.vkey.replace(ALICE_ID.hex(), "0" * 8),
        ALICE.verifier.vkey.replace(ALICE_ID.hex(), ALICE_ID.hex() + "00"),
    ],
    ids=[f"vkey-{number}" for number in range(14)],
)
def test_a_key_has_one_spelling(vkey: str) -> None:
    with pytest.raises(AuditError):
        VerifierKey.parse(vkey)


def test_an_unknown_algorithm_is_refused() -> None:
    with pytest.raises(AuditError, match="unknown signature algorithm"):
        VerifierKey("x", 2, bytes(32))
    with pytest.raises(
        AuditError, match="expected a public key of 1312 bytes, got: 32"
    ):
        VerifierKey("x", 6, bytes(32))


def test_the_key_id_depends_on_name_algorithm_and_key() -> None:
    key = ALICE.verifier
    others = [
        replace(key, name="x"),
        replace(key, algorithm=ED25519_COSIGNER),
        replace(key, public=bytes(32)),
    ]
    assert key.key_id not in {other.key_id for other in others}


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "a\nb", "a\x1cb", "a\x1bb", "a+b", "\udfff"]
)
def test_a_name_has_no_spaces(name: str) -> None:
    with pytest.raises(AuditError, match="not a key name"):
        check_name(name)


def test_a_malformed_public_key_verifies_nothing() -> None:
    assert not verify_ed25519(b"short", b"", bytes(64))
    assert not verify_ed25519(b"\xff" * 32, b"", bytes(64))


@pytest.mark.parametrize("size", range(12))
def test_base64_has_one_spelling(size: int) -> None:
    data = bytes(range(250, 256))[:size] + bytes(max(0, size - 6))
    text = encode_base64(data)
    assert text == base64.b64encode(data).decode()
    assert decode_base64(text, "here") == data
    for other in {text + "\n", " " + text, text + "=", text + "A", text.rstrip("=")}:
        if other != text:
            with pytest.raises(AuditError, match=r"^here: "):
                decode_base64(other, "here")


def test_numbers_end_before_2_to_the_63() -> None:
    assert parse_decimal(str(2**63 - 1), "here") == 2**63 - 1
    for text in (str(2**63), "9" * 19, "", "-1", "01", "1 ", "1\n"):
        with pytest.raises(AuditError, match=r"here: not a decimal number"):
            parse_decimal(text, "here")
