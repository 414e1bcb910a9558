# SPDX-License-Identifier: Apache-2.0
"""Above sixty sites each masks with some others only, and nothing else changes."""

from functools import partial

import numpy as np
import pytest

from lexfed.secagg.envelopes.payloads import Deal, SealedPart, pack_seats
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from lexfed.secagg.mask_sessions.server_rounds import ServerSession
from lexfed.secagg.mask_sessions.server_setup import ServerSetup
from support.secagg.secure_sums import (
    MODEL,
    SERVER,
    Epoch,
    identity,
    names,
    refused,
    setting,
)

SITES, COLLUDERS, MISSING = 64, 2, 4


@pytest.fixture(scope="module")
def epoch() -> Epoch:
    least = SITES - MISSING
    return Epoch(setting(SITES, rounds=6, colluders=COLLUDERS, least=least))


@pytest.fixture(scope="module")
def server(epoch: Epoch) -> ServerSession:
    return epoch.set_up()


def test_a_site_deals_to_its_neighbours_only(
    epoch: Epoch, server: ServerSession
) -> None:
    listed = epoch.sites["site000"]._listed
    assert {len(circle) for circle in listed.circles} == {13}
    deal = epoch.sent["deal", "site000"]
    assert len(deal) < 200 + 64 + Deal.length(13, 6)
    # A list of survivors still needs signatures of more than half of all.
    assert listed.quorum == 34


def test_sums_are_exact_without_some_sites_at_every_stage(
    epoch: Epoch, server: ServerSession
) -> None:
    coins = np.random.default_rng(7)
    for number in (1, 2):
        order = [str(name) for name in coins.permutation(names(SITES))]
        # Five sites of a circle of 13 leave the eight shares that open it, wherever
        # the circles are: a sixth may close one in three runs of a thousand.
        alive, unsigned, closed = order[MISSING:], order[4:6], order[6:7]
        found = epoch.round(server, alive, number, unsigned=unsigned, closed=closed)
        np.testing.assert_array_equal(found, epoch.true_sum(alive, number))


def test_a_circle_without_enough_shares_ends_the_round(
    epoch: Epoch, server: ServerSession
) -> None:
    listed = epoch.sites["site000"]._listed
    lost = {listed.names[seat] for seat in listed.circles[0][:6]}
    epoch.masked(server, epoch.sites, 3)
    epoch.consented(server, epoch.sites)
    openers = [name for name in epoch.sites if name not in lost]
    error = refused(lambda: epoch.unmasked(server, openers))
    assert "too small" in error.message


def test_more_missing_sites_than_the_graph_is_made_for_are_refused(
    epoch: Epoch, server: ServerSession
) -> None:
    epoch.masked(server, names(SITES)[MISSING + 1 :], 4)
    assert "too small" in refused(server.close_masked).message


def test_wrong_shares_of_several_are_blamed_and_the_sum_is_opened(
    epoch: Epoch, server: ServerSession
) -> None:
    liars = ("site000", "site031", "site063")

    def bend(name: str, message: bytes) -> bytes:
        payload = bytearray(message[-64 - 13 * 32 : -64])
        payload[32 * 12] ^= 1
        context = epoch.agreed.context(5, MODEL)
        return seal(EnvelopeKind.UNMASK, context, identity(name), bytes(payload))

    epoch.masked(server, epoch.sites, 5)
    epoch.consented(server, epoch.sites)
    consents = server.close_consents()
    for name, site in epoch.sites.items():
        message = site.unmask(consents)
        if name in liars:
            wrong = partial(server.unmasked, bend(name, message))
            assert refused(wrong).blamed == (name,)
        else:
            server.unmasked(message)
    server.reconstruct()
    found = server.total(epoch.agreed.terms.ring.largest)
    np.testing.assert_array_equal(found, epoch.true_sum(epoch.sites, 5))


def test_everybody_who_is_listed_has_to_deal() -> None:
    sparse = Epoch(setting(61, rounds=1, colluders=0, least=58))
    error = refused(lambda: sparse.set_up(silent=["site003"]))
    assert "too small" in error.message
    assert (error.silent, error.blamed) == (("site003",), ())


def test_shares_of_a_site_that_is_no_neighbour_are_refused() -> None:
    fresh = Epoch(setting(61, rounds=1, colluders=0, least=58))
    setup = ServerSetup(SERVER, fresh.agreed)
    for site in fresh.sites.values():
        setup.advertised(site.advertise())
    keys = setup.close_keys()
    site = fresh.sites["site000"]
    site.deal(keys)
    circle = site._listed.circles[0]
    stranger = next(seat for seat in range(61) if seat not in circle)
    row = pack_seats((stranger,)) + bytes(SealedPart.length(1))
    said = seal(EnvelopeKind.DELIVERY, fresh.agreed.context(), SERVER, row)
    assert "not for it" in refused(lambda: site.accept(said)).message
