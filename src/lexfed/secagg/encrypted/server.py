# SPDX-License-Identifier: Apache-2.0
"""A server that adds ciphertexts: it has no key, and does not need TenSEAL.

    CiphertextSum.start   a round
                 .take    a site's receipt and ciphertexts
                 .close   the sum and its receipts, for the key holder

Only the sum is kept, so memory grows with the model and not with the sites.
"""

from hashlib import sha256

from lexfed.errors import SecAggError
from lexfed.secagg.encrypted.coefficients import add, pack, unpack, zeros
from lexfed.secagg.encrypted.fingerprints import SEALED_TAGS
from lexfed.secagg.encrypted.terms import EncryptionSetting
from lexfed.secagg.envelopes.admission import check_enrolled, check_later, check_size
from lexfed.secagg.envelopes.identities import Identity
from lexfed.secagg.envelopes.payloads import pack_bundle
from lexfed.secagg.envelopes.sealed_messages import (
    DIGEST,
    EnvelopeKind,
    open_sealed,
    seal,
)

RECEIPT = DIGEST + SEALED_TAGS
"""Bytes of what a receipt says."""


class CiphertextSum:
    """The server in one epoch.

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
        """Start a round; what is left of an earlier one is dropped."""
        check_later(round_number, self._context.round)
        self._context = self._setting.context(round_number, model)
        self._total = zeros(self._setting.terms.blocks)
        self._receipts: dict[str, bytes] = {}
        self._open = True

    def take(self, message: bytes) -> str:
        """Add a site's vector and return the site's name.

        Raises:
            SecAggError: if it is late, of another round, model, policy, terms or
                session, not signed by a site, there already, or not what was signed.
        """
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
        rows = unpack(raw, setting.moduli, f"the vector of `{site}`")
        add(self._total, rows, setting.moduli)
        self._receipts[site] = receipt
        return site

    def close(self) -> bytes:
        """Return the sum and its receipts, signed; no vector is taken any more.

        Raises:
            SecAggError: if there are too few sites.
        """
        self._expect_open()
        check_size(len(self._receipts), self._setting.terms.least_sites, "a sum")
        receipts = [self._receipts[site] for site in sorted(self._receipts)]
        raw = pack(self._total, self._setting.moduli)
        self._open = False
        payload = pack_bundle(receipts) + raw
        return seal(EnvelopeKind.HE_SUM, self._context, self._identity, payload)

    def _expect_open(self) -> None:
        if not self._open:
            raise SecAggError("no round is open: vectors come after its start only")
