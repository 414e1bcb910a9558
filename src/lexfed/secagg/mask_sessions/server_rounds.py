# SPDX-License-Identifier: Apache-2.0
"""The server's side of rounds, as a machine without network or clock.

    begin(r, model, length)
    masked(m)*      piece(m)*, for long vectors
                    close_masked() -> SURVIVORS for the survivors
    consented(m)*   close_consents() -> CONSENTS for those who signed
    unmasked(m)*    reconstruct()
    total(bound) -> the sum; record() -> evidence for a log

The server keeps one sum, not the vectors, so its memory grows with the model only.
Long vectors come in pieces; `masks.vector_pieces` has the order of calls.
"""

from hashlib import sha256
from pathlib import Path

from lexfed.arrays import Integers
from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.admission import check_size
from lexfed.secagg.envelopes.identities import Identity
from lexfed.secagg.envelopes.payloads import pack_consents
from lexfed.secagg.envelopes.sealed_messages import DIGEST, EnvelopeKind
from lexfed.secagg.mask_sessions.collector import Collector, ServerPhase
from lexfed.secagg.mask_sessions.round_record import RoundRecord
from lexfed.secagg.mask_sessions.server_setup import EstablishedEpoch
from lexfed.secagg.mask_sessions.unmasking import RoundOpening
from lexfed.secagg.masks.vector_pieces import IncomingVector, count_of, read_piece
from lexfed.secagg.primitives.shamir import SECRET_BYTES


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
        """Go on from a set-up.

        Args:
            identity: of the server.
            established: the set-up.
            spool: folder for what has come of long vectors, at most all of them; the
                system's for files that do not last unless it is given.
        """
        super().__init__(identity, established.setting, ServerPhase.IDLE)
        self._spool = spool
        self._cohort = established.cohort
        self._committed = established.committed
        self._names = established.cohort.listed.names

    def _seats(self) -> tuple[int, ...]:
        """Return the seats of those who answered, in order."""
        return tuple(at for at, name in enumerate(self._names) if name in self._came)

    def begin(self, round_number: int, model: bytes, length: int | None = None) -> None:
        """Begin a round; one that was not finished is given up.

        Args:
            round_number: from 1; above every earlier one.
            model: SHA-256 of the round's model.
            length: values in the vectors of this round; as many as the terms allow
                unless it is given.
        """
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
        among = self._cohort.names
        opened = self._take(ServerPhase.MASKED, kind, message, (size,), among)
        if opened.payload[:DIGEST] != self._cohort.agreed:
            raise SecAggError(f"`{opened.sender}` saw another set-up")
        rest, seat = opened.payload[DIGEST:], self._names.index(opened.sender)
        if not self.pieces:
            ring.add(self._sum, ring.unpack(rest, length))
            self._came.add(opened.sender)
        elif seat in self._arriving:
            raise SecAggError(f"the vector of `{opened.sender}` is on its way already")
        else:
            self._arriving[seat] = IncomingVector.read(rest, ring, length, self._spool)

    def piece(self, message: bytes) -> None:
        """Take a piece of a long vector; with its last one the vector is in the sum.

        Raises:
            SecAggError: if it is late, there already, or not what its site announced;
                it can be sent again. Also if there is no room for it.
        """
        self._expect(ServerPhase.MASKED)
        seat, number, data = read_piece(message)
        if seat not in self._arriving:
            raise SecAggError("a piece is of no vector that is on its way")
        incoming = self._arriving[seat]
        incoming.take(number, data)
        if not incoming.missing:
            self._phase = (
                ServerPhase.IDLE
            )  # half a vector in the sum must not be opened
            incoming.add_to(self._sum)
            self._phase = ServerPhase.MASKED
            self._came.add(self._names[seat])
            del self._arriving[seat]

    def missing(self, name: str) -> tuple[int, ...]:
        """Return the pieces still missing of a site's vector whose header came."""
        incoming = self._arriving.get(self._names.index(name))
        return incoming.missing if incoming else ()

    def close_masked(self) -> bytes:
        """Return the list of survivors; for each of them to sign."""
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
        among = self.survivors
        opened = self._take(
            ServerPhase.CONSENT, EnvelopeKind.CONSENT, message, (DIGEST,), among
        )
        if opened.payload != self._list:
            raise SecAggError(
                f"`{opened.sender}` signed another list", blamed=[opened.sender]
            )
        self._came.add(opened.sender)
        self._consents[opened.sender] = opened.signature

    def close_consents(self) -> bytes:
        """Return all signatures; for those who signed."""
        self._expect(ServerPhase.CONSENT)
        check_size(len(self._came), self._opens, "a signed list")
        rows = [(seat, self._consents[self._names[seat]]) for seat in self._seats()]
        self._opening = RoundOpening(
            self._setting.context(),
            self._cohort,
            self._survivors,
            self._committed,
            self._round.round,
        )
        self._next(ServerPhase.UNMASK)
        return self._seal(EnvelopeKind.CONSENTS, pack_consents(rows))

    @property
    def _opens(self) -> int:
        return self._cohort.listed.quorum

    def record(self) -> RoundRecord:
        """Return the evidence for others of the sum that was opened, once it can be."""
        self._expect(ServerPhase.OPENED, ServerPhase.IDLE)
        return RoundRecord.of(
            self._setting, self._round, self._cohort, self._survivors, self._consents
        )

    def unmasked(self, message: bytes) -> None:
        """Take a survivor's shares of the round.

        Raises:
            SecAggError: also if one is not what it was dealt; then it is blamed.
        """
        self._expect(ServerPhase.UNMASK)
        lengths = (SECRET_BYTES * len(self._cohort.circle(self._cohort.seats[0])),)
        among = self.survivors
        opened = self._take(
            ServerPhase.UNMASK, EnvelopeKind.UNMASK, message, lengths, among
        )
        self._opening.add(self._names.index(opened.sender), opened.payload)
        self._came.add(opened.sender)

    def reconstruct(self) -> None:
        """Open the secrets of the round from the shares.

        Raises:
            SecAggError: if fewer than t sites gave out shares, or a dealer's shares
                open another secret than it published; then it is blamed.
        """
        self._expect(ServerPhase.UNMASK)
        self._opening.reconstruct()
        self._next(ServerPhase.OPENED)

    def total(self, bound: int) -> Integers:
        """Take the masks off and return the sum of the survivors.

        Args:
            bound: no value of an honest sum is larger.

        Raises:
            SecAggError: if a value is: the sum may have wrapped around.
        """
        self._expect(ServerPhase.OPENED)
        self._next(ServerPhase.IDLE)
        self._opening.take_off(self._sum, self._round)
        ring = self._setting.terms.ring
        return ring.decode(ring.reduce(self._sum), bound)
