# SPDX-License-Identifier: Apache-2.0
"""Small federations whose sums are masked, over channels that may lose messages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.rounds import Coordinator, RoundRequest
from lexfed.federation.engines.channel import Handler, InProcessChannel
from lexfed.federation.engines.masked_setting import (
    EpochSettings,
    MaskEpochs,
    epoch_settings,
    seat_identity,
)
from lexfed.federation.engines.masked_site import MaskedSite
from lexfed.federation.engines.masked_sums import MaskedSum, MaskedSums
from lexfed.federation.site.data_holder import Site, Sources
from lexfed.privacy.run_ledger import Ledger
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind
from lexfed.signing.keys import Signer
from support.federation.worlds import World, seeded, world

LOG = "hospitals.example/run/0123456789abcdef"


def masked_world(**choices: Any) -> World:
    """Return a small world with noise in shares."""
    told = {"sizes": (30, 25, 31, 22), "rounds": 2, **choices}
    return world(trust="distributed", accountant="rdp", **told)


@cache
def signer(number: int) -> Signer:
    """Return a key that is the same in every test."""
    return Signer(
        f"party-{number}", Ed25519PrivateKey.from_private_bytes(bytes([number] * 32))
    )


def step_of(message: bytes) -> str:
    """Return what a message to a site asks for."""
    if message[:4] == b"LXMB":
        return "begin"
    if message[:4] == b"LXMA":
        return "ask"
    if message[:4] == b"LXMP":
        return "fetch"
    return EnvelopeKind(message[5]).name.lower()


Tamper = Callable[[str, str, bytes], bytes | None]
"""Takes a site, a step and its answer; returns what arrives, None if nothing does."""


@dataclass
class Line:
    """A channel that somebody holds: it loses and changes answers.

    Attributes:
        doors: to the sites.
        tamper: what happens to each answer.
        before: what happens to each message on its way to a site.
        said: every answer that sites gave, with site and step.
    """

    doors: InProcessChannel
    tamper: Tamper = lambda *said: said[-1]
    before: Tamper = lambda *said: said[-1]
    said: list[tuple[str, str, bytes]] = field(default_factory=list)

    def exchange(
        self, messages: Mapping[str, bytes], most: int = 2**20
    ) -> Mapping[str, bytes]:
        """Bring messages and answers, or some of them."""
        came = {}
        for name, message in messages.items():
            step = step_of(message)
            sent = self.before(name, step, message)
            if sent is None:
                continue
            answer = self.doors.exchange({name: sent}, 2**62)[name]
            self.said.append((name, step, answer))
            arrived = self.tamper(name, step, answer)
            if arrived is not None and len(arrived) <= most:
                came[name] = arrived
        return came


@dataclass
class Federation:
    """Sites behind masks, their ledgers, and a coordinator's engine over a line."""

    of: World
    sites: dict[str, MaskedSite]
    ledgers: dict[str, Ledger]
    line: Line
    engine: MaskedSums
    coordinator: Coordinator
    setting: EpochSettings
    excluded: dict[str, str]


def _taken(*_: object) -> None:
    """Take any receipt."""


def federation(
    of: World,
    seed: int = 1,
    sources: Sources | None = None,
    swapped: Mapping[str, Callable[[MaskedSite], Handler]] | None = None,
) -> Federation:
    """Return a federation of a world; some of its sites' doors may be swapped."""
    drawn = sources or seeded(seed)
    programme = of.programme
    keys = {name: signer(at) for at, name in enumerate(programme.sites, start=1)}
    public = {name: key.public for name, key in keys.items()}
    setting = epoch_settings(programme, LOG, public, signer(99).public)
    sites, ledgers, doors = {}, {}, {}
    for place, data in enumerate(of.sites):
        ledger = of.ledger(place)
        assert ledger is not None
        site = Site(programme, data, ledger, drawn, keys[data.name], log=LOG)
        ledgers[data.name] = ledger
        sites[data.name] = MaskedSite(site, seat_identity(keys[data.name]), setting)
        swap = (swapped or {}).get(data.name)
        door = sites[data.name].handle
        doors[data.name] = door if swap is None else swap(sites[data.name])
    line = Line(InProcessChannel(doors))
    epochs = iter(range(1, 1000))
    excluded: dict[str, str] = {}
    engine = MaskedSums(
        programme,
        line,
        MaskEpochs(seat_identity(signer(99)), setting, public, lambda: next(epochs)),
        _taken,
        excluded.__setitem__,
    )
    learner = Learner(programme)
    coordinator = Coordinator(
        programme, learner, of.ledger(), drawn, learner.start(), LOG
    )
    return Federation(of, sites, ledgers, line, engine, coordinator, setting, excluded)


def charged(fed: Federation) -> RoundRequest:
    """Prepare and charge the next round."""
    fed.engine.prepare()
    asked = fed.coordinator.next()
    assert asked is not None
    return asked


def ask(fed: Federation) -> tuple[RoundRequest, MaskedSum]:
    """Charge and ask the next round."""
    asked = charged(fed)
    [reply] = fed.engine.ask(asked.query, asked.participants)
    assert isinstance(reply, MaskedSum)
    return asked, reply


def losing(step: str, *sites: str) -> Tamper:
    """Return a line on which some sites' answers at one step never arrive."""
    return lambda site, at, said: None if at == step and site in sites else said
