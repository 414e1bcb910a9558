# SPDX-License-Identifier: Apache-2.0
"""Sharing of vectors to aggregators that different organisations run: a site's part.

    aggregators   OPERATOR_KEY  an X25519 key for the epoch
    site          DEALT         to each aggregator its share, encrypted; once a round
    aggregators   HELD          whose shares they hold
                  LISTED        the list that all of them sign, once a round
                  PARTIAL_SUM   of the shares of exactly those sites

A site may vanish after DEALT. The fresh public key of a round's messages names the
deal, so that shares of two deals of a restarted site are never added as if they were
one. There must be one list, or differences of sums would be sites: an honest aggregator
adds a list only if q signed it, and 2 q > R + c, for c of R that may lie, makes any two
such sets share an honest one [BIK+17].
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lexfed.arrays import Integers
from lexfed.checks import in_range
from lexfed.errors import SecAggError
from lexfed.randomness import RandomSource, SecureSource
from lexfed.secagg.envelopes.identities import (
    Identity,
    Roster,
    check_enrolled,
    check_later,
)
from lexfed.secagg.envelopes.key_agreement import Context, EpochSetting, pairwise_key
from lexfed.secagg.envelopes.sealed_messages import (
    DIGEST,
    EnvelopeKind,
    open_sealed,
    seal,
)
from lexfed.secagg.shares.schemes import SharingScheme

_TAG = 16
_MOST_SITES = 2**16


@dataclass(frozen=True)
class OperatorTerms:
    """The public terms that bind sums over several aggregators.

    Sums of fewer than `least_sites`, two more than may help the aggregators, stay
    closed; `bound` is the largest size of an honest one. `liars` are the aggregators
    that may lie about lists, not only pool their shares.
    """

    scheme: SharingScheme
    least_sites: int
    bound: int
    liars: int = 0

    def __post_init__(self) -> None:
        in_range(2, _MOST_SITES, least_sites=self.least_sites)
        in_range(1, self.scheme.largest, bound=self.bound)
        in_range(0, self.scheme.needed - 1, liars=self.liars)

    @property
    def quorum(self) -> int:
        """Signatures of aggregators that a list needs: 2 q > R + liars."""
        return max(self.scheme.needed, (self.scheme.operators + self.liars) // 2 + 1)

    @property
    def may_be_lost(self) -> int:
        """Most aggregators that a round survives without."""
        return self.scheme.operators - self.quorum

    def packed(self) -> bytes:
        """Return the bytes that are hashed."""
        numbers = (self.least_sites, self.bound, self.liars)
        return self.scheme.packed() + b"".join(n.to_bytes(8, "big") for n in numbers)


@dataclass(frozen=True)
class OperatorSetting(EpochSetting):
    """An epoch of shared sums; the order of aggregators is that of their seats."""

    operators: Roster
    terms: OperatorTerms

    def __post_init__(self) -> None:
        if len(self.operators) != self.terms.scheme.operators:
            raise ValueError("expected as many aggregators as the scheme shares among")

    @property
    def agreed(self) -> bytes:
        """SHA-256 of policy, aggregators and terms."""
        parts = (self.policy, self.operators.digest, self.terms.packed())
        return sha256(b"lexfed operators terms\x00" + b"".join(parts)).digest()

    def sealed_bytes(self, seat: int) -> int:
        """Return the length of a site's message to an aggregator: key, seat, share."""
        return DIGEST + 1 + self.terms.scheme.share_bytes(seat) + _TAG


def channel(
    private: X25519PrivateKey, peer: bytes, context: Context, site: str, operator: str
) -> AESGCM:
    """Return the cipher for one share; both ends make the same one."""
    purpose, pair = f"share from {site} to {operator}", (site, operator)
    return AESGCM(pairwise_key(private, peer, context.digest, purpose, pair, 32))


NONCE = bytes(12)
"""A key encrypts one message: the site's key pair is fresh in every round."""


class SharingSite:
    """A site that shares its vectors among aggregators.

    Guarantees:
        Each round is dealt at most once, in rising order.
        Whoever sees another model, policy or roster cannot decrypt a share.
    """

    def __init__(
        self,
        identity: Identity,
        setting: OperatorSetting,
        announced: Iterable[bytes],
        source: RandomSource | None = None,
    ) -> None:
        """Start an epoch, once enough enrolled aggregators have announced a key."""
        check_enrolled(identity, setting.sites)
        self._identity = identity
        self._setting = setting
        self._source = source or SecureSource()
        self._keys = read_keys(setting, announced)
        self._last = 0

    def deal(
        self, round_number: int, model: bytes, values: Integers
    ) -> dict[str, bytes]:
        """Share a vector, noise included: a signed message for every aggregator."""
        check_later(round_number, self._last)
        context = self._setting.context(round_number, model)
        scheme = self._setting.terms.scheme
        shares = scheme.split(values, context.digest, self._source)
        self._last = round_number
        private = X25519PrivateKey.generate()
        public = private.public_key().public_bytes_raw()
        me = self._identity.name
        messages: dict[str, bytes] = {}
        for name, peer in self._keys.items():
            seat = self._setting.operators.point(name) - 1
            cipher = channel(private, peer, context, me, name)
            sealed = cipher.encrypt(NONCE, shares[seat], None)
            payload = b"".join((public, bytes((seat,)), sealed))
            messages[name] = seal(EnvelopeKind.DEALT, context, self._identity, payload)
        return messages


def read_keys(setting: OperatorSetting, announced: Iterable[bytes]) -> dict[str, bytes]:
    """Return the aggregators' keys of the epoch, by name; a quorum is needed."""
    keys: dict[str, bytes] = {}
    kind, context = EnvelopeKind.OPERATOR_KEY, setting.context()
    for message in announced:
        opened = open_sealed(message, kind, context, setting.operators, (DIGEST,))
        if opened.sender in keys:
            raise SecAggError(f"aggregator `{opened.sender}` announced two keys")
        keys[opened.sender] = bytes(opened.payload)
    if len(keys) < setting.terms.quorum:
        raise SecAggError(
            f"{len(keys)} aggregators announced a key, not {setting.terms.quorum}",
            "wait for more aggregators",
        )
    return keys
