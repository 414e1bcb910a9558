# SPDX-License-Identifier: Apache-2.0
r"""Cosignatures: a witness says when it saw which checkpoint [tlog-cosignature].

    value(04) = u64 time || Ed25519("cosignature/v1\ntime <time>\n" || body)    72 bytes
    value(06) = u64 time || ML-DSA-44(message)                                2428 bytes
    message   = "subtree/v1\n\0" || u8 length || witness name || u64 time
                || u8 length || origin || u64 0 || u64 size || root

Numbers are big-endian, time is in seconds since 1970. A cosignature states that, at
that time, this was the largest tree of the log the witness had seen, and that it grew
from every earlier one. The Ed25519 message does not name the witness: one key must not
serve two witnesses, nor a witness and a log.

ML-DSA-44 [FIPS 204] withstands quantum computers. We check such cosignatures where the
installed `cryptography` can; our own witness signs with Ed25519.
"""

from lexfed.audit.tree.checkpoint import Checkpoint
from lexfed.errors import AuditError
from lexfed.signing.keys import Signer
from lexfed.signing.notes import (
    ED25519_COSIGNER,
    MLDSA44_COSIGNER,
    NoteSignature,
    VerifierKey,
    verify_ed25519,
)

MAX_TIME = 2**63 - 1

_VALUE_SIZE = {ED25519_COSIGNER: 72, MLDSA44_COSIGNER: 2428}


def cosign(body: bytes, signer: Signer, timestamp: int) -> NoteSignature:
    """Return the Ed25519 cosignature of a checkpoint body at a time.

    Raises:
        AuditError: if the bytes are no checkpoint, or the time is not from 1 to 2^63-1.
    """
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
    return b"".join(
        [
            b"subtree/v1\n\0",
            _short(name),
            timestamp.to_bytes(8, "big"),
            _short(checkpoint.origin),
            (0).to_bytes(8, "big"),
            checkpoint.size.to_bytes(8, "big"),
            checkpoint.root,
        ]
    )


def verify_cosignature(body: bytes, signature: NoteSignature, key: VerifierKey) -> int:
    """Check a cosignature of a checkpoint body and return its time.

    Guarantees:
        Returns only a time from 1 to 2^63-1 that the key signed with this body.
        A signature that names another key is refused, whatever its bytes.

    Raises:
        AuditError: if the signature does not verify.
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
