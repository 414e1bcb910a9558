# SPDX-License-Identifier: Apache-2.0
"""The server's side of a set-up, as a machine without network or clock.

    advertised(m)*   close_keys() -> KEYS for all
    dealt(m)*        close_deals() -> DELIVERY for each
    ready(m)*        inquiries() -> INQUIRY for each dealer with complaints
    proven(m)*       established() -> the set-up that `ServerSession` runs rounds with

If a holder complains of a part, its dealer shows the key. Then everybody sees which of
the two lies, and the set-up is over: a site that shows a key has no part in it.

The caller decides when to stop waiting and closes a stage. A later message is refused:
a vector that arrives after its masks were opened must not be added.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes import payloads
from lexfed.secagg.envelopes.identities import Identity, check_enrolled
from lexfed.secagg.envelopes.key_agreement import Context, pairwise_key
from lexfed.secagg.envelopes.sealed_messages import (
    DIGEST,
    EnvelopeKind,
    OpenedMessage,
    Reader,
    open_sealed,
    seal,
)
from lexfed.secagg.masks.cohort import KeyList, MaskCohort, delivered_digest
from lexfed.secagg.masks.epoch_secrets import is_good, part_bytes
from lexfed.secagg.masks.terms import MaskSetting


class ServerPhase(Enum):
    """The message that a server waits for."""

    ADVERTISE = "keys"
    DEAL = "shares"
    READY = "words that shares are good"
    EVIDENCE = "keys of disputed shares"
    IDLE = "the next round"
    MASKED = "masked vectors"
    CONSENT = "signatures of the list of survivors"
    UNMASK = "shares of the round"
    OPENED = "the sum to be taken"


class Collector:
    """A stage of a server: messages of one kind at a time, one from each site."""

    def __init__(
        self, identity: Identity, setting: MaskSetting, phase: ServerPhase
    ) -> None:
        check_enrolled(identity, setting.server)
        self._identity = identity
        self._setting = setting
        self._setup = setting.context().digest
        self._round: Context = setting.context()
        self._phase = phase
        self._answered: set[str] = set()

    def _expect(self, *phases: ServerPhase) -> None:
        if self._phase not in phases:
            raise SecAggError(
                "this comes too late or too early: the server waits for "
                f"{self._phase.value}"
            )

    def _next(self, phase: ServerPhase) -> None:
        self._phase, self._answered = phase, set()

    def _seal(self, kind: EnvelopeKind, payload: bytes) -> bytes:
        return seal(kind, self._round, self._identity, payload)

    def _take(
        self,
        kind: EnvelopeKind,
        message: bytes,
        lengths: range | Sequence[int],
        among: Sequence[str] | frozenset[str],
    ) -> OpenedMessage:
        """Check a message that each of some sites sends once, in its phase."""
        header = kind is EnvelopeKind.HEADER
        self._expect(ServerPhase.MASKED if header else ServerPhase[kind.name])
        opened = open_sealed(message, kind, self._round, self._setting.sites, lengths)
        if opened.sender not in among:
            raise SecAggError(f"`{opened.sender}` is not asked, or dropped out before")
        if opened.sender in self._answered:
            raise SecAggError(f"`{opened.sender}` has answered already")
        return opened


@dataclass(frozen=True)
class EstablishedEpoch:
    """A set-up for rounds, and the commitments by seats of dealer and holder."""

    setting: MaskSetting
    cohort: MaskCohort
    committed: Mapping[tuple[int, int], bytes]


class ServerSetup(Collector):
    """The server while an epoch is set up.

    Guarantees:
        Who is blamed signed what shows it: a key that is none, a part that its holder
        could not use, or a complaint of a part that it could.
        Sites that follow the protocol are not blamed, whatever others do.
    """

    def __init__(self, identity: Identity, setting: MaskSetting) -> None:
        super().__init__(identity, setting, ServerPhase.ADVERTISE)
        self._adverts: dict[str, bytes] = {}
        self._deals: dict[int, payloads.Deal] = {}
        self._complaints: dict[int, list[int]] = {}
        self._liars: set[int] = set()
        self._seen: dict[int, bytes] = {}

    def advertised(self, message: bytes) -> None:
        """Take a site's keys; a key with which nobody can agree is refused."""
        rounds, among = self._setting.terms.rounds, self._setting.sites.names
        lengths = (payloads.AdvertisedKeys.length(rounds),)
        opened = self._take(EnvelopeKind.ADVERTISE, message, lengths, among)
        keys = payloads.AdvertisedKeys.read(opened.payload, rounds)
        trial, pair = X25519PrivateKey.generate(), (opened.sender, "server")
        try:
            for key in (keys.channel, *keys.masks):
                pairwise_key(trial, key, self._setup, "trial", pair)
        except SecAggError as error:
            raise SecAggError(
                f"`{opened.sender}` sent a key that is none", blamed=[opened.sender]
            ) from error
        self._answered.add(opened.sender)
        self._adverts[opened.sender] = message

    def close_keys(self) -> bytes:
        """Return the list of all keys, for every site that sent some."""
        self._expect(ServerPhase.ADVERTISE)
        adverts = [self._adverts[name] for name in sorted(self._adverts)]
        payload = payloads.pack_bundle(adverts)
        self._listed = KeyList.read(self._setting, payload)
        self._next(ServerPhase.DEAL)
        return self._seal(EnvelopeKind.KEYS, payload)

    def dealt(self, message: bytes) -> None:
        """Take a site's shares for all others, which they are encrypted to."""
        self._expect(ServerPhase.DEAL)
        names, rounds = self._listed.names, self._setting.terms.rounds
        lengths = (payloads.Deal.length(len(self._listed.circles[0]), rounds),)
        opened = self._take(EnvelopeKind.DEAL, message, lengths, names)
        seat = names.index(opened.sender)
        circle = self._listed.circles[seat]
        self._answered.add(opened.sender)
        self._deals[seat] = payloads.Deal.read(opened.payload, seat, circle, rounds)

    def close_deals(self) -> dict[str, bytes]:
        """Return to each site the parts of others; too few deals are refused."""
        self._expect(ServerPhase.DEAL)
        names = self._listed.names
        try:
            seats = tuple(sorted(self._deals))
            self._cohort = MaskCohort.of(self._setting, self._listed, seats)
        except SecAggError as error:
            silent = [name for name in names if name not in self._answered]
            raise SecAggError(error.message, error.hint, silent=silent) from error
        self._next(ServerPhase.READY)
        deliveries = {}
        for holder in self._cohort.seats:
            others = [seat for seat in self._cohort.circle(holder) if seat != holder]
            rows = [(seat, self._deals[seat].parts[holder].packed()) for seat in others]
            payload = payloads.pack_by_seat(rows)
            self._seen[holder] = delivered_digest(self._cohort.agreed, payload)
            deliveries[names[holder]] = self._seal(EnvelopeKind.DELIVERY, payload)
        return deliveries

    def ready(self, message: bytes) -> None:
        """Take a site's digest of its delivery, and its complaints."""
        self._expect(ServerPhase.READY)
        sites, among = len(self._listed.names), self._cohort.names
        lengths = range(DIGEST, DIGEST + payloads.SEAT * sites + 1)
        opened = self._take(EnvelopeKind.READY, message, lengths, among)
        holder = self._listed.names.index(opened.sender)
        if opened.payload[:DIGEST] != self._seen[holder]:
            raise SecAggError(f"`{opened.sender}` saw another set-up or delivery")
        bad = payloads.read_seats(opened.payload[DIGEST:], sites)
        self._answered.add(opened.sender)
        dealers = set(self._cohort.circle(holder)) - {holder}
        if not set(bad) <= dealers:
            self._liars.add(holder)  # it complains of a site that dealt it nothing
        for dealer in dealers.intersection(bad):
            self._complaints.setdefault(dealer, []).append(holder)

    def inquiries(self) -> dict[str, bytes]:
        """Return to each dealer which holders complain of their parts; usually nobody.

        A part whose own signature is wrong needs no answer: the dealer signed the
        message that it came in. A dealer with many complaints is asked for some of the
        parts only.
        """
        self._expect(ServerPhase.READY)
        self._next(ServerPhase.EVIDENCE)
        inquiries = {}
        for dealer, holders in self._complaints.items():
            if all(self._is_signed(dealer, holder) for holder in holders):
                name, disputed = self._listed.names[dealer], self._disputed(dealer)
                payload = payloads.pack_seats(disputed)
                inquiries[name] = self._seal(EnvelopeKind.INQUIRY, payload)
            else:
                self._liars.add(dealer)
        return inquiries

    def _disputed(self, dealer: int) -> list[int]:
        """Return the holders whose parts a dealer is asked to show."""
        return sorted(self._complaints[dealer])[: self._listed.most_shown]

    def _is_signed(self, dealer: int, holder: int) -> bool:
        names, part = self._listed.names, self._deals[dealer].parts[holder]
        signed = part_bytes(self._listed.digest, names[dealer], names[holder], part)
        try:
            self._setting.sites.verify(names[dealer], signed, part.signature)
        except SecAggError:
            return False
        return True

    def proven(self, message: bytes) -> None:
        """Take the keys of a dealer's disputed parts, and see who lies."""
        self._expect(ServerPhase.EVIDENCE)
        names, keys = self._listed.names, self._listed.keys
        lengths = range(DIGEST * len(names) + 1)
        among = [names[dealer] for dealer in self._complaints]
        opened = self._take(EnvelopeKind.EVIDENCE, message, lengths, among)
        dealer = names.index(opened.sender)
        holders = self._disputed(dealer)
        self._answered.add(opened.sender)
        if len(opened.payload) != DIGEST * len(holders):
            self._liars.add(dealer)
            return
        reader = Reader(opened.payload, "keys of parts")
        for holder in holders:
            part, peer = self._deals[dealer].parts[holder], keys[holder].channel
            pair = (names[dealer], names[holder])
            good = is_good(self._listed.digest, pair, reader.digest(), peer, part)
            self._liars.add(holder if good else dealer)

    def established(self) -> EstablishedEpoch:
        """Close the set-up; sites that have not reported ready may still come.

        If anybody complained, the error names the liars and the dealers that gave no
        answer.
        """
        self._expect(ServerPhase.READY, ServerPhase.EVIDENCE)
        answered = self._answered if self._phase is ServerPhase.EVIDENCE else set()
        names = self._listed.names
        if self._complaints or self._liars:
            accused = self._complaints.keys() - self._liars
            silent = sorted({names[dealer] for dealer in accused} - answered)
            liars = [names[seat] for seat in sorted(self._liars)]
            raise SecAggError(
                "shares that were dealt are disputed",
                f"set up again without {', '.join((*liars, *silent))}",
                blamed=liars,
                silent=silent,
            )
        self._next(ServerPhase.IDLE)
        committed = {
            (dealer, holder): each
            for dealer, deal in self._deals.items()
            for holder, each in deal.commitments.items()
        }
        return EstablishedEpoch(self._setting, self._cohort, committed)
