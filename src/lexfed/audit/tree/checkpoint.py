# SPDX-License-Identifier: Apache-2.0
r"""Checkpoints: the log's signed statement of its size and root [tlog-checkpoint].

    <origin>\n
    <size, decimal, no leading zero>\n
    <base64 of the 32-byte root>\n

This body is the text of a signed note. The origin is the identity of the log, whatever
key it signs with; the key's name equals the origin, so a log that changes its key signs
with old and new key under one name. Lines after the third are allowed by the
specification and refused here: ML-DSA cosignatures do not cover them and auditors
cannot check them.
"""

from dataclasses import dataclass

from lexfed.audit.tree.merkle import EMPTY_ROOT, HASH_SIZE, MAX_SIZE
from lexfed.errors import AuditError
from lexfed.signing.base64_text import decode_hash, encode_base64, parse_decimal
from lexfed.signing.keys import Signer
from lexfed.signing.notes import (
    NoteSignature,
    SignedNote,
    VerifierKey,
    check_name,
    parse_note,
    verify,
)


@dataclass(frozen=True)
class Checkpoint:
    """A log's statement about itself: its origin, its number of entries, its root."""

    origin: str
    size: int
    root: bytes

    def __post_init__(self) -> None:
        check_name(self.origin)
        if not 0 <= self.size <= MAX_SIZE or len(self.root) != HASH_SIZE:
            raise AuditError(f"checkpoint of `{self.origin}` has no sound size or root")
        if self.size == 0 and self.root != EMPTY_ROOT:
            raise AuditError(
                f"checkpoint of `{self.origin}`: the root of an empty log is "
                f"{EMPTY_ROOT.hex()}, got: {self.root.hex()}"
            )

    def body(self) -> bytes:
        """Return the bytes that are signed."""
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root)}\n".encode()

    @classmethod
    def parse(cls, body: bytes) -> "Checkpoint":
        """Read the body of a checkpoint.

        Guarantees:
            `Checkpoint.parse(body).body() == body`.

        Raises:
            AuditError: if the bytes are anything but origin, size and root.
        """
        try:
            lines = body.decode().split("\n")
        except UnicodeDecodeError as error:
            raise AuditError(
                f"checkpoint is not UTF-8 at byte {error.start}"
            ) from error
        if len(lines) != 4 or lines[3]:
            raise AuditError(
                "checkpoint: expected three lines (origin, size, root), "
                f"got: {len(lines) - 1}"
            )
        origin, size, root, _ = lines
        return cls(
            origin,
            parse_decimal(size, "checkpoint, line 2 (size)"),
            decode_hash(root, "checkpoint, line 3 (root)"),
        )


@dataclass(frozen=True)
class SignedCheckpoint:
    """A checkpoint whose log signature was checked, and the note it came in."""

    checkpoint: Checkpoint
    note: SignedNote


def sign(checkpoint: Checkpoint, *signers: Signer) -> bytes:
    """Return the signed note, with one signature for each of the log's keys.

    Raises:
        AuditError: if a signer's name is not the origin, or there is no signer.
    """
    body = checkpoint.body()
    signatures = []
    for signer in signers:
        _check_origin(checkpoint.origin, signer.verifier)
        key_id = signer.verifier.key_id
        signatures.append(NoteSignature(signer.name, key_id, signer.sign(body)))
    if not signatures:
        raise AuditError(f"checkpoint of `{checkpoint.origin}` needs a signer")
    return SignedNote(body, tuple(signatures)).to_bytes()


def open_checkpoint(data: bytes, *log_keys: VerifierKey) -> SignedCheckpoint:
    """Read a checkpoint that at least one of the log's keys has signed.

    Guarantees:
        Nothing is returned unless the signature of a given key was checked.
        A wrong signature of any given key refuses the checkpoint.
        The origin is the name of every given key that signed.

    Raises:
        AuditError: if it is malformed or not signed by a given key.
    """
    note = parse_note(data)
    signatures = verify(note, log_keys)
    checkpoint = Checkpoint.parse(note.body)
    for signature in signatures:
        _check_origin(checkpoint.origin, signature)
    return SignedCheckpoint(checkpoint, note)


def _check_origin(origin: str, signed: VerifierKey | NoteSignature) -> None:
    if signed.name != origin:
        raise AuditError(
            f"checkpoint of `{origin}` is signed by the key of `{signed.name}`",
            "the name of a log's key is the log's origin",
        )
