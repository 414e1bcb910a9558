# SPDX-License-Identifier: Apache-2.0
"""A site's side of a set-up, as a machine without network or clock.

    advertise() -> ADVERTISE
    deal(KEYS) -> DEAL
    accept(DELIVERY) -> READY
    prove(INQUIRY) -> EVIDENCE, if others complain of its shares

A set-up serves N rounds, which `site_rounds` goes on with.
"""

from collections.abc import Sequence
from enum import Enum

from lexfed.errors import SecAggError
from lexfed.randomness import RandomSource, SecureSource
from lexfed.secagg.envelopes.identities import Identity
from lexfed.secagg.envelopes.payloads import (
    SEAT,
    Deal,
    delivery_lengths,
    key_list_lengths,
    pack_seats,
    read_delivery,
    read_seats,
    root_of,
)
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, open_sealed, seal
from lexfed.secagg.masks.cohort import (
    KeyList,
    MaskCohort,
    check_change,
    delivered_digest,
)
from lexfed.secagg.masks.epoch_secrets import (
    EpochSecrets,
    commitments,
    open_part,
    seal_part,
)
from lexfed.secagg.masks.terms import MaskSetting
from lexfed.secagg.primitives.small_field import Elements


class SitePhase(Enum):
    """The last message that a site has answered."""

    NEW = "has not advertised keys"
    ADVERTISED = "has advertised keys"
    DEALT = "has dealt shares"
    COMPLAINED = "has complained about shares"
    PROVEN = "has shown what it dealt"
    READY = "is ready for a round"
    MASKED = "has sent its masked vector"
    CONSENTED = "has signed the list of survivors"
    OPENED = "has given out its shares of the round"


class SiteSetup:
    """One site while an epoch is set up.

    Guarantees:
        Shares are dealt once, for a key list that has this site's own keys in it.
        Shares that are not what their dealer signed and committed to are not kept.
        A site that shows what it dealt takes no part in the rounds of the epoch, so no
        vector of its own is ever under secrets of which shares were shown. With those
        of all colluders they are fewer than open a secret.
    """

    def __init__(
        self,
        identity: Identity,
        setting: MaskSetting,
        earlier: Sequence[frozenset[str]] = (),
        source: RandomSource | None = None,
    ) -> None:
        """Draw the secrets of an epoch.

        Args:
            identity: of the site.
            setting: what all agreed on.
            earlier: cohorts of earlier epochs on the same data.
            source: of random bits; the operating system's unless a test says so.
        """
        if setting.sites.public(identity.name) != identity.public:
            raise SecAggError(f"`{identity.name}` is enrolled with another key")
        self._identity, self._setting = identity, setting
        self._earlier = tuple(earlier)
        self._round = setting.context()
        self._secrets = EpochSecrets(
            self._round.digest,
            identity.name,
            setting.terms.rounds,
            source or SecureSource(),
        )
        self._stage = SitePhase.NEW

    @property
    def name(self) -> str:
        """The site's name."""
        return self._identity.name

    @property
    def cohort(self) -> frozenset[str]:
        """The sites of the epoch; to be kept for later epochs."""
        return self._cohort.names

    def _expect(self, *stages: SitePhase) -> None:
        if self._stage not in stages:
            raise SecAggError(
                f"`{self.name}` {self._stage.value}; this is not its turn",
                "every message is answered once, and in order",
            )

    def _seal(self, kind: EnvelopeKind, payload: bytes) -> bytes:
        return seal(kind, self._round, self._identity, payload)

    def _open(
        self, kind: EnvelopeKind, message: bytes, lengths: range | Sequence[int]
    ) -> memoryview:
        server = self._setting.server
        return open_sealed(message, kind, self._round, server, lengths).payload

    def advertise(self) -> bytes:
        """Return the public keys of the epoch, signed."""
        self._expect(SitePhase.NEW)
        self._keys = self._secrets.public()
        self._stage = SitePhase.ADVERTISED
        return self._seal(EnvelopeKind.ADVERTISE, self._keys.packed())

    def deal(self, message: bytes) -> bytes:
        """Check everybody's keys and return shares, encrypted to each of the others.

        Raises:
            SecAggError: if a key is not signed by its site, one's own is not there or
                was changed, or there are too few.
        """
        self._expect(SitePhase.ADVERTISED)
        enrolled, rounds = len(self._setting.sites), self._setting.terms.rounds
        payload = self._open(
            EnvelopeKind.KEYS, message, key_list_lengths(enrolled, rounds)
        )
        listed = KeyList.read(self._setting, payload)
        if self.name not in listed.names:
            raise SecAggError(f"the key list does not have `{self.name}` in it")
        seat = listed.names.index(self.name)
        if listed.keys[seat] != self._keys:
            raise SecAggError(f"the key list has other keys for `{self.name}`")
        near, shares = listed.circles[seat], self._secrets.shares(listed.threshold)
        held = dict(zip(near, shares, strict=True))
        committed, names = {}, listed.names
        for other, each in held.items():
            found = commitments(listed.digest, self.name, names[other], each)
            committed[other] = found
        parts = {
            other: seal_part(
                listed.digest,
                self._identity,
                names[other],
                self._secrets.part_key(listed.digest, names[other]),
                listed.keys[other].channel,
                each,
                root_of(committed[other]),
            )
            for other, each in held.items()
            if other != seat
        }
        self._listed, self._seat = listed, seat
        self._own_shares = held[seat].copy()  # forget the others'
        self._stage = SitePhase.DEALT
        return self._seal(EnvelopeKind.DEAL, Deal(committed, parts).packed())

    def accept(self, message: bytes) -> bytes:
        """Check and keep the shares that others dealt; return whose are bad.

        A site that finds bad ones takes no part in rounds: set up again without them.

        Raises:
            SecAggError: if the cohort is too small, or too close to an earlier one.
        """
        self._expect(SitePhase.DEALT)
        terms, listed = self._setting.terms, self._listed
        sites = len(listed.names)
        lengths = delivery_lengths(sites, terms.rounds)
        payload = self._open(EnvelopeKind.DELIVERY, message, lengths)
        parts = read_delivery(payload, terms.rounds, sites)
        others = set(listed.circles[self._seat]) - {self._seat}
        if not set(parts) <= others:
            raise SecAggError(f"`{self.name}` is delivered shares that are not for it")
        missing = others - set(parts)
        seats = tuple(at for at in range(sites) if at not in missing)
        cohort = MaskCohort.of(self._setting, listed, seats)
        check_change(cohort.names, self._earlier, terms.least_change)
        held: dict[int, Elements] = {self._seat: self._own_shares}
        channel = self._secrets.channel
        bad = []
        for seat, part in parts.items():
            pair = (listed.names[seat], self.name)
            try:
                held[seat] = open_part(
                    listed.digest, self._setting.sites, pair, channel, part
                )
            except SecAggError:
                bad.append(seat)
        self._cohort, self._held = cohort, held
        self._stage = SitePhase.COMPLAINED if bad else SitePhase.READY
        seen = delivered_digest(cohort.agreed, payload)
        return self._seal(EnvelopeKind.READY, seen + pack_seats(bad))

    def prove(self, message: bytes) -> bytes:
        """Return the keys of parts that their holders complain of.

        They open what a holder was dealt, and this site takes no part in the epoch any
        more: no vector of its own is, or will be, under the secrets that the shares are
        of. Too few are shown to open these: others' masks with this site stay secret.

        Raises:
            SecAggError: if a round has begun, or the inquiry is on nobody's part, or on
                so many that they would open this site's secrets.
        """
        self._expect(SitePhase.READY, SitePhase.COMPLAINED)
        names = self._listed.names
        payload = self._open(
            EnvelopeKind.INQUIRY, message, range(SEAT * len(names) + 1)
        )
        asked = read_seats(payload, len(names))
        if not set(asked) <= set(self._listed.circles[self._seat]) - {self._seat}:
            raise SecAggError("an inquiry names a site that was dealt no shares")
        if len(asked) > self._listed.most_shown:
            raise SecAggError("an inquiry asks for so many shares that they open masks")
        keys = [self._secrets.part_key(self._listed.digest, names[at]) for at in asked]
        self._stage = SitePhase.PROVEN
        said = b"".join(key.private_bytes_raw() for key in keys)
        return self._seal(EnvelopeKind.EVIDENCE, said)
