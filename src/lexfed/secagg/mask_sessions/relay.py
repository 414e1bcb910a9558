# SPDX-License-Identifier: Apache-2.0
"""Relays: regional nodes that add the masked vectors of their sites.

    MaskRelay.begin(r, model, length)
             .take(MASKED)*            of its own sites
             .forward() -> RELAYED     their sum, and the sites in it
    RelayedServer.relayed(RELAYED)     beside `masked`, in the same phase

    RELAYED     digest of the set-up 32 | seats in the roster 2 each | the sum

Masks cancel over all sites of the round, so a relay sees uniform vectors only, and
anybody may run it; one that lies can spoil a round, as the server can, and no more.
"""

from pathlib import Path

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.identities import (
    Identity,
    Roster,
    check_enrolled,
    check_later,
)
from lexfed.secagg.envelopes.payloads import SEAT, pack_seats, read_seats
from lexfed.secagg.envelopes.sealed_messages import (
    DIGEST,
    EnvelopeKind,
    open_sealed,
    seal,
)
from lexfed.secagg.mask_sessions.server_rounds import ServerSession
from lexfed.secagg.mask_sessions.server_setup import EstablishedEpoch, ServerPhase
from lexfed.secagg.masks.terms import MaskSetting
from lexfed.secagg.masks.vector_pieces import count_of


class MaskRelay:
    """A relay in one epoch.

    Guarantees:
        A site is added once a round, and only for the round's model and set-up.
        A sum is passed on once; what comes later is refused.
        It holds one vector, however many sites it has.
    """

    def __init__(
        self, identity: Identity, setting: MaskSetting, relays: Roster, agreed: bytes
    ) -> None:
        """Go on from a set-up with the digest `agreed`, which vectors carry."""
        check_enrolled(identity, relays)
        self._identity, self._setting, self._agreed = identity, setting, agreed
        self._context = setting.context()
        self._seats: set[int] | None = None

    def begin(self, round_number: int, model: bytes, length: int | None = None) -> None:
        """Begin a round, as `ServerSession.begin`; an unsent sum is dropped."""
        terms = self._setting.terms
        length = terms.length if length is None else length
        terms.check_length(length)
        check_later(round_number, self._context.round)
        _whole(length)
        self._context = self._setting.context(round_number, model)
        self._sum, self._seats = terms.ring.zeros(length), set()

    def take(self, message: bytes) -> str:
        """Add a site's masked vector, once, and return the site's name."""
        if self._seats is None:
            raise SecAggError("this comes too late: the sum was passed on")
        ring, sites = self._setting.terms.ring, self._setting.sites
        size = DIGEST + len(self._sum) * ring.bits // 8
        opened = open_sealed(
            message, EnvelopeKind.MASKED, self._context, sites, (size,)
        )
        seat = sites.point(opened.sender) - 1
        if seat in self._seats:
            raise SecAggError(f"`{opened.sender}` has answered already")
        if opened.payload[:DIGEST] != self._agreed:
            raise SecAggError(f"`{opened.sender}` saw another set-up")
        ring.add(self._sum, ring.unpack(opened.payload[DIGEST:], len(self._sum)))
        self._seats.add(seat)
        return opened.sender

    def forward(self) -> bytes:
        """Return the sum of the vectors that arrived, signed, for the server."""
        if not self._seats:
            raise SecAggError("there is no sum to pass on")
        seats, self._seats = pack_seats(sorted(self._seats)), None
        payload = self._agreed + seats + self._setting.terms.ring.pack(self._sum)
        return seal(EnvelopeKind.RELAYED, self._context, self._identity, payload)


class RelayedServer(ServerSession):
    """A server whose sites may answer through relays.

    Guarantees:
        As `ServerSession`; a site is in the sum once, directly or through one relay.
    """

    def __init__(
        self,
        identity: Identity,
        established: EstablishedEpoch,
        relays: Roster,
        spool: Path | None = None,
    ) -> None:
        super().__init__(identity, established, spool)
        self._relays = relays

    def relayed(self, message: bytes) -> tuple[str, ...]:
        """Add the sum of a region and return the names of the sites in it."""
        self._expect(ServerPhase.MASKED)
        setting, length = self._setting, len(self._sum)
        _whole(length)
        words = length * setting.terms.ring.bits // 8
        shortest = DIGEST + words
        lengths = range(shortest + SEAT, shortest + SEAT * len(setting.sites) + 1, SEAT)
        opened = open_sealed(
            message, EnvelopeKind.RELAYED, self._round, self._relays, lengths
        )
        if opened.payload[:DIGEST] != self._cohort.agreed:
            raise SecAggError(f"relay `{opened.sender}` saw another set-up")
        seats = read_seats(opened.payload[DIGEST:-words], len(setting.sites))
        names = tuple(setting.sites.names[seat] for seat in seats)
        for name in names:
            if name in self._answered or name not in self._cohort.names:
                raise SecAggError(
                    f"relay `{opened.sender}`: `{name}` is in the sum already, or not "
                    "in the cohort"
                )
        ring = setting.terms.ring
        ring.add(self._sum, ring.unpack(opened.payload[-words:], length))
        self._answered.update(names)
        return names


def _whole(length: int) -> None:
    if count_of(length):
        raise SecAggError(
            "vectors in pieces do not go through relays",
            "send them to the server itself",
        )
