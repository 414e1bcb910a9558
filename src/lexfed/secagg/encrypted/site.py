# SPDX-License-Identifier: Apache-2.0
"""A site that encrypts its vectors to a key holder; and what the three say.

    site        HE_JOIN       an X25519 key for the epoch
    key holder  HE_KEY        its public key; for each site the seed of fingerprints
    site        HE_RECEIPT    the SHA-256 of its ciphertexts, and their fingerprint,
                              encrypted; the ciphertexts follow. One message a round
    server      HE_SUM        the receipts, and the sum of the ciphertexts
    key holder  HE_OPENED     the sum, if everything fits

All are signed over session, epoch, round, model, policy, terms and rosters. The server
adds and has no key; the key holder has the key and is given one sum, not its parts.

Limits, plainly. The key holder together with the server sees single vectors: there are
no threshold keys. So does the server together with one site: BFV can be bent, and that
site knows what would show it. The key holder is trusted to make its key as it should.
A site that sends a false fingerprint stops the round, and nobody can tell who it was.
Masks (`masks`) have none of these limits. Shares to two aggregators (`shares`) have the
first, but not the second. Both are smaller. This is for a key holder that
comes once a round, for one message of the size of a model: docs/theory/homomorphic.md.

Noise for differential privacy is in the vectors before they come here.
"""

from hashlib import sha256

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lexfed.arrays import Integers
from lexfed.errors import SecAggError
from lexfed.secagg.encrypted.coefficients import pack, unpack
from lexfed.secagg.encrypted.fingerprints import (
    SEALED_SEED,
    fingerprint,
    open_secret,
    pack_tags,
    seal_secret,
)
from lexfed.secagg.encrypted.tenseal_bfv import BfvPublicKey
from lexfed.secagg.encrypted.terms import EncryptionSetting
from lexfed.secagg.envelopes.admission import check_enrolled, check_later
from lexfed.secagg.envelopes.identities import Identity
from lexfed.secagg.envelopes.key_agreement import Context
from lexfed.secagg.envelopes.payloads import SEAT
from lexfed.secagg.envelopes.sealed_messages import (
    DIGEST,
    EnvelopeKind,
    Reader,
    open_sealed,
    seal,
)

ADMITTED = SEAT + SEALED_SEED
"""Bytes that a key holder's announcement has for each site."""


class SiteEncryptor:
    """One site in one epoch.

    Guarantees:
        Each round is encrypted at most once, in rising order.
        Nothing is encrypted but to the key that the enrolled key holder signed for
        this session, epoch, policy and terms.
        A value beyond the bound is refused, never cut off.
    """

    def __init__(self, identity: Identity, setting: EncryptionSetting) -> None:
        check_enrolled(identity, setting.sites)
        self._identity, self._setting = identity, setting
        self._holder = setting.holder.names[0]
        self._private = X25519PrivateKey.generate()
        self._key: BfvPublicKey | None = None
        self._last = 0

    def join(self) -> bytes:
        """Return the site's key for the epoch, signed; for the key holder."""
        public = self._private.public_key().public_bytes_raw()
        return seal(
            EnvelopeKind.HE_JOIN, self._setting.context(), self._identity, public
        )

    def accept(self, announced: bytes) -> None:
        """Take the key holder's key.

        Raises:
            SecAggError: if another is there already, it is not signed by the key holder
                for this epoch, or this site is not among those it is for.
        """
        if self._key is not None:
            raise SecAggError("the key holder has announced its key already")
        setting, context = self._setting, self._setting.context()
        start = DIGEST + setting.key_bytes
        lengths = range(start, start + ADMITTED * len(setting.sites) + 1, ADMITTED)
        opened = open_sealed(
            announced, EnvelopeKind.HE_KEY, context, setting.holder, lengths
        )
        reader = Reader(opened.payload, "key of the key holder")
        peer, raw = reader.digest(), reader.take(setting.key_bytes)
        sealed = {
            reader.number(SEAT): reader.take(SEALED_SEED)
            for _ in range((len(opened.payload) - start) // ADMITTED)
        }
        seat = setting.sites.point(self._identity.name) - 1
        if seat not in sealed:
            raise SecAggError(
                f"the key holder's key is not for `{self._identity.name}`",
                "join before the key is announced, and again in every epoch",
            )
        pair = (self._holder, self._identity.name)
        self._seed = open_secret(self._private, peer, context, pair, sealed[seat])
        row = unpack(raw, setting.moduli, "the key holder's key")[0]
        self._peer, self._key = peer, BfvPublicKey(setting.moduli, row)

    def encrypt(self, round_number: int, model: bytes, values: Integers) -> bytes:
        """Encrypt a vector.

        Args:
            round_number: from 1; above every earlier one.
            model: SHA-256 of the model that the site itself was given.
            values: the integers, noise included.

        Returns:
            A signed receipt with the ciphertexts after it, for the server.

        Raises:
            SecAggError: if there is no key yet, the round is over, or a value does not
                fit.
        """
        if self._key is None:
            raise SecAggError("there is no key of the key holder yet")
        check_later(round_number, self._last)
        terms, moduli = self._setting.terms, self._setting.moduli
        if values.shape != (terms.length,) or values.dtype != np.int64:
            raise SecAggError(f"expected a vector of {terms.length} 64-bit integers")
        if max(int(values.max()), -int(values.min())) > terms.bound:
            raise SecAggError(
                "a value is beyond what sums are bound to",
                "choose a smaller scale, or agree on a larger bound",
            )
        context = self._setting.context(round_number, model)
        self._last = round_number
        rows = self._key.encrypt(values)
        tags = fingerprint(rows, self._seed, context, moduli.cipher)
        raw = pack(rows, moduli)
        return self._receipt(context, raw, pack_tags(tags)) + raw

    def _receipt(self, context: Context, raw: bytes, tags: bytes) -> bytes:
        pair = (self._identity.name, self._holder)
        sealed = seal_secret(self._private, self._peer, context, pair, tags)
        payload = sha256(raw).digest() + sealed
        return seal(EnvelopeKind.HE_RECEIPT, context, self._identity, payload)
