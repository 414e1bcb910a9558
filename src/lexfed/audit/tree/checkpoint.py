# SPDX-License-Identifier: Apache-2.0
r"""Checkpoints and cosignatures [tlog-checkpoint, tlog-cosignature].

A checkpoint is the log's signed statement of its size and root:

    <origin>\n
    <size, decimal, no leading zero>\n
    <base64 of the 32-byte root>\n

This body is the text of a signed note; the name of the key that signs it is the origin.
Lines after the third are allowed by the specification and refused here: ML-DSA
cosignatures do not cover them.

A cosignature says when a witness saw which checkpoint:

    value(04) = u64 time || Ed25519("cosignature/v1\ntime <time>\n" || body)    72 bytes
    value(06) = u64 time || ML-DSA-44(message)                                2428 bytes
    message   = "subtree/v1\n\0" || u8 length || witness name || u64 time
                || u8 length || origin || u64 0 || u64 size || root

Numbers are big-endian, time is in seconds since 1970. A cosignature states that, at
that time, this was the largest tree of the log the witness had seen, and that it grew
from every earlier one. The Ed25519 message does not name the witness: one key must not
serve two witnesses, nor a witness and a log. ML-DSA-44 [FIPS 204] withstands quantum
computers; it is checked where the installed `cryptography` can.
"""

from dataclasses import dataclass

from lexfed.audit.tree.merkle import EMPTY_ROOT, HASH_SIZE, MAX_SIZE
from lexfed.errors import AuditError
from lexfed.signing.keys import Signer
from lexfed.signing.notes import (
    ED25519_COSIGNER,
    MLDSA44_COSIGNER,
    NoteSignature,
    SignedNote,
    VerifierKey,
    check_name,
    parse_note,
    verify,
    verify_ed25519,
)
from lexfed.signing.strict_text import decode_hash, encode_base64, parse_decimal

MAX_TIME = 2**63 - 1
_VALUE_SIZE = {ED25519_COSIGNER: 72, MLDSA44_COSIGNER: 2428}


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
    """Return the signed note, with one signature for each of the log's keys."""
    body = checkpoint.body()
    signatures = []
    for signer in signers:
        _check_origin(checkpoint.origin, signer.verifier)
        signatures.append(signer.note_signature(body))
    if not signatures:
        raise AuditError(f"checkpoint of `{checkpoint.origin}` needs a signer")
    return SignedNote(body, tuple(signatures)).to_bytes()


def open_checkpoint(data: bytes, *log_keys: VerifierKey) -> SignedCheckpoint:
    """Read a checkpoint that at least one of the log's keys has signed.

    Guarantees:
        Nothing is returned unless the signature of a given key was checked.
        A wrong signature of any given key refuses the checkpoint.
        The origin is the name of every given key that signed.
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


def cosign(body: bytes, signer: Signer, timestamp: int) -> NoteSignature:
    """Return the Ed25519 cosignature of a checkpoint body at a time."""
    Checkpoint.parse(body)
    _check_time(timestamp, signer.name)
    value = signer.sign(ed25519_message(body, timestamp))
    key = signer.cosigner
    return NoteSignature(key.name, key.key_id, timestamp.to_bytes(8, "big") + value)


def ed25519_message(body: bytes, timestamp: int) -> bytes:
    """Return the bytes that an Ed25519 cosigner signs."""
    return b"cosignature/v1\ntime %d\n" % timestamp + body


def mldsa44_message(checkpoint: Checkpoint, name: str, timestamp: int) -> bytes:
    """Return the bytes that an ML-DSA-44 cosigner signs."""
    span = bytes(8) + checkpoint.size.to_bytes(8, "big")
    log = _short(checkpoint.origin) + span + checkpoint.root
    return b"subtree/v1\n\0" + _short(name) + timestamp.to_bytes(8, "big") + log


def verify_cosignature(body: bytes, signature: NoteSignature, key: VerifierKey) -> int:
    """Check a cosignature of a checkpoint body and return its time.

    Guarantees:
        Returns only a time from 1 to 2^63-1 that the key signed with this body.
        A signature that names another key is refused, whatever its bytes.
    """
    size = _VALUE_SIZE.get(key.algorithm)
    if size is None:
        raise AuditError(f"key `{key.name}` is a log's, not a witness's")
    if not signature.is_by(key):
        raise AuditError(f"cosignature is not by the key {key.key_id.hex()}")
    if len(signature.value) != size:
        raise AuditError(
            f"cosignature of `{key.name}`: expected {size} bytes, "
            f"got: {len(signature.value)}"
        )
    checkpoint = Checkpoint.parse(body)
    timestamp = int.from_bytes(signature.value[:8], "big")
    _check_time(timestamp, key.name)
    value = signature.value[8:]
    if key.algorithm == ED25519_COSIGNER:
        message = ed25519_message(body, timestamp)
        valid = verify_ed25519(key.public, message, value)
    else:
        message = mldsa44_message(checkpoint, key.name, timestamp)
        valid = _verify_mldsa44(key, message, value)
    if not valid:
        raise AuditError(
            f"cosignature of `{key.name}` (key {key.key_id.hex()}) is wrong",
            "the checkpoint or the cosignature was changed after signing",
        )
    return timestamp


def _verify_mldsa44(key: VerifierKey, message: bytes, value: bytes) -> bool:
    # Imported here: older releases of `cryptography` do not have it.
    try:
        from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric import mldsa

        mldsa.MLDSA44PublicKey.from_public_bytes(key.public).verify(value, message)
    except (ImportError, UnsupportedAlgorithm) as error:
        raise AuditError(
            f"cannot check the ML-DSA-44 cosignature of `{key.name}` here",
            "`pip install --upgrade cryptography`",
        ) from error
    except (InvalidSignature, ValueError):
        return False
    return True


def _short(text: str) -> bytes:
    data = text.encode()
    if len(data) > 255:
        raise AuditError(f"name `{text[:60]}` is longer than 255 bytes")
    return bytes([len(data)]) + data


def _check_time(timestamp: int, name: str) -> None:
    # 0 is allowed for ML-DSA and means that the cosigner states no time; a witness
    # without a time does not date anything, so we do not count it.
    if not 1 <= timestamp <= MAX_TIME:
        raise AuditError(f"cosignature of `{name}` has no time from 1 to 2^63-1")
