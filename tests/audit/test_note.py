# SPDX-License-Identifier: Apache-2.0
"""Signed notes: what counts as one, and the same verdict by golang.org/x/mod."""

import base64
from pathlib import Path

import pytest

from lexfed.errors import AuditError
from lexfed.signing.keys import Signer
from lexfed.signing.notes import (
    NoteSignature,
    SignedNote,
    VerifierKey,
    parse_note,
    verify,
)
from support.log.judge import Judge
from support.log.plain import signer

ALICE = signer("alice.example", 1)
BOB = signer("bob.example", 2)
ALICES_SECOND = signer("alice.example", 3)
TEXT = "If you think cryptography is the answer,\n\nyou do not know the question\n"
DASH = "\u2014"


def line(who: str, key_id: bytes, value: bytes) -> str:
    return f"{DASH} {who} {base64.b64encode(key_id + value).decode()}\n"


def by(one: Signer, text: str = TEXT) -> str:
    """A right signature line of a signer."""
    return line(one.name, one.verifier.key_id, one.sign(text.encode()))


ALICE_ID = ALICE.verifier.key_id
RIGHT = by(ALICE)
WRONG = line("alice.example", ALICE_ID, bytes(64))
STRANGER = by(BOB)
OTHER_ID = by(ALICES_SECOND)
SAME_ID = line("mallory.example", ALICE_ID, bytes(64))


def spelled_differently(text: str) -> str:
    """The same bytes in base64 with a bit set that belongs to no byte."""
    assert text.endswith("==\n")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = alphabet[alphabet.index(text[-4]) | 1]
    return f"{text[:-4]}{last}==\n"


# A value of 63 bytes gives 67, whose base64 has a free bit at its end.
PADDED = line("carol.example", b"\1\2\3\4", bytes(63))

ACCEPTED = {
    "plain": TEXT + "\n" + RIGHT,
    "empty-text": "\n\n" + by(ALICE, "\n"),
    "unknown-key-after": TEXT + "\n" + RIGHT + STRANGER,
    "unknown-key-before": TEXT + "\n" + STRANGER + RIGHT,
    "unknown-key-with-bad-bytes": TEXT + "\n" + line("x", b"1234", b"5") + RIGHT,
    "same-name-other-id": TEXT + "\n" + OTHER_ID + RIGHT,
    "other-name-same-id": TEXT + "\n" + SAME_ID + RIGHT,
    "duplicate-signature": TEXT + "\n" + RIGHT + RIGHT,
    "second-signature-of-a-key-wrong": TEXT + "\n" + RIGHT + WRONG,
    "duplicate-unknown": TEXT + "\n" + STRANGER + STRANGER + RIGHT,
    "100-signatures": TEXT + "\n" + STRANGER * 99 + RIGHT,
    "next-line-character-in-text": "a\u0085b\n\n" + by(ALICE, "a\u0085b\n"),
    "delete-character-in-text": "a\x7fb\n\n" + by(ALICE, "a\x7fb\n"),
    "byte-order-mark-signed-too": "\ufeffa\n\n" + by(ALICE, "\ufeffa\n"),
    "zero-width-space-in-unknown-name": TEXT
    + "\n"
    + line("a\u200bb", b"1234", b"5")
    + RIGHT,
    "signature-line-in-the-text": RIGHT + "\n" + by(ALICE, RIGHT),
}

REFUSED = {
    "empty": "",
    "newline": "\n",
    "two-newlines": "\n\n",
    "text-only": TEXT,
    "no-signature": TEXT + "\n",
    "unknown-key-only": TEXT + "\n" + STRANGER,
    "same-name-other-id-only": TEXT + "\n" + OTHER_ID,
    "other-name-same-id-only": TEXT + "\n" + SAME_ID,
    "wrong-signature": TEXT + "\n" + WRONG,
    "wrong-signature-first": TEXT + "\n" + WRONG + RIGHT,
    "101-signatures": TEXT + "\n" + STRANGER * 100 + RIGHT,
    "101-copies": TEXT + "\n" + RIGHT * 101,
    "crlf": (TEXT + "\n" + RIGHT).replace("\n", "\r\n"),
    "cr-in-text": TEXT + "\r\n\n" + RIGHT,
    "tab": "a\tb\n\n" + by(ALICE, "a\tb\n"),
    "null": "a\0b\n\n" + by(ALICE, "a\0b\n"),
    "escape": "a\x1bb\n\n" + by(ALICE, "a\x1bb\n"),
    "byte-order-mark": "\ufeff" + TEXT + "\n" + RIGHT,
    "no-last-newline": (TEXT + "\n" + RIGHT).removesuffix("\n"),
    "extra-last-newline": TEXT + "\n" + RIGHT + "\n",
    "no-blank-line": TEXT + RIGHT,
    "hyphen": TEXT + "\n" + RIGHT.replace(DASH, "-"),
    "two-hyphens": TEXT + "\n" + RIGHT.replace(DASH, "--"),
    "en-dash": TEXT + "\n" + RIGHT.replace(DASH, "\u2013"),
    "no-dash": TEXT + "\n" + RIGHT.removeprefix(DASH + " "),
    "no-space-after-dash": TEXT + "\n" + RIGHT.replace(DASH + " ", DASH),
    "two-spaces-after-dash": TEXT + "\n" + RIGHT.replace(DASH + " ", DASH + "  "),
    "trailing-space": TEXT + "\n" + RIGHT.replace("\n", " \n"),
    "trailing-word": TEXT + "\n" + RIGHT.replace("\n", " x\n"),
    "text-line-under-signatures": TEXT + "\n" + RIGHT + "and one more thing\n",
    "plus-in-name": TEXT + "\n" + line("a+b", b"1234", b"5") + RIGHT,
    "empty-name": TEXT + "\n" + line("", b"1234", b"5") + RIGHT,
    "no-break-space-in-name": TEXT + "\n" + line("a\u00a0b", b"1234", b"5") + RIGHT,
    "ideographic-space-in-name": TEXT + "\n" + line("a\u3000b", b"1234", b"5") + RIGHT,
    "no-signature-bytes": TEXT + "\n" + line("x", b"1234", b"") + RIGHT,
    "three-bytes": TEXT + "\n" + line("x", b"123", b"") + RIGHT,
    "no-base64": TEXT + "\n" + f"{DASH} x \n" + RIGHT,
    "name-only": TEXT + "\n" + f"{DASH} x\n" + RIGHT,
    "base64-unpadded": TEXT + "\n" + PADDED.replace("=", "") + RIGHT,
    "base64-overpadded": TEXT + "\n" + RIGHT.replace("\n", "=\n"),
    "base64-url-alphabet": TEXT + "\n" + f"{DASH} x -_-_-_-_\n" + RIGHT,
    "base64-padding-inside": TEXT + "\n" + f"{DASH} x AA==AAAAAAAA\n" + RIGHT,
    "base64-not-ascii": TEXT + "\n" + f"{DASH} x AAAAAAA\u00c0\n" + RIGHT,
    "signature-cut": TEXT + "\n" + line("alice.example", ALICE_ID, bytes(63)),
    "signature-longer": TEXT
    + "\n"
    + line("alice.example", ALICE_ID, ALICE.sign(TEXT.encode()) + b"\0"),
    "other-text": "Another text\n\n" + RIGHT,
}

# golang.org/x/mod takes this one; see the docstring of `lexfed.signing.notes`.
SPELLINGS = {
    "base64-with-free-bits": TEXT + "\n" + spelled_differently(PADDED) + RIGHT,
}


def opens(data: bytes, *keys: VerifierKey) -> bool:
    try:
        verify(parse_note(data), keys)
    except AuditError:
        return False
    return True


@pytest.mark.parametrize("name", ACCEPTED)
def test_notes_to_accept(name: str) -> None:
    data = ACCEPTED[name].encode()
    checked = verify(parse_note(data), [ALICE.verifier])
    assert [(each.name, each.key_id) for each in checked] == [
        ("alice.example", ALICE_ID)
    ]
    assert parse_note(data).to_bytes() == data


@pytest.mark.parametrize("name", [*REFUSED, *SPELLINGS])
def test_notes_to_refuse(name: str) -> None:
    data = {**REFUSED, **SPELLINGS}[name].encode()
    assert not opens(data, ALICE.verifier)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\n\n",
        b"a\xc3\n\n",
        b"\xed\xa0\x80\n\n",
        b"\xc0\x80\n\n",
        b"\xf5\x80\x80\x80",
    ],
    ids=["ff", "cut", "surrogate", "overlong", "beyond-unicode"],
)
def test_a_note_is_utf8(data: bytes) -> None:
    with pytest.raises(AuditError, match="not UTF-8 at byte"):
        parse_note(data + RIGHT.encode())


def test_another_program_gives_the_same_verdict_on_every_note(judge: Judge) -> None:
    vkey = ALICE.verifier.vkey
    table = {**ACCEPTED, **REFUSED, **SPELLINGS}
    cases = [
        {"kind": "note", "data": t.encode(), "keys": [vkey]} for t in table.values()
    ]
    answers = dict(zip(table, judge.batch(cases), strict=True))
    assert [name for name, said in answers.items() if said == "OK"] == list(ACCEPTED)
    assert [name for name, said in answers.items() if said == "SPELLING"] == list(
        SPELLINGS
    )


def test_the_judge_reads_a_file(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "note"
    path.write_bytes(ACCEPTED["plain"].encode())
    assert judge.accepts("note", path, ALICE.verifier.vkey)
    assert not judge.accepts("note", path, BOB.verifier.vkey)
    assert judge.accepts("note", path, BOB.verifier.vkey, ALICE.verifier.vkey)


def test_a_refusal_names_the_key() -> None:
    with pytest.raises(AuditError, match=rf"`alice.example` \(key {ALICE_ID.hex()}\)"):
        verify(parse_note(REFUSED["wrong-signature"].encode()), [ALICE.verifier])
    with pytest.raises(AuditError, match=r"not signed by `alice\.example`"):
        verify(parse_note(REFUSED["unknown-key-only"].encode()), [ALICE.verifier])
    with pytest.raises(AuditError, match="not signed by any known key"):
        verify(parse_note(ACCEPTED["plain"].encode()), [])


def test_a_wrong_signature_of_any_known_key_refuses_the_note() -> None:
    text = TEXT + "\n" + RIGHT + line("bob.example", BOB.verifier.key_id, bytes(64))
    note = parse_note(text.encode())
    assert verify(note, [ALICE.verifier])
    with pytest.raises(AuditError, match=r"`bob\.example`"):
        verify(note, [ALICE.verifier, BOB.verifier])


def test_two_keys_under_one_name_both_count() -> None:
    note = parse_note((TEXT + "\n" + RIGHT + OTHER_ID).encode())
    checked = verify(note, [ALICE.verifier, ALICES_SECOND.verifier])
    assert len(checked) == 2
    assert verify(note, [ALICES_SECOND.verifier])[0].key_id != ALICE_ID


def test_a_cosigners_key_does_not_verify_notes() -> None:
    with pytest.raises(AuditError, match="is a cosigner's"):
        verify(parse_note(ACCEPTED["plain"].encode()), [ALICE.cosigner])


def test_the_number_of_signatures_is_counted_before_they_are_read() -> None:
    data = (TEXT + "\n" + "x\n" * 200_000).encode()
    with pytest.raises(AuditError, match="200000 signatures, more than 100"):
        parse_note(data)


def test_more_signatures_replace_those_of_the_same_key() -> None:
    note = parse_note((TEXT + "\n" + WRONG + STRANGER).encode())
    right, again = NoteSignature.parse(RIGHT), NoteSignature.parse(OTHER_ID)
    grown = note.with_signatures([right, again, right])
    assert grown.to_bytes().decode() == TEXT + "\n" + STRANGER + RIGHT + OTHER_ID
    assert grown.signed_by(ALICE.verifier) == (right,)
    assert note.signed_by(ALICES_SECOND.verifier) == ()


def test_no_more_signatures_are_added_than_can_be_read() -> None:
    note = parse_note((TEXT + "\n" + RIGHT).encode())
    many = [NoteSignature(f"w{number}", b"1234", b"5") for number in range(100)]
    full = note.with_signatures(many[:99])
    assert parse_note(full.to_bytes()) == full
    with pytest.raises(AuditError, match="101 signatures, more than 100"):
        note.with_signatures(many)


def test_names_follow_the_rule_of_the_other_program(judge: Judge) -> None:
    """One name for every character that might be a space, and its neighbours."""
    numbers = [
        number
        for number in range(0x20, 0x3100)
        if chr(number).isspace() or chr(number - 1).isspace() or number % 97 == 0
    ]
    names = [f"a{chr(number)}b" for number in [*numbers, 0x2B, 0x7F, 0xFEFF, 0x1F512]]
    texts = [
        (TEXT + "\n" + line(name, b"1234", b"5") + RIGHT).encode() for name in names
    ]
    vkey = ALICE.verifier.vkey
    cases = [{"kind": "note", "data": text, "keys": [vkey]} for text in texts]
    answers = [said == "OK" for said in judge.batch(cases)]
    assert answers == [opens(text, ALICE.verifier) for text in texts]
    assert 20 < answers.count(False) < len(answers)


def test_a_note_without_signatures_cannot_be_read_back() -> None:
    with pytest.raises(AuditError, match="does not end with a signature"):
        parse_note(SignedNote(TEXT.encode(), ()).to_bytes())


def test_the_published_note_verifies() -> None:
    vkey = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    text = (
        "If you think cryptography is the answer to your problem,\n"
        "then you don't know what your problem is.\n"
        "\n"
        "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1"
        "FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
    )
    assert verify(parse_note(text.encode()), [VerifierKey.parse(vkey)])
