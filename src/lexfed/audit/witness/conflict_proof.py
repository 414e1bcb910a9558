# SPDX-License-Identifier: Apache-2.0
"""Proof that a log showed two histories, in one file that anyone can check.

A log promises one history. Two notes with its signature cannot both be true if

    roots    they state the same size and different roots, or
    entries  they have different entries at the same index: two inclusion proofs
             [RFC 6962, 2.1.1], one under each note

and nobody but the holder of the log's key can make such a pair. The file (`_File`) is
RFC 8785 JSON; `leaf` and `proof` are there for the second kind only. Whoever checks
brings the log's keys: those in the file only say whom it accuses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from lexfed.audit.tree.checkpoint import Checkpoint, open_checkpoint
from lexfed.audit.tree.merkle import Tree, verify_inclusion
from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError
from lexfed.signing.notes import VerifierKey
from lexfed.signing.strict_text import decode_hash, encode_base64, naming, parse_json

_FORMAT = "lexfed/conflicting-checkpoints/v1"
_HOW = (
    "Save the two `checkpoint` texts as files and check their signatures with a key, "
    "for example with golang.org/x/mod/sumdb/note. They are proof if both are right "
    "and state one size with two roots, or if the two RFC 6962 inclusion proofs of the "
    "two leaf hashes at `index` are right: a log has one root for each size and one "
    "entry for each index."
)


@dataclass(frozen=True)
class ConflictSide:
    """One history: its signed note and, where needed, one entry's inclusion."""

    note: bytes
    leaf: bytes | None = None
    proof: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Conflict:
    """Two histories of one log, not yet checked; `verify` does that."""

    keys: tuple[VerifierKey, ...]
    index: int | None
    first: ConflictSide
    second: ConflictSide

    def to_bytes(self) -> bytes:
        """Return the file."""
        try:
            return canonical_bytes(
                {
                    "format": _FORMAT,
                    "how": _HOW,
                    "keys": [key.vkey for key in self.keys],
                    "index": self.index,
                    "first": _plain(self.first),
                    "second": _plain(self.second),
                }
            )
        except ValueError as error:
            raise AuditError(f"no file of conflicting checkpoints: {error}") from error

    @classmethod
    def parse(cls, data: bytes) -> "Conflict":
        """Read the file; `AuditError` if it is not one."""
        try:
            read = _File.model_validate(parse_json(data))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            at = ".".join(str(part) for part in first["loc"])
            raise AuditError(
                f"not a file of conflicting checkpoints: `{at}`: {first['msg'].lower()}"
            ) from error
        keys = tuple(VerifierKey.parse(vkey) for vkey in read.keys)
        return cls(keys, read.index, _side(read.first), _side(read.second))

    def verify(self, *log_keys: VerifierKey) -> str:
        """Check that the holder of the log's keys signed two histories; say which.

        Guarantees:
            Returns only if both notes carry a right signature of a given key.
            Returns only if no single history can have both notes.
        """
        first = _opened("first", self.first, log_keys)
        second = _opened("second", self.second, log_keys)
        if first.origin != second.origin:
            raise AuditError(
                f"two logs, not one: `{first.origin}` and `{second.origin}`"
            )
        if self.index is None:
            if first.size != second.size or first.root == second.root:
                raise AuditError("both checkpoints can be true: no proof of two roots")
            return f"`{first.origin}` signed two roots for size {first.size}"
        if self.first.leaf == self.second.leaf:
            raise AuditError(f"both checkpoints have the same entry {self.index}")
        for side, at in ((self.first, first), (self.second, second)):
            verify_inclusion(side.leaf or b"", self.index, at.size, side.proof, at.root)
        return f"`{first.origin}` signed two entries for index {self.index}"


def conflict_of_notes(
    first: bytes, second: bytes, *log_keys: VerifierKey
) -> Conflict | None:
    """Return proof from two notes alone: one size, two roots; else None."""
    one = open_checkpoint(first, *log_keys).checkpoint
    two = open_checkpoint(second, *log_keys).checkpoint
    same = one.origin == two.origin and one.size == two.size
    if not same or one.root == two.root:
        return None
    return Conflict(log_keys, None, ConflictSide(first), ConflictSide(second))


def conflict_of_logs(
    first: bytes, one: Tree, second: bytes, two: Tree, *log_keys: VerifierKey
) -> Conflict | None:
    """Return proof from two copies of a log and their notes, or None if they agree."""
    stated = []
    for name, note, tree in (("first", first, one), ("second", second, two)):
        checkpoint = open_checkpoint(note, *log_keys).checkpoint
        size = checkpoint.size
        if size > tree.size or tree.root(size) != checkpoint.root:
            raise AuditError(f"the {name} checkpoint does not describe its entries")
        stated.append(checkpoint)
    sizes = [checkpoint.size for checkpoint in stated]
    if stated[0].origin != stated[1].origin:
        return None
    leaves = zip(one.leaves[: sizes[0]], two.leaves[: sizes[1]], strict=False)
    for index, (left, right) in enumerate(leaves):
        if left != right:
            return Conflict(
                log_keys,
                index,
                ConflictSide(first, left, one.inclusion_proof(index, sizes[0])),
                ConflictSide(second, right, two.inclusion_proof(index, sizes[1])),
            )
    return None


class _SideFile(BaseModel, extra="forbid", strict=True):
    checkpoint: str
    leaf: str | None = None
    proof: list[str] = Field(default=[], max_length=64)


class _File(BaseModel, extra="forbid", strict=True):
    format: Literal["lexfed/conflicting-checkpoints/v1"]
    how: str
    keys: list[str] = Field(max_length=100)
    index: int | None  # number of the entry that differs
    first: _SideFile
    second: _SideFile


def _plain(side: ConflictSide) -> dict[str, Any]:
    plain: dict[str, Any] = {"checkpoint": side.note.decode()}
    if side.leaf is not None:
        plain["leaf"] = encode_base64(side.leaf)
        plain["proof"] = [encode_base64(each) for each in side.proof]
    return plain


def _side(read: _SideFile) -> ConflictSide:
    leaf = None if read.leaf is None else decode_hash(read.leaf, "`leaf`")
    proof = tuple(decode_hash(each, "`proof`") for each in read.proof)
    return ConflictSide(read.checkpoint.encode(), leaf, proof)


def _opened(name: str, side: ConflictSide, keys: Sequence[VerifierKey]) -> Checkpoint:
    with naming(f"{name} checkpoint"):
        return open_checkpoint(side.note, *keys).checkpoint
