# SPDX-License-Identifier: Apache-2.0
"""Blame: cheats are named, nobody else is, and sums are opened without them."""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pytest

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.payloads import AdvertisedKeys, pack_seats
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from lexfed.secagg.mask_sessions.server_rounds import ServerSession
from lexfed.secagg.mask_sessions.server_setup import ServerSetup
from lexfed.secagg.mask_sessions.site import SiteSession
from lexfed.secagg.masks.epoch_secrets import EpochSecrets
from lexfed.secagg.masks.thresholds import Threshold
from lexfed.secagg.primitives.shamir import PRIME, Elements
from support.secagg.disputes import FAULTS, bad_part, complaint, flipped, said_instead
from support.secagg.secure_sums import (
    MODEL,
    SERVER,
    Epoch,
    identity,
    names,
    refused,
    setting,
)

LIAR = "site001"


class Disputed:
    """Five sites in a set-up, of whom some lie; three shares open a secret."""

    def __init__(
        self, bend: Callable[[SiteSession, bytes], bytes] | None = None
    ) -> None:
        self.epoch = Epoch(setting(5))
        self.setup = ServerSetup(SERVER, self.epoch.agreed)
        for site in self.epoch.sites.values():
            self.setup.advertised(site.advertise())
        keys = self.setup.close_keys()
        for name, site in self.epoch.sites.items():
            said = site.deal(keys)
            self.setup.dealt(bend(site, said) if bend and name == LIAR else said)
        self.words = {
            name: self.epoch.sites[name].accept(delivery)
            for name, delivery in self.setup.close_deals().items()
        }

    @property
    def liar(self) -> SiteSession:
        return self.epoch.sites[LIAR]

    def settle(self, silent: Iterable[str] = ()) -> SecAggError:
        """Hear everybody, and return how the set-up ends."""
        for word in self.words.values():
            self.setup.ready(word)
        for name, inquiry in self.setup.inquiries().items():
            if name not in silent:
                self.setup.proven(self.epoch.sites[name].prove(inquiry))
        return refused(self.setup.established)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_part_is_blamed_on_its_dealer_alone(fault: str) -> None:
    disputed = Disputed(lambda site, said: bad_part(site, said, 3, fault))
    error = disputed.settle()
    assert (error.blamed, error.silent) == ((LIAR,), ())
    assert LIAR in error.hint
    # Who complained is out of the epoch too.
    site, values = disputed.epoch.sites["site003"], disputed.epoch.vector("site003", 1)
    assert "complained" in refused(lambda: site.mask(1, MODEL, values)).message


@pytest.mark.parametrize("dealers", [(0,), (0, 2, 3, 4)])
def test_a_false_complaint_is_blamed_on_who_complains(dealers: tuple[int, ...]) -> None:
    disputed = Disputed()
    said = complaint(disputed.liar, disputed.words[LIAR], dealers)
    disputed.words[LIAR] = said
    error = disputed.settle()
    assert (error.blamed, error.silent) == ((LIAR,), ())


@pytest.mark.parametrize("dealers", [(1,), (0, 1)])
def test_a_complaint_about_nobody_is_blamed_on_who_complains(
    dealers: tuple[int, ...],
) -> None:
    """It dealt nothing to itself."""
    disputed = Disputed()
    said = complaint(disputed.liar, disputed.words[LIAR], dealers)
    disputed.words[LIAR] = said
    assert disputed.settle().blamed == (LIAR,)


def test_two_liars_who_complain_of_each_other_and_of_others_are_both_named() -> None:
    disputed = Disputed(lambda site, said: bad_part(site, said, 3, "noise"))
    other = disputed.epoch.sites["site000"]
    said = complaint(other, disputed.words["site000"], (1, 2, 4))
    disputed.words["site000"] = said
    assert disputed.settle().blamed == ("site000", LIAR)


def test_a_dealer_that_shows_nothing_is_left_out_and_not_blamed() -> None:
    disputed = Disputed(lambda site, said: bad_part(site, said, 3, "noise"))
    error = disputed.settle(silent=[LIAR])
    assert (error.blamed, error.silent) == ((), (LIAR,))


def test_a_dispute_that_nobody_was_asked_about_ends_the_set_up() -> None:
    disputed = Disputed(lambda site, said: bad_part(site, said, 3, "noise"))
    for word in disputed.words.values():
        disputed.setup.ready(word)
    error = refused(disputed.setup.established)
    assert (error.blamed, error.silent) == ((), (LIAR,))


@pytest.mark.parametrize("shown", [b"", bytes(32), bytes(64)])
def test_a_dealer_that_shows_something_else_is_blamed(shown: bytes) -> None:
    disputed = Disputed(lambda site, said: bad_part(site, said, 3, "key"))
    for word in disputed.words.values():
        disputed.setup.ready(word)
    assert set(disputed.setup.inquiries()) == {LIAR}
    disputed.setup.proven(said_instead(disputed.liar, EnvelopeKind.EVIDENCE, shown))
    assert refused(disputed.setup.established).blamed == (LIAR,)


def test_who_shows_what_it_dealt_takes_no_part_in_rounds() -> None:
    disputed = Disputed()
    said = complaint(disputed.liar, disputed.words[LIAR], (0,))
    disputed.words[LIAR] = said
    disputed.settle()
    site, values = disputed.epoch.sites["site000"], disputed.epoch.vector("site000", 1)
    assert "has shown" in refused(lambda: site.mask(1, MODEL, values)).message


def test_an_inquiry_into_nobody_is_refused() -> None:
    disputed = Disputed()
    site, context = disputed.epoch.sites["site000"], disputed.epoch.agreed.context()
    said = seal(EnvelopeKind.INQUIRY, context, SERVER, pack_seats((0, 2)))
    assert "dealt no shares" in refused(lambda: site.prove(said)).message


def test_of_a_dealer_whom_many_complain_of_some_parts_are_judged_at_a_time() -> None:
    """Three of five lie: two parts may be shown, and two of the liars are named."""
    disputed = Disputed()
    for name in ("site001", "site002", "site003"):
        site, said = disputed.epoch.sites[name], disputed.words[name]
        disputed.words[name] = complaint(site, said, (0,))
    error = disputed.settle()
    assert (error.blamed, error.silent) == (("site001", "site002"), ())


class Opening:
    """Five sites, of whom four send vectors, up to the shares of a round."""

    def __init__(self) -> None:
        self.epoch = Epoch(setting(5))
        self.server: ServerSession = self.epoch.set_up()
        self.alive = names(5)[:4]
        self.epoch.masked(self.server, self.alive)
        self.epoch.consented(self.server, self.alive)
        self.consents = self.server.close_consents()

    def give(self, liars: Iterable[str], dealers: Iterable[int]) -> None:
        """Let sites give out shares, some of them wrong ones."""
        for name in self.alive:
            site = self.epoch.sites[name]
            said = site.unmask(self.consents)
            if name not in liars:
                self.server.unmasked(said)
                continue
            for dealer in dealers:
                said = flipped(site, EnvelopeKind.UNMASK, said, 32 * dealer)
            wrong = refused(partial(self.server.unmasked, said))
            assert wrong.blamed == (name,)


@pytest.mark.parametrize("dealers", [(0,), (1,), (4,), (2, 4)])
def test_a_wrong_share_is_blamed_on_its_holder_and_the_sum_is_opened(
    dealers: tuple[int, ...],
) -> None:
    opening = Opening()
    opening.give([LIAR], dealers)
    opening.server.reconstruct()
    found = opening.server.total(10**6)
    np.testing.assert_array_equal(found, opening.epoch.true_sum(opening.alive))


def test_too_many_wrong_shares_end_the_round_and_nobody_else_is_blamed() -> None:
    opening = Opening()
    opening.give([LIAR, "site002"], (0,))
    assert refused(opening.server.reconstruct).blamed == ()


def test_what_is_no_share_is_blamed_although_its_dealer_committed_to_it() -> None:
    """Dealer and holder work together: an honest holder would have complained."""

    def bend(site: SiteSession, said: bytes) -> bytes:
        return bad_part(site, said, 3, "no field element")

    disputed = Disputed(bend)
    holder = disputed.epoch.sites["site003"]
    disputed.words["site003"] = complaint(holder, disputed.words["site003"], ())
    for word in disputed.words.values():
        disputed.setup.ready(word)
    server = ServerSession(SERVER, disputed.setup.established())
    alive = [name for name in names(5) if name != "site003"]
    server.begin(1, MODEL)
    context = disputed.epoch.agreed.context(1, MODEL)
    for name in alive:
        values = disputed.epoch.vector(name, 1)
        server.masked(disputed.epoch.sites[name].mask(1, MODEL, values))
    agreed = disputed.liar._cohort.agreed
    vector = seal(EnvelopeKind.MASKED, context, identity("site003"), agreed + bytes(20))
    server.masked(vector)
    survivors = server.close_masked()
    for name in alive:
        server.consented(disputed.epoch.sites[name].consent(survivors))
    consents = server.close_consents()
    given = b"".join(
        np.full(16, PRIME, dtype="<u2").tobytes()
        if dealer == 1
        else disputed.epoch.sites["site003"]._held[dealer][0].astype("<u2").tobytes()
        for dealer in range(5)
    )
    message = seal(EnvelopeKind.UNMASK, context, identity("site003"), given)
    error = refused(lambda: server.unmasked(message))
    assert error.blamed == ("site003",)
    assert "no share" in error.message
    assert consents


@pytest.mark.parametrize("lost", ["", LIAR])
def test_a_dealer_whose_shares_open_no_secret_is_blamed(
    lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It deals points that lie on no polynomial, and commits to them."""
    honest = EpochSecrets.shares

    def bent(self: EpochSecrets, threshold: Threshold) -> Elements:
        shares = honest(self, threshold)
        if self._name == LIAR:
            shares[0] = (shares[0] + 1) % PRIME
        return shares

    monkeypatch.setattr(EpochSecrets, "shares", bent)
    epoch = Epoch(setting(5))
    server = epoch.set_up()
    alive = [name for name in names(5) if name != lost]
    epoch.masked(server, alive)
    epoch.consented(server, alive)
    assert refused(lambda: epoch.unmasked(server, alive)).blamed == (LIAR,)


def test_a_signature_of_another_list_is_blamed() -> None:
    epoch = Epoch(setting(3))
    server = epoch.set_up()
    epoch.masked(server, epoch.sites)
    server.close_masked()
    other = said_instead(epoch.sites[LIAR], EnvelopeKind.CONSENT, bytes(32))
    assert refused(lambda: server.consented(other)).blamed == (LIAR,)


@pytest.mark.parametrize("at", [0, 2])
def test_a_key_of_small_order_is_blamed_on_who_sends_it(at: int) -> None:
    epoch = Epoch(setting(3))
    keys = [bytes([9]) + bytes(31)] * 3
    keys[at] = bytes(32)
    said = AdvertisedKeys(keys[0], (keys[1], keys[2]), (bytes(32),) * 2)
    message = said_instead(epoch.sites[LIAR], EnvelopeKind.ADVERTISE, said.packed())
    server = ServerSetup(SERVER, epoch.agreed)
    assert refused(lambda: server.advertised(message)).blamed == (LIAR,)


def test_a_site_or_server_with_another_key_than_enrolled_does_not_start() -> None:
    agreed = setting(3)
    stranger = type(SERVER)("site001", identity("stranger").private)
    assert "another key" in refused(lambda: SiteSession(stranger, agreed)).message
    server = type(SERVER)("server", identity("stranger").private)
    assert "another key" in refused(lambda: ServerSetup(server, agreed)).message
