# SPDX-License-Identifier: Apache-2.0
"""Checkpoints, and openssl as a second judge of their signature."""

import shutil
import subprocess
from pathlib import Path

import pytest

from lexfed.audit.tree.checkpoint import Checkpoint, open_checkpoint, sign
from lexfed.audit.tree.merkle import EMPTY_ROOT
from lexfed.errors import AuditError
from lexfed.signing.keys import Signer, create_key, public_path
from lexfed.signing.notes import NoteSignature, SignedNote, parse_note
from support.log.judge import Judge
from support.log.plain import ORIGIN, signer

LOG = signer()
ROOT = bytes(range(32))
HEAD = Checkpoint(ORIGIN, 42, ROOT)
BODY = f"{ORIGIN}\n42\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n".encode()
EMPTY = b"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="


def test_the_body_is_origin_size_and_root() -> None:
    assert HEAD.body() == BODY
    assert Checkpoint.parse(BODY) == HEAD
    assert Checkpoint(ORIGIN, 0, EMPTY_ROOT).body().split(b"\n")[2] == EMPTY


def bodies() -> dict[str, bytes]:
    origin, size, root, _ = BODY.split(b"\n")
    return {
        "empty": b"",
        "one-line": origin + b"\n",
        "two-lines": origin + b"\n" + size + b"\n",
        "no-last-newline": BODY[:-1],
        "blank-line": BODY + b"\n",
        "extension-line": BODY + b"extension\n",
        "crlf": BODY.replace(b"\n", b"\r\n"),
        "byte-order-mark-in-size": BODY.replace(b"42", b"\xef\xbb\xbf42"),
        "empty-origin": BODY.replace(origin, b""),
        "space-in-origin": BODY.replace(b"audit.", b"audit "),
        "plus-in-origin": BODY.replace(b"audit.", b"audit+"),
        "not-utf8": BODY.replace(b"audit.", b"audit\xff"),
        "leading-zero": BODY.replace(b"42", b"042"),
        "zeros": BODY.replace(b"42", b"00"),
        "plus-sign": BODY.replace(b"42", b"+42"),
        "minus-sign": BODY.replace(b"42", b"-42"),
        "space-before-size": BODY.replace(b"42", b" 42"),
        "underscore": BODY.replace(b"42", b"4_2"),
        "hexadecimal": BODY.replace(b"42", b"0x2a"),
        "other-digits": BODY.replace(b"42", "\u0664\u0662".encode()),
        "exponent": BODY.replace(b"42", b"42e0"),
        "no-size": BODY.replace(b"42", b""),
        "size-2^63": BODY.replace(b"42", str(2**63).encode()),
        "size-10^19": BODY.replace(b"42", b"1" + b"0" * 19),
        "size-of-5000-digits": BODY.replace(b"42", b"9" * 5000),
        "short-root": BODY.replace(root, root[4:]),
        "long-root": BODY.replace(root, b"AAAA" + root),
        "empty-root": BODY.replace(root, b""),
        "root-without-padding": BODY.replace(b"8=", b"8"),
        "root-with-free-bits": BODY.replace(b"8=", b"9="),
        "root-in-url-alphabet": BODY.replace(b"AAEC", b"-_EC"),
        "size-0-with-another-root": BODY.replace(b"42", b"0"),
    }


@pytest.mark.parametrize("name", bodies())
def test_any_other_body_is_refused(name: str) -> None:
    with pytest.raises(AuditError):
        Checkpoint.parse(bodies()[name])


def test_another_program_refuses_the_same_bodies(judge: Judge) -> None:
    """Each is signed properly, so that only its form can be the reason."""
    table = {"plain": BODY, **bodies()}
    notes = {name: signed(body) for name, body in table.items()}
    vkey = LOG.verifier.vkey
    cases = [{"kind": "checkpoint", "data": n, "keys": [vkey]} for n in notes.values()]
    answers = dict(zip(notes, judge.batch(cases), strict=True))
    assert [name for name, said in answers.items() if said == "OK"] == ["plain"]
    for name in bodies():
        with pytest.raises(AuditError):
            open_checkpoint(notes[name], LOG.verifier)


def signed(body: bytes) -> bytes:
    line = NoteSignature(ORIGIN, LOG.verifier.key_id, LOG.sign(body))
    return SignedNote(body, (line,)).to_bytes()


@pytest.mark.parametrize(
    "values",
    [(ORIGIN, -1, ROOT), (ORIGIN, 2**63, ROOT), (ORIGIN, 1, b""), ("", 1, ROOT)],
    ids=["minus-1", "2^63", "no-root", "no-origin"],
)
def test_a_checkpoint_cannot_be_made_of_nonsense(
    values: tuple[str, int, bytes],
) -> None:
    with pytest.raises(AuditError):
        Checkpoint(*values)


def test_a_signed_checkpoint_opens_with_the_key_of_the_log() -> None:
    data = sign(HEAD, LOG)
    opened = open_checkpoint(data, LOG.verifier)
    assert opened.checkpoint == HEAD
    assert opened.note.to_bytes() == data


def test_nothing_opens_without_a_checked_signature() -> None:
    data = sign(HEAD, LOG)
    with pytest.raises(AuditError, match="not signed by"):
        open_checkpoint(data, signer(ORIGIN, 2).verifier)
    with pytest.raises(AuditError, match="not signed by any known key"):
        open_checkpoint(data)
    with pytest.raises(AuditError, match="is wrong"):
        open_checkpoint(data.replace(b"\n42\n", b"\n43\n"), LOG.verifier)


def test_old_and_new_key_may_both_sign() -> None:
    new = signer(ORIGIN, 2)
    data = sign(HEAD, LOG, new)
    for keys in ([LOG.verifier], [new.verifier], [LOG.verifier, new.verifier]):
        assert open_checkpoint(data, *keys).checkpoint == HEAD
    forged = parse_note(data).with_signatures(
        [NoteSignature(ORIGIN, new.verifier.key_id, bytes(64))]
    )
    assert open_checkpoint(forged.to_bytes(), LOG.verifier).checkpoint == HEAD
    with pytest.raises(AuditError, match="is wrong"):
        open_checkpoint(forged.to_bytes(), LOG.verifier, new.verifier)


def test_the_key_of_another_log_does_not_count() -> None:
    stranger = signer("other.example", 2)
    with pytest.raises(AuditError, match=r"signed by the key of `other\.example`"):
        sign(HEAD, stranger)
    line = NoteSignature(
        stranger.name, stranger.verifier.key_id, stranger.sign(HEAD.body())
    )
    data = SignedNote(HEAD.body(), (line,)).to_bytes()
    with pytest.raises(AuditError, match=r"signed by the key of `other\.example`"):
        open_checkpoint(data, stranger.verifier)


def test_a_checkpoint_needs_a_signer() -> None:
    with pytest.raises(AuditError, match="needs a signer"):
        sign(HEAD)


def test_openssl_accepts_the_signature(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path / "keys"
    log = Signer(ORIGIN, create_key(folder / "log.pem"))
    note = parse_note(sign(HEAD, log))
    body, value = tmp_path / "body", tmp_path / "value"
    value.write_bytes(note.signatures[0].value)
    command = [openssl, "pkeyutl", "-verify", "-pubin", "-rawin"]
    command += ["-inkey", str(public_path(folder / "log.pem"))]
    command += ["-in", str(body), "-sigfile", str(value)]
    for content, expected in ((note.body, 0), (note.body + b"\n", 1)):
        body.write_bytes(content)
        assert subprocess.run(command, capture_output=True).returncode == expected
