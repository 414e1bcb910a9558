# SPDX-License-Identifier: Apache-2.0
"""A pin remembers, and never moves back or sideways."""

import os
import threading
from pathlib import Path

import pytest

from lexfed.audit.storage.pins import check_pin, pin_path, read_pin, write_pin
from lexfed.audit.tree.checkpoint import Checkpoint, cosign, open_checkpoint
from lexfed.errors import AuditError, RunFolderError
from lexfed.signing.notes import parse_note
from support.audit.witnessed import ORIGIN, WITNESS, Book, numbered, signer

KEY = signer().verifier
LOG = numbered(9)


def pinned(keys: Path) -> Checkpoint:
    pin = read_pin(keys, ORIGIN, KEY)
    assert pin is not None
    return pin.checkpoint


def test_no_pin_at_first(tmp_path: Path) -> None:
    assert read_pin(tmp_path / "keys", ORIGIN, KEY) is None


def test_a_pin_is_kept_beside_the_keys(tmp_path: Path) -> None:
    write_pin(tmp_path, LOG.note(4), LOG.tree, KEY)
    assert pinned(tmp_path).size == 4
    path = pin_path(tmp_path, ORIGIN)
    assert path.read_bytes() == LOG.note(4)
    assert path.parent == tmp_path / "pins"
    assert len(path.name) == len("0123456789abcdef.checkpoint")


def test_a_pin_moves_forward(tmp_path: Path) -> None:
    for size in (0, 4, 4, 9):
        write_pin(tmp_path, LOG.note(size), LOG.tree, KEY)
        assert pinned(tmp_path).size == size


def test_a_pin_never_moves_back(tmp_path: Path) -> None:
    write_pin(tmp_path, LOG.note(5), LOG.tree, KEY)
    with pytest.raises(AuditError, match="does not move back: 5 entries"):
        write_pin(tmp_path, LOG.note(4), LOG.tree, KEY)
    assert pinned(tmp_path).size == 5


def test_a_shorter_log_does_not_move_a_pin(tmp_path: Path) -> None:
    write_pin(tmp_path, LOG.note(5), LOG.tree, KEY)
    short = numbered(4)
    with pytest.raises(AuditError, match="4 entries, but 5 were pinned") as caught:
        write_pin(tmp_path, short.note(), short.tree, KEY)
    assert "backup" in caught.value.hint


@pytest.mark.parametrize("size", [5, 9])
def test_a_pin_never_moves_to_another_history(tmp_path: Path, size: int) -> None:
    write_pin(tmp_path, LOG.note(5), LOG.tree, KEY)
    fork = Book(*(f"forged {number}" for number in range(size)))
    with pytest.raises(AuditError, match="is not the pinned one"):
        write_pin(tmp_path, fork.note(), fork.tree, KEY)
    assert pinned(tmp_path).root == LOG.tree.root(5)


def test_signatures_of_one_size_are_joined(tmp_path: Path) -> None:
    body = parse_note(LOG.note()).body
    witness = signer(WITNESS, seed=5)
    cosigned = parse_note(LOG.note()).with_signatures([cosign(body, witness, 7)])
    write_pin(tmp_path, cosigned.to_bytes(), LOG.tree, KEY)
    write_pin(tmp_path, LOG.note(), LOG.tree, KEY)
    pin = read_pin(tmp_path, ORIGIN, KEY)
    assert pin is not None
    assert {each.name for each in pin.note.signatures} == {ORIGIN, WITNESS}


def test_only_a_signed_checkpoint_of_the_entries_is_pinned(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="not signed by"):
        write_pin(tmp_path, numbered(9, by=signer(seed=2)).note(), LOG.tree, KEY)
    fork = Book(*"abcdefghi")
    with pytest.raises(AuditError, match="is not the pinned one"):
        write_pin(tmp_path, fork.note(), LOG.tree, KEY)
    assert not (tmp_path / "pins").exists()


def test_a_log_that_extends_the_pin_passes() -> None:
    for size in range(10):
        pin = open_checkpoint(LOG.note(size), KEY).checkpoint
        check_pin(pin, ORIGIN, LOG.tree)


def test_a_pin_of_another_log_says_nothing() -> None:
    pin = open_checkpoint(LOG.note(), KEY).checkpoint
    with pytest.raises(AuditError, match="the log is `elsewhere`"):
        check_pin(pin, "elsewhere", LOG.tree)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "blank line"),
        (b"\xff" * 100_000, "UTF-8"),
        (LOG.note().replace(b"\n9\n", b"\n8\n"), "is wrong"),
        (numbered(2, by=signer("other.example", 1)).note(), "not signed by"),
    ],
)
def test_a_damaged_pin_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = pin_path(tmp_path, ORIGIN)
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(AuditError, match=said) as caught:
        read_pin(tmp_path, ORIGIN, KEY)
    assert str(path) in caught.value.message


def test_a_pin_of_another_log_is_refused(tmp_path: Path) -> None:
    other = numbered(2, by=signer("other.example", 2))
    path = pin_path(tmp_path, ORIGIN)
    path.parent.mkdir()
    path.write_bytes(other.note())
    with pytest.raises(AuditError, match=r"is of `other\.example`"):
        read_pin(tmp_path, ORIGIN, KEY, other.signer.verifier)


def test_files_in_the_way_are_named(tmp_path: Path) -> None:
    (tmp_path / "pins").write_text("in the way")
    with pytest.raises(RunFolderError, match="pins"):
        write_pin(tmp_path, LOG.note(), LOG.tree, KEY)
    with pytest.raises(RunFolderError, match="pins"):
        read_pin(tmp_path, ORIGIN, KEY)


def test_writers_at_once_end_with_the_largest(tmp_path: Path) -> None:
    refused: list[AuditError] = []

    def write(size: int) -> None:
        try:
            write_pin(tmp_path, LOG.note(size), LOG.tree, KEY)
        except AuditError as error:
            refused.append(error)

    threads = [threading.Thread(target=write, args=(size,)) for size in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pinned(tmp_path).size == 9
    assert os.listdir(tmp_path / "pins") == [pin_path(tmp_path, ORIGIN).name]
