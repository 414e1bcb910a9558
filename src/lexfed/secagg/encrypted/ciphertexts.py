# SPDX-License-Identifier: Apache-2.0
"""Ciphertexts as plain numbers, without TenSEAL, and fingerprints that check their sum.

A ciphertext is two polynomials with N coefficients modulo q. They travel as unsigned
integers of fixed width: lengths are known before a message arrives, every number that
is not below q is refused, and adding is adding modulo q.

The key holder must know that it decrypts the sum of the listed sites' ciphertexts,
without being given the single ones. So each site sends it <k, c> mod q, which is
linear, for keys k drawn afresh from a seed that the server does not know [AB09]. A
wrong sum fits two independent k with probability below 2^-79; a site that helps the
server can give it the seed (docs/theory/homomorphic.md).
"""

from collections.abc import Sequence

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from lexfed.errors import SecAggError
from lexfed.secagg.encrypted.terms import DEGREE, Moduli
from lexfed.secagg.envelopes.key_agreement import Context, derived_key, pairwise_key
from lexfed.secagg.primitives.keystreams import KEY_BYTES, keystream

Coefficients = NDArray[np.uint64]
"""One row of 2N for each ciphertext."""

SEED = 32
_KEYS = 2
_WORD = 8
_LIMBS = 4
_TAG = 16
SEALED_SEED = SEED + _TAG
SEALED_TAGS = _KEYS * _WORD + _TAG
_NONCE = bytes(12)
"""A key encrypts one message: one of the epoch, one of each round."""

Tags = tuple[int, ...]


def zeros(blocks: int) -> Coefficients:
    """Return an empty sum."""
    return np.zeros((blocks, 2 * DEGREE), dtype=np.uint64)


def pack(rows: Coefficients, moduli: Moduli) -> bytes:
    """Return coefficients as little-endian bytes, 5 to 8 each."""
    raw = rows.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)
    return raw[:, : moduli.width].tobytes()


def unpack(data: bytes | memoryview, moduli: Moduli, whose: str) -> Coefficients:
    """Read coefficients whose number of bytes has been checked.

    Guarantees:
        Every coefficient is below q.
    """
    raw = np.frombuffer(data, dtype=np.uint8).reshape(-1, moduli.width)
    wide = np.zeros((len(raw), 8), dtype=np.uint8)
    wide[:, : moduli.width] = raw
    rows = wide.view("<u8").astype(np.uint64, copy=False).reshape(-1, 2 * DEGREE)
    if int(rows.max()) >= moduli.cipher:
        raise SecAggError(f"{whose} holds a number that is not below the modulus")
    return rows


def add(total: Coefficients, rows: Coefficients, moduli: Moduli) -> None:
    """Add ciphertexts to a sum, in place."""
    np.add(total, rows, out=total)  # below 2^61
    # Where the sum is below q, taking q off goes round to something larger.
    np.minimum(total, total - np.uint64(moduli.cipher), out=total)


def fingerprint(
    rows: Coefficients, seed: bytes, context: Context, modulus: int
) -> Tags:
    """Return <k, c> modulo q for two keys k.

    Limbs of 16 bits are multiplied by an exact float64 matrix product: one row of 2^13
    gives sums below 2^45, and 2^15 rows below 2^60.
    """
    total = np.zeros((_KEYS * _LIMBS, _LIMBS), dtype=np.int64)
    for at, row in enumerate(rows):
        key = derived_key(seed, context.digest, f"fingerprint of block {at}", KEY_BYTES)
        stream = keystream(key, _KEYS * row.nbytes)
        secret = np.frombuffer(stream, dtype="<u2").reshape(-1, _KEYS * _LIMBS)
        public = row.astype("<u8", copy=False).view("<u2").reshape(-1, _LIMBS)
        product = secret.T.astype(np.float64) @ public.astype(np.float64)
        total += product.astype(np.int64)
    limbs = total.reshape(_KEYS, _LIMBS, _LIMBS).tolist()
    return tuple(_joined(each) % modulus for each in limbs)


def _joined(limbs: Sequence[Sequence[int]]) -> int:
    return sum(
        value << 16 * (at + other)
        for at, line in enumerate(limbs)
        for other, value in enumerate(line)
    )


def summed_tags(tags: Sequence[Tags], modulus: int) -> Tags:
    """Return the fingerprint that the sum of the ciphertexts must have."""
    return tuple(sum(column) % modulus for column in zip(*tags, strict=True))


def _cipher(
    private: X25519PrivateKey, peer: bytes, context: Context, pair: tuple[str, str]
) -> AESGCM:
    return AESGCM(pairwise_key(private, peer, context.digest, "fingerprint", pair, 32))


def seal_secret(
    private: X25519PrivateKey,
    peer: bytes,
    context: Context,
    pair: tuple[str, str],
    secret: bytes,
) -> bytes:
    """Encrypt a seed (at set-up, to a site) or tags (in a round, to the key holder)."""
    return _cipher(private, peer, context, pair).encrypt(_NONCE, secret, None)


def open_secret(
    private: X25519PrivateKey,
    peer: bytes,
    context: Context,
    pair: tuple[str, str],
    sealed: bytes | memoryview,
) -> bytes:
    """Decrypt a secret that the other of the pair sealed in this context."""
    try:
        return _cipher(private, peer, context, pair).decrypt(_NONCE, sealed, None)
    except InvalidTag as error:
        raise SecAggError(
            f"what `{pair[0]}` sent to `{pair[1]}` cannot be decrypted",
            "it was made for another epoch, or by a program that was restarted",
            blamed=pair[:1],
        ) from error


def pack_tags(tags: Tags) -> bytes:
    """Return tags as bytes."""
    return b"".join(tag.to_bytes(_WORD, "big") for tag in tags)


def read_tags(data: bytes) -> Tags:
    """Read tags, whose length their encryption has fixed."""
    return tuple(
        int.from_bytes(data[at : at + _WORD], "big")
        for at in range(0, len(data), _WORD)
    )
