# SPDX-License-Identifier: Apache-2.0
"""The sites of an epoch, as every site and the server must see them alike.

The key list names the sites that advertised keys, in the order of the roster; it fixes
seats, points and the threshold. The cohort, of those that also dealt shares, stays the
same for all rounds of the epoch: sites may miss rounds and come back, but nobody joins,
and masks are made with everybody in the circle, whoever answers.
"""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes import payloads
from lexfed.secagg.envelopes.identities import check_size
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, open_sealed
from lexfed.secagg.masks.terms import MaskSetting
from lexfed.secagg.masks.thresholds import Threshold, density, neighbours

_density = lru_cache(density)


@dataclass(frozen=True)
class KeyList:
    """The sites that advertised keys: `names` by seat, with the `keys` of each.

    Attributes:
        circles: by seat, the seats of a site's neighbours and its own: the sites that
            hold shares of its secrets and mask with it.
        threshold: how many shares of a circle open a secret.
        quorum: how many must sign a list of survivors; 2 quorum > sites + colluders.
        digest: SHA-256 of the context and all signed advertisements; shares are bound
            to it, so they are useless to a site that was shown another list.
    """

    names: tuple[str, ...]
    keys: tuple[payloads.AdvertisedKeys, ...]
    circles: tuple[tuple[int, ...], ...]
    threshold: Threshold
    quorum: int
    digest: bytes

    @property
    def most_shown(self) -> int:
        """Most parts of one dealer that may be shown: t - 1 - c, at least one.

        With the shares of all colluders these open nothing
        (docs/theory/secure-aggregation.md).
        """
        return self.threshold.honest - 1

    @classmethod
    def read(cls, setting: MaskSetting, payload: bytes | memoryview) -> "KeyList":
        """Check a key list.

        Guarantees:
            Every entry is signed by an enrolled site for this epoch; no site is in it
            twice; there are at least as many as the terms ask for.
        """
        terms, context = setting.terms, setting.context()
        lengths = (payloads.AdvertisedKeys.length(terms.rounds),)
        names: list[str] = []
        keys: list[payloads.AdvertisedKeys] = []
        for message in payloads.read_bundle(memoryview(payload)):
            opened = open_sealed(
                message, EnvelopeKind.ADVERTISE, context, setting.sites, lengths
            )
            if names and opened.sender <= names[-1]:
                raise SecAggError("the key list names a site twice, or out of order")
            names.append(opened.sender)
            keys.append(payloads.AdvertisedKeys.read(opened.payload, terms.rounds))
        check_size(len(names), terms.least_sites, "a key list")
        sites = len(names)
        quorum = Threshold.malicious(sites, terms.colluders).shares
        missing = sites - max(terms.least_sites, quorum)
        chosen = _density(sites, terms.colluders, missing)
        bound = b"lexfed secagg key list\x00" + context.digest
        digest = sha256(bound + sha256(payload).digest()).digest()
        # The list is signed by its sites: nobody chooses who is whose neighbour.
        near = neighbours(sites, digest, chosen.degree)
        circles = tuple(tuple(sorted((*each, at))) for at, each in enumerate(near))
        threshold = chosen.threshold
        return cls(tuple(names), tuple(keys), circles, threshold, quorum, digest)


@dataclass(frozen=True)
class MaskCohort:
    """The sites whose masks and shares exist, from a key list, by their seats.

    `agreed` is the digest of key list, names and seats. A sum of fewer sites than
    `least` may not be opened.
    """

    listed: KeyList
    seats: tuple[int, ...]
    agreed: bytes
    least: int

    @classmethod
    def of(
        cls, setting: MaskSetting, listed: KeyList, seats: tuple[int, ...]
    ) -> "MaskCohort":
        """Return the cohort of the sites that dealt shares, if enough did.

        On a sparse graph that is everybody: the sites that a server may leave out of a
        circle are counted in rounds only.
        """
        least = max(setting.terms.least_sites, listed.quorum)
        sites = len(listed.names)
        sparse = len(listed.circles[0]) < sites
        check_size(len(seats), sites if sparse else least, "a cohort")
        agreed = agreed_digest(listed.digest, listed.names, seats)
        return cls(listed, seats, agreed, least)

    @property
    def names(self) -> frozenset[str]:
        """The names of the sites."""
        return frozenset(self.listed.names[seat] for seat in self.seats)

    def circle(self, seat: int) -> tuple[int, ...]:
        """Return the seats of a site's circle that are in the cohort."""
        inside = set(self.seats)
        return tuple(other for other in self.listed.circles[seat] if other in inside)

    def mask_keys(self, seat: int, round_number: int) -> dict[int, tuple[str, bytes]]:
        """Return names and mask keys of the sites with which a site masks, by seat."""
        names, keys = self.listed.names, self.listed.keys
        return {
            other: (names[other], keys[other].masks[round_number - 1])
            for other in self.circle(seat)
            if other != seat
        }

    def survivors_lengths(self) -> range:
        """Return the possible lengths of a list of survivors."""
        longest = len(self.agreed) + payloads.SEAT * len(self.seats)
        return range(len(self.agreed), longest + 1)

    def pack_survivors(self, seats: tuple[int, ...]) -> bytes:
        """Return the payload that lists the sites that answered."""
        return self.agreed + payloads.pack_seats(seats)

    def read_survivors(self, payload: memoryview) -> tuple[int, ...]:
        """Check a list of the sites that answered: this set-up's, and enough."""
        size = len(self.agreed)
        if payload[:size] != self.agreed:
            raise SecAggError("a list of survivors belongs to another set-up")
        survivors = payloads.read_seats(payload[size:], len(self.listed.names))
        if not set(survivors) <= set(self.seats):
            raise SecAggError("a list of survivors names a site outside of the cohort")
        check_size(len(survivors), self.least, "a list of survivors")
        return survivors


def agreed_digest(
    key_list: bytes, names: tuple[str, ...], seats: tuple[int, ...]
) -> bytes:
    """Return the digest of a set-up; names let a record be checked without all keys."""
    listed = sha256("\n".join(names).encode()).digest()
    bound = b"lexfed secagg set-up\x00" + key_list + listed
    return sha256(bound + payloads.pack_seats(seats)).digest()


def delivered_digest(agreed: bytes, delivery: bytes | memoryview) -> bytes:
    """Return the digest that a site signs, so that nobody changes its parts unseen."""
    bound = b"lexfed secagg delivery\x00" + agreed
    return sha256(bound + sha256(delivery).digest()).digest()


def check_change(
    cohort: frozenset[str], earlier: tuple[frozenset[str], ...], least_change: int
) -> None:
    """Refuse a cohort so close to an earlier one that sums could be subtracted."""
    for other in earlier:
        if 0 < len(cohort ^ other) < least_change:
            raise SecAggError(
                "the cohort differs from an earlier one by too few sites: the "
                "difference of two sums would nearly be one site's update",
                f"keep the cohort, or change it by {least_change} sites or more",
            )
