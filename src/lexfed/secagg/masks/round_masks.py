# SPDX-License-Identifier: Apache-2.0
"""Masks of a round: a site adds them, the server takes off what is left of them.

    y_i = x_i + PRG(own_i) + sum_{j > i} PRG(pair_ij) - sum_{j < i} PRG(pair_ij)

modulo 2^bits [BIK+17]. In the sum over the sites that answered, masks of pairs
cancel if both answered. Every key is bound to the round, the model and the set-up as
the site saw them. Where two sites saw different ones, nothing cancels.
"""

from collections.abc import Iterable
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lexfed.secagg.envelopes.key_agreement import Context, derived_key, pairwise_key
from lexfed.secagg.primitives.keystreams import KEY_BYTES, add_mask
from lexfed.secagg.primitives.ring import RingWords


def binding(context: Context, agreed: bytes) -> bytes:
    """Return the digest of context and set-up that masks of a round are bound to."""
    return sha256(b"lexfed secagg masks\x00" + context.digest + agreed).digest()


def add_own(total: RingWords, bound: bytes, seed: bytes, sign: int) -> None:
    """Add a site's own mask to a vector, or take it off."""
    add_mask(total, derived_key(seed, bound, "own mask", KEY_BYTES), sign)


def add_pairs(
    total: RingWords,
    bound: bytes,
    name: str,
    key: X25519PrivateKey,
    peers: Iterable[tuple[str, bytes]],
    sign: int,
) -> None:
    """Add one site's masks with others to a vector, or take them off (sign -1)."""
    for other, public in peers:
        mask = pairwise_key(
            key, public, bound, "mask of a pair", (name, other), KEY_BYTES
        )
        add_mask(total, mask, sign if name < other else -sign)
