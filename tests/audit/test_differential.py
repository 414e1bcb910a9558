# SPDX-License-Identifier: Apache-2.0
"""Thousands of changed notes and proofs: our verdict and golang.org/x/mod's are equal.

The changes are drawn with fixed seeds, so every run judges the same bytes. Each test
counts both verdicts: one that only ever refuses would compare nothing.
"""

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from lexfed.audit.tree.checkpoint import (
    Checkpoint,
    cosign,
    open_checkpoint,
    verify_cosignature,
)
from lexfed.audit.tree.proof_files import ConsistencyProof, InclusionProof
from lexfed.audit.tree.trust_policy import parse_policy
from lexfed.errors import AuditError
from lexfed.signing.notes import NoteSignature, SignedNote, parse_note, verify
from support.log import lies
from support.log.judge import Judge
from support.log.plain import ORIGIN, entries_of, signed, signer, tree_of

LOG = signer()
NEXT = signer(ORIGIN, 2)
WITNESS = signer("witness.example", 9)
STRANGER = signer("stranger.example", 5)
ENTRIES = entries_of(300)
TREE = tree_of(ENTRIES)
TREE_HEAD = Checkpoint(ORIGIN, 300, TREE.root())
POLICY = parse_policy(f"log {LOG.verifier.vkey}\nquorum none\n".encode())
PIECES = [
    *(bytes([number]) for number in (0, 9, 10, 11, 12, 13, 27, 32, 43, 45, 61, 127)),
    *(b"0", b"9", b"A", b"/", b"-", b"_", b"=\n", b"==\n", b"\n\n", b"\n\n\n", b"\r\n"),
    *(b"\x80", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
    *(text.encode() for text in ("\u2014 ", "\u2014", "\u0085", "\u00a0", "\u2028")),
    *(text.encode() for text in ("\ufeff", "\u200b", "\u3000", "\u2014 x AAAAAAA=\n")),
]


def accepted(check: Callable[..., object], *args: object) -> bool:
    try:
        check(*args)
    except AuditError:
        return False
    return True


def changed(data: bytes, draw: random.Random) -> bytes:
    """Change some bytes or lines, once or twice."""
    for _ in range(draw.choice([1, 1, 1, 2])):
        at = draw.randrange(len(data) + 1)
        lines = data.splitlines(keepends=True)
        one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
        match draw.randrange(9):
            case 0:
                flipped = bytearray(data + b"\0")
                flipped[at] ^= 1 << draw.randrange(8)
                data = bytes(flipped[: len(data)])
            case 1:
                data = data[:at] + draw.choice(PIECES) + data[at:]
            case 2:
                data = data[:at] + draw.choice(PIECES) + data[at + 1 :]
            case 3:
                data = data[:at] + data[at + draw.choice([1, 1, 2, 5, 50]) :]
            case 4:
                data = data[:at]
            case 5:
                data = b"".join([*lines[:one], lines[other], *lines[one:]])
            case 6:
                lines[one], lines[other] = lines[other], lines[one]
                data = b"".join(lines)
            case 7:
                del lines[one]
                data = b"".join(lines)
            case _:  # another last letter of a base64 text: free bits, or other bytes
                ends = [match.start() for match in re.finditer(rb"\w(?==)", data)] or [
                    0
                ]
                at = draw.choice(ends)
                data = data[:at] + draw.choice([b"A", b"B", b"h"]) + data[at + 1 :]
        data = data or b"\n"
    return data


def compare(ours: list[bool], theirs: list[str], cases: list[bytes]) -> Counter[str]:
    """Fail with the first bytes on which the verdicts differ; count the verdicts."""
    for mine, said, data in zip(ours, theirs, cases, strict=True):
        assert mine == (said == "OK"), (said, data)
    return Counter(theirs)


def lines_of(body: bytes, *values: bytes) -> list[NoteSignature]:
    """Signatures of a text by known and unknown keys, right and wrong."""
    return [
        NoteSignature(LOG.name, LOG.verifier.key_id, LOG.sign(body)),
        NoteSignature(NEXT.name, NEXT.verifier.key_id, NEXT.sign(body)),
        NoteSignature(STRANGER.name, STRANGER.verifier.key_id, STRANGER.sign(body)),
        *(NoteSignature("carol.example", b"1234", value) for value in values),
    ]


def test_changed_notes(judge: Judge) -> None:
    draw = random.Random(1)
    body = TREE_HEAD.body()
    cases = []
    for _ in range(4000):
        pool = lines_of(body, bytes(63), bytes(62), draw.randbytes(5))
        picked = draw.sample(pool, draw.randint(1, len(pool)))
        cases.append(changed(SignedNote(body, tuple(picked)).to_bytes(), draw))
    known = [LOG.verifier, NEXT.verifier]

    def check(data: bytes) -> None:
        verify(parse_note(data), known)

    ours = [accepted(check, data) for data in cases]
    keys = [key.vkey for key in known]
    theirs = judge.batch([{"kind": "note", "data": d, "keys": keys} for d in cases])
    counts = compare(ours, theirs, cases)
    assert counts["OK"] > 300
    assert counts["FAIL"] > 2000
    assert counts["SPELLING"] > 0


def test_changed_bodies_with_right_signatures(judge: Judge) -> None:
    draw = random.Random(2)
    cases = []
    for _ in range(1500):
        body = changed(TREE_HEAD.body(), draw)
        body = body if body.endswith(b"\n") else body + b"\n"
        line = NoteSignature(LOG.name, LOG.verifier.key_id, LOG.sign(body))
        cases.append(SignedNote(body, (line,)).to_bytes())
    key = LOG.verifier
    ours = [accepted(open_checkpoint, data, key) for data in cases]
    theirs = judge.batch(
        [{"kind": "checkpoint", "data": d, "keys": [key.vkey]} for d in cases]
    )
    counts = compare(ours, theirs, cases)
    assert counts["OK"] > 50
    assert counts["FAIL"] > 500


def test_changed_cosignatures(judge: Judge) -> None:
    draw = random.Random(3)
    key, body = WITNESS.cosigner, TREE_HEAD.body()
    note = SignedNote(body, (cosign(body, WITNESS, 1_790_000_000), *lines_of(body)[2:]))
    cases = [changed(note.to_bytes(), draw) for _ in range(1500)]

    def check(data: bytes) -> None:
        read = parse_note(data)
        line = next(iter(read.signed_by(key)), None)
        if line is None:
            raise AuditError("not cosigned")
        verify_cosignature(read.body, line, key)

    ours = [accepted(check, data) for data in cases]
    theirs = judge.batch(
        [{"kind": "checkpoint", "data": d, "keys": [key.vkey]} for d in cases]
    )
    counts = compare(ours, theirs, cases)
    assert counts["OK"] > 50
    assert counts["FAIL"] > 500


def test_changed_inclusion_files(judge: Judge) -> None:
    draw = random.Random(4)
    cases, entries = [], []
    for _ in range(1500):
        size = draw.randint(1, 300)
        index = draw.randrange(size)
        hashes = TREE.inclusion_proof(index, size)
        extra = draw.choice([b"", draw.randbytes(7)])
        proof = InclusionProof(index, hashes, signed(TREE, size), extra)
        data = proof.to_bytes()
        cases.append(data if draw.random() < 0.1 else changed(data, draw))
        entries.append(ENTRIES[index])

    def check(data: bytes, entry: bytes) -> None:
        InclusionProof.parse(data).verify(entry, POLICY)

    ours = [
        accepted(check, data, entry) for data, entry in zip(cases, entries, strict=True)
    ]
    keys = [LOG.verifier.vkey]
    theirs = judge.batch(
        [
            {"kind": "inclusion", "data": data, "other": entry, "keys": keys}
            for data, entry in zip(cases, entries, strict=True)
        ]
    )
    counts = compare(ours, theirs, cases)
    assert counts["OK"] > 100
    assert counts["FAIL"] > 1000


def test_changed_consistency_files(judge: Judge) -> None:
    draw = random.Random(5)
    cases, heads = [], []
    for _ in range(1500):
        new = draw.randint(1, 300)
        old = draw.randrange(new + 1)
        hashes = TREE.consistency_proof(old, new) if old else ()
        data = ConsistencyProof(old, hashes, signed(TREE, new)).to_bytes()
        cases.append(data if draw.random() < 0.1 else changed(data, draw))
        heads.append(Checkpoint(ORIGIN, old, TREE.root(old)))

    def check(data: bytes, head: Checkpoint) -> None:
        ConsistencyProof.parse(data).verify(head, LOG.verifier)

    ours = [
        accepted(check, data, head) for data, head in zip(cases, heads, strict=True)
    ]
    keys = [LOG.verifier.vkey]
    theirs = judge.batch(
        [
            {
                "kind": "consistency",
                "data": data,
                "other": signed(TREE, head.size),
                "keys": keys,
            }
            for data, head in zip(cases, heads, strict=True)
        ]
    )
    counts = compare(ours, theirs, cases)
    assert counts["OK"] > 100
    assert counts["FAIL"] > 1000


def question(case: lies.Inclusion | lies.Consistency) -> dict[str, object]:
    if isinstance(case, lies.Inclusion):
        return {
            "kind": "record",
            "index": str(case.index),
            "size": str(case.size),
            "leaf": case.leaf,
            "root": case.root,
            "hashes": case.proof,
        }
    return {
        "kind": "tree",
        "index": str(case.old_size),
        "size": str(case.new_size),
        "leaf": case.old_root,
        "root": case.new_root,
        "hashes": case.proof,
    }


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 16, 17])
def test_every_lie_has_the_same_verdict(size: int, judge: Judge) -> None:
    cases: list[lies.Inclusion | lies.Consistency] = []
    honest = 0
    for index in range(size):
        inclusion = lies.inclusion(TREE, index, size)
        consistency = lies.consistency(TREE, index + 1, size)
        cases += [inclusion, consistency]
        cases += [lie for _, lie in lies.inclusion_lies(TREE, inclusion)]
        cases += [lie for _, lie in lies.consistency_lies(TREE, consistency)]
        honest += 2
    answers = judge.batch([question(case) for case in cases])
    assert [said == "OK" for said in answers] == [lies.holds(case) for case in cases]
    assert answers.count("OK") == honest


def test_random_numbers_have_the_same_verdict(judge: Judge) -> None:
    """Also where a proof does not bind the size, so that a wrong one is accepted."""
    draw = random.Random(6)
    cases: list[lies.Inclusion | lies.Consistency] = []
    for _ in range(3000):
        new = draw.randint(1, 40)
        old = draw.randint(1, new)
        number = draw.choice([draw.randint(0, 50), 2 ** draw.randint(0, 64)])
        case = lies.inclusion(TREE, old - 1, new)
        growth = lies.consistency(TREE, old, new)
        cases += [
            replace(case, size=number),
            replace(case, index=number),
            replace(growth, old_size=number),
            replace(growth, new_size=number),
        ]
    answers = judge.batch([question(case) for case in cases])
    assert [said == "OK" for said in answers] == [lies.holds(case) for case in cases]
    assert 500 < answers.count("OK") < 6000
