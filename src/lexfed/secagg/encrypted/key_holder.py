# SPDX-License-Identifier: Apache-2.0
"""A key holder: another organisation, which decrypts one sum a round and nothing else.

    KeyHolder.admit     a site's key for the epoch
             .announce  the public key, once
             .open      the server's sum, once a round

It is given no single ciphertext. That what it decrypts is the sum of what the listed
sites encrypted it sees by their fingerprints (`fingerprints`), before it uses its
key. The key lives in this object only: a program that is restarted begins a new epoch.
"""

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lexfed.arrays import Integers
from lexfed.errors import SecAggError
from lexfed.randomness import SecureSource
from lexfed.secagg.encrypted.coefficients import Coefficients, pack, unpack
from lexfed.secagg.encrypted.fingerprints import (
    SEED,
    fingerprint,
    open_secret,
    read_tags,
    seal_secret,
    summed_tags,
)
from lexfed.secagg.encrypted.opened_sum import OpenedSum, pack_opened, receipts_digest
from lexfed.secagg.encrypted.server import RECEIPT
from lexfed.secagg.encrypted.tenseal_bfv import BfvSecretKey
from lexfed.secagg.encrypted.terms import EncryptionSetting
from lexfed.secagg.envelopes.admission import check_enrolled, check_later, check_size
from lexfed.secagg.envelopes.identities import Identity
from lexfed.secagg.envelopes.key_agreement import Context
from lexfed.secagg.envelopes.payloads import SEAT, pack_seats, read_bundle, read_seats
from lexfed.secagg.envelopes.sealed_messages import (
    DIGEST,
    EnvelopeKind,
    OpenedMessage,
    open_sealed,
    seal,
)

_LONGEST_RECEIPT = 4 + 512
"""Of an entry in the list: its length, its envelope, and what it says."""


class KeyHolder:
    """The key holder in one epoch.

    Guarantees:
        It decrypts at most one sum a round, in rounds that go up; a sum that does not
        fit its fingerprints uses the round up.
        It decrypts only sums of at least `least_sites` sites that signed for the very
        round, model, policy and terms.
        A sum beyond its bound is refused, never shown.
    """

    def __init__(self, identity: Identity, setting: EncryptionSetting) -> None:
        """Draw the keys of an epoch.

        Raises:
            SecAggError: if TenSEAL is not installed.
        """
        check_enrolled(identity, setting.holder)
        self._identity, self._setting = identity, setting
        self._secret = BfvSecretKey(setting.moduli)
        self._private = X25519PrivateKey.generate()
        self._seed = SecureSource().words(SEED // 8).tobytes()
        self._keys: dict[str, bytes] = {}
        self._announced = False
        self._last = 0

    def admit(self, message: bytes) -> str:
        """Take a site's key for the epoch and return the site's name.

        Raises:
            SecAggError: if it is not signed by an enrolled site for this epoch, is a
                second one, or comes after the public key was announced.
        """
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
        """Return the public key, signed, with the seed of fingerprints for each site.

        Raises:
            SecAggError: if it was announced before, too few sites joined, or one sent a
                key with which nobody can agree.
        """
        if self._announced:
            raise SecAggError("the public key is announced once an epoch")
        setting, context = self._setting, self._setting.context()
        check_size(len(self._keys), setting.terms.least_sites, "an epoch")
        me = self._identity.name
        parts = [self._private.public_key().public_bytes_raw()]
        parts.append(pack(self._secret.public, setting.moduli))
        for site in sorted(self._keys):
            peer, pair = self._keys[site], (me, site)
            parts.append(pack_seats((setting.sites.point(site) - 1,)))
            parts.append(seal_secret(self._private, peer, context, pair, self._seed))
        self._announced = True
        return seal(EnvelopeKind.HE_KEY, context, self._identity, b"".join(parts))

    def open(self, round_number: int, model: bytes, message: bytes) -> bytes:
        """Decrypt a sum and return it signed (`opened_sum.read_opened`).

        Args:
            round_number: from 1; above every earlier one.
            model: SHA-256 of the round's model.
            message: from the server.

        Raises:
            SecAggError: if it is not signed by the server for this round and model, has
                too few receipts, a receipt that is not sound, another sum than the one
                that the sites' fingerprints give, or a value beyond the bound.
        """
        check_later(round_number, self._last)
        setting = self._setting
        context = setting.context(round_number, model)
        fixed = SEAT + setting.vector_bytes
        lengths = range(fixed, fixed + _LONGEST_RECEIPT * len(setting.sites) + 1)
        opened = open_sealed(
            message, EnvelopeKind.HE_SUM, context, setting.server, lengths
        )
        cut = len(opened.payload) - setting.vector_bytes
        receipts = read_bundle(opened.payload[:cut])
        read = [self._read(context, receipt) for receipt in receipts]
        seats = [setting.sites.point(each.sender) - 1 for each in read]
        read_seats(pack_seats(seats), len(setting.sites))  # in order, nobody twice
        check_size(len(read), setting.terms.least_sites, "a sum")
        rows = unpack(opened.payload[cut:], setting.moduli, "a sum")
        self._last = round_number
        self._check(context, read, rows)
        found = OpenedSum(
            self._decrypt(rows),
            tuple(each.sender for each in read),
            receipts_digest(context, receipts),
        )
        return seal(
            EnvelopeKind.HE_OPENED, context, self._identity, pack_opened(setting, found)
        )

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
        """Refuse any sum but that of what the sites encrypted."""
        modulus, me, tags = self._setting.moduli.cipher, self._identity.name, []
        for each in read:
            peer, pair = self._keys[each.sender], (each.sender, me)
            sealed = each.payload[DIGEST:]
            tags.append(
                read_tags(open_secret(self._private, peer, context, pair, sealed))
            )
        if fingerprint(rows, self._seed, context, modulus) != summed_tags(
            tags, modulus
        ):
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
