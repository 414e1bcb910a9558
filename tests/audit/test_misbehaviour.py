# SPDX-License-Identifier: Apache-2.0
"""Two histories of one log become a file that anyone can check."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.audit.witness.conflict_proof import (
    Conflict,
    ConflictSide,
    conflict_of_logs,
    conflict_of_notes,
)
from lexfed.errors import AuditError
from lexfed.signing.notes import parse_note, verify
from support.audit.witnessed import ORIGIN, Book, numbered, signer

KEY = signer().verifier
LOG = numbered(9)
FORK = Book(*(f"entry {n}" for n in range(4)), "forged", *"abcdefg")


def by_roots() -> Conflict:
    found = conflict_of_notes(LOG.note(9), FORK.note(9), KEY)
    assert found is not None
    return found


def by_entries() -> Conflict:
    found = conflict_of_logs(LOG.note(), LOG.tree, FORK.note(), FORK.tree, KEY)
    assert found is not None
    return found


def test_one_size_and_two_roots_are_proof() -> None:
    found = Conflict.parse(by_roots().to_bytes())
    assert found == by_roots()
    assert found.verify(KEY) == f"`{ORIGIN}` signed two roots for size 9"


def test_two_sizes_of_two_histories_are_proof_by_an_entry() -> None:
    found = Conflict.parse(by_entries().to_bytes())
    assert found == by_entries()
    assert found.index == 4
    assert found.verify(KEY) == f"`{ORIGIN}` signed two entries for index 4"


def test_the_file_holds_notes_that_others_can_check() -> None:
    read = json.loads(by_roots().to_bytes())
    for side in ("first", "second"):
        note = parse_note(read[side]["checkpoint"].encode())
        assert verify(note, [KEY])
    assert read["keys"] == [KEY.vkey]
    assert "golang.org/x/mod" in read["how"]


def test_an_honest_log_gives_no_proof() -> None:
    for size in range(10):
        assert conflict_of_notes(LOG.note(), LOG.note(size), KEY) is None
        found = conflict_of_logs(LOG.note(), LOG.tree, LOG.note(size), LOG.tree, KEY)
        assert found is None


def test_two_logs_are_no_conflict() -> None:
    other = signer("other.example", 2)
    book = Book(*"abcdefghi", by=other)
    keys = (KEY, other.verifier)
    assert conflict_of_notes(LOG.note(), book.note(), *keys) is None
    found = conflict_of_logs(LOG.note(), LOG.tree, book.note(), book.tree, *keys)
    assert found is None
    forged = Conflict(keys, None, ConflictSide(LOG.note()), ConflictSide(book.note()))
    with pytest.raises(AuditError, match="two logs, not one"):
        forged.verify(*keys)


def test_a_note_that_does_not_describe_its_entries_is_refused() -> None:
    with pytest.raises(AuditError, match="second checkpoint does not describe"):
        conflict_of_logs(LOG.note(), LOG.tree, FORK.note(9), LOG.tree, KEY)
    with pytest.raises(AuditError, match="first checkpoint does not describe"):
        conflict_of_logs(LOG.note(), numbered(8).tree, LOG.note(), LOG.tree, KEY)


def test_keys_of_a_rotation_both_count() -> None:
    new = signer(seed=2)
    fork = Book(*"abcdefghi", by=new)
    found = conflict_of_notes(LOG.note(), fork.note(), KEY, new.verifier)
    assert found is not None
    found.verify(new.verifier, KEY)
    with pytest.raises(AuditError, match="second checkpoint: note is not signed"):
        found.verify(KEY)


def test_only_the_reader_says_whose_key_it_is() -> None:
    thief = signer(seed=2)
    one, two = Book(*"ab", by=thief), Book(*"cd", by=thief)
    framed = conflict_of_notes(one.note(), two.note(), thief.verifier)
    assert framed is not None
    framed.verify(thief.verifier)
    with pytest.raises(AuditError, match="first checkpoint: note is not signed"):
        replace(framed, keys=(KEY,)).verify(KEY)


ATTEMPTS: dict[str, Conflict] = {
    "same note twice": replace(by_roots(), second=ConflictSide(LOG.note(9))),
    "two sizes": replace(by_roots(), second=ConflictSide(LOG.note(8))),
    "two sizes of two histories": replace(by_roots(), second=ConflictSide(FORK.note())),
    "same leaf": replace(
        by_entries(), second=replace(by_entries().second, leaf=by_entries().first.leaf)
    ),
    "no leaves": replace(
        by_entries(), first=ConflictSide(LOG.note()), second=ConflictSide(FORK.note())
    ),
    "one leaf": replace(by_entries(), first=ConflictSide(LOG.note())),
    "another index": replace(by_entries(), index=3),
    "index beyond the log": replace(by_entries(), index=2**50),
    "index beyond JSON": replace(by_entries(), index=2**60),
    "a note that is no text": replace(by_roots(), first=ConflictSide(b"\xff")),
    "negative index": replace(by_entries(), index=-1),
    "shorter proof": replace(
        by_entries(),
        first=replace(by_entries().first, proof=by_entries().first.proof[1:]),
    ),
    "an entry that is not there": replace(
        by_entries(), first=replace(by_entries().first, leaf=bytes(32))
    ),
    "a changed note": replace(
        by_roots(), first=ConflictSide(LOG.note().replace(b"\n9\n", b"\n7\n"))
    ),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_what_proves_nothing_is_refused(name: str) -> None:
    with pytest.raises(AuditError):
        Conflict.parse(ATTEMPTS[name].to_bytes()).verify(KEY)


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    read = json.loads(by_entries().to_bytes())
    change(read)
    return json.dumps(read).encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not JSON"),
        (b"[]", "dictionary"),
        (b'{"format":"x"}', "`format`"),
        (changed(lambda file: file.pop("index")), "`index`"),
        (changed(lambda file: file.update(more=1)), "`more`"),
        (changed(lambda file: file.update(index="4")), "`index`"),
        (changed(lambda file: file.update(index=True)), "`index`"),
        (changed(lambda file: file.update(keys=["x"])), "verifier key"),
        (changed(lambda file: file.update(keys=["x"] * 101)), "`keys`"),
        (changed(lambda file: file["first"].update(leaf="x")), "`leaf`"),
        (changed(lambda file: file["first"].update(proof=["AA=="])), "32 bytes"),
        (changed(lambda file: file["first"].update(proof=[""] * 65)), "proof"),
        (changed(lambda file: file["first"].update(checkpoint=5)), "checkpoint"),
        (b'{"index":1,"index":2}', "twice"),
    ],
)
def test_a_file_of_another_form_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(AuditError, match=said):
        Conflict.parse(data)


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from([by_roots().to_bytes(), by_entries().to_bytes()]),
    st.integers(0, 10_000),
    st.integers(1, 255),
)
def test_no_changed_byte_makes_another_proof(data: bytes, at: int, by: int) -> None:
    position = at % len(data)
    spoiled = bytearray(data)
    spoiled[position] ^= by
    try:
        read = Conflict.parse(bytes(spoiled))
        read.verify(KEY)
    except AuditError:
        return
    # What is left of it proves the same; only `how` and `keys` are free text.
    original = Conflict.parse(data)
    assert replace(read, keys=()) == replace(original, keys=())
