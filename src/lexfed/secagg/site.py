# SPDX-License-Identifier: Apache-2.0
"""A site's side of secure aggregation, as a machine without network or clock.

Set-up, once for N rounds:        then in every round:

    advertise() -> ADVERTISE          mask(r, model, x) -> MASKED
    deal(KEYS) -> DEAL                consent(SURVIVORS) -> CONSENT
    accept(DELIVERY) -> READY         unmask(CONSENTS) -> UNMASK
                                      prove(INQUIRY) -> EVIDENCE, if shares are disputed

A message that is refused changes nothing, so a broken line or a stranger cannot use
up an answer. One that is answered is answered once, and rounds only go up. Nothing is
stored: a site that starts again has no secrets of the old epoch and waits for the
next. Why this is safe from a server that lies: `docs/secure-aggregation.md`.
"""

from collections.abc import Sequence
from enum import Enum
from hashlib import sha256

from lexfed.errors import SecAggError
from lexfed.randomness import RandomSource, SecureSource
from lexfed.secagg.agree import Context
from lexfed.secagg.cohort import Cohort, KeyList, check_change
from lexfed.secagg.dealing import (
    OWN,
    PAIR,
    Secrets,
    commitments,
    open_part,
    row,
    seal_part,
)
from lexfed.secagg.field import Elements
from lexfed.secagg.identities import Identity
from lexfed.secagg.masking import add_own, add_pairs, binding
from lexfed.secagg.messages import Kind, open_sealed, seal, signed_bytes
from lexfed.secagg.payloads import (
    SEAT,
    delivery_lengths,
    key_list_lengths,
    pack_seats,
    read_consents,
    read_delivery,
    read_seats,
)
from lexfed.secagg.ring import Integers
from lexfed.secagg.setting import Setting
from lexfed.secagg.shamir import secret_bytes


class Stage(Enum):
    """What a site has answered last."""

    NEW = "has not advertised keys"
    ADVERTISED = "has advertised keys"
    DEALT = "has dealt shares"
    COMPLAINED = "has complained about shares"
    READY = "is ready for a round"
    MASKED = "has sent its masked vector"
    CONSENTED = "has signed the list of survivors"
    OPENED = "has given out its shares of the round"


class SiteSession:
    """One site in one epoch.

    Guarantees:
        A vector leaves only masked, once per round, in rounds that go up.
        Of every other site's two secrets of a round at most one share is given out,
        and only of the round at hand.
        Shares are given out only for a list of survivors that has this site in it, is
        large enough, and that t of them have signed.
        Secrets and shares of a round are erased when it is over.
    """

    def __init__(
        self,
        identity: Identity,
        setting: Setting,
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
        self._secrets = Secrets(
            self._round.digest,
            identity.name,
            setting.terms.rounds,
            source or SecureSource(),
        )
        self._stage = Stage.NEW

    @property
    def name(self) -> str:
        """The site's name."""
        return self._identity.name

    @property
    def cohort(self) -> frozenset[str]:
        """Who is in the epoch; to be kept for later epochs."""
        return self._cohort.names

    def _expect(self, *stages: Stage) -> None:
        if self._stage not in stages:
            raise SecAggError(
                f"`{self.name}` {self._stage.value}; this is not its turn",
                "every message is answered once, and in order",
            )

    def _seal(self, kind: Kind, payload: bytes) -> bytes:
        return seal(kind, self._round, self._identity, payload)

    def _open(
        self, kind: Kind, message: bytes, lengths: range | Sequence[int]
    ) -> memoryview:
        server = self._setting.server
        return open_sealed(message, kind, self._round, server, lengths).payload

    def advertise(self) -> bytes:
        """Return the public keys of the epoch, signed."""
        self._expect(Stage.NEW)
        self._keys = self._secrets.public()
        self._stage = Stage.ADVERTISED
        return self._seal(Kind.ADVERTISE, self._keys.packed())

    def deal(self, message: bytes) -> bytes:
        """Check everybody's keys and return shares, encrypted to each of the others.

        Raises:
            SecAggError: if a key is not signed by its site, one's own is not there or
                was changed, or there are too few.
        """
        self._expect(Stage.ADVERTISED)
        enrolled, rounds = len(self._setting.sites), self._setting.terms.rounds
        payload = self._open(Kind.KEYS, message, key_list_lengths(enrolled, rounds))
        listed = KeyList.read(self._setting, payload)
        if self.name not in listed.names:
            raise SecAggError(f"the key list does not have `{self.name}` in it")
        seat = listed.names.index(self.name)
        if listed.keys[seat] != self._keys:
            raise SecAggError(f"the key list has other keys for `{self.name}`")
        near, shares = listed.circles[seat], self._secrets.shares(listed.threshold)
        parts = [
            seal_part(
                listed.digest,
                self._identity,
                listed.names[other],
                self._secrets.channel,
                listed.keys[other].channel,
                held,
            ).packed()
            for other, held in zip(near, shares, strict=True)
            if other != seat
        ]
        self._listed, self._seat = listed, seat
        self._own_shares = shares[near.index(seat)].copy()  # forget the others'
        self._stage = Stage.DEALT
        return self._seal(Kind.DEAL, b"".join(parts))

    def accept(self, message: bytes) -> bytes:
        """Check and keep the shares that others dealt; return whose are bad.

        A site that finds bad ones takes no part in rounds: set up again without them.

        Raises:
            SecAggError: if the cohort is too small, or too close to an earlier one.
        """
        self._expect(Stage.DEALT)
        terms, listed = self._setting.terms, self._listed
        sites = len(listed.names)
        lengths = delivery_lengths(sites, terms.rounds)
        payload = self._open(Kind.DELIVERY, message, lengths)
        parts = read_delivery(payload, terms.rounds, sites)
        others = set(listed.circles[self._seat]) - {self._seat}
        if not set(parts) <= others:
            raise SecAggError(f"`{self.name}` is delivered shares that are not for it")
        missing = others - set(parts)
        seats = tuple(at for at in range(sites) if at not in missing)
        cohort = Cohort.of(self._setting, listed, seats)
        check_change(cohort.names, self._earlier, terms.least_change)
        held: dict[int, Elements] = {self._seat: self._own_shares}
        own = commitments(listed.digest, self.name, self.name, self._own_shares)
        committed, channel = {self._seat: own}, self._secrets.channel
        bad = []
        for seat, part in parts.items():
            pair = (listed.names[seat], self.name)
            peer = listed.keys[seat].channel
            try:
                held[seat], committed[seat] = open_part(
                    listed.digest, self._setting.sites, pair, channel, peer, part
                )
            except SecAggError:
                bad.append(seat)
        self._cohort, self._held, self._committed = cohort, held, committed
        self._stage = Stage.COMPLAINED if bad else Stage.READY
        return self._seal(Kind.READY, cohort.agreed + pack_seats(bad))

    def mask(self, round_number: int, model: bytes, values: Integers) -> bytes:
        """Return the site's vector of a round, masked.

        Args:
            round_number: from 1; above every earlier one.
            model: SHA-256 of the model that the site itself was given.
            values: the vector, noise included; of a length that the terms allow.

        Raises:
            SecAggError: if the round is over, or the vector does not fit the ring.
        """
        self._expect(Stage.READY, Stage.MASKED, Stage.CONSENTED, Stage.OPENED)
        terms = self._setting.terms
        if not self._round.round < round_number <= terms.rounds:
            raise SecAggError(
                f"round {round_number} is not one that comes after "
                f"{self._round.round} in an epoch of {terms.rounds} rounds"
            )
        terms.check_length(values.size if values.ndim == 1 else 0)
        context = self._setting.context(round_number, model)
        total, bound = terms.ring.encode(values), binding(context, self._cohort.agreed)
        peers = self._cohort.mask_keys(self._seat, round_number).values()
        key = self._secrets.mask_key(round_number)
        add_own(total, bound, self._secrets.seed(round_number), 1)
        add_pairs(total, bound, self.name, key, peers, 1)
        self._begin(context)
        return self._seal(Kind.MASKED, self._cohort.agreed + terms.ring.pack(total))

    def _begin(self, context: Context) -> None:
        """Go to a round, and erase what belongs to those before it."""
        self._round, self._stage = context, Stage.MASKED
        self._secrets.erase(context.round)  # the vector is masked: not needed again
        for shares in self._held.values():
            shares[: row(context.round, OWN)] = 0

    def consent(self, message: bytes) -> bytes:
        """Sign the list of the sites that answered."""
        self._expect(Stage.MASKED)
        cohort = self._cohort
        payload = self._open(Kind.SURVIVORS, message, cohort.survivors_lengths())
        survivors = cohort.read_survivors(payload)
        if self._seat not in survivors:
            raise SecAggError(f"the list of survivors does not have `{self.name}`")
        self._survivors, self._list = frozenset(survivors), sha256(payload).digest()
        self._stage = Stage.CONSENTED
        return self._seal(Kind.CONSENT, self._list)

    def unmask(self, message: bytes) -> bytes:
        """Give out one share of each site's two secrets of the round.

        Raises:
            SecAggError: unless t sites of the list signed the very list that this site
                signed, in this round, for this model.
        """
        self._expect(Stage.CONSENTED)
        names, opens = self._listed.names, self._listed.quorum
        most = (SEAT + 64) * len(names)
        payload = self._open(Kind.CONSENTS, message, range(most + 1))
        consents = read_consents(payload, len(names))
        if not set(consents) <= self._survivors or len(consents) < opens:
            raise SecAggError(
                f"a list of survivors needs the signatures of {opens} of them"
            )
        for seat, signature in list(consents.items())[:opens]:
            signed = signed_bytes(Kind.CONSENT, self._round, names[seat], self._list)
            self._setting.sites.verify(names[seat], signed, signature)
        given = []
        for seat in self._cohort.circle(self._seat):
            which = OWN if seat in self._survivors else PAIR
            given.append(secret_bytes(self._held[seat][row(self._round.round, which)]))
        for shares in self._held.values():
            shares[: row(self._round.round, PAIR) + 1] = 0
        self._stage = Stage.OPENED
        return self._seal(Kind.UNMASK, b"".join(given))

    def prove(self, message: bytes) -> bytes:
        """Return the commitments that dealers made to this site's shares.

        They are hashes and open nothing; the server holds their root, signed.
        """
        self._expect(Stage.OPENED)
        seats = len(self._listed.names)
        payload = self._open(Kind.INQUIRY, message, range(SEAT * seats + 1))
        asked = read_seats(payload, seats)
        if not set(asked) <= set(self._cohort.seats):
            raise SecAggError("an inquiry names a site outside of the cohort")
        mine = (seat for seat in asked if seat in self._committed)
        said = b"".join(b"".join(self._committed[seat]) for seat in mine)
        return self._seal(Kind.EVIDENCE, said)
