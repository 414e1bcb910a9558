# SPDX-License-Identifier: Apache-2.0
"""The server takes one message from each site it asked, in its time."""

from functools import partial

import pytest

from lexfed.secagg.envelopes.payloads import SealedPart, pack_seats
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
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


def test_nobody_answers_twice_and_nobody_answers_unasked() -> None:
    epoch = Epoch(setting(4))
    server = epoch.set_up(silent=["site003"])
    epoch.masked(server, names(3))
    again = epoch.sent["masked", "site001"]
    assert "answered already" in refused(lambda: server.masked(again)).message
    agreed = epoch.sites["site000"]._cohort.agreed
    context = epoch.agreed.context(1, MODEL)
    stranger = seal(
        EnvelopeKind.MASKED, context, identity("site003"), agreed + bytes(20)
    )
    assert "is not asked" in refused(lambda: server.masked(stranger)).message
    other = seal(EnvelopeKind.MASKED, context, identity("site002"), bytes(32 + 20))
    server.begin(2, MODEL)
    assert "of round 1" in refused(lambda: server.masked(other)).message
    context = epoch.agreed.context(2, MODEL)
    other = seal(EnvelopeKind.MASKED, context, identity("site002"), bytes(32 + 20))
    assert "another set-up" in refused(lambda: server.masked(other)).message


@pytest.mark.parametrize("round_number", [0, 1, 3])
def test_the_server_cannot_begin_a_round_again(round_number: int) -> None:
    epoch = Epoch(setting(3))
    server = epoch.set_up()
    server.begin(1, MODEL)
    assert "is over" in refused(partial(server.begin, round_number, MODEL)).message


def test_vectors_are_as_long_as_the_round_says() -> None:
    epoch = Epoch(setting(3))
    server = epoch.set_up()
    for length in (0, 6):
        beyond = partial(server.begin, 1, MODEL, length)
        assert "1 to 5 values" in refused(beyond).message
    server.begin(1, MODEL, 3)
    for name, length in zip(names(3), (2, 4, 5), strict=True):
        values = epoch.vector(name, 1)[:length]
        message = epoch.sites[name].mask(1, MODEL, values)
        said = refused(partial(server.masked, message)).message
        assert "bytes is not expected" in said


def test_a_sum_is_taken_once() -> None:
    epoch = Epoch(setting(3))
    server = epoch.set_up()
    epoch.round(server, names(3))
    assert "waits for the next" in refused(lambda: server.total(1)).message


def test_a_word_on_another_set_up_is_refused() -> None:
    epoch = Epoch(setting(3))
    server = ServerSetup(SERVER, epoch.agreed)
    for site in epoch.sites.values():
        server.advertised(site.advertise())
    keys = server.close_keys()
    for site in epoch.sites.values():
        server.dealt(site.deal(keys))
    server.close_deals()
    message = seal(
        EnvelopeKind.READY, epoch.agreed.context(), identity("site001"), bytes(32)
    )
    assert "another set-up" in refused(lambda: server.ready(message)).message


def test_a_site_takes_no_shares_of_its_own() -> None:
    epoch = Epoch(setting(3))
    server = ServerSetup(SERVER, epoch.agreed)
    for each in epoch.sites.values():
        server.advertised(each.advertise())
    keys = server.close_keys()
    site = epoch.sites["site000"]
    site.deal(keys)
    part = bytes(SealedPart.length(2))
    rows = b"".join(pack_seats((seat,)) + part for seat in range(3))
    said = seal(EnvelopeKind.DELIVERY, epoch.agreed.context(), SERVER, rows)
    assert "not for it" in refused(lambda: site.accept(said)).message
