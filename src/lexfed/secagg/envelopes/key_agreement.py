# SPDX-License-Identifier: Apache-2.0
"""Keys that two sites share, bound to what they are for.

    key = HKDF-SHA256(X25519(mine, theirs), info = context | purpose | pair)

The context is a hash over everything that both must see alike. Sites that were shown
different models derive different masks, which do not cancel: the server is left with
noise, not with the update of the one whose model it bent [PFA22].
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PrivateKey,
    X25519PublicKey,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.identities import Roster

PROTOCOL = 1
HASH_BYTES = 32
CURVE_PRIME = 2**255 - 19
"""The field of X25519 [RFC 7748, 4.1]."""
NO_MODEL = bytes(HASH_BYTES)
"""The model hash of set-up messages: no model has been sent yet."""
_DOMAIN = b"lexfed secagg context"


@dataclass(frozen=True)
class Context:
    """The values that all sites of a round must see alike.

    `session` is chosen anew for every session; `round` is 0 at set-up; `model`,
    `policy` and `roster` are SHA-256 digests.
    """

    session: bytes
    epoch: int
    round: int
    model: bytes
    policy: bytes
    roster: bytes
    version: int = PROTOCOL

    def __post_init__(self) -> None:
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(value, bytes) and len(value) != HASH_BYTES:
                raise ValueError(f"expected `{part.name}` of {HASH_BYTES} bytes")
            if isinstance(value, int) and not 0 <= value < 2**64:
                raise ValueError(f"expected 0 <= `{part.name}` < 2^64, got: {value}")

    @property
    def digest(self) -> bytes:
        """SHA-256 over all parts, each of fixed length: no two contexts read alike."""
        numbers = (self.version, self.epoch, self.round)
        hashes = (self.session, self.model, self.policy, self.roster)
        parts = [number.to_bytes(8, "big") for number in numbers]
        return sha256(b"".join((_DOMAIN, *parts, *hashes))).digest()


@dataclass(frozen=True)
class EpochSetting(ABC):
    """An epoch with its sites and policy; its number is used once in a session."""

    session: bytes
    epoch: int
    policy: bytes
    sites: Roster

    @property
    @abstractmethod
    def agreed(self) -> bytes:
        """SHA-256 of policy, other parties and terms: the policy field of a context."""

    def context(self, round_number: int = 0, model: bytes = NO_MODEL) -> Context:
        """Return the context of a round; of the set-up by default."""
        policy, roster = self.agreed, self.sites.digest
        return Context(self.session, self.epoch, round_number, model, policy, roster)


def derived_key(secret: bytes, context: bytes, purpose: str, size: int = 32) -> bytes:
    """Derive a key for one purpose from one's own secret of 32 uniform bytes."""
    return _hkdf(secret, context, purpose, (), size)


def private_key(secret: bytes, context: bytes, purpose: str) -> X25519PrivateKey:
    """Return the key pair of a secret; whoever opens the secret can rebuild it."""
    return X25519PrivateKey.from_private_bytes(derived_key(secret, context, purpose))


def pairwise_key(
    private: X25519PrivateKey,
    peer: bytes,
    context: bytes,
    purpose: str,
    pair: tuple[str, str],
    size: int = 16,
) -> bytes:
    """Return the key for one purpose that two sites, `pair` in any order, share.

    Guarantees:
        Both sites get the same key if and only if context, purpose and pair agree.
        A `peer` key of small order, one that is no key, and another spelling of a key
            (X25519 ignores the highest bit, and reduces by p) are refused: bytes that
            name a key name one.
    """
    try:
        if int.from_bytes(peer, "little") >= CURVE_PRIME:
            raise ValueError("another key is spelt so")
        shared = private.exchange(X25519PublicKey.from_public_bytes(peer))
    except ValueError as error:
        raise SecAggError(
            f"no key can be agreed between `{pair[0]}` and `{pair[1]}`: "
            "the public key is not sound",
            "leave the site that sent it out",
        ) from error
    return _hkdf(shared, context, purpose, tuple(sorted(pair)), size)


def _hkdf(
    secret: bytes, context: bytes, purpose: str, pair: tuple[str, ...], size: int
) -> bytes:
    if len(context) != HASH_BYTES:
        raise ValueError(f"expected a context of {HASH_BYTES} bytes")
    # Lengths in front: no purpose and name can be read as another purpose and name.
    texts = [text.encode() for text in (purpose, *pair)]
    info = context + b"".join(len(text).to_bytes(2, "big") + text for text in texts)
    return HKDF(SHA256(), size, salt=None, info=info).derive(secret)
