# SPDX-License-Identifier: Apache-2.0
"""Proof files: their one spelling, what they prove, and a second opinion on both."""

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from lexfed.audit.tree.checkpoint import Checkpoint, cosign
from lexfed.audit.tree.proof_files import MAX_EXTRA, ConsistencyProof, InclusionProof
from lexfed.audit.tree.trust_policy import parse_policy
from lexfed.errors import AuditError
from lexfed.signing.notes import parse_note
from support.log.judge import Judge
from support.log.plain import ORIGIN, entries_of, signed, signer, tree_of

LOG = signer()
WITNESS = signer("witness.example", 9)
ENTRIES = entries_of(11)
TREE = tree_of(ENTRIES)
HEAD = signed(TREE)
POLICY = parse_policy(f"log {LOG.verifier.vkey}\nquorum none\n".encode())
STRICT = parse_policy(
    f"log {LOG.verifier.vkey}\nwitness w {WITNESS.cosigner.vkey}\nquorum w\n".encode()
)


def proof_of(index: int, size: int = 11, extra: bytes = b"") -> InclusionProof:
    hashes = TREE.inclusion_proof(index, size)
    return InclusionProof(index, hashes, signed(TREE, size), extra)


def growth(old: int, new: int = 11) -> ConsistencyProof:
    hashes = TREE.consistency_proof(old, new) if old else ()
    return ConsistencyProof(old, hashes, signed(TREE, new))


def head(size: int) -> Checkpoint:
    return Checkpoint(ORIGIN, size, TREE.root(size))


def test_the_file_is_that_of_the_specification() -> None:
    lines = proof_of(10, extra=b"note").to_bytes().decode().split("\n")
    assert lines[:3] == ["c2sp.org/tlog-proof@v1", "extra bm90ZQ==", "index 10"]
    assert lines[3:6] == [*growth_lines(10), ""]
    assert "\n".join(lines[6:]).encode() == HEAD
    assert (
        proof_of(0, 1)
        .to_bytes()
        .startswith(b"c2sp.org/tlog-proof@v1\nindex 0\n\n" + ORIGIN.encode())
    )


def growth_lines(index: int) -> list[str]:
    return [base64.b64encode(each).decode() for each in TREE.inclusion_proof(index, 11)]


@pytest.mark.parametrize("index", range(11))
def test_every_proof_comes_back_and_verifies(index: int) -> None:
    for extra in (b"", b"x", bytes(MAX_EXTRA)):
        proof = proof_of(index, extra=extra)
        assert InclusionProof.parse(proof.to_bytes()) == proof
    trusted = proof.verify(ENTRIES[index], POLICY)
    assert trusted.signed.checkpoint == head(11)


def test_a_proof_is_of_one_entry() -> None:
    with pytest.raises(AuditError, match="expected root"):
        proof_of(3).verify(ENTRIES[4], POLICY)
    with pytest.raises(AuditError, match="expected root"):
        replace(proof_of(3), index=4).verify(ENTRIES[3], POLICY)
    with pytest.raises(AuditError, match="outside a tree of 11"):
        replace(proof_of(3), index=11).verify(ENTRIES[3], POLICY)


def test_a_proof_without_its_quorum_is_refused() -> None:
    with pytest.raises(AuditError, match=r"proof of entry 3: quorum `w` not met"):
        proof_of(3).verify(ENTRIES[3], STRICT)
    note = parse_note(HEAD)
    note = note.with_signatures([cosign(note.body, WITNESS, 5)])
    witnessed = replace(proof_of(3), checkpoint=note.to_bytes())
    assert witnessed.verify(ENTRIES[3], STRICT).witnesses == {"w": 5}


def test_a_proof_of_an_unknown_log_is_refused() -> None:
    nobody = parse_policy(b"quorum none\n")
    with pytest.raises(AuditError, match="not signed by"):
        proof_of(3).verify(ENTRIES[3], nobody)
    assert proof_of(3).verify(ENTRIES[3], nobody, LOG.verifier).quorum_met


def test_extra_data_are_bounded() -> None:
    with pytest.raises(AuditError, match="more than 48000 bytes"):
        proof_of(3, extra=bytes(MAX_EXTRA + 1)).to_bytes()


def inclusion_files() -> dict[str, bytes]:
    right = proof_of(3, extra=b"note").to_bytes()
    first = right.split(b"\n")[3]
    return {
        "empty": b"",
        "newlines": b"\n\n",
        "no-header": right.partition(b"\n")[2],
        "other-version": right.replace(b"@v1", b"@v2", 1),
        "header-only": b"c2sp.org/tlog-proof@v1\n\n" + HEAD,
        "crlf": right.replace(b"\n", b"\r\n"),
        "byte-order-mark": b"\xef\xbb\xbf" + right,
        "not-ascii": right.replace(b"index 3", b"index \xd9\xa3"),
        "no-index": right.replace(b"index 3\n", b""),
        "index-without-number": right.replace(b"index 3", b"index"),
        "index-empty": right.replace(b"index 3", b"index "),
        "index-leading-zero": right.replace(b"index 3", b"index 03"),
        "index-negative": right.replace(b"index 3", b"index -3"),
        "index-2^63": right.replace(b"index 3", b"index 9223372036854775808"),
        "index-of-5000-digits": right.replace(b"index 3", b"index " + b"3" * 5000),
        "index-twice": right.replace(b"index 3", b"index 3\nindex 3"),
        "upper-case": right.replace(b"index", b"Index"),
        "extra-after-index": right.replace(b"index 3", b"index 3\nextra bm90ZQ=="),
        "extra-twice": right.replace(b"index 3", b"extra bm90ZQ==\nindex 3"),
        "extra-empty": right.replace(b"extra bm90ZQ==", b"extra "),
        "extra-malformed": right.replace(b"bm90ZQ==", b"bm90ZQ="),
        "extra-with-free-bits": right.replace(b"bm90ZQ==", b"bm90ZR=="),
        "trailing-garbage": right.replace(first, first + b" x"),
        "hash-of-31-bytes": right.replace(first, b"A" * 42 + b"=="),
        "hash-of-33-bytes": right.replace(first, b"A" * 44),
        "hash-empty": right.replace(first + b"\n", b"\n"),
        "hash-unpadded": right.replace(first, first.rstrip(b"=")),
        "64-hashes": right.replace(first, b"\n".join([first] * 64)),
        "one-hash-more": right.replace(first, first + b"\n" + first),
        "one-hash-less": right.replace(first + b"\n", b""),
        "no-blank-line": right.replace(b"\n\n", b"\n"),
        "two-blank-lines": right.replace(b"\n\n" + ORIGIN[:5].encode(), b"\n\n\naudit"),
        "no-checkpoint": right.partition(b"\n\n")[0] + b"\n\n",
        "checkpoint-cut": right[:-1],
        "trailing-newline": right + b"\n",
    }


@pytest.mark.parametrize("name", inclusion_files())
def test_any_other_file_is_refused(name: str, judge: Judge, tmp_path: Path) -> None:
    data = inclusion_files()[name]
    proof, entry = tmp_path / "proof", tmp_path / "entry"
    proof.write_bytes(data)
    entry.write_bytes(ENTRIES[3])
    assert not judge.accepts("inclusion", proof, entry, LOG.verifier.vkey)
    with pytest.raises(AuditError):
        InclusionProof.parse(data).verify(ENTRIES[3], POLICY)


@pytest.mark.parametrize(
    "name", ["no-checkpoint", "checkpoint-cut", "trailing-newline"]
)
def test_a_proof_holds_a_note(name: str) -> None:
    with pytest.raises(AuditError, match="note"):
        InclusionProof.parse(inclusion_files()[name])


@pytest.mark.parametrize("index", [0, 3, 10])
def test_another_program_accepts_the_proof(
    index: int, judge: Judge, tmp_path: Path
) -> None:
    proof, entry = tmp_path / "x.tlog-proof", tmp_path / "entry"
    proof.write_bytes(proof_of(index, extra=b"note").to_bytes())
    entry.write_bytes(ENTRIES[index])
    vkey = LOG.verifier.vkey
    assert judge.run("inclusion", proof, entry, vkey).stdout == "OK included\n"
    entry.write_bytes(b"another entry")
    assert not judge.accepts("inclusion", proof, entry, vkey)


@pytest.mark.parametrize("old", range(12))
def test_every_growth_comes_back_and_verifies(
    old: int, judge: Judge, tmp_path: Path
) -> None:
    proof = growth(old)
    assert ConsistencyProof.parse(proof.to_bytes()) == proof
    assert proof.verify(head(old), LOG.verifier).checkpoint == head(11)
    file, before = tmp_path / "proof", tmp_path / "before"
    file.write_bytes(proof.to_bytes())
    before.write_bytes(signed(TREE, old))
    vkey = LOG.verifier.vkey
    assert judge.run("consistency", file, before, vkey).stdout == "OK consistent\n"


def test_the_body_is_that_of_a_request_to_a_witness() -> None:
    assert growth(0).to_bytes() == b"old 0\n\n" + HEAD
    lines = growth(6).to_bytes().split(b"\n")
    assert lines[0] == b"old 6"
    assert lines[1 + len(growth(6).hashes)] == b""


def test_a_growth_starts_from_the_checkpoint_it_says() -> None:
    with pytest.raises(AuditError, match="starts from 6 entries, expected: 7"):
        growth(6).verify(head(7), LOG.verifier)
    forked = Checkpoint(ORIGIN, 6, bytes(32))
    with pytest.raises(AuditError, match="old tree: expected root"):
        growth(6).verify(forked, LOG.verifier)
    elsewhere = Checkpoint("other.example", 6, TREE.root(6))
    with pytest.raises(
        AuditError, match=r"is for `audit.*`, expected `other\.example`"
    ):
        growth(6).verify(elsewhere, LOG.verifier)
    with pytest.raises(AuditError, match="not signed by"):
        growth(6).verify(head(6), WITNESS.verifier)


def test_from_the_empty_log_there_is_nothing_to_prove() -> None:
    proof = replace(growth(0), hashes=(bytes(32),))
    with pytest.raises(AuditError, match="must be empty"):
        proof.verify(head(0), LOG.verifier)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"old 6", b"old 06"),
        (b"old 6", b"old"),
        (b"old 6", b"new 6"),
        (b"old 6\n", b""),
        (b"old 6", b"old 6\nA"),
        (b"\n\n", b"\n"),
    ],
    ids=["leading-zero", "no-number", "other-word", "no-line", "no-hash", "no-blank"],
)
def test_any_other_growth_file_is_refused(old: bytes, new: bytes) -> None:
    data = growth(6).to_bytes().replace(old, new)
    with pytest.raises(AuditError):
        ConsistencyProof.parse(data)
