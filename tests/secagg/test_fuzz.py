# SPDX-License-Identifier: Apache-2.0
"""Ten thousand broken messages: nothing crashes, and nothing leaks.

Half of them are real messages with bytes changed, cut, added (up to 16 KiB) or mixed.
The other half have a changed payload and the right signature, as from a server or site
that cheats. A leak is an answer of a site that shows, together with its other
answers, its vector, one of its secrets, or both shares of one site in one round.
"""

import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind
from lexfed.secagg.mask_sessions.server_setup import ServerSetup
from lexfed.secagg.mask_sessions.site import SiteSession
from lexfed.secagg.masks import vector_pieces
from lexfed.secagg.masks.epoch_secrets import OWN, PAIR, row
from lexfed.secagg.primitives.shamir import secret_bytes
from support.secagg.broken_messages import broken, changed
from support.secagg.secure_sums import MODEL, SERVER, Epoch, identity, names, setting

SITES = 4
ROUNDS = 4
MARKER = np.array([1234567891, -1234567892, 1111111111, -77777777, 99999999])


class Watched:
    """A site whose answers are kept, and searched for what must not be in them."""

    def __init__(self, epoch: Epoch) -> None:
        self.epoch = epoch
        self.site: SiteSession = epoch.sites["site000"]
        self.answers: list[bytes] = []
        self.secrets = self.site._secrets._drawn.copy()
        self.tried = 0

    def ask(self, answer: Callable[[bytes], bytes], message: bytes) -> bool:
        """Put a message to the site; return whether it answered."""
        self.tried += 1
        try:
            self.answers.append(answer(message))
        except SecAggError:
            return False
        return True

    def leaks(self) -> Iterator[str]:
        said = b"".join(self.answers)
        if any(secret_bytes(secret) in said for secret in self.secrets):
            yield "a secret"
        if MARKER.astype("<u4").tobytes() in said:
            yield "the vector"
        for shares in self.held.values():
            for number in range(1, ROUNDS + 1):
                both = (row(number, OWN), row(number, PAIR))
                if all(secret_bytes(shares[at]) in said for at in both):
                    yield f"both shares of round {number}"

    def keep(self) -> None:
        """Remember the shares that it holds, before it erases any."""
        self.held = {at: shares.copy() for at, shares in self.site._held.items()}


def _fuzz_site(coins: random.Random, each: int) -> int:
    """Put broken messages to one site in every stage of an epoch."""
    epoch = Epoch(setting(SITES, rounds=ROUNDS))
    watched, site = Watched(epoch), epoch.sites["site000"]
    server = ServerSetup(SERVER, epoch.agreed)
    for other in epoch.sites.values():
        server.advertised(other.advertise())
    keys = server.close_keys()
    answered = False
    for _ in range(each):
        bad = broken(coins, keys, SERVER, epoch, 0)
        answered = answered or watched.ask(site.deal, bad)
    assert not answered, "no change of a key list passes: all of it is signed by sites"
    for other in epoch.sites.values():
        server.dealt(other.deal(keys))
    delivery = server.close_deals()["site000"]
    for _ in range(each):
        if watched.ask(site.accept, broken(coins, delivery, SERVER, epoch, 0)):
            watched.held = {}
            assert not list(watched.leaks())
            return watched.tried  # it complained, and is out of the epoch
    return watched.tried


def _fuzz_rounds(coins: random.Random, each: int) -> int:
    epoch = Epoch(setting(SITES, rounds=ROUNDS))
    watched, site = Watched(epoch), epoch.sites["site000"]
    server = epoch.set_up()
    watched.keep()
    for number in range(1, ROUNDS + 1):
        server.begin(number, MODEL)
        for name, other in epoch.sites.items():
            values = MARKER if name == "site000" else epoch.vector(name, number)
            message = other.mask(number, MODEL, values)
            if other is site:
                watched.answers.append(message)
            server.masked(message)
        survivors = server.close_masked()
        took = False
        # A changed list under the right signature may name enough sites, and then the
        # site agrees to that one. In the last round it sees the server's own list, so
        # that at least one round ends in shares.
        for _ in range(each if number < ROUNDS else 0):
            bad = broken(coins, survivors, SERVER, epoch, number)
            took = took or watched.ask(site.consent, bad)
        for name, other in epoch.sites.items():
            if not (took and name == "site000"):
                message = other.consent(survivors)
                server.consented(message)
        consents = server.close_consents()
        for _ in range(each):
            watched.ask(site.unmask, broken(coins, consents, SERVER, epoch, number))
        watched.ask(site.unmask, consents)
    assert list(watched.leaks()) == []
    assert any(answer[5] == EnvelopeKind.UNMASK for answer in watched.answers)
    return watched.tried


def _fuzz_server(coins: random.Random, each: int) -> int:
    """Put broken messages of one site to the server in every stage."""
    good = Epoch(setting(SITES, rounds=ROUNDS))
    tried = 0

    def put(take: Callable[[bytes], None], message: bytes, number: int = 0) -> None:
        nonlocal tried
        for _ in range(each):
            tried += 1
            bad = broken(coins, message, identity("site000"), good, number)
            try:
                take(bad)
            except SecAggError:
                continue
            return  # taken: it has answered
        take(message)

    server = ServerSetup(SERVER, good.agreed)
    for name, site in good.sites.items():
        message = site.advertise()
        if name == "site000":
            for _ in range(each):
                tried += 1
                cut = changed(coins, message)
                try:
                    server.advertised(cut)
                except SecAggError:
                    continue
                raise AssertionError("a changed message was taken")
        server.advertised(message)
    keys = server.close_keys()
    deals = {name: site.deal(keys) for name, site in good.sites.items()}
    put(server.dealt, deals.pop("site000"))
    for message in deals.values():
        server.dealt(message)
    server.close_deals()
    epoch = good = Epoch(setting(SITES, rounds=ROUNDS))
    rounds = epoch.set_up()
    rounds.begin(1, MODEL)
    vectors = {
        name: site.mask(1, MODEL, epoch.vector(name, 1))
        for name, site in epoch.sites.items()
    }
    put(rounds.masked, vectors.pop("site000"), 1)
    for message in vectors.values():
        rounds.masked(message)
    survivors = rounds.close_masked()
    signed = {name: site.consent(survivors) for name, site in epoch.sites.items()}
    put(rounds.consented, signed.pop("site000"), 1)
    for message in signed.values():
        rounds.consented(message)
    consents = rounds.close_consents()
    shares = {name: site.unmask(consents) for name, site in epoch.sites.items()}
    put(rounds.unmasked, shares.pop("site000"), 1)
    for message in shares.values():
        rounds.unmasked(message)
    rounds.reconstruct()
    return tried


def test_ten_thousand_broken_messages() -> None:
    coins = random.Random(20170281)
    tried = 0
    while tried < 10_000:
        tried += _fuzz_site(coins, 60)
        tried += _fuzz_rounds(coins, 60)
        tried += _fuzz_server(coins, 20)


def test_the_watch_notices_a_site_that_gives_out_both_shares() -> None:
    epoch = Epoch(setting(SITES, rounds=ROUNDS))
    watched = Watched(epoch)
    epoch.set_up()
    watched.keep()
    assert not list(watched.leaks())
    watched.answers.append(secret_bytes(watched.held[1][:2]))
    assert list(watched.leaks()) == ["both shares of round 1"]
    watched.answers.append(MARKER.astype("<u4").tobytes())
    watched.answers.append(secret_bytes(watched.secrets[3]))
    assert len(list(watched.leaks())) == 3


def test_broken_headers_and_pieces_change_no_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two thousand of them; what is changed is refused, or its site is not in the sum.

    Half of the headers are changed under the right signature, as by a site that cheats.
    """
    monkeypatch.setattr(vector_pieces, "PIECE_VALUES", 2)
    coins = random.Random(20170281)
    rounds, tried, left_out = 80, 0, 0
    epoch = Epoch(setting(4, rounds=rounds))
    server = epoch.set_up()
    cheat = epoch.sites["site000"]
    for number in range(1, rounds + 1):
        server.begin(number, MODEL)
        whole = cheat.mask(number, MODEL, epoch.vector("site000", number))
        while True:
            bad = broken(coins, whole, identity("site000"), epoch, number)
            tried += 1
            if not _refuses(server.masked, bad):
                break  # it announced what it does not have
            if coins.random() < 0.05:
                server.masked(whole)
                break
        for at in range(server.pieces):
            for _ in range(8):
                tried += 1
                assert _refuses(server.piece, changed(coins, cheat.piece(at)))
            _refuses(server.piece, cheat.piece(at))
        for name in names(4)[1:]:
            for piece in epoch.announced(server, name, number):
                server.piece(piece)
        here = list(names(4)) if not server.missing("site000") else list(names(4)[1:])
        left_out += len(here) == 3
        found = epoch.opened(server, here)
        np.testing.assert_array_equal(found, epoch.true_sum(here, number))
    assert tried > 2000
    assert 0 < left_out < rounds


def _refuses(take: Callable[[bytes], None], message: bytes) -> bool:
    try:
        take(message)
    except SecAggError:
        return True
    return False
