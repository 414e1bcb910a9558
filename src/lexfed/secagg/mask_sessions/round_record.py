# SPDX-License-Identifier: Apache-2.0
"""What shows afterwards that a sum was opened for one list of sites, and for which.

The signatures under which sites gave out their shares are receipts: t of them on one
list cannot exist for a second list of the round (2t > n + c). Whoever has the record
and the sites' public keys can check them, without any secret. They cover the names of
all sites, so nobody can make a cohort look smaller than it was, and with it the number
of signatures it needs; and the terms, so nobody can say that fewer may have colluded.
`record_json.py` writes a record as bytes and reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.key_agreement import Context
from lexfed.secagg.envelopes.payloads import pack_seats, read_seats
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, signed_bytes
from lexfed.secagg.mask_sessions.record_json import WrittenRecord
from lexfed.secagg.masks.cohort import MaskCohort, agreed_digest, check_size
from lexfed.secagg.masks.terms import MaskSetting, MaskTerms, terms_digest
from lexfed.secagg.masks.thresholds import Threshold


@dataclass(frozen=True)
class RoundRecord:
    """Evidence of one round.

    Attributes:
        session: of the setting.
        epoch: number of the set-up.
        policy: SHA-256 of the policy.
        server: digest of the server's roster.
        roster: digest of the enrolled sites.
        terms: what the sums are bound to.
        round: its number in the epoch.
        model: SHA-256 of its model.
        key_list: digest of the key list.
        names: the sites in the key list, by seat.
        cohort: the seats of the sites that dealt shares.
        survivors: the seats of the sites in the sum.
        consents: signatures of the list of survivors, by name.
    """

    session: bytes
    epoch: int
    policy: bytes
    server: bytes
    roster: bytes
    terms: MaskTerms
    round: int
    model: bytes
    key_list: bytes
    names: tuple[str, ...]
    cohort: tuple[int, ...]
    survivors: tuple[int, ...]
    consents: Mapping[str, bytes]

    @classmethod
    def of(
        cls,
        setting: MaskSetting,
        context: Context,
        cohort: MaskCohort,
        survivors: tuple[int, ...],
        consents: Mapping[str, bytes],
    ) -> "RoundRecord":
        """Return the evidence of a round."""
        return cls(
            session=setting.session,
            epoch=setting.epoch,
            policy=setting.policy,
            server=setting.server.digest,
            roster=setting.sites.digest,
            terms=setting.terms,
            round=context.round,
            model=context.model,
            key_list=cohort.listed.digest,
            names=cohort.listed.names,
            cohort=cohort.seats,
            survivors=survivors,
            consents=dict(consents),
        )

    def to_bytes(self) -> bytes:
        """Return the record as canonical JSON."""
        return WrittenRecord.of(vars(self)).to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> "RoundRecord":
        """Read a record; `check` says whether what it shows is true.

        Guarantees:
            Only the bytes that `to_bytes` writes are read: one record, one hash.

        Raises:
            SecAggError: if they are not the canonical JSON of a record.
        """
        return cls(**WrittenRecord.read(data).values())

    @property
    def context(self) -> Context:
        """What the messages of the round belonged to."""
        agreed = terms_digest(self.policy, self.server, self.terms)
        return Context(
            self.session, self.epoch, self.round, self.model, agreed, self.roster
        )

    @property
    def signed_list(self) -> bytes:
        """SHA-256 of the list of survivors, as sites signed it."""
        agreed = agreed_digest(self.key_list, self.names, self.cohort)
        return sha256(agreed + pack_seats(self.survivors)).digest()

    def signed_by(self, name: str) -> bytes:
        """Return the bytes under a site's signature of the list."""
        return signed_bytes(EnvelopeKind.CONSENT, self.context, name, self.signed_list)

    @property
    def quorum(self) -> int:
        """How many had to sign the list; 2 quorum > sites + colluders."""
        return Threshold.malicious(len(self.names), self.terms.colluders).shares

    def check(self, setting: MaskSetting) -> None:
        """Check that sites agreed to open this sum, and no other of the round.

        Raises:
            SecAggError: unless the record is of this setting, t survivors signed the
                list, for this round and model, and it is as large as the terms ask for.
        """
        if self.context != setting.context(self.round, self.model):
            raise SecAggError("a record is of another session, policy, roster or terms")
        least = self.terms.least_sites
        check_size(len(self.names), least, "a key list")
        check_size(len(self.survivors), max(least, self.quorum), "a sum")
        check_size(len(self.consents), self.quorum, "a set of signatures")
        survivors = read_seats(pack_seats(self.survivors), len(self.names))
        inside = {self.names[seat] for seat in survivors}
        known = set(self.consents) <= inside and set(survivors) <= set(self.cohort)
        if not known:
            raise SecAggError("a record names sites that are not in its sum or cohort")
        for name, signature in self.consents.items():
            setting.sites.verify(name, self.signed_by(name), signature)
