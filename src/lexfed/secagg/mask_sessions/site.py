# SPDX-License-Identifier: Apache-2.0
"""A site's side of secure aggregation, as a machine without network or clock.

Set-up, once for N rounds:        then in every round:

    advertise() -> ADVERTISE          mask(r, model, x) -> MASKED, or HEADER
    deal(KEYS) -> DEAL                piece(k) -> PIECE, after HEADER, for each k
    accept(DELIVERY) -> READY         consent(SURVIVORS) -> CONSENT
    prove(INQUIRY) -> EVIDENCE,       unmask(CONSENTS) -> UNMASK
        if shares are disputed

A refused message changes nothing, so a broken line or a stranger cannot use up an
answer. Each message is answered once, and rounds only go up; a piece is the same
whenever it is asked for. Nothing is stored: a restarted site waits for the next epoch.
Why this is safe from a server that lies: docs/theory/secure-aggregation.md.
"""

from collections.abc import Sequence
from enum import Enum
from hashlib import sha256

from lexfed.arrays import Integers
from lexfed.errors import SecAggError
from lexfed.randomness import RandomSource, SecureSource
from lexfed.secagg.envelopes import payloads
from lexfed.secagg.envelopes.identities import Identity, check_enrolled
from lexfed.secagg.envelopes.sealed_messages import (
    EnvelopeKind,
    open_sealed,
    seal,
    signed_bytes,
)
from lexfed.secagg.masks.cohort import (
    KeyList,
    MaskCohort,
    check_change,
    delivered_digest,
)
from lexfed.secagg.masks.epoch_secrets import (
    OWN,
    PAIR,
    EpochSecrets,
    add_own,
    add_pairs,
    binding,
    commitments,
    open_part,
    row,
    seal_part,
)
from lexfed.secagg.masks.terms import MaskSetting
from lexfed.secagg.masks.vector_pieces import OutgoingVector, count_of
from lexfed.secagg.primitives.shamir import Elements, secret_bytes


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


class SiteSession:
    """One site in one epoch.

    Guarantees:
        Shares are dealt once, for a key list that has this site's own keys in it.
        Shares that are not what their dealer signed and committed to are not kept.
        A site that shows what it dealt takes no part in the rounds of the epoch, so no
        vector of its own is ever under secrets of which shares were shown. With those
        of all colluders they are fewer than open a secret.
        A vector leaves only masked, once per round, in rounds that go up.
        Of every other site's two secrets of a round at most one share is given out,
        and only of the round at hand.
        Shares are given out only for a list of survivors that has this site in it, is
        large enough, and that t of them have signed.
        Secrets and shares of a round are erased when it is over.
        Pieces are of the one masked vector, and are given out until a list is signed.
    """

    def __init__(
        self,
        identity: Identity,
        setting: MaskSetting,
        earlier: Sequence[frozenset[str]] = (),
        source: RandomSource | None = None,
    ) -> None:
        """Draw the secrets; `earlier` are cohorts of epochs on the same data."""
        check_enrolled(identity, setting.sites)
        self._identity, self._setting = identity, setting
        self._earlier = tuple(earlier)
        self._round = setting.context()
        rounds, source = setting.terms.rounds, source or SecureSource()
        self._secrets = EpochSecrets(self._round.digest, identity.name, rounds, source)
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
        """Check everybody's keys and return shares, encrypted to each of the others."""
        self._expect(SitePhase.ADVERTISED)
        enrolled, rounds = len(self._setting.sites), self._setting.terms.rounds
        lengths = payloads.key_list_lengths(enrolled, rounds)
        payload = self._open(EnvelopeKind.KEYS, message, lengths)
        listed = KeyList.read(self._setting, payload)
        if self.name not in listed.names:
            raise SecAggError(f"the key list does not have `{self.name}` in it")
        seat = listed.names.index(self.name)
        if listed.keys[seat] != self._keys:
            raise SecAggError(f"the key list has other keys for `{self.name}`")
        names, shares = listed.names, self._secrets.shares(listed.threshold)
        held = dict(zip(listed.circles[seat], shares, strict=True))
        committed: dict[int, bytes] = {}
        parts: dict[int, payloads.SealedPart] = {}
        for other, each in held.items():
            holder, bound = names[other], listed.digest
            committed[other] = commitments(bound, self.name, holder, each)
            if other != seat:
                key, root = (
                    self._secrets.part_key(bound, holder),
                    payloads.root_of(committed[other]),
                )
                peer = listed.keys[other].channel
                parts[other] = seal_part(
                    bound, self._identity, holder, key, peer, each, root
                )
        self._listed, self._seat = listed, seat
        self._own_shares = held[seat].copy()  # forget the others'
        self._stage = SitePhase.DEALT
        return self._seal(EnvelopeKind.DEAL, payloads.Deal(committed, parts).packed())

    def accept(self, message: bytes) -> bytes:
        """Check and keep the shares that others dealt; return whose are bad.

        A site that finds bad ones takes no part in rounds: set up again without their
        dealers. A cohort that is too small, or too close to an earlier one, is refused.
        """
        self._expect(SitePhase.DEALT)
        terms, listed = self._setting.terms, self._listed
        sites = len(listed.names)
        lengths = payloads.delivery_lengths(sites, terms.rounds)
        payload = self._open(EnvelopeKind.DELIVERY, message, lengths)
        parts = payloads.read_delivery(payload, terms.rounds, sites)
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
        digest = delivered_digest(cohort.agreed, payload)
        return self._seal(EnvelopeKind.READY, digest + payloads.pack_seats(bad))

    def prove(self, message: bytes) -> bytes:
        """Return the keys of parts that their holders complain of.

        They open what a holder was dealt, and this site takes no further part in the
        epoch: none of its vectors is, or will be, under the shared secrets. Too few are
        shown to open these, so others' masks with this site stay secret.
        """
        self._expect(SitePhase.READY, SitePhase.COMPLAINED)
        names = self._listed.names
        lengths = range(payloads.SEAT * len(names) + 1)
        payload = self._open(EnvelopeKind.INQUIRY, message, lengths)
        holders = payloads.read_seats(payload, len(names))
        if not set(holders) <= set(self._listed.circles[self._seat]) - {self._seat}:
            raise SecAggError("an inquiry names a site that was dealt no shares")
        if len(holders) > self._listed.most_shown:
            raise SecAggError("an inquiry asks for so many shares that they open masks")
        keys = [
            self._secrets.part_key(self._listed.digest, names[at]) for at in holders
        ]
        self._stage = SitePhase.PROVEN
        evidence = b"".join(key.private_bytes_raw() for key in keys)
        return self._seal(EnvelopeKind.EVIDENCE, evidence)

    def mask(self, round_number: int, model: bytes, values: Integers) -> bytes:
        """Return the site's vector of a round, masked; of a long one the header.

        The `model` is the SHA-256 of what the site itself was given; `values` have
        their noise.
        """
        self._expect(
            SitePhase.READY, SitePhase.MASKED, SitePhase.CONSENTED, SitePhase.OPENED
        )
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
        self._round, self._stage = context, SitePhase.MASKED
        self._secrets.erase(round_number)  # the vector is masked: not needed again
        for shares in self._held.values():
            shares[: row(round_number, OWN)] = 0
        self._outgoing = OutgoingVector(terms.ring, self._seat, total)
        if count_of(len(total)):
            header = self._outgoing.header(self._cohort.agreed)
            return self._seal(EnvelopeKind.HEADER, header)
        whole = self._cohort.agreed + terms.ring.pack(total)
        return self._seal(EnvelopeKind.MASKED, whole)

    def piece(self, number: int) -> bytes:
        """Return a piece of the masked vector whose header was sent, from 0."""
        self._expect(SitePhase.MASKED)
        return self._outgoing.piece(number)

    def consent(self, message: bytes) -> bytes:
        """Sign the list of the sites that answered."""
        self._expect(SitePhase.MASKED)
        cohort = self._cohort
        lengths = cohort.survivors_lengths()
        payload = self._open(EnvelopeKind.SURVIVORS, message, lengths)
        survivors = cohort.read_survivors(payload)
        if self._seat not in survivors:
            raise SecAggError(f"the list of survivors does not have `{self.name}`")
        self._survivors, self._list = frozenset(survivors), sha256(payload).digest()
        self._stage = SitePhase.CONSENTED
        self._outgoing.forget()  # it arrived, or the list would not name this site
        return self._seal(EnvelopeKind.CONSENT, self._list)

    def unmask(self, message: bytes) -> bytes:
        """Give out one share for each site, if t sites signed the list it signed."""
        self._expect(SitePhase.CONSENTED)
        names, opens = self._listed.names, self._listed.quorum
        longest = (payloads.SEAT + 64) * len(names)
        payload = self._open(EnvelopeKind.CONSENTS, message, range(longest + 1))
        consents = payloads.read_consents(payload, len(names))
        if not set(consents) <= self._survivors or len(consents) < opens:
            raise SecAggError(
                f"a list of survivors needs the signatures of {opens} of them"
            )
        for seat, signature in list(consents.items())[:opens]:
            signed = signed_bytes(
                EnvelopeKind.CONSENT, self._round, names[seat], self._list
            )
            self._setting.sites.verify(names[seat], signed, signature)
        own, pair = row(self._round.round, OWN), row(self._round.round, PAIR)
        shares_given = [
            secret_bytes(self._held[seat][own if seat in self._survivors else pair])
            for seat in self._cohort.circle(self._seat)
        ]
        for shares in self._held.values():
            shares[: pair + 1] = 0
        self._stage = SitePhase.OPENED
        return self._seal(EnvelopeKind.UNMASK, b"".join(shares_given))
