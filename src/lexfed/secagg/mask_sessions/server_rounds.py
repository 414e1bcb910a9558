# SPDX-License-Identifier: Apache-2.0
"""The server's side of rounds, as a machine without network or clock.

    begin(r, model, length)
    masked(m)*      piece(m)*, for long vectors (`masks.vector_pieces`)
                    close_masked() -> SURVIVORS for the survivors
    consented(m)*   close_consents() -> CONSENTS for the signers
    unmasked(m)*    reconstruct()
    total(bound) -> the sum; record() -> evidence for a log

The server keeps one sum, not the vectors. A share that is not the one its dealer
committed to proves that its holder lied; shares that are all the committed ones, but
open another secret than the dealer published, prove that the dealer did. Of a site that
answered its own mask is opened; of one that dropped out the key of its masks with
others; never both (`masks.thresholds`).
"""

from hashlib import sha256
from pathlib import Path

import numpy as np

from lexfed.arrays import Integers
from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.identities import Identity, check_size
from lexfed.secagg.envelopes.key_agreement import Context
from lexfed.secagg.envelopes.payloads import pack_by_seat
from lexfed.secagg.envelopes.sealed_messages import DIGEST, EnvelopeKind
from lexfed.secagg.mask_sessions.round_record import RoundRecord
from lexfed.secagg.mask_sessions.server_setup import (
    Collector,
    EstablishedEpoch,
    ServerPhase,
)
from lexfed.secagg.masks.epoch_secrets import (
    OWN,
    PAIR,
    add_own,
    add_pairs,
    binding,
    commitment,
    mask_key,
    row,
    seed_mark,
)
from lexfed.secagg.masks.vector_pieces import IncomingVector, count_of, read_piece
from lexfed.secagg.primitives import shamir
from lexfed.secagg.primitives.ring import RingWords


class RoundOpening:
    """The shares of one round, and the secrets that they open."""

    def __init__(
        self, epoch: EstablishedEpoch, survivors: tuple[int, ...], round_number: int
    ) -> None:
        self._setup = epoch.setting.context().digest
        self._cohort = epoch.cohort
        self._survivors = frozenset(survivors)
        self._committed = epoch.committed
        self._round = round_number
        self._shares: dict[int, shamir.Elements] = {}
        self._places = {
            seat: {dealer: at for at, dealer in enumerate(epoch.cohort.circle(seat))}
            for seat in survivors
        }
        self._seeds: dict[int, bytes] = {}

    def _which(self, seat: int) -> int:
        return OWN if seat in self._survivors else PAIR

    def add(self, seat: int, payload: memoryview) -> None:
        """Take one site's shares of all dealers; blame it for any not committed to."""
        listed, data = self._cohort.listed, bytes(payload)
        holder = listed.names[seat]
        for dealer, at in self._places[seat].items():
            place = row(self._round, self._which(dealer))
            share = data[at * shamir.SECRET_BYTES : (at + 1) * shamir.SECRET_BYTES]
            name = listed.names[dealer]
            given = commitment(listed.digest, name, holder, place, share)
            committed = self._committed[dealer, seat]
            if given != committed[place * DIGEST : (place + 1) * DIGEST]:
                raise SecAggError(
                    f"`{holder}` gave out a share that it was not dealt",
                    blamed=[holder],
                )
        values = np.frombuffer(data, dtype="<u2").astype(np.uint16)
        if np.any(values >= shamir.PRIME):
            # A dealer that lies may commit to it; an honest holder complains of it.
            raise SecAggError(f"`{holder}` gave out what is no share", blamed=[holder])
        self._shares[seat] = values.reshape(-1, shamir.LIMBS)

    def reconstruct(self) -> None:
        """Open all secrets, if enough shares are there; blame dealers of wrong ones."""
        self._seeds = {}
        for used, dealers in self._by_holders().items():
            held = np.stack(
                [
                    self._shares[seat][[self._places[seat][each] for each in dealers]]
                    for seat, _ in used
                ]
            )
            secrets = shamir.reconstruct([point for _, point in used], held)
            for dealer, secret in zip(dealers, secrets, strict=True):
                self._seeds[dealer] = shamir.secret_bytes(secret)
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
        """Return dealers by seats and points of the holders that open them together."""
        listed = self._cohort.listed
        needed = listed.threshold.shares
        groups: dict[tuple[tuple[int, int], ...], list[int]] = {}
        for dealer in self._cohort.seats:
            points = enumerate(listed.circles[dealer], start=1)
            holders = [(seat, point) for point, seat in points if seat in self._shares]
            check_size(len(holders), needed, "a set of shares")
            groups.setdefault(tuple(holders[:needed]), []).append(dealer)
        return groups

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


class ServerSession(Collector):
    """The server in the rounds of an epoch.

    Guarantees:
        The sum is exactly that of the sites in the signed list of survivors.
        No message is taken twice, late, or from another round, model or policy.
        Who is blamed signed what shows it: another list than the server's, a share
        that its dealer did not commit to, or commitments to shares that open another
        secret than it published.
        Sites that follow the protocol are not blamed, whatever others do.
    """

    def __init__(
        self,
        identity: Identity,
        established: EstablishedEpoch,
        spool: Path | None = None,
    ) -> None:
        """Go on from a set-up; parts of long vectors are kept in the folder `spool`."""
        super().__init__(identity, established.setting, ServerPhase.IDLE)
        self._spool = spool
        self._epoch, self._cohort = established, established.cohort
        self._names = established.cohort.listed.names

    def _seats(self) -> tuple[int, ...]:
        """Return the seats of the sites that answered, in order."""
        return tuple(
            at for at, name in enumerate(self._names) if name in self._answered
        )

    def begin(self, round_number: int, model: bytes, length: int | None = None) -> None:
        """Begin a round of `length` values, as agreed by default; rounds go up."""
        terms = self._setting.terms
        if not self._round.round < round_number <= terms.rounds:
            raise SecAggError(f"round {round_number} is over, or not in this epoch")
        length = terms.length if length is None else length
        terms.check_length(length)
        self._round = self._setting.context(round_number, model)
        self._sum = terms.ring.zeros(length)
        self._arriving: dict[int, IncomingVector] = {}
        self._next(ServerPhase.MASKED)

    @property
    def pieces(self) -> int:
        """Number of pieces of each vector of the round; 0 if they come whole."""
        return count_of(len(self._sum))

    def masked(self, message: bytes) -> None:
        """Take a masked vector and add it to the sum; of a long one take the header."""
        ring, length = self._setting.terms.ring, len(self._sum)
        kind, size = EnvelopeKind.MASKED, DIGEST + length * ring.bits // 8
        if self.pieces:
            kind, size = EnvelopeKind.HEADER, IncomingVector.header_bytes(length)
        opened = self._take(kind, message, (size,), self._cohort.names)
        if opened.payload[:DIGEST] != self._cohort.agreed:
            raise SecAggError(f"`{opened.sender}` saw another set-up")
        rest, seat = opened.payload[DIGEST:], self._names.index(opened.sender)
        if not self.pieces:
            ring.add(self._sum, ring.unpack(rest, length))
            self._answered.add(opened.sender)
        elif seat in self._arriving:
            raise SecAggError(f"the vector of `{opened.sender}` is on its way already")
        else:
            self._arriving[seat] = IncomingVector.read(rest, ring, length, self._spool)

    def piece(self, message: bytes) -> None:
        """Take a piece, again if it was refused; the last one completes its vector."""
        self._expect(ServerPhase.MASKED)
        seat, number, data = read_piece(message)
        if seat not in self._arriving:
            raise SecAggError("a piece is of no vector that is on its way")
        incoming = self._arriving[seat]
        incoming.take(number, data)
        if not incoming.missing:
            # Half a vector in the sum must not be opened.
            self._phase = ServerPhase.IDLE
            incoming.add_to(self._sum)
            self._phase = ServerPhase.MASKED
            self._answered.add(self._names[seat])
            del self._arriving[seat]

    def missing(self, name: str) -> tuple[int, ...]:
        """Return the missing pieces of a site's vector whose header has arrived."""
        incoming = self._arriving.get(self._names.index(name))
        return incoming.missing if incoming else ()

    def close_masked(self) -> bytes:
        """Return the list of survivors, for each of them to sign."""
        self._expect(ServerPhase.MASKED)
        payload = self._cohort.pack_survivors(self._seats())
        self._survivors = self._cohort.read_survivors(memoryview(payload))
        self._list = sha256(payload).digest()
        self._consents: dict[str, bytes] = {}
        self._arriving = {}
        self._next(ServerPhase.CONSENT)
        return self._seal(EnvelopeKind.SURVIVORS, payload)

    @property
    def survivors(self) -> tuple[str, ...]:
        """The sites whose vectors are in the sum."""
        return tuple(self._names[seat] for seat in self._survivors)

    def consented(self, message: bytes) -> None:
        """Take a survivor's signature of the list."""
        self._expect(ServerPhase.CONSENT)
        opened = self._take(EnvelopeKind.CONSENT, message, (DIGEST,), self.survivors)
        if opened.payload != self._list:
            raise SecAggError(
                f"`{opened.sender}` signed another list", blamed=[opened.sender]
            )
        self._answered.add(opened.sender)
        self._consents[opened.sender] = opened.signature

    def close_consents(self) -> bytes:
        """Return all signatures, for the signers."""
        self._expect(ServerPhase.CONSENT)
        check_size(len(self._answered), self._cohort.listed.quorum, "a signed list")
        rows = [(seat, self._consents[self._names[seat]]) for seat in self._seats()]
        self._opening = RoundOpening(self._epoch, self._survivors, self._round.round)
        self._next(ServerPhase.UNMASK)
        return self._seal(EnvelopeKind.CONSENTS, pack_by_seat(rows))

    def record(self) -> RoundRecord:
        """Return the evidence for others of the opened sum, once it can be opened."""
        self._expect(ServerPhase.OPENED, ServerPhase.IDLE)
        setting, listed = self._setting, self._cohort.listed
        return RoundRecord(
            session=setting.session,
            epoch=setting.epoch,
            policy=setting.policy,
            server=setting.server.digest,
            roster=setting.sites.digest,
            terms=setting.terms,
            round=self._round.round,
            model=self._round.model,
            key_list=listed.digest,
            names=listed.names,
            cohort=self._cohort.seats,
            survivors=self._survivors,
            consents=dict(self._consents),
        )

    def unmasked(self, message: bytes) -> None:
        """Take a survivor's shares of the round; a share it was not dealt is blamed."""
        self._expect(ServerPhase.UNMASK)
        size = shamir.SECRET_BYTES * len(self._cohort.circle(self._cohort.seats[0]))
        opened = self._take(EnvelopeKind.UNMASK, message, (size,), self.survivors)
        self._opening.add(self._names.index(opened.sender), opened.payload)
        self._answered.add(opened.sender)

    def reconstruct(self) -> None:
        """Open the secrets of the round, once t sites gave out shares."""
        self._expect(ServerPhase.UNMASK)
        self._opening.reconstruct()
        self._next(ServerPhase.OPENED)

    def total(self, bound: int) -> Integers:
        """Return the survivors' sum without masks; one beyond `bound` is refused."""
        self._expect(ServerPhase.OPENED)
        self._next(ServerPhase.IDLE)
        self._opening.take_off(self._sum, self._round)
        ring = self._setting.terms.ring
        return ring.decode(ring.reduce(self._sum), bound)
