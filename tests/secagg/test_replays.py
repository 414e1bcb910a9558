# SPDX-License-Identifier: Apache-2.0
"""A message is of use once, where it belongs: not again, not later, not out of turn."""

from collections.abc import Callable

import numpy as np
import pytest

from lexfed.secagg.mask_sessions.server_rounds import ServerSession
from lexfed.secagg.mask_sessions.server_setup import ServerSetup
from lexfed.secagg.mask_sessions.site import SiteSession
from support.secagg.secure_sums import MODEL, SERVER, Epoch, names, refused, setting

Door = Callable[[bytes], object]


def site_doors(site: SiteSession) -> tuple[Door, ...]:
    return (site.deal, site.accept, site.consent, site.unmask, site.prove)


def server_doors(server: ServerSession) -> tuple[Door, ...]:
    return (server.masked, server.piece, server.consented, server.unmasked)


def everything(epoch: Epoch) -> list[bytes]:
    """Every message of both sides so far."""
    return [*epoch.sent.values(), *epoch.asked.values()]


def knock(doors: tuple[Door, ...], messages: list[bytes]) -> int:
    """Put every message to every door; return how many were refused, which is all."""
    for door in doors:
        for message in messages:
            refused(lambda door=door, message=message: door(message))  # type: ignore[misc]
    return len(doors) * len(messages)


def test_replayed_messages_of_an_earlier_round_are_refused() -> None:
    """In every stage of the second round, all of the first; its sum stays exact."""
    epoch = Epoch(setting(4))
    server = epoch.set_up()
    epoch.round(server, names(4))
    old = everything(epoch)
    tried = 0

    def replay() -> None:
        nonlocal tried
        tried += knock(server_doors(server), old)
        tried += sum(knock(site_doors(site), old) for site in epoch.sites.values())

    replay()
    epoch.masked(server, names(4), 2)
    replay()
    survivors = server.close_masked()
    replay()
    for site in epoch.sites.values():
        server.consented(site.consent(survivors))
    replay()
    consents = server.close_consents()
    replay()
    for site in epoch.sites.values():
        server.unmasked(site.unmask(consents))
    replay()
    server.reconstruct()
    replay()
    found = server.total(epoch.agreed.terms.ring.largest)
    np.testing.assert_array_equal(found, epoch.true_sum(names(4), 2))
    assert tried > 3000


@pytest.mark.parametrize("what", ["epoch", "session"])
def test_replayed_messages_of_an_earlier_set_up_are_refused(what: str) -> None:
    epoch = Epoch(setting(3))
    epoch.round(epoch.set_up(), names(3))
    old = everything(epoch)
    later = setting(3, epoch=2)
    if what == "session":
        later = setting(3, session=bytes(32))
    again = Epoch(later)
    server = ServerSetup(SERVER, later)

    def replay() -> None:
        knock((server.advertised, server.dealt, server.ready), old)
        for site in again.sites.values():
            knock(site_doors(site), old)

    replay()
    for site in again.sites.values():
        server.advertised(site.advertise())
    replay()
    keys = server.close_keys()
    replay()
    for site in again.sites.values():
        server.dealt(site.deal(keys))
    replay()
    deliveries = server.close_deals()
    replay()
    for name, site in again.sites.items():
        server.ready(site.accept(deliveries[name]))
    rounds = ServerSession(SERVER, server.established())
    found = again.round(rounds, names(3))
    np.testing.assert_array_equal(found, again.true_sum(names(3)))


def test_messages_that_come_twice_are_refused() -> None:
    epoch = Epoch(setting(3))
    server = epoch.set_up()
    epoch.masked(server, names(3))
    for name in names(3):
        knock((server.masked,), [epoch.sent["masked", name]])
    epoch.consented(server, names(3))
    for name in names(3):
        knock((server.consented,), [epoch.sent["consent", name]])
        knock((epoch.sites[name].consent,), [epoch.asked["survivors"]])
    consents = server.close_consents()
    for name in names(3):
        shares = epoch.sites[name].unmask(consents)
        server.unmasked(shares)
        knock((server.unmasked,), [shares])
        knock((epoch.sites[name].unmask,), [consents])
    server.reconstruct()
    found = server.total(epoch.agreed.terms.ring.largest)
    np.testing.assert_array_equal(found, epoch.true_sum(names(3)))


def test_reordered_messages_are_refused_and_answered_in_their_turn() -> None:
    """One site gets all that the others got before it, last first."""
    epoch = Epoch(setting(4))
    slow = epoch.sites["site003"]
    server = ServerSetup(SERVER, epoch.agreed)
    for site in epoch.sites.values():
        server.advertised(site.advertise())
    keys = server.close_keys()
    others = {name: site for name, site in epoch.sites.items() if site is not slow}
    deals = {name: site.deal(keys) for name, site in others.items()}
    before = ServerSetup(SERVER, epoch.agreed)
    knock((before.dealt, before.ready), list(deals.values()))
    for message in deals.values():
        server.dealt(message)
    knock((slow.accept, slow.consent, slow.unmask, slow.prove), [keys])
    server.dealt(slow.deal(keys))
    deliveries = server.close_deals()
    ready = [site.accept(deliveries[name]) for name, site in others.items()]
    for message in ready:
        server.ready(message)
    server.ready(slow.accept(deliveries["site003"]))

    rounds = ServerSession(SERVER, server.established())
    rounds.begin(1, MODEL)
    for name, site in epoch.sites.items():
        rounds.masked(site.mask(1, MODEL, epoch.vector(name, 1)))
    survivors = rounds.close_masked()
    signed = [site.consent(survivors) for site in others.values()]
    knock((rounds.unmasked, rounds.masked), signed)
    for message in signed:
        rounds.consented(message)
    consents = rounds.close_consents()
    knock((slow.unmask, slow.consent, slow.prove), [consents])
    late = slow.consent(survivors)
    knock((rounds.consented,), [late])
    for site in others.values():
        rounds.unmasked(site.unmask(consents))
    rounds.unmasked(slow.unmask(consents))
    rounds.reconstruct()
    found = rounds.total(epoch.agreed.terms.ring.largest)
    np.testing.assert_array_equal(found, epoch.true_sum(names(4)))
