# SPDX-License-Identifier: Apache-2.0
"""Whole epochs of secure aggregation in one process, with sites lost on the way."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np

from lexfed.arrays import Integers
from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.identities import Identity, Roster
from lexfed.secagg.mask_sessions.server_rounds import ServerSession
from lexfed.secagg.mask_sessions.server_setup import ServerSetup
from lexfed.secagg.mask_sessions.site import SiteSession
from lexfed.secagg.masks.terms import MaskSetting, MaskTerms
from lexfed.secagg.primitives.ring import Ring

SESSION = sha256(b"session").digest()
POLICY = sha256(b"policy").digest()
MODEL = sha256(b"model").digest()
SERVER = Identity.generate("server")
_IDENTITIES: dict[str, Identity] = {}


def identity(name: str) -> Identity:
    """The identity of a name, always the same in one process."""
    return _IDENTITIES.setdefault(name, Identity.generate(name))


def names(count: int) -> tuple[str, ...]:
    return tuple(f"site{at:03d}" for at in range(count))


def setting(
    count: int,
    *,
    rounds: int = 2,
    colluders: int = 0,
    least: int = 2,
    bits: int = 32,
    length: int = 5,
    policy: bytes = POLICY,
    epoch: int = 1,
    least_change: int = 2,
    session: bytes = SESSION,
) -> MaskSetting:
    """What a cohort of that many sites agrees on."""
    return MaskSetting(
        session,
        epoch,
        policy,
        Roster({name: identity(name).public for name in names(count)}),
        Roster({"server": SERVER.public}),
        MaskTerms(rounds, colluders, least, Ring(bits), length, least_change),
    )


def vector(name: str, round_number: int, length: int) -> Integers:
    """A site's vector: small signed integers that only it has."""
    seed = int.from_bytes(sha256(f"{name} {round_number}".encode()).digest()[:8], "big")
    return np.random.default_rng(seed).integers(-1000, 1001, length)


Tamper = Callable[[str, bytes], bytes]


def _as_is(_: str, message: bytes) -> bytes:
    return message


@dataclass
class Epoch:
    """Sites, a server and what was sent.

    Attributes:
        agreed: the setting.
        sites: by name.
        sent: every message of a site, by its stage and name.
        asked: every message of the server, by its stage.
        lengths: of the vectors, by round; the longest that is agreed on by default.
    """

    agreed: MaskSetting
    sites: dict[str, SiteSession] = field(default_factory=dict)
    sent: dict[tuple[str, str], bytes] = field(default_factory=dict)
    asked: dict[str, bytes] = field(default_factory=dict)
    lengths: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.sites:
            self.sites = {
                name: SiteSession(identity(name), self.agreed)
                for name in self.agreed.sites.names
            }

    def _send(
        self, stage: str, name: str, message: bytes, take: Callable[[bytes], None]
    ) -> None:
        self.sent[stage, name] = message
        take(message)

    def set_up(
        self,
        never: Iterable[str] = (),
        silent: Iterable[str] = (),
        tamper: Tamper = _as_is,
    ) -> ServerSession:
        """Set up; `never` do not advertise, `silent` advertise and do not deal."""
        server = ServerSetup(SERVER, self.agreed)
        here = [name for name in self.sites if name not in set(never)]
        for name in here:
            message = self.sites[name].advertise()
            self._send("advertise", name, message, server.advertised)
        self.asked["keys"] = keys = server.close_keys()
        here = [name for name in here if name not in set(silent)]
        for name in here:
            message = tamper(name, self.sites[name].deal(keys))
            self._send("deal", name, message, server.dealt)
        deliveries = server.close_deals()
        for name in here:
            self.asked[f"delivery {name}"] = deliveries[name]
            message = self.sites[name].accept(deliveries[name])
            self._send("ready", name, message, server.ready)
        self.inquired(server)
        self.established = server.established()
        return ServerSession(SERVER, self.established)

    def inquired(self, server: ServerSetup) -> None:
        """Let dealers show what somebody complains of."""
        for name, inquiry in server.inquiries().items():
            message = self.sites[name].prove(inquiry)
            self._send("prove", name, message, server.proven)

    def vector(self, name: str, round_number: int) -> Integers:
        length = self.lengths.get(round_number, self.agreed.terms.length)
        return vector(name, round_number, length)

    def masked(
        self, server: ServerSession, here: Iterable[str], round_number: int = 1
    ) -> None:
        """Begin a round and let sites send their vectors."""
        server.begin(round_number, MODEL, self.lengths.get(round_number))
        for name in here:
            values = self.vector(name, round_number)
            message = self.sites[name].mask(round_number, MODEL, values)
            self._send("masked", name, message, server.masked)
            for at in range(server.pieces):
                server.piece(self.sites[name].piece(at))

    def announced(
        self, server: ServerSession, name: str, round_number: int = 1
    ) -> list[bytes]:
        """Let a site announce a long vector; return its pieces, which are not sent."""
        site = self.sites[name]
        message = site.mask(round_number, MODEL, self.vector(name, round_number))
        self._send("masked", name, message, server.masked)
        return [site.piece(at) for at in range(server.pieces)]

    def consented(self, server: ServerSession, here: Iterable[str]) -> None:
        """Close the stage of vectors and let sites sign the list."""
        self.asked["survivors"] = survivors = server.close_masked()
        for name in here:
            message = self.sites[name].consent(survivors)
            self._send("consent", name, message, server.consented)

    def unmasked(
        self, server: ServerSession, here: Iterable[str], tamper: Tamper = _as_is
    ) -> None:
        """Close the stage of signatures, let sites give out shares, and open them."""
        self.asked["consents"] = consents = server.close_consents()
        for name in here:
            message = tamper(name, self.sites[name].unmask(consents))
            self._send("unmask", name, message, server.unmasked)
        server.reconstruct()

    def round(
        self,
        server: ServerSession,
        alive: Iterable[str],
        round_number: int = 1,
        *,
        unsigned: Iterable[str] = (),
        closed: Iterable[str] = (),
    ) -> Integers:
        """Run a round: `alive` send vectors, `unsigned` and `closed` stop after it.

        Args:
            server: the server.
            alive: who sends a vector.
            round_number: which round.
            unsigned: who is lost before it signs the list.
            closed: who is lost before it gives out shares.
        """
        alive = list(alive)
        signers = [name for name in alive if name not in set(unsigned)]
        self.masked(server, alive, round_number)
        return self.opened(server, signers, closed)

    def opened(
        self, server: ServerSession, signers: Iterable[str], closed: Iterable[str] = ()
    ) -> Integers:
        """Finish a round whose vectors came; `closed` are lost before giving shares."""
        signers = list(signers)
        self.consented(server, signers)
        openers = [name for name in signers if name not in set(closed)]
        self.unmasked(server, openers)
        return server.total(self.agreed.terms.ring.largest)

    def true_sum(self, alive: Iterable[str], round_number: int = 1) -> Integers:
        vectors = [self.vector(name, round_number) for name in alive]
        total: Integers = np.sum(np.stack(vectors), axis=0, dtype=np.int64)
        return total


def refused(call: Callable[[], object]) -> SecAggError:
    """Return the refusal of a call that must not succeed."""
    try:
        call()
    except SecAggError as error:
        return error
    raise AssertionError("not refused")
