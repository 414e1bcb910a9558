# SPDX-License-Identifier: Apache-2.0
"""The agreement of all parties before the first message, as one digest.

The terms bind privacy. A server that could choose them could choose them badly, so they
are hashed with the policy into the context that every signature and every mask is bound
to. Parties with other terms do not understand each other.
"""

from dataclasses import dataclass
from hashlib import sha256

from lexfed.checks import in_range
from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.identities import Roster
from lexfed.secagg.envelopes.key_agreement import EpochSetting
from lexfed.secagg.primitives.ring import Ring

_MOST_ROUNDS = 4096
_MOST_EPOCHS = 2**53 - 1
"""Records are JSON, in which larger numbers mean different things to readers."""
_MOST_VALUES = 2**29
"""Two gibibytes of 32-bit values; long vectors travel in pieces (`vector_pieces`)."""


@dataclass(frozen=True)
class MaskTerms:
    """The public terms that bind the sums of an epoch.

    Attributes:
        colluders: how many sites may work together with the server.
        least_sites: fewest sites whose sum may be opened.
        length: most values in a vector; each round says how many it has.
        least_change: fewest sites by which two different cohorts must differ; 2 keeps
            the difference of two sums from being one site, 1 allows that.
    """

    rounds: int
    colluders: int
    least_sites: int
    ring: Ring
    length: int
    least_change: int = 2

    def __post_init__(self) -> None:
        in_range(1, _MOST_ROUNDS, rounds=self.rounds)
        in_range(0, 2**16, colluders=self.colluders)
        # The sum of one site is that site, and two sites can subtract themselves.
        in_range(self.colluders + 2, 2**16, least_sites=self.least_sites)
        in_range(1, _MOST_VALUES, length=self.length)
        in_range(1, 2**16, least_change=self.least_change)

    def check_length(self, length: int) -> None:
        """Refuse vectors that are empty, or longer than agreed on."""
        if not 1 <= length <= self.length:
            raise SecAggError(f"expected a vector of 1 to {self.length} values")

    def packed(self) -> bytes:
        """Return the bytes that are hashed."""
        numbers = [self.rounds, self.colluders, self.least_sites, self.ring.bits]
        numbers += [self.length, self.least_change]
        return b"".join(number.to_bytes(4, "big") for number in numbers)


@dataclass(frozen=True)
class MaskSetting(EpochSetting):
    """An epoch of masked sums; the server has a roster of its own."""

    server: Roster
    terms: MaskTerms

    def __post_init__(self) -> None:
        in_range(0, _MOST_EPOCHS, epoch=self.epoch)

    @property
    def agreed(self) -> bytes:
        """SHA-256 of policy, server and terms."""
        return terms_digest(self.policy, self.server.digest, self.terms)


def terms_digest(policy: bytes, server: bytes, terms: MaskTerms) -> bytes:
    """Return the policy field of a context: a digest of policy, server and terms."""
    parts = (policy, server, terms.packed())
    return sha256(b"lexfed secagg terms\x00" + b"".join(parts)).digest()
