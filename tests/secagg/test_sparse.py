# SPDX-License-Identifier: Apache-2.0
"""Above sixty sites each masks with some others only, and nothing else changes."""

from functools import partial

import numpy as np
import pytest

from lexfed.secagg.messages import Kind, seal
from lexfed.secagg.payloads import Part, pack_seats
from lexfed.secagg.server import ServerSession
from lexfed.secagg.server_setup import ServerSetup
from support.secure_sums import MODEL, SERVER, Epoch, identity, names, refused, setting

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
    assert len(deal) < 13 * Part.length(6)
    # A list of survivors still needs signatures of more than half of all.
    assert listed.quorum == 34


def test_sums_are_exact_without_some_sites_at_every_stage(
    epoch: Epoch, server: ServerSession
) -> None:
    coins = np.random.default_rng(7)
    for number in (1, 2):
        order = [str(name) for name in coins.permutation(names(SITES))]
        alive, unsigned, closed = order[MISSING:], order[4:6], order[6:8]
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


def test_a_wrong_share_is_blamed_by_neighbours(
    epoch: Epoch, server: ServerSession
) -> None:
    listed = epoch.sites["site000"]._listed
    dealer = listed.circles[0][-1]
    at = listed.circles[0].index(dealer)

    def bend(name: str, message: bytes) -> bytes:
        if name != "site000":
            return message
        payload = bytearray(message[-64 - 13 * 32 : -64])
        payload[32 * at] ^= 1
        context = epoch.agreed.context(5, MODEL)
        return seal(Kind.UNMASK, context, identity(name), bytes(payload))

    epoch.masked(server, epoch.sites, 5)
    epoch.consented(server, epoch.sites)
    first = [name for name in epoch.sites if name in _near(epoch, dealer)][:8]
    openers = sorted({*first, "site000"} | (set(epoch.sites) - _near(epoch, dealer)))
    inquiry = epoch.unmasked(server, openers, bend)
    assert inquiry is not None
    context = epoch.agreed.context(5, MODEL)
    for name in openers:
        message = epoch.sites[name].prove(inquiry)
        far = names(SITES).index(name) not in listed.circles[dealer]
        if far:
            more = seal(Kind.EVIDENCE, context, identity(name), bytes(2 * 6 * 32))
            assert "other sites" in refused(partial(server.proven, more)).message
        server.proven(message)
    error = refused(server.judge)
    assert error.blamed == ("site000",)


def _near(epoch: Epoch, seat: int) -> set[str]:
    listed = epoch.sites["site000"]._listed
    return {listed.names[other] for other in listed.circles[seat]}


def test_everybody_who_is_listed_has_to_deal() -> None:
    sparse = Epoch(setting(61, rounds=1, colluders=0, least=58))
    assert "too small" in refused(lambda: sparse.set_up(silent=["site003"])).message


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
    row = pack_seats((stranger,)) + bytes(Part.length(1))
    said = seal(Kind.DELIVERY, fresh.agreed.context(), SERVER, row)
    assert "not for it" in refused(lambda: site.accept(said)).message
