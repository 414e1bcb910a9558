# SPDX-License-Identifier: Apache-2.0
"""Sums through regions are the same bits, and a region sees nothing of its sites.

The chi-square test over 256 byte values fails by chance once in 10^9 times.
"""

from collections.abc import Iterable

import numpy as np
import pytest
from scipy.stats import chi2

from lexfed.secagg.envelopes.identities import Roster
from lexfed.secagg.mask_sessions.relay import MaskRelay, RelayedServer
from lexfed.secagg.masks.vector_pieces import PIECE_VALUES
from support.secagg.secure_sums import (
    MODEL,
    SERVER,
    Epoch,
    identity,
    names,
    refused,
    setting,
)

REGIONS = ("east", "west")
RELAYS = Roster({name: identity(name).public for name in REGIONS})


class World:
    """Six sites, two relays and a server after the set-up."""

    def __init__(self, bits: int = 32, length: int = 5, sites: int = 6) -> None:
        self.epoch = Epoch(setting(sites, bits=bits, length=length))
        self.epoch.set_up(never=["site005"] if sites > 6 else ())
        established = self.epoch.established
        self.server = RelayedServer(SERVER, established, RELAYS)
        self.relays = {
            name: MaskRelay(
                identity(name), self.epoch.agreed, RELAYS, established.cohort.agreed
            )
            for name in REGIONS
        }
        self.begin(1)

    def begin(self, number: int) -> None:
        self.number = number
        self.server.begin(number, MODEL)
        for relay in self.relays.values():
            relay.begin(number, MODEL)

    def masked(self, name: str) -> bytes:
        values = self.epoch.vector(name, self.number)
        return self.epoch.sites[name].mask(self.number, MODEL, values)

    def region(self, name: str, sites: Iterable[str]) -> bytes:
        for site in sites:
            assert self.relays[name].take(self.masked(site)) == site
        return self.relays[name].forward()


@pytest.mark.parametrize("bits", [16, 24, 32])
def test_sums_through_regions_are_the_same_bits(bits: int) -> None:
    world = World(bits)
    for number in (1, 2):
        if number == 2:
            world.begin(2)
        # Two regions, one site that answers directly, and one that is lost.
        assert world.server.relayed(world.region("east", names(6)[:2])) == names(6)[:2]
        world.server.relayed(world.region("west", names(6)[2:4]))
        world.server.masked(world.masked("site004"))
        found = world.epoch.opened(world.server, names(5))
        world.server.record().check(world.epoch.agreed)
        assert np.array_equal(found, world.epoch.true_sum(names(5), number))


def test_a_regional_sum_is_uniform() -> None:
    world = World(16, 40_000)
    message = world.region("east", names(6)[:3])
    vector = message[-64 - 80_000 : -64]
    counts = np.bincount(np.frombuffer(vector, dtype=np.uint8), minlength=256)
    expected = counts.sum() / 256
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert statistic < float(chi2.isf(1e-9, 255))
    # Negative control: what the sites sent, added without masks.
    bare = world.epoch.true_sum(names(6)[:3]).astype("<u2").view(np.uint8)
    counts = np.bincount(bare, minlength=256)
    assert float(((counts - expected) ** 2 / expected).sum()) > chi2.isf(1e-9, 255)


def test_no_site_is_in_a_sum_twice() -> None:
    world = World()
    direct = world.masked("site000")
    world.relays["east"].take(direct)
    assert "answered already" in str(refused(lambda: world.relays["east"].take(direct)))
    world.relays["west"].take(direct)
    world.server.relayed(world.relays["east"].forward())
    again = refused(lambda: world.server.relayed(world.relays["west"].forward()))
    assert "`site000` is in the sum already" in str(again)
    assert "answered already" in str(refused(lambda: world.server.masked(direct)))


def test_a_sum_is_passed_on_once_and_what_comes_later_is_refused() -> None:
    world = World()
    east = world.relays["east"]
    assert "no sum" in str(refused(east.forward))
    world.region("east", names(6)[:1])
    late = world.masked("site001")
    assert "too late" in str(refused(lambda: east.take(late)))
    assert "no sum" in str(refused(east.forward))
    assert "is over" in str(refused(lambda: east.begin(1, MODEL)))


def test_strangers_and_other_rounds_are_refused() -> None:
    world = World()
    first = world.masked("site000")
    region = world.region("east", ["site001"])
    with pytest.raises(Exception, match="another key"):
        MaskRelay(SERVER, world.epoch.agreed, Roster({"server": bytes(32)}), bytes(32))
    world.begin(2)
    assert "of round 1" in str(refused(lambda: world.relays["east"].take(first)))
    assert "of round 1" in str(refused(lambda: world.server.relayed(region)))
    forged = MaskRelay(
        identity("north"),
        world.epoch.agreed,
        Roster({"north": identity("north").public}),
        world.epoch.established.cohort.agreed,
    )
    forged.begin(2, MODEL)
    forged.take(world.masked("site000"))
    message = forged.forward()
    assert "not enrolled" in str(refused(lambda: world.server.relayed(message)))


def test_another_set_up_is_refused_by_relay_and_server() -> None:
    world = World()
    other = MaskRelay(identity("east"), world.epoch.agreed, RELAYS, bytes(32))
    other.begin(1, MODEL)
    message = world.masked("site000")
    assert "another set-up" in str(refused(lambda: other.take(message)))
    lying = MaskRelay(
        identity("east"),
        world.epoch.agreed,
        RELAYS,
        world.epoch.established.cohort.agreed,
    )
    lying.begin(1, MODEL)
    lying.take(message)
    lying._agreed = bytes(32)
    forwarded = lying.forward()
    assert "another set-up" in str(refused(lambda: world.server.relayed(forwarded)))


def test_sums_come_only_while_vectors_do() -> None:
    world = World()
    late = world.region("west", ["site005"])
    world.server.relayed(world.region("east", names(5)))
    world.server.close_masked()
    assert "too late" in str(refused(lambda: world.server.relayed(late)))


def test_a_site_outside_of_the_cohort_is_refused() -> None:
    world = World(sites=7)
    fresh = Epoch(world.epoch.agreed)
    fresh.set_up()
    values = fresh.vector("site005", 1)
    message = fresh.sites["site005"].mask(1, MODEL, values)
    west = world.relays["west"]
    agreed, west._agreed = west._agreed, fresh.established.cohort.agreed
    west.take(message)
    west._agreed = agreed
    forwarded = west.forward()
    assert "not in the cohort" in str(refused(lambda: world.server.relayed(forwarded)))


def test_vectors_in_pieces_do_not_go_through_relays() -> None:
    long = PIECE_VALUES + 1
    agreed = setting(3, length=long)
    relay = MaskRelay(identity("east"), agreed, RELAYS, bytes(32))
    assert "in pieces" in str(refused(lambda: relay.begin(1, MODEL)))
    relay.begin(1, MODEL, 5)
    epoch = Epoch(agreed)
    epoch.set_up()
    server = RelayedServer(SERVER, epoch.established, RELAYS)
    server.begin(1, MODEL)
    assert "in pieces" in str(refused(lambda: server.relayed(b"")))
