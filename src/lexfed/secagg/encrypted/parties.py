# SPDX-License-Identifier: Apache-2.0
"""Site, server and key holder of encrypted sums, as machines without network or clock.

    site        HE_JOIN       an X25519 key for the epoch
    key holder  HE_KEY        its public key; for each site the seed of fingerprints
    site        HE_RECEIPT    the SHA-256 of its ciphertexts, and their fingerprint,
                              encrypted; the ciphertexts follow. One message a round
    server      HE_SUM        the receipts, and the sum of the ciphertexts
    key holder  HE_OPENED     the sum, if everything fits

The key holder together with the server sees single vectors, and so does the server
together with one site: docs/theory/homomorphic.md has these limits and the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lexfed.arrays import Integers
from lexfed.errors import SecAggError
from lexfed.randomness import SecureSource
from lexfed.secagg.encrypted import ciphertexts
from lexfed.secagg.encrypted.ciphertexts import SEALED_SEED, SEALED_TAGS, Coefficients
from lexfed.secagg.encrypted.tenseal_bfv import BfvPublicKey, BfvSecretKey
from lexfed.secagg.encrypted.terms import EncryptionSetting
from lexfed.secagg.envelopes import payloads
from lexfed.secagg.envelopes.identities import (
    Identity,
    check_enrolled,
    check_later,
    check_size,
)
from lexfed.secagg.envelopes.key_agreement import Context
from lexfed.secagg.envelopes.sealed_messages import (
    DIGEST,
    EnvelopeKind,
    OpenedMessage,
    Reader,
    open_sealed,
    seal,
)

ADMITTED = payloads.SEAT + SEALED_SEED
"""Bytes that a key holder's announcement has for each site."""

RECEIPT = DIGEST + SEALED_TAGS
"""Bytes of a receipt's payload."""

_LONGEST_RECEIPT = 4 + 512
"""Bytes of an entry in the list: its length, its envelope, and its payload."""


class SiteEncryptor:
    """A site in one epoch, which encrypts its vectors to the key holder.

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
        """Return the site's key for the epoch, signed, for the key holder."""
        public, context = self._private.public_key(), self._setting.context()
        payload = public.public_bytes_raw()
        return seal(EnvelopeKind.HE_JOIN, context, self._identity, payload)

    def accept(self, announced: bytes) -> None:
        """Take the key holder's key, once: for this epoch and for this site."""
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
            reader.number(payloads.SEAT): reader.take(SEALED_SEED)
            for _ in range((len(opened.payload) - start) // ADMITTED)
        }
        seat = setting.sites.point(self._identity.name) - 1
        if seat not in sealed:
            raise SecAggError(
                f"the key holder's key is not for `{self._identity.name}`",
                "join before the key is announced, and again in every epoch",
            )
        pair = (self._holder, self._identity.name)
        self._seed = ciphertexts.open_secret(
            self._private, peer, context, pair, sealed[seat]
        )
        row = ciphertexts.unpack(raw, setting.moduli, "the key holder's key")[0]
        self._peer, self._key = peer, BfvPublicKey(setting.moduli, row)

    def encrypt(self, round_number: int, model: bytes, values: Integers) -> bytes:
        """Encrypt a vector and return a signed receipt with the ciphertexts.

        Rounds count from 1 and only go up; the `model` is the SHA-256 of what the site
        itself was given, and `values` have their noise.
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
        tags = ciphertexts.fingerprint(rows, self._seed, context, moduli.cipher)
        raw = ciphertexts.pack(rows, moduli)
        return self._receipt(context, raw, ciphertexts.pack_tags(tags)) + raw

    def _receipt(self, context: Context, raw: bytes, tags: bytes) -> bytes:
        pair = (self._identity.name, self._holder)
        sealed = ciphertexts.seal_secret(self._private, self._peer, context, pair, tags)
        payload = sha256(raw).digest() + sealed
        return seal(EnvelopeKind.HE_RECEIPT, context, self._identity, payload)


class CiphertextSum:
    """A server in one epoch, which adds ciphertexts, has no key and keeps only a sum.

    Guarantees:
        A site is added at most once in a round, and only what it signed.
        Nothing is looked at before its signature, its length and its hash are right.
    """

    def __init__(self, identity: Identity, setting: EncryptionSetting) -> None:
        check_enrolled(identity, setting.server)
        self._identity, self._setting = identity, setting
        self._context = setting.context()
        self._open = False

    def start(self, round_number: int, model: bytes) -> None:
        """Start a round; an unfinished one is dropped."""
        check_later(round_number, self._context.round)
        self._context = self._setting.context(round_number, model)
        self._total = ciphertexts.zeros(self._setting.terms.blocks)
        self._receipts: dict[str, bytes] = {}
        self._open = True

    def take(self, message: bytes) -> str:
        """Add a site's vector, once, and return the site's name."""
        self._expect_open()
        setting = self._setting
        cut = max(0, len(message) - setting.vector_bytes)
        receipt, raw = message[:cut], memoryview(message)[cut:]
        opened = open_sealed(
            receipt, EnvelopeKind.HE_RECEIPT, self._context, setting.sites, (RECEIPT,)
        )
        site = opened.sender
        if site in self._receipts:
            raise SecAggError(f"site `{site}` has sent its vector already")
        if sha256(raw).digest() != opened.payload[:DIGEST]:
            raise SecAggError(f"the ciphertexts of `{site}` are not what it signed")
        rows = ciphertexts.unpack(raw, setting.moduli, f"the vector of `{site}`")
        ciphertexts.add(self._total, rows, setting.moduli)
        self._receipts[site] = receipt
        return site

    def close(self) -> bytes:
        """Return the sum and its receipts, signed; no vector is taken any more."""
        self._expect_open()
        check_size(len(self._receipts), self._setting.terms.least_sites, "a sum")
        receipts = [self._receipts[site] for site in sorted(self._receipts)]
        raw = ciphertexts.pack(self._total, self._setting.moduli)
        self._open = False
        payload = payloads.pack_bundle(receipts) + raw
        return seal(EnvelopeKind.HE_SUM, self._context, self._identity, payload)

    def _expect_open(self) -> None:
        if not self._open:
            raise SecAggError("no round is open: vectors come after its start only")


class KeyHolder:
    """The key holder in one epoch; the key lives in this object only.

    Guarantees:
        It decrypts at most one sum a round, in rounds that go up; a sum that does not
        fit its fingerprints uses the round up.
        It decrypts only sums of at least `least_sites` sites that signed for the very
        round, model, policy and terms.
        A sum beyond its bound is refused, never shown.
    """

    def __init__(self, identity: Identity, setting: EncryptionSetting) -> None:
        """Draw the keys of an epoch, which needs TenSEAL."""
        check_enrolled(identity, setting.holder)
        self._identity, self._setting = identity, setting
        self._secret = BfvSecretKey(setting.moduli)
        self._private = X25519PrivateKey.generate()
        self._seed = SecureSource().words(ciphertexts.SEED // 8).tobytes()
        self._keys: dict[str, bytes] = {}
        self._announced = False
        self._last = 0

    def admit(self, message: bytes) -> str:
        """Take a site's key, before the announcement, and return its name."""
        if self._announced:
            raise SecAggError(
                "the public key is announced: nobody joins", "wait for the next epoch"
            )
        context, sites = self._setting.context(), self._setting.sites
        opened = open_sealed(message, EnvelopeKind.HE_JOIN, context, sites, (DIGEST,))
        if opened.sender in self._keys:
            raise SecAggError(f"site `{opened.sender}` has joined already")
        self._keys[opened.sender] = bytes(opened.payload)
        return opened.sender

    def announce(self) -> bytes:
        """Return the public key, signed, with the seed for each site; once."""
        if self._announced:
            raise SecAggError("the public key is announced once an epoch")
        setting, context = self._setting, self._setting.context()
        check_size(len(self._keys), setting.terms.least_sites, "an epoch")
        me = self._identity.name
        parts = [self._private.public_key().public_bytes_raw()]
        parts.append(ciphertexts.pack(self._secret.public, setting.moduli))
        for site in sorted(self._keys):
            peer, pair = self._keys[site], (me, site)
            parts.append(payloads.pack_seats((setting.sites.point(site) - 1,)))
            parts.append(
                ciphertexts.seal_secret(self._private, peer, context, pair, self._seed)
            )
        self._announced = True
        return seal(EnvelopeKind.HE_KEY, context, self._identity, b"".join(parts))

    def open(self, round_number: int, model: bytes, message: bytes) -> bytes:
        """Decrypt the server's sum of a round; return it signed, for `read_opened`."""
        check_later(round_number, self._last)
        setting = self._setting
        context = setting.context(round_number, model)
        fixed = payloads.SEAT + setting.vector_bytes
        lengths = range(fixed, fixed + _LONGEST_RECEIPT * len(setting.sites) + 1)
        opened = open_sealed(
            message, EnvelopeKind.HE_SUM, context, setting.server, lengths
        )
        cut = len(opened.payload) - setting.vector_bytes
        receipts = payloads.read_bundle(opened.payload[:cut])
        read = [self._read(context, receipt) for receipt in receipts]
        seats = [setting.sites.point(each.sender) - 1 for each in read]
        # In order, and nobody twice.
        payloads.read_seats(payloads.pack_seats(seats), len(setting.sites))
        check_size(len(read), setting.terms.least_sites, "a sum")
        rows = ciphertexts.unpack(opened.payload[cut:], setting.moduli, "a sum")
        self._last = round_number
        self._check(context, read, rows)
        sites = tuple(each.sender for each in read)
        digest = receipts_digest(context, receipts)
        payload = pack_opened(setting, OpenedSum(self._decrypt(rows), sites, digest))
        return seal(EnvelopeKind.HE_OPENED, context, self._identity, payload)

    def _read(self, context: Context, receipt: bytes) -> OpenedMessage:
        sites = self._setting.sites
        opened = open_sealed(
            receipt, EnvelopeKind.HE_RECEIPT, context, sites, (RECEIPT,)
        )
        if opened.sender not in self._keys:
            raise SecAggError(f"site `{opened.sender}` has not joined this epoch")
        return opened

    def _check(
        self, context: Context, read: list[OpenedMessage], rows: Coefficients
    ) -> None:
        """Refuse any sum but that of the sites' own ciphertexts."""
        modulus, me, tags = self._setting.moduli.cipher, self._identity.name, []
        for each in read:
            peer, pair = self._keys[each.sender], (each.sender, me)
            sealed = each.payload[DIGEST:]
            tag = ciphertexts.open_secret(self._private, peer, context, pair, sealed)
            tags.append(ciphertexts.read_tags(tag))
        found = ciphertexts.fingerprint(rows, self._seed, context, modulus)
        if found != ciphertexts.summed_tags(tags, modulus):
            raise SecAggError(
                "this is not the sum of what the listed sites encrypted",
                "the server added something else, or a site lied about its own: "
                "nothing was decrypted, and the round is over",
            )

    def _decrypt(self, rows: Coefficients) -> Integers:
        values = self._secret.decrypt(rows, self._setting.terms.length)
        if max(int(values.max()), -int(values.min())) > self._setting.terms.bound:
            raise SecAggError(
                "a sum left its bound: it may have wrapped around",
                "leave this round out; check scale, clip and noise against the bound",
            )
        return values


@dataclass(frozen=True)
class OpenedSum:
    """A sum that the key holder decrypted, its sites and the digest of receipts."""

    values: Integers
    sites: tuple[str, ...]
    receipts: bytes


def receipts_digest(context: Context, receipts: Sequence[bytes]) -> bytes:
    """Return the digest of a list of receipts, each of which holds its own length."""
    domain = b"lexfed he receipts\x00"
    return sha256(b"".join((domain, context.digest, *receipts))).digest()


def pack_opened(setting: EncryptionSetting, opened: OpenedSum) -> bytes:
    """Return a sum as bytes."""
    ring = setting.terms.ring
    seats = [setting.sites.point(site) - 1 for site in opened.sites]
    values = ring.pack(ring.encode(opened.values))
    return b"".join((opened.receipts, values, payloads.pack_seats(seats)))


def read_opened(
    setting: EncryptionSetting, round_number: int, model: bytes, message: bytes
) -> OpenedSum:
    """Check a key holder's signed message, without any secret; return the sum."""
    terms, enrolled = setting.terms, len(setting.sites)
    start = DIGEST + terms.length * terms.ring.bits // 8
    lengths = range(start, start + payloads.SEAT * enrolled + 1)
    context = setting.context(round_number, model)
    opened = open_sealed(
        message, EnvelopeKind.HE_OPENED, context, setting.holder, lengths
    )
    seats = payloads.read_seats(opened.payload[start:], enrolled)
    check_size(len(seats), terms.least_sites, "a sum")
    words = terms.ring.unpack(opened.payload[DIGEST:start], terms.length)
    values = terms.ring.decode(words, terms.bound)
    sites = tuple(setting.sites.names[seat] for seat in seats)
    return OpenedSum(values, sites, bytes(opened.payload[:DIGEST]))
