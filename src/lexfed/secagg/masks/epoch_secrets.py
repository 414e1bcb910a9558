# SPDX-License-Identifier: Apache-2.0
"""The secrets of a site for an epoch, the shares that others hold, and the masks.

A site draws two independent secrets for every round of an epoch: the seed of its own
mask, and the seed of the X25519 key from which its masks with other sites come. Each
has its own polynomial. A dealer publishes a mark of each own seed and the public key of
each key seed, so an opened secret can be checked, and signs commitments to all shares,
also to the one that it keeps, so a share that was given out can be checked.

Every part is encrypted under a key pair of its own. A dealer accused of dealing badly
gives out the private key of that one part, and anybody can see who lies: the holder
that complained, if the part is what was committed to; else the dealer that signed it.

A round's masks are added by sites, and the server takes off those that remain:

    y_i = x_i + PRG(own_i) + sum_{j > i} PRG(pair_ij) - sum_{j < i} PRG(pair_ij)

modulo 2^bits [BIK+17]. Every key is bound to the round, the model and the set-up as the
site saw them: where two sites saw different ones, nothing cancels.
"""

from collections.abc import Iterable
from hashlib import sha256

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lexfed.errors import SecAggError
from lexfed.randomness import RandomSource
from lexfed.secagg.envelopes.identities import Identity, Roster
from lexfed.secagg.envelopes.key_agreement import (
    Context,
    derived_key,
    pairwise_key,
    private_key,
)
from lexfed.secagg.envelopes.payloads import AdvertisedKeys, SealedPart, root_of
from lexfed.secagg.masks.thresholds import Threshold
from lexfed.secagg.primitives import shamir
from lexfed.secagg.primitives.keystreams import KEY_BYTES, add_mask
from lexfed.secagg.primitives.ring import RingWords
from lexfed.secagg.primitives.shamir import Elements

OWN = 0
"""Shares of the seed of a site's own mask, which opens a site that answered."""
PAIR = 1
"""Shares of the seed of its mask key, which opens a site that dropped out."""


def row(round_number: int, which: int) -> int:
    """Return the place of a round's secret among all secrets of an epoch."""
    return 2 * (round_number - 1) + which


def seed_mark(setup: bytes, name: str, round_number: int, seed: bytes) -> bytes:
    """Return the public hash of the seed of a site's own mask."""
    text = f"lexfed secagg mark {round_number} {name} ".encode()
    return sha256(text + setup + seed).digest()


def mask_key(
    setup: bytes, name: str, round_number: int, seed: bytes
) -> X25519PrivateKey:
    """Return the key from which a site's masks with others in a round are derived."""
    return private_key(seed, setup, f"mask key of {name} in round {round_number}")


class EpochSecrets:
    """Everything secret that a site draws for an epoch.

    Guarantees:
        Secrets of a round that was used are overwritten.
    """

    def __init__(
        self, setup: bytes, name: str, rounds: int, source: RandomSource
    ) -> None:
        self._setup = setup
        self._name = name
        self._rounds = range(1, rounds + 1)
        self._source = source
        self._drawn = shamir.random_secret(source, 2 * rounds)
        self._parts = shamir.secret_bytes(shamir.random_secret(source))
        self.channel = X25519PrivateKey.generate()

    def seed(self, round_number: int) -> bytes:
        """Return the seed of the site's own mask."""
        return shamir.secret_bytes(self._drawn[row(round_number, OWN)])

    def mask_key(self, round_number: int) -> X25519PrivateKey:
        """Return the key of its masks with others."""
        seed = shamir.secret_bytes(self._drawn[row(round_number, PAIR)])
        return mask_key(self._setup, self._name, round_number, seed)

    def public(self) -> AdvertisedKeys:
        """Return the public half."""
        setup, name = self._setup, self._name
        keys = [self.channel, *(self.mask_key(at) for at in self._rounds)]
        channel, *masks = (key.public_key().public_bytes_raw() for key in keys)
        marks = (seed_mark(setup, name, at, self.seed(at)) for at in self._rounds)
        return AdvertisedKeys(channel, tuple(masks), tuple(marks))

    def shares(self, threshold: Threshold) -> Elements:
        """Return shares of all secrets, one row for each seat."""
        return shamir.share(
            self._drawn, threshold.shares, threshold.sites, self._source
        )

    def part_key(self, listed: bytes, holder: str) -> X25519PrivateKey:
        """Return the key of one part; it tells nothing about other parts."""
        return private_key(self._parts, listed, f"part for {holder}")

    def erase(self, round_number: int) -> None:
        """Overwrite the secrets of a round, of all before it, and of the dealing."""
        self._parts = bytes(len(self._parts))  # no part is shown after a round began
        self._drawn[: row(round_number, PAIR) + 1] = 0


def commitment(listed: bytes, dealer: str, holder: str, at: int, held: bytes) -> bytes:
    """Return the commitment to one share, which stands at a `row`."""
    text = f"lexfed secagg share {dealer} {holder} ".encode()
    return sha256(b"".join((text, listed, at.to_bytes(4, "big"), held))).digest()


def commitments(listed: bytes, dealer: str, holder: str, shares: Elements) -> bytes:
    """Return commitments to all shares that a dealer gives a holder, by `row`."""
    return b"".join(
        commitment(listed, dealer, holder, at, shamir.secret_bytes(held))
        for at, held in enumerate(shares)
    )


def part_bytes(listed: bytes, dealer: str, holder: str, part: SealedPart) -> bytes:
    """Return the bytes that the dealer of a part signs."""
    text = f"lexfed secagg part {dealer} {holder} ".encode()
    sealed = sha256(part.sealed).digest()
    return b"".join((text, listed, part.root, part.key, sealed))


def seal_part(
    listed: bytes,
    identity: Identity,
    holder: str,
    key: X25519PrivateKey,
    peer: bytes,
    shares: Elements,
    root: bytes,
) -> SealedPart:
    """Encrypt and sign the shares of one holder, with the commitments to them."""
    dealer = identity.name
    cipher = AESGCM(_part_key(listed, key, peer, dealer, holder))
    # A key encrypts one part: one nonce will do.
    sealed = cipher.encrypt(bytes(12), shamir.secret_bytes(shares), None)
    unsigned = SealedPart(root, key.public_key().public_bytes_raw(), b"", sealed)
    signature = identity.sign(part_bytes(listed, dealer, holder, unsigned))
    return SealedPart(root, unsigned.key, signature, sealed)


def open_part(
    listed: bytes,
    roster: Roster,
    names: tuple[str, str],
    channel: X25519PrivateKey,
    part: SealedPart,
) -> Elements:
    """Check and decrypt the shares from a dealer; `names` are dealer and holder."""
    dealer, holder = names
    roster.verify(dealer, part_bytes(listed, dealer, holder, part), part.signature)
    return _decrypt(listed, names, _part_key(listed, channel, part.key, *names), part)


def is_good(
    listed: bytes, names: tuple[str, str], key: bytes, peer: bytes, part: SealedPart
) -> bool:
    """Return True if a part holds shares that its holder could use.

    `names` are dealer and holder, `key` the part's private key as its dealer gives it,
    and `peer` the holder's public channel key.

    Guarantees:
        Of a part that an honest dealer made: yes. Of a part that an honest holder could
        not use: no, whatever the dealer says.
    """
    private = X25519PrivateKey.from_private_bytes(key)
    if private.public_key().public_bytes_raw() != part.key:
        return False
    try:
        _decrypt(listed, names, _part_key(listed, private, peer, *names), part)
    except SecAggError:
        return False
    return True


def _decrypt(
    listed: bytes, names: tuple[str, str], key: bytes, part: SealedPart
) -> Elements:
    dealer, holder = names
    try:
        opened = AESGCM(key).decrypt(bytes(12), part.sealed, None)
    except InvalidTag as error:
        raise SecAggError(f"shares of `{dealer}` cannot be decrypted") from error
    shares = (
        np.frombuffer(opened, dtype="<u2").astype(np.uint16).reshape(-1, shamir.LIMBS)
    )
    committed = root_of(commitments(listed, dealer, holder, shares))
    if committed != part.root or np.any(shares >= shamir.PRIME):
        raise SecAggError(f"shares of `{dealer}` are not those it committed to")
    return shares


def _part_key(
    listed: bytes, private: X25519PrivateKey, peer: bytes, dealer: str, holder: str
) -> bytes:
    purpose = f"shares from {dealer} to {holder}"
    return pairwise_key(private, peer, listed, purpose, (dealer, holder), 32)


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
        pair = (name, other)
        mask = pairwise_key(key, public, bound, "mask of a pair", pair, KEY_BYTES)
        add_mask(total, mask, sign if name < other else -sign)
