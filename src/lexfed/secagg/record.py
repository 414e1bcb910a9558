# SPDX-License-Identifier: Apache-2.0
"""What shows afterwards that a sum was opened for one list of sites, and for which.

The signatures under which sites gave out their shares are receipts: t of them on one
list cannot exist for a second list of the round (2t > n + c). Whoever has the setting
can check them, without any secret. They cover the names of all sites, so nobody can
make a cohort look smaller than it was, and with it the number of signatures it needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from lexfed.errors import SecAggError
from lexfed.secagg.cohort import Cohort, agreed_digest, check_size
from lexfed.secagg.messages import Kind, signed_bytes
from lexfed.secagg.payloads import pack_seats, read_seats
from lexfed.secagg.setting import Setting
from lexfed.secagg.thresholds import Threshold


@dataclass(frozen=True)
class RoundRecord:
    """Evidence of one round.

    Attributes:
        round: its number in the epoch.
        model: SHA-256 of its model.
        key_list: digest of the key list.
        names: the sites in the key list, by seat.
        cohort: the seats of the sites that dealt shares.
        survivors: the seats of the sites in the sum.
        consents: signatures of the list of survivors, by name.
    """

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
        round_number: int,
        model: bytes,
        cohort: Cohort,
        survivors: tuple[int, ...],
        consents: Mapping[str, bytes],
    ) -> "RoundRecord":
        """Return the evidence of a round."""
        listed = cohort.listed
        return cls(
            round_number,
            model,
            listed.digest,
            listed.names,
            cohort.seats,
            survivors,
            dict(consents),
        )

    @property
    def signed_list(self) -> bytes:
        """SHA-256 of the list of survivors, as sites signed it."""
        agreed = agreed_digest(self.key_list, self.names, self.cohort)
        return sha256(agreed + pack_seats(self.survivors)).digest()

    def check(self, setting: Setting) -> None:
        """Check that sites agreed to open this sum, and no other of the round.

        Raises:
            SecAggError: unless t survivors signed the list, for this round and model,
                and the list is as large as the terms ask for.
        """
        terms = setting.terms
        check_size(len(self.names), terms.least_sites, "a key list")
        opens = Threshold.malicious(len(self.names), terms.colluders).shares
        check_size(len(self.survivors), max(terms.least_sites, opens), "a sum")
        check_size(len(self.consents), opens, "a set of signatures")
        survivors = read_seats(pack_seats(self.survivors), len(self.names))
        inside = {self.names[seat] for seat in survivors}
        known = set(self.consents) <= inside and set(survivors) <= set(self.cohort)
        if not known:
            raise SecAggError("a record names sites that are not in its sum or cohort")
        context = setting.context(self.round, self.model)
        for name, signature in self.consents.items():
            signed = signed_bytes(Kind.CONSENT, context, name, self.signed_list)
            setting.sites.verify(name, signed, signature)
