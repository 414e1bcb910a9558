# SPDX-License-Identifier: Apache-2.0
"""Who breaks the protocol is named, and the sum is opened without it if it can be."""

from functools import partial

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lexfed.secagg.dealing import Secrets, part_bytes, seal_part
from lexfed.secagg.field import PRIME, Elements
from lexfed.secagg.messages import Kind, seal
from lexfed.secagg.payloads import Advertised, Part, pack_seats
from lexfed.secagg.server import ServerSession
from lexfed.secagg.server_setup import ServerSetup
from lexfed.secagg.site import SiteSession
from lexfed.secagg.thresholds import Threshold
from support.secure_sums import MODEL, SERVER, Epoch, identity, names, refused, setting


def _signed(epoch: Epoch, kind: Kind, name: str, payload: bytes, at: int = 1) -> bytes:
    context = epoch.agreed.context(at, MODEL) if at else epoch.agreed.context()
    return seal(kind, context, identity(name), payload)


class Disputed:
    """Five sites of whom some give out wrong shares; three shares open a secret."""

    def __init__(self, liars: tuple[str, ...], dealers: tuple[int, ...]) -> None:
        self.epoch = Epoch(setting(5))
        self.server: ServerSession = self.epoch.set_up()
        self.alive = names(5)[:4]
        self.liars, self.dealers = liars, dealers
        self.epoch.masked(self.server, self.alive)
        self.epoch.consented(self.server, self.alive)

    def bend(self, name: str, message: bytes) -> bytes:
        if name not in self.liars:
            return message
        payload = bytearray(message[-64 - 5 * 32 : -64])
        for dealer in self.dealers:
            payload[32 * dealer] ^= 1
        return _signed(self.epoch, Kind.UNMASK, name, bytes(payload))

    def asked(self) -> bytes:
        inquiry = self.epoch.unmasked(self.server, self.alive, self.bend)
        assert inquiry is not None
        return inquiry


@pytest.mark.parametrize("dealers", [(0,), (4,), (2, 4)])
def test_a_wrong_share_is_blamed_on_its_holder_and_the_sum_is_opened(
    dealers: tuple[int, ...],
) -> None:
    disputed = Disputed(("site001",), dealers)
    inquiry = disputed.asked()
    for name in disputed.alive:
        disputed.server.proven(disputed.epoch.sites[name].prove(inquiry))
    assert disputed.server.judge() == ("site001",)
    found = disputed.server.total(10**6)
    np.testing.assert_array_equal(found, disputed.epoch.true_sum(disputed.alive))


def test_too_many_wrong_shares_end_the_round_and_name_all_who_lied() -> None:
    disputed = Disputed(("site001", "site002"), (0,))
    inquiry = disputed.asked()
    for name in disputed.alive:
        disputed.server.proven(disputed.epoch.sites[name].prove(inquiry))
    error = refused(disputed.server.judge)
    assert error.blamed == ("site001", "site002")


def test_forged_evidence_is_blamed_on_who_gives_it() -> None:
    disputed = Disputed(("site001",), (0,))
    inquiry = disputed.asked()
    for name in disputed.alive:
        message = disputed.epoch.sites[name].prove(inquiry)
        if name == "site001":
            forged = bytes(len(message[-64 - 128 : -64]))
            message = _signed(disputed.epoch, Kind.EVIDENCE, name, forged)
        disputed.server.proven(message)
    assert disputed.server.judge() == ("site001",)


def test_who_gives_no_evidence_is_left_out_and_not_blamed() -> None:
    disputed = Disputed(("site001",), (0,))
    inquiry = disputed.asked()
    for name in ("site000", "site002", "site003"):
        disputed.server.proven(disputed.epoch.sites[name].prove(inquiry))
    assert disputed.server.judge() == ()
    found = disputed.server.total(10**6)
    np.testing.assert_array_equal(found, disputed.epoch.true_sum(disputed.alive))


def test_a_wrong_share_of_oneself_is_blamed_on_oneself() -> None:
    disputed = Disputed(("site001",), (1,))
    inquiry = disputed.asked()
    for name in disputed.alive:
        disputed.server.proven(disputed.epoch.sites[name].prove(inquiry))
    assert refused(disputed.server.judge).blamed == ("site001",)


def test_what_is_no_share_is_blamed_at_once() -> None:
    disputed = Disputed((), ())
    disputed.server.close_consents()
    payload = np.full(5 * 16, PRIME, dtype="<u2").tobytes()
    message = _signed(disputed.epoch, Kind.UNMASK, "site001", payload)
    error = refused(lambda: disputed.server.unmasked(message))
    assert error.blamed == ("site001",)


@pytest.mark.parametrize("lost", ["", "site001"])
def test_a_dealer_whose_shares_open_no_secret_is_blamed(
    lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It deals points that lie on no polynomial, and commits to them."""
    honest = Secrets.shares

    def bent(self: Secrets, threshold: Threshold) -> Elements:
        shares = honest(self, threshold)
        if self._name == "site001":
            shares[0] = (shares[0] + 1) % PRIME
        return shares

    monkeypatch.setattr(Secrets, "shares", bent)
    epoch = Epoch(setting(5))
    server = epoch.set_up()
    alive = [name for name in names(5) if name != lost]
    epoch.masked(server, alive)
    epoch.consented(server, alive)
    inquiry = epoch.unmasked(server, alive)
    assert inquiry is not None
    for name in alive:
        server.proven(epoch.sites[name].prove(inquiry))
    assert refused(server.judge).blamed == ("site001",)


def test_a_signature_of_another_list_is_blamed() -> None:
    epoch = Epoch(setting(3))
    server = epoch.set_up()
    epoch.masked(server, epoch.sites)
    server.close_masked()
    other = _signed(epoch, Kind.CONSENT, "site001", bytes(32))
    assert refused(lambda: server.consented(other)).blamed == ("site001",)


def _replaced(epoch: Epoch, message: bytes, at: int, part: bytes) -> bytes:
    """Put another part in the place of one that site001 dealt."""
    size = Part.length(2)
    payload = bytearray(message[-64 - 2 * size : -64])
    payload[at * size : (at + 1) * size] = part
    return _signed(epoch, Kind.DEAL, "site001", bytes(payload), at=0)


def _part(message: bytes) -> bytes:
    size = Part.length(2)
    return message[-64 - 2 * size : -64 - size]


def test_a_part_with_a_wrong_signature_is_blamed_on_its_dealer() -> None:
    epoch = Epoch(setting(3))

    def bend(name: str, message: bytes) -> bytes:
        if name != "site001":
            return message
        part = bytearray(_part(message))
        part[40] ^= 1
        return _replaced(epoch, message, 0, bytes(part))

    assert refused(partial(epoch.set_up, tamper=bend)).blamed == ("site001",)


@pytest.mark.parametrize("fault", ["key", "commitment", "no field element"])
def test_shares_that_cannot_be_used_are_blamed_on_the_two(fault: str) -> None:
    """Nobody else can tell whether the dealer dealt badly or the holder lies."""
    epoch = Epoch(setting(3))
    dealer = identity("site001")

    def bend(name: str, message: bytes) -> bytes:
        if name != "site001":
            return message
        site = epoch.sites[name]
        setup = site._listed.digest
        peer = epoch.sites["site000"]._keys.channel
        channel = site._secrets.channel
        values = np.full((4, 16), PRIME if fault == "no field element" else 1, "u2")
        if fault == "key":
            channel = X25519PrivateKey.generate()
        bad = seal_part(setup, dealer, "site000", channel, peer, values)
        if fault == "commitment":
            bent = Part(bytes(32), b"", bad.sealed)
            signature = dealer.sign(part_bytes(setup, "site001", "site000", bent))
            bad = Part(bytes(32), signature, bad.sealed)
        return _replaced(epoch, message, 0, bad.packed())

    error = refused(partial(epoch.set_up, tamper=bend))
    assert error.blamed == ("site001", "site000")
    assert "site001" in error.hint
    values = epoch.vector("site000", 1)
    again = refused(lambda: epoch.sites["site000"].mask(1, MODEL, values))
    assert "complained" in again.message


def test_a_complaint_about_nobody_is_blamed_on_who_complains() -> None:
    epoch = Epoch(setting(3))
    server = ServerSetup(SERVER, epoch.agreed)
    for site in epoch.sites.values():
        server.advertised(site.advertise())
    keys = server.close_keys()
    for site in epoch.sites.values():
        server.dealt(site.deal(keys))
    deliveries = server.close_deals()
    ready = epoch.sites["site001"].accept(deliveries["site001"])
    agreed = ready[-96:-64]
    message = _signed(epoch, Kind.READY, "site001", agreed + pack_seats((1,)), at=0)
    assert refused(lambda: server.ready(message)).blamed == ("site001",)


@pytest.mark.parametrize("at", [0, 2])
def test_a_key_of_small_order_is_blamed_on_who_sends_it(at: int) -> None:
    epoch = Epoch(setting(3))
    keys = [bytes([9]) + bytes(31)] * 3
    keys[at] = bytes(32)
    said = Advertised(keys[0], (keys[1], keys[2]), (bytes(32),) * 2)
    message = _signed(epoch, Kind.ADVERTISE, "site001", said.packed(), at=0)
    server = ServerSetup(SERVER, epoch.agreed)
    assert refused(lambda: server.advertised(message)).blamed == ("site001",)


def test_a_site_or_server_with_another_key_than_enrolled_does_not_start() -> None:
    agreed = setting(3)
    stranger = type(SERVER)("site001", identity("stranger").private)
    assert "another key" in refused(lambda: SiteSession(stranger, agreed)).message
    server = type(SERVER)("server", identity("stranger").private)
    assert "another key" in refused(lambda: ServerSetup(server, agreed)).message
