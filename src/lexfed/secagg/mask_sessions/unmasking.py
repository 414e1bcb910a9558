# SPDX-License-Identifier: Apache-2.0
"""Opening a round: secrets from shares, who is to blame if not, and masks off the sum.

Every share that is given out is compared with its dealer's signed commitment. So a
wrong one shows by itself that its holder lied, and shares that are all the committed
ones and open another secret than the dealer published show that the dealer did.

Of a site that answered its own mask is opened; of one that dropped out the key of its
masks with others. Never both: a site that gave out both kinds would not be honest, and
fewer than t honest ones exist for the other kind (`masks.thresholds`).
"""

from collections.abc import Mapping

import numpy as np

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.admission import check_size
from lexfed.secagg.envelopes.key_agreement import Context
from lexfed.secagg.envelopes.sealed_messages import DIGEST
from lexfed.secagg.masks.cohort import MaskCohort
from lexfed.secagg.masks.epoch_secrets import (
    OWN,
    PAIR,
    commitment,
    mask_key,
    row,
    seed_mark,
)
from lexfed.secagg.masks.round_masks import add_own, add_pairs, binding
from lexfed.secagg.primitives.ring import RingWords
from lexfed.secagg.primitives.shamir import (
    LIMBS,
    SECRET_BYTES,
    reconstruct,
    secret_bytes,
)
from lexfed.secagg.primitives.small_field import PRIME, Elements


class RoundOpening:
    """The shares of one round, and what they open."""

    def __init__(
        self,
        setup: Context,
        cohort: MaskCohort,
        survivors: tuple[int, ...],
        committed: Mapping[tuple[int, int], bytes],
        round_number: int,
    ) -> None:
        self._setup = setup.digest
        self._cohort = cohort
        self._survivors = frozenset(survivors)
        self._committed = committed
        self._round = round_number
        self._shares: dict[int, Elements] = {}
        self._places = {
            seat: {dealer: at for at, dealer in enumerate(cohort.circle(seat))}
            for seat in survivors
        }
        self._seeds: dict[int, bytes] = {}

    def _which(self, seat: int) -> int:
        return OWN if seat in self._survivors else PAIR

    def add(self, seat: int, payload: memoryview) -> None:
        """Take one site's shares of all dealers.

        Raises:
            SecAggError: if one is not the share that its dealer committed to, or none
                at all; the site is blamed.
        """
        listed, data = self._cohort.listed, bytes(payload)
        held = listed.names[seat]
        for dealer, at in self._places[seat].items():
            which = row(self._round, self._which(dealer))
            found = commitment(
                listed.digest,
                listed.names[dealer],
                held,
                which,
                data[at * SECRET_BYTES : (at + 1) * SECRET_BYTES],
            )
            due = self._committed[dealer, seat]
            if found != due[which * DIGEST : (which + 1) * DIGEST]:
                raise SecAggError(
                    f"`{held}` gave out a share that it was not dealt", blamed=[held]
                )
        values = np.frombuffer(data, dtype="<u2").astype(np.uint16)
        if np.any(values >= PRIME):
            # A dealer that lies may commit to it; an honest holder complains of it.
            raise SecAggError(f"`{held}` gave out what is no share", blamed=[held])
        self._shares[seat] = values.reshape(-1, LIMBS)

    def reconstruct(self) -> None:
        """Open all secrets.

        Raises:
            SecAggError: if too few shares are there, or a secret is another one than
                its dealer published; all shares are the committed ones, so the dealer
                dealt badly and is blamed.
        """
        self._seeds = {}
        for used, dealers in self._by_holders().items():
            held = np.stack(
                [
                    np.stack([self._share(seat, dealer) for dealer in dealers])
                    for seat, _ in used
                ]
            )
            found = reconstruct([point for _, point in used], held)
            for dealer, secret in zip(dealers, found, strict=True):
                self._seeds[dealer] = secret_bytes(secret)
        names = self._cohort.listed.names
        wrong = [
            names[seat]
            for seat, seed in sorted(self._seeds.items())
            if not self._is_right(seat, seed)
        ]
        if wrong:
            raise SecAggError(
                "shares are those that were dealt, and still open no secret",
                f"set up again without {', '.join(wrong)}",
                blamed=wrong,
            )

    def _by_holders(self) -> dict[tuple[tuple[int, int], ...], list[int]]:
        """Return dealers by the seats and points of the holders that open them.

        Secrets with the same holders are opened together; on a complete graph all are.
        """
        listed = self._cohort.listed
        opens = listed.threshold.shares
        groups: dict[tuple[tuple[int, int], ...], list[int]] = {}
        for dealer in self._cohort.seats:
            points = enumerate(listed.circles[dealer], start=1)
            there = [(seat, point) for point, seat in points if seat in self._shares]
            check_size(len(there), opens, "a set of shares")
            groups.setdefault(tuple(there[:opens]), []).append(dealer)
        return groups

    def _share(self, seat: int, dealer: int) -> Elements:
        found: Elements = self._shares[seat][self._places[seat][dealer]]
        return found

    def _is_right(self, seat: int, seed: bytes) -> bool:
        """Return True if a secret has the hash or key that its site published."""
        name, keys = self._cohort.listed.names[seat], self._cohort.listed.keys[seat]
        if self._which(seat) == OWN:
            published = keys.marks[self._round - 1]
            return seed_mark(self._setup, name, self._round, seed) == published
        key = mask_key(self._setup, name, self._round, seed).public_key()
        return key.public_bytes_raw() == keys.masks[self._round - 1]

    def take_off(self, total: RingWords, context: Context) -> None:
        """Take the masks off a sum: own masks of survivors, and those with dropouts."""
        listed, number = self._cohort.listed, context.round
        bound = binding(context, self._cohort.agreed)
        for seat, seed in self._seeds.items():
            if seat in self._survivors:
                add_own(total, bound, seed, -1)
            else:
                # Survivors added the opposite sign of what this site would have added.
                key = mask_key(self._setup, listed.names[seat], number, seed)
                joined = self._cohort.mask_keys(seat, number)
                peers = [joined[other] for other in joined.keys() & self._survivors]
                add_pairs(total, bound, listed.names[seat], key, peers, 1)
