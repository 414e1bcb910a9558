# SPDX-License-Identifier: Apache-2.0
"""The server's side of a set-up, as a machine without network or clock.

    advertised(m)*   close_keys() -> KEYS for all
    dealt(m)*        close_deals() -> DELIVERY for each
    ready(m)*        established() -> what `ServerSession` runs rounds with

The server passes shares on and cannot read them: they are encrypted to their holders.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lexfed.errors import SecAggError
from lexfed.secagg.agree import agree
from lexfed.secagg.cohort import Cohort, KeyList
from lexfed.secagg.collecting import Collector, Phase
from lexfed.secagg.dealing import part_bytes
from lexfed.secagg.identities import Identity
from lexfed.secagg.messages import DIGEST, Kind, Reader
from lexfed.secagg.payloads import SEAT, Advertised, Part, pack_delivery, read_seats
from lexfed.secagg.setting import Setting


@dataclass(frozen=True)
class Established:
    """A set-up that rounds can be run with.

    Attributes:
        setting: what all agreed on.
        cohort: who takes part.
        roots: what each dealer committed to, by the seats of dealer and holder.
    """

    setting: Setting
    cohort: Cohort
    roots: Mapping[tuple[int, int], bytes]


class ServerSetup(Collector):
    """The server while an epoch is set up.

    Guarantees:
        Who is blamed signed what shows it, or is one of two of whom one lies.
    """

    def __init__(self, identity: Identity, setting: Setting) -> None:
        super().__init__(identity, setting, Phase.ADVERTISE)
        self._adverts: dict[str, bytes] = {}
        self._deals: dict[str, bytes] = {}

    def advertised(self, message: bytes) -> None:
        """Take a site's keys.

        Raises:
            SecAggError: also if one of them is a key with which nobody can agree.
        """
        rounds = self._setting.terms.rounds
        lengths = (Advertised.length(rounds),)
        among = self._setting.sites.names
        opened = self._take(Phase.ADVERTISE, Kind.ADVERTISE, message, lengths, among)
        keys = Advertised.read(opened.payload, rounds)
        trial, pair = X25519PrivateKey.generate(), (opened.sender, "server")
        try:
            for key in (keys.channel, *keys.masks):
                agree(trial, key, self._setup, "trial", pair)
        except SecAggError as error:
            raise SecAggError(
                f"`{opened.sender}` sent a key that is none", blamed=[opened.sender]
            ) from error
        self._came.add(opened.sender)
        self._adverts[opened.sender] = message

    def close_keys(self) -> bytes:
        """Return the list of all keys; for every site that sent some."""
        self._expect(Phase.ADVERTISE)
        payload = KeyList.pack(self._adverts)
        self._listed = KeyList.read(self._setting, payload)
        self._next(Phase.DEAL)
        return self._seal(Kind.KEYS, payload)

    def dealt(self, message: bytes) -> None:
        """Take a site's shares for all others; they are encrypted to those."""
        self._expect(Phase.DEAL)
        names = self._listed.names
        others = len(self._listed.circles[0]) - 1
        lengths = (others * Part.length(self._setting.terms.rounds),)
        opened = self._take(Phase.DEAL, Kind.DEAL, message, lengths, names)
        self._came.add(opened.sender)
        self._deals[opened.sender] = bytes(opened.payload)

    def close_deals(self) -> dict[str, bytes]:
        """Return to each site what others dealt it."""
        self._expect(Phase.DEAL)
        names, rounds = self._listed.names, self._setting.terms.rounds
        seats = tuple(at for at, name in enumerate(names) if name in self._came)
        self._cohort = Cohort.of(self._setting, self._listed, seats)
        self._parts: dict[tuple[int, int], Part] = {}
        for dealer in self._cohort.seats:
            reader = Reader(self._deals.pop(names[dealer]), "shares")
            for holder in self._listed.circles[dealer]:
                if holder != dealer:
                    self._parts[dealer, holder] = Part.read(reader, rounds)
        self._next(Phase.READY)
        found = {}
        for holder in self._cohort.seats:
            others = [seat for seat in self._cohort.circle(holder) if seat != holder]
            rows = [(seat, self._parts[seat, holder].packed()) for seat in others]
            found[names[holder]] = self._seal(Kind.DELIVERY, pack_delivery(rows))
        return found

    def ready(self, message: bytes) -> None:
        """Take a site's word on its shares.

        Raises:
            SecAggError: if it complains. If the dealer's own signature on the part is
                wrong the dealer is blamed; else one of the two lies, and both are.
        """
        self._expect(Phase.READY)
        most = DIGEST + SEAT * len(self._listed.names)
        opened = self._take(
            Phase.READY,
            Kind.READY,
            message,
            range(DIGEST, most + 1),
            self._cohort.names,
        )
        if opened.payload[:DIGEST] != self._cohort.agreed:
            raise SecAggError(f"`{opened.sender}` saw another set-up")
        bad = read_seats(opened.payload[DIGEST:], len(self._listed.names))
        self._came.add(opened.sender)
        if bad:
            raise self._complaint(opened.sender, bad[0])

    def _complaint(self, holder: str, dealer: int) -> SecAggError:
        names = self._listed.names
        part = self._parts.get((dealer, names.index(holder)))
        if part is None:
            return SecAggError(f"`{holder}` complains about nobody", blamed=[holder])
        try:
            signed = part_bytes(self._listed.digest, names[dealer], holder, part)
            self._setting.sites.verify(names[dealer], signed, part.signature)
        except SecAggError:
            blamed = [names[dealer]]
        else:
            blamed = [names[dealer], holder]
        return SecAggError(
            f"`{holder}` cannot use the shares that `{names[dealer]}` dealt it",
            f"set up again without {' or without '.join(blamed)}",
            blamed=blamed,
        )

    def established(self) -> Established:
        """Close the set-up; who has not said that it is ready may still come."""
        self._expect(Phase.READY)
        self._next(Phase.IDLE)
        roots = {seats: part.root for seats, part in self._parts.items()}
        return Established(self._setting, self._cohort, roots)
