# SPDX-License-Identifier: Apache-2.0
"""Terms of sums under encryption: the key holder, and the numbers that follow.

BFV [FV12] over the ring of degree N = 4096 adds vectors modulo a prime t, encrypted
modulo a prime q. Both follow from the terms, so nobody chooses them:

    t > (n + 1) bound    n sites, each of which refuses to encrypt values beyond the
                         bound: a sum that leaves the bound lies below t - bound, so it
                         is seen and refused; it never comes back inside
    q >= 4 t n E         a sum of n is decrypted exactly if its error is below q / 2t

E = 2^12 bounds the error of a fresh ciphertext but for a chance of 2^-139 a coefficient
(docs/theory/homomorphic.md#exact-or-refused); one that is too large is measured and
refused. 60 bits are far below the 109 that give 128 bits of security at this N [HES18].
"""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256

from lexfed.checks import in_range
from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.identities import Roster
from lexfed.secagg.envelopes.key_agreement import EpochSetting
from lexfed.secagg.primitives.ring import Ring

DEGREE = 4096
"""Values in one ciphertext; it has two polynomials of as many coefficients."""
CIPHER = (
    1_099_511_480_321,
    281_474_976_694_273,
    72_057_594_037_641_217,
    1_152_921_504_606_830_593,
)
"""The largest primes below 2^40, 2^48, 2^56 and 2^60 that are 1 modulo 2N."""
ERROR = 2**12
_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
_MOST_SITES = 2**16
_MOST_VALUES = 2**27
"""A sum of coefficients of 8 bytes fits a message up to here."""


@dataclass(frozen=True)
class Moduli:
    """The primes of a set-up: `plain` is t, of the values; `cipher` is q."""

    plain: int
    cipher: int

    @property
    def width(self) -> int:
        """Bytes of a coefficient in a message."""
        return (self.cipher.bit_length() + 7) // 8


def is_prime(number: int) -> bool:
    """Return True if an odd number from 41 to 2^64 is prime (Miller, Rabin; [SW17])."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(_passes(number, base, odd, twos) for base in _BASES)


def _passes(number: int, base: int, odd: int, twos: int) -> bool:
    power = pow(base, odd, number)
    if power == 1:
        return True
    for _ in range(twos):
        if power == number - 1:
            return True
        power = power * power % number
    return False


@cache
def moduli_for(bound: int, sites: int) -> Moduli:
    """Return the smallest primes with which sums up to `bound` are exact, or refuse.

    Guarantees:
        No sum of up to `sites` vectors of values up to `bound` wraps unseen.
        Both are primes that are 1 modulo 2N.
    """
    step = 2 * DEGREE
    plain = (sites + 1) * bound // step * step + 1
    while plain <= (sites + 1) * bound or not is_prime(plain):
        plain += step
    for cipher in CIPHER:
        if cipher >= 4 * plain * sites * ERROR:
            return Moduli(plain, cipher)
    raise SecAggError(
        f"sums of {sites} sites up to the stated bound need too large a modulus",
        "choose a smaller scale or fewer sites; masks do not have this limit",
    )


@dataclass(frozen=True)
class EncryptionTerms:
    """The public terms that bind sums under encryption.

    Sums of fewer than `least_sites`, two more than may help the key holder, stay
    closed; `bound` is the largest size of an honest one.
    """

    least_sites: int
    bound: int
    length: int

    def __post_init__(self) -> None:
        in_range(2, _MOST_SITES, least_sites=self.least_sites)
        in_range(1, Ring(32).largest, bound=self.bound)
        in_range(1, _MOST_VALUES, length=self.length)

    @property
    def ring(self) -> Ring:
        """The smallest ring that holds the bound; opened sums are written in it."""
        return Ring.for_bound(self.bound)

    @property
    def blocks(self) -> int:
        """Number of ciphertexts of a vector."""
        return -(-self.length // DEGREE)

    def packed(self) -> bytes:
        """Return the bytes that are hashed."""
        numbers = (self.least_sites, self.bound, self.length)
        return b"".join(number.to_bytes(8, "big") for number in numbers)


@dataclass(frozen=True)
class EncryptionSetting(EpochSetting):
    """An epoch of encrypted sums; server and key holder have rosters of their own."""

    server: Roster
    holder: Roster
    terms: EncryptionTerms

    def __post_init__(self) -> None:
        if (len(self.server), len(self.holder)) != (1, 1):
            raise ValueError("expected one server and one key holder")
        # A party with all ciphertexts and the key has all updates.
        server, holder = self.server.names[0], self.holder.names[0]
        if self.server.public(server) == self.holder.public(holder):
            raise ValueError("expected a key holder other than the server")
        moduli_for(self.terms.bound, len(self.sites))

    @property
    def moduli(self) -> Moduli:
        """The primes of this set-up."""
        return moduli_for(self.terms.bound, len(self.sites))

    @property
    def key_bytes(self) -> int:
        """Length of the public key."""
        return 2 * DEGREE * self.moduli.width

    @property
    def vector_bytes(self) -> int:
        """Length of an encrypted vector."""
        return self.terms.blocks * self.key_bytes

    @property
    def agreed(self) -> bytes:
        """SHA-256 of policy, server, key holder, terms and primes."""
        digests = (self.policy, self.server.digest, self.holder.digest)
        moduli = (DEGREE, self.moduli.plain, self.moduli.cipher)
        numbers = (number.to_bytes(8, "big") for number in moduli)
        parts = (*digests, self.terms.packed(), *numbers)
        return sha256(b"lexfed he terms\x00" + b"".join(parts)).digest()
