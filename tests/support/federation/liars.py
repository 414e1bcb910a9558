# SPDX-License-Identifier: Apache-2.0
"""Federations behind masks in which some sites lie, in every way that we know.

A liar follows the protocol up to its lie, and signs all that it says. Lies that what
was signed shows must be blamed on the liar; the others (silence, messages of another
time) look like lost ones, and nobody is blamed for them. Honest sites never are.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lexfed.arrays import Integers
from lexfed.errors import SecAggError
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.engines.channel import Channel
from lexfed.federation.engines.clear_sums import RoundLost
from lexfed.federation.engines.masked_setting import (
    MaskedAnswer,
    MaskEpochs,
    epoch_settings,
    read_answer,
    seat_identity,
)
from lexfed.federation.engines.masked_site import MaskedSite
from lexfed.federation.engines.masked_sums import MaskedSum, MaskedSums
from lexfed.federation.programme.messages import Query, Reply
from lexfed.federation.site.data_holder import Site
from lexfed.secagg.envelopes.payloads import Deal, root_of
from lexfed.secagg.envelopes.sealed_messages import DIGEST, EnvelopeKind
from lexfed.secagg.mask_sessions.site import SiteSession
from lexfed.secagg.masks.epoch_secrets import commitments, seal_part
from lexfed.secagg.primitives.shamir import PRIME, Elements
from lexfed.signing.keys import Signer
from support.federation.masked_worlds import LOG, masked_world, step_of
from support.federation.worlds import World, seeded
from support.secagg.disputes import (
    FAULTS,
    bad_part,
    complaint,
    payload_of,
    said_instead,
)

Lie = Callable[["Liar", str, bytes, bytes], bytes | None]
"""Takes the liar, the step, what it is asked and its honest answer; returns its own."""


class Enough(Exception):
    """All that a case is about has happened."""


@dataclass
class Liar:
    """A site that lies.

    Attributes:
        site: behind its door.
        coins: of its lie.
        victims: seats that it lies about; others of its circle if there are none.
        kind: name of its lie.
        told: whether it has lied.
    """

    site: MaskedSite
    coins: random.Random
    victims: Sequence[str]
    kind: str
    told: bool = False
    last: bytes = b""

    @property
    def session(self) -> SiteSession:
        """Its session of the epoch."""
        session = self.site._session
        assert session is not None
        return session

    def near(self) -> list[int]:
        """Return seats of its circle that it lies about."""
        listed, own = self.session._listed, self.session._seat
        others = [seat for seat in listed.circles[own] if seat != own]
        chosen = [seat for seat in others if listed.names[seat] in self.victims]
        if chosen:
            return chosen
        return sorted(self.coins.sample(others, self.coins.randint(1, len(others))))

    def bent(self, step: str, message: bytes, honest: bytes) -> bytes | None:
        """Return what it says in place of an honest answer."""
        said = LIES[self.kind](self, step, message, honest)
        self.told = self.told or said != honest
        self.last = honest
        return said


def _deals_badly(fault: str) -> Lie:
    def lie(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes:
        if step != "keys":
            return honest
        for holder in liar.near():
            honest = bad_part(liar.session, honest, holder, fault)
        return honest

    return lie


def _hides(liar: Liar, step: str, asked: bytes, honest: bytes) -> bytes | None:
    """Deal badly, and do not answer to complaints."""
    if step == "inquiry":
        return None
    return _deals_badly("noise")(liar, step, asked, honest)


def _shows_another_key(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes | None:
    if step == "inquiry":
        length = len(payload_of(honest))
        return said_instead(
            liar.session, EnvelopeKind.EVIDENCE, liar.coins.randbytes(length)
        )
    return _deals_badly("commitment")(liar, step, _, honest)


def deal_of(session: SiteSession, bend: Callable[[Elements], Elements]) -> bytes:
    """Return a deal of a site whose shares are bent, and committed to as they are."""
    listed, own = session._listed, session._seat
    shares = bend(session._secrets.shares(listed.threshold))
    held = dict(zip(listed.circles[own], shares, strict=True))
    committed, parts = {}, {}
    for seat, each in held.items():
        name = listed.names[seat]
        committed[seat] = commitments(listed.digest, session.name, name, each)
        if seat != own:
            parts[seat] = seal_part(
                listed.digest,
                session._identity,
                name,
                session._secrets.part_key(listed.digest, name),
                listed.keys[seat].channel,
                each,
                root_of(committed[seat]),
            )
    session._own_shares = held[own]
    return said_instead(session, EnvelopeKind.DEAL, Deal(committed, parts).packed())


def _deals_no_polynomial(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes:
    def bend(shares: Elements) -> Elements:
        drawn = [liar.coins.randrange(PRIME) for _ in range(shares.size)]
        return np.array(drawn, dtype=np.uint16).reshape(shares.shape)

    return deal_of(liar.session, bend) if step == "keys" else honest


def _deals_some_off(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes:
    def bend(shares: Elements) -> Elements:
        at = liar.coins.randrange(len(shares))
        shares[at] = (shares[at].astype(np.int64) + 1) % PRIME
        return shares

    return deal_of(liar.session, bend) if step == "keys" else honest


def _complains(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes:
    if step != "delivery":
        return honest
    return complaint(liar.session, honest, tuple(liar.near()))


def _complains_of_itself(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes:
    if step != "delivery":
        return honest
    return complaint(liar.session, honest, (liar.session._seat,))


def _wrong_shares(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes:
    if step != "consents":
        return honest
    circle, payload = (
        liar.session._cohort.circle(liar.session._seat),
        payload_of(honest),
    )
    given = bytearray(payload)
    for seat in liar.near():
        given[32 * circle.index(seat) + liar.coins.randrange(32)] ^= 1
    return said_instead(liar.session, EnvelopeKind.UNMASK, bytes(given))


def _wrong_own_share(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes:
    if step != "consents":
        return honest
    own = liar.session._seat
    given = bytearray(payload_of(honest))
    given[32 * liar.session._cohort.circle(own).index(own)] ^= 1
    return said_instead(liar.session, EnvelopeKind.UNMASK, bytes(given))


def _no_shares(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes:
    if step != "consents":
        return honest
    size = len(payload_of(honest))
    return said_instead(liar.session, EnvelopeKind.UNMASK, b"\xff" * size)


def _another_list(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes:
    if step != "survivors":
        return honest
    return said_instead(
        liar.session, EnvelopeKind.CONSENT, liar.coins.randbytes(DIGEST)
    )


def _silent_at(step: str) -> Lie:
    return lambda _, at, __, honest: None if at == step else honest


def _says_again(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes:
    """Repeat the message before, which was for another step."""
    return liar.last if step in ("delivery", "survivors", "consents") else honest


def _another_delivery(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes:
    if step != "delivery":
        return honest
    return said_instead(liar.session, EnvelopeKind.READY, liar.coins.randbytes(DIGEST))


def _another_set_up(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes:
    if step != "ask":
        return honest
    answer = read_answer(honest)
    payload = liar.coins.randbytes(DIGEST) + payload_of(answer.masked)[DIGEST:]
    masked = said_instead(liar.session, EnvelopeKind.MASKED, payload)
    return MaskedAnswer(answer.receipt, masked).to_bytes()


def _no_key(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes:
    if step != "begin":
        return honest
    payload = bytearray(payload_of(honest))
    at = 32 * liar.coins.randrange(len(payload) // 64)
    payload[at : at + 32] = bytes(32)
    return said_instead(liar.session, EnvelopeKind.ADVERTISE, bytes(payload))


def _unknown_marks(liar: Liar, step: str, _: bytes, honest: bytes) -> bytes:
    """Publish hashes of seeds that nobody has."""
    if step != "begin":
        return honest
    payload = payload_of(honest)
    keys = len(payload) // 32 // 2 + 1
    marks = liar.coins.randbytes(len(payload) - 32 * keys)
    said = said_instead(
        liar.session, EnvelopeKind.ADVERTISE, payload[: 32 * keys] + marks
    )
    liar.session._keys = type(liar.session._keys).read(
        memoryview(payload_of(said)), liar.session._setting.terms.rounds
    )
    return said


LIES: Mapping[str, Lie] = {
    **{f"deals badly: {fault}": _deals_badly(fault) for fault in FAULTS},
    "shows another key": _shows_another_key,
    "complains": _complains,
    "complains of itself": _complains_of_itself,
    "deals no polynomial": _deals_no_polynomial,
    "wrong shares": _wrong_shares,
    "wrong own share": _wrong_own_share,
    "no shares": _no_shares,
    "another list": _another_list,
    "deals one share off": _deals_some_off,
    "deals badly and hides": _hides,
    "no key": _no_key,
    "unknown marks": _unknown_marks,
    "another delivery": _another_delivery,
    "another set-up": _another_set_up,
    "says again": _says_again,
    **{f"silent at {step}": _silent_at(step) for step in ("begin", "keys")},
    **{f"silent at {step}": _silent_at(step) for step in ("delivery", "ask")},
    **{f"silent at {step}": _silent_at(step) for step in ("survivors", "consents")},
}
"""What liars say, by name."""
SETTING_UP = (*list(LIES)[:9], "another delivery", "says again")
"""Lies that come out in the set-up in which they are told, or never."""
OPENING = (
    *list(LIES)[9:15],
    *("another set-up", "says again", "another delivery", "silent at delivery"),
    *("silent at ask", "silent at survivors", "silent at consents"),
)
"""Lies that come out when a sum is opened, or never."""
SHOWN = (*list(LIES)[:14], "no key", "unknown marks")
"""Lies that must be blamed on who tells them."""


@dataclass
class Sites:
    """Honest sites of a world, and what they have answered already.

    Attributes:
        of: the world.
        keys: of all sites.
        sites: by name.
        recorded: answers by site and message, given in a rehearsal.
    """

    of: World
    keys: Mapping[str, Signer]
    coordinator: Signer
    sites: Mapping[str, MaskedSite]
    recorded: dict[tuple[str, bytes], bytes] = field(default_factory=dict)

    @classmethod
    def of_world(cls, of: World) -> "Sites":
        """Return sites that have not begun."""
        names = of.programme.sites
        keys = {name: _signer(name) for name in names}
        coordinator = _signer("coordinator")
        public = {name: key.public for name, key in keys.items()}
        setting = epoch_settings(of.programme, LOG, public, coordinator.public)
        sites = {}
        for data in of.sites:
            site = Site(of.programme, data, None, seeded(1), keys[data.name], log=LOG)
            vars(site)["answer"] = _Vectors(data.name, of)
            sites[data.name] = MaskedSite(site, seat_identity(keys[data.name]), setting)
        return cls(of, keys, coordinator, sites)

    def engine(
        self, channel: Channel, excluded: dict[str, str], next_epoch: Callable[[], int]
    ) -> MaskedSums:
        """Return the coordinator's side."""
        public = {name: key.public for name, key in self.keys.items()}
        programme, coordinator = self.of.programme, self.coordinator
        return MaskedSums(
            programme,
            channel,
            MaskEpochs.of(programme, LOG, public, coordinator, next_epoch),
            lambda *_: None,
            excluded.__setitem__,
        )

    def rehearse(self) -> None:
        """Let all sites advertise and deal, and remember what they said."""

        with suppress(Enough):
            self.engine(_Rehearsal(self), {}, lambda: 1).prepare()


@dataclass
class Line:
    """Brings messages to honest sites and to liars."""

    sites: Sites
    liars: Mapping[str, Liar]

    def exchange(
        self, messages: Mapping[str, bytes], most: int = 2**20
    ) -> Mapping[str, bytes]:
        """Bring one message to each named site."""
        came: dict[str, bytes] = {}
        for name, message in messages.items():
            step, liar = step_of(message), self.liars.get(name)
            honest = self.sites.recorded.get((name, message))
            if honest is None:
                honest = self.sites.sites[name].handle(message)
            said = honest if liar is None else liar.bent(step, message, honest)
            if said is not None and len(said) <= most:
                came[name] = said
        return came


@dataclass
class _Rehearsal:
    """Remembers answers, and ends a set-up before anybody is delivered shares."""

    sites: Sites

    def exchange(
        self, messages: Mapping[str, bytes], most: int = 2**20
    ) -> Mapping[str, bytes]:
        """Bring one message to each named site."""
        if step_of(next(iter(messages.values()))) == "delivery":
            raise Enough
        came = Line(self.sites, {}).exchange(messages, most)
        for name, said in came.items():
            self.sites.recorded[name, messages[name]] = said
        return came


@dataclass(frozen=True)
class Outcome:
    """How a case ended.

    Attributes:
        kinds: the lie of each liar.
        blamed: sites that were blamed.
        unnamed: liars whose lie was shown, told, and not blamed on them.
        innocent: sites that were blamed and did not lie, or not in what they signed.
        wrong: whether a sum was opened that is not that of its sites.
        lost: rounds that came to nothing.
    """

    kinds: Mapping[str, str]
    blamed: frozenset[str]
    unnamed: frozenset[str]
    innocent: frozenset[str]
    wrong: bool
    lost: int

    @property
    def fine(self) -> bool:
        """Whether the liars are named, nobody else is, and sums are right."""
        return not (self.unnamed or self.innocent or self.wrong)


def case(
    sites: Sites, coins: random.Random, liars: int, kinds: Sequence[str]
) -> Outcome:
    """Run a federation with random liars until all that can be named are.

    Args:
        sites: of which some lie; rehearsed, or fresh.
        coins: choose who lies, how, and about whom.
        liars: how many.
        kinds: of lies.
    """
    names = list(sites.sites)
    chosen = coins.sample(names, liars)
    honest = [name for name in names if name not in chosen]
    together = coins.random() < 0.5
    seats = {name: seat_identity(sites.keys[name]).name for name in names}
    victims = [seats[coins.choice(honest)]] if together else []
    lying = {
        name: Liar(sites.sites[name], coins, victims, coins.choice(kinds))
        for name in chosen
    }
    excluded: dict[str, str] = {}
    epochs = iter(range(1, 100))

    def owed() -> set[str]:
        return {n for n, liar in lying.items() if liar.kind in SHOWN} - excluded.keys()

    def next_epoch() -> int:
        number = next(epochs)
        if number > 1 and not owed():
            raise Enough
        return number

    engine = sites.engine(Line(sites, lying), excluded, next_epoch)
    lost, wrong = 0, False
    for number in range(1, 2 + liars):
        if excluded.keys() - lying.keys():
            break
        try:
            query = _query(sites.of, number)
            [reply] = engine.ask(query, sites.of.programme.sites)
        except RoundLost:
            lost += 1
            continue
        except (Enough, SecAggError):
            break
        assert isinstance(reply, MaskedSum)
        right = sum(_vector(name, number, len(reply.total)) for name in reply.of)
        wrong = wrong or not np.array_equal(reply.total, right)
        if not owed():
            break
    told = {name for name, liar in lying.items() if liar.told}
    return Outcome(
        kinds={name: liar.kind for name, liar in lying.items()},
        blamed=frozenset(excluded),
        unnamed=frozenset(owed() & told),
        innocent=frozenset(excluded.keys() - told),
        wrong=wrong,
        lost=lost,
    )


def lied_to(sites: int) -> World:
    """Return a world with room for nine liars; above 60 sites with a sparse graph."""
    room = min(9, sites // 4)
    return masked_world(
        sizes=(2,) * sites,
        rounds=1,
        mechanism="uniform",
        colluders=room,
        dropouts=room,
        setup_rounds=2,
    )


class _Vectors:
    """Gives a site's small vector of a round; what it computes does not matter here."""

    def __init__(self, name: str, of: World) -> None:
        self._name, self._of = name, of

    def __call__(self, content: bytes) -> Reply:
        query = Query.from_bytes(content)
        length = self._of.programme.stages[query.stage].dimension
        values = _vector(self._name, query.round, length)
        return Reply(self._name, query.round, values, True, b"receipt")


def _vector(name: str, number: int, length: int) -> Integers:
    seed = int.from_bytes(sha256(f"{name} {number}".encode()).digest()[:8], "big")
    return np.random.default_rng(seed).integers(-9, 10, length)


def _signer(name: str) -> Signer:
    secret = sha256(name.encode()).digest()
    return Signer(name, Ed25519PrivateKey.from_private_bytes(secret))


def _query(of: World, number: int) -> Query:
    learner = Learner(of.programme)
    coordinator = Coordinator(
        of.programme, learner, of.ledger(), seeded(number), learner.start(), LOG
    )
    asked = coordinator.next()
    assert asked is not None
    return type(asked.query)(**{**vars(asked.query), "round": number})
