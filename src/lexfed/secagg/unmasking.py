# SPDX-License-Identifier: Apache-2.0
"""Opening a round: secrets from shares, who is to blame if not, and masks off the sum.

Of a site that answered its own mask is opened; of one that dropped out the key of its
masks with others. Never both: a site that gave out both kinds would not be honest, and
fewer than t honest ones exist for the other kind (`thresholds.py`).
"""

from collections.abc import Mapping

import numpy as np

from lexfed.errors import SecAggError
from lexfed.secagg.agree import Context
from lexfed.secagg.cohort import Cohort, check_size
from lexfed.secagg.dealing import OWN, PAIR, commitments, mark, mask_key, root, row
from lexfed.secagg.field import PRIME, Elements
from lexfed.secagg.masking import add_own, add_pairs, binding
from lexfed.secagg.messages import DIGEST
from lexfed.secagg.ring import Words
from lexfed.secagg.shamir import LIMBS, reconstruct, secret_bytes


class Opening:
    """The shares of one round, and what they open."""

    def __init__(
        self,
        setup: Context,
        cohort: Cohort,
        survivors: tuple[int, ...],
        roots: Mapping[tuple[int, int], bytes],
    ) -> None:
        self._setup = setup.digest
        self._cohort = cohort
        self._survivors = frozenset(survivors)
        self._roots = roots
        self._shares: dict[int, Elements] = {}
        self._places = {
            seat: {dealer: at for at, dealer in enumerate(cohort.circle(seat))}
            for seat in survivors
        }
        self._proofs: dict[int, dict[int, tuple[bytes, ...]]] = {}
        self._seeds: dict[int, bytes] = {}
        self._wrong: tuple[int, ...] = ()

    @property
    def answered(self) -> tuple[int, ...]:
        """The seats of sites whose shares are there, in order."""
        return tuple(sorted(self._shares))

    def _which(self, seat: int) -> int:
        return OWN if seat in self._survivors else PAIR

    def add(self, seat: int, payload: memoryview) -> None:
        """Take one site's shares of all dealers.

        Raises:
            SecAggError: if they are not numbers of the field; the site is blamed.
        """
        values = np.frombuffer(payload, dtype="<u2").astype(np.uint16)
        if np.any(values >= PRIME):
            name = self._cohort.listed.names[seat]
            raise SecAggError(f"`{name}` gave out what is no share", blamed=[name])
        self._shares[seat] = values.reshape(-1, LIMBS)

    def reconstruct(self, round_number: int) -> tuple[int, ...]:
        """Open all secrets; return the seats of dealers whose secret came out wrong."""
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
        self._wrong = tuple(
            seat
            for seat, seed in self._seeds.items()
            if not self._is_right(seat, round_number, seed)
        )
        return self._wrong

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

    def _is_right(self, seat: int, round_number: int, seed: bytes) -> bool:
        """Whether a secret is the one that its site published the hash or key of."""
        name, keys = self._cohort.listed.names[seat], self._cohort.listed.keys[seat]
        if self._which(seat) == OWN:
            published = keys.marks[round_number - 1]
            return mark(self._setup, name, round_number, seed) == published
        key = mask_key(self._setup, name, round_number, seed).public_key()
        return key.public_bytes_raw() == keys.masks[round_number - 1]

    def evidence_lengths(self, rounds: int) -> range:
        """Return how long a site's evidence on disputed dealers may be."""
        each = 2 * rounds * DIGEST
        return range(0, len(self._wrong) * each + 1, each)

    def prove(self, seat: int, payload: memoryview) -> None:
        """Take the commitments that disputed dealers made to one site's shares."""
        data = bytes(payload)
        asked = [dealer for dealer in self._wrong if dealer in self._places[seat]]
        size = len(data) // max(len(asked), 1)
        if size != (
            2 * len(self._cohort.listed.keys[seat].masks) * DIGEST if asked else 0
        ):
            raise SecAggError("evidence is on other sites than those asked about")
        self._proofs[seat] = {
            dealer: tuple(
                data[start : start + DIGEST]
                for start in range(at * size, (at + 1) * size, DIGEST)
            )
            for at, dealer in enumerate(asked)
        }

    def judge(self, round_number: int) -> tuple[int, ...]:
        """Leave out wrong shares and open the secrets again.

        Returns:
            The seats of sites that gave out wrong shares.

        Raises:
            SecAggError: if the rest does not suffice, or all shares of a dealer are
                the committed ones and its secret is still wrong: it dealt badly.
        """
        names = self._cohort.listed.names
        silent = [seat for seat in self._shares if seat not in self._proofs]
        liars = tuple(seat for seat in self._proofs if self._lied(seat, round_number))
        for seat in (*silent, *liars):
            del self._shares[seat]
        try:
            wrong = self.reconstruct(round_number)
        except SecAggError as error:
            raise SecAggError(
                "too few right shares are left to open the sum",
                "run the round again without those who are blamed",
                blamed=[names[seat] for seat in liars],
            ) from error
        if wrong:
            raise SecAggError(
                "shares are those that were dealt, and still open no secret",
                "set up again without those who are blamed",
                blamed=[names[seat] for seat in (*liars, *wrong)],
            )
        return liars

    def _lied(self, seat: int, round_number: int) -> bool:
        """Whether a site gave out a share that its dealer did not commit to."""
        names, listed = self._cohort.listed.names, self._cohort.listed.digest
        for dealer, committed in self._proofs[seat].items():
            if dealer == seat:
                continue  # its own share: nobody else committed to it
            at = row(round_number, self._which(dealer))
            shares = np.zeros((at + 1, LIMBS), dtype=np.uint16)
            shares[at] = self._share(seat, dealer)
            found = commitments(listed, names[dealer], names[seat], shares)[at]
            if root(committed) != self._roots[dealer, seat] or committed[at] != found:
                return True
        return False

    def take_off(self, total: Words, context: Context) -> None:
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
