# SPDX-License-Identifier: Apache-2.0
"""Attacks of a server, a site or a stranger: nothing leaves a site for them.

A refusal changes nothing: after each the honest message is still answered.
"""

from collections.abc import Callable
from functools import partial
from hashlib import sha256

import numpy as np
import pytest

from lexfed.secagg.envelopes.identities import Identity
from lexfed.secagg.envelopes.payloads import pack_by_seat, pack_seats
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from lexfed.secagg.mask_sessions.server_rounds import ServerSession
from lexfed.secagg.mask_sessions.site import SiteSession
from lexfed.secagg.masks.epoch_secrets import add_own, binding
from lexfed.secagg.primitives.ring import Ring
from support.secagg.secure_sums import (
    MODEL,
    SERVER,
    Epoch,
    identity,
    names,
    refused,
    setting,
)

OTHER = sha256(b"another").digest()


class Running:
    """Five sites in a round, one colluder; four shares open a secret."""

    def __init__(self, rounds: int = 3) -> None:
        self.epoch = Epoch(setting(5, rounds=rounds, colluders=1, least=3))
        self.server: ServerSession = self.epoch.set_up()
        self.site: SiteSession = self.epoch.sites["site000"]
        self.agreed = self.epoch.sites["site000"]._cohort.agreed

    def says(
        self,
        kind: EnvelopeKind,
        payload: bytes,
        round_number: int = 1,
        model: bytes = MODEL,
    ) -> bytes:
        """A message of a server that signs whatever it likes."""
        context = self.epoch.agreed.context(round_number, model)
        return seal(kind, context, SERVER, payload)

    def survivors(self, *seats: int) -> bytes:
        return self.says(EnvelopeKind.SURVIVORS, self.agreed + pack_seats(seats))


@pytest.fixture
def running() -> Running:
    return Running()


@pytest.fixture
def consented(running: Running) -> Running:
    running.epoch.masked(running.server, running.epoch.sites)
    running.epoch.consented(running.server, running.epoch.sites)
    return running


@pytest.fixture
def masked(running: Running) -> Running:
    running.epoch.masked(running.server, running.epoch.sites)
    return running


@pytest.mark.parametrize(
    ("seats", "why"),
    [
        ((0, 1, 1, 2, 3), "twice"),
        ((3, 2, 1, 0), "twice, or is not in order"),
        ((0, 1, 2, 7), "not in the key list"),
        ((1, 2, 3, 4), "does not have `site000`"),
        ((0, 1, 2), "too small"),
    ],
)
def test_lists_that_overlap_omit_or_shrink_are_refused(
    masked: Running, seats: tuple[int, ...], why: str
) -> None:
    assert why in refused(lambda: masked.site.consent(masked.survivors(*seats))).message
    assert masked.site.consent(masked.survivors(0, 1, 2, 3))


def test_a_list_outside_of_the_cohort_is_refused() -> None:
    epoch = Epoch(setting(5, colluders=0))
    server = epoch.set_up(silent=["site004"])
    epoch.masked(server, names(4))
    agreed = epoch.sites["site000"]._cohort.agreed
    context = epoch.agreed.context(1, MODEL)
    bad = seal(
        EnvelopeKind.SURVIVORS, context, SERVER, agreed + pack_seats((0, 1, 2, 4))
    )
    site = epoch.sites["site000"]
    assert "outside of the cohort" in refused(lambda: site.consent(bad)).message


def test_a_second_list_is_not_signed(masked: Running) -> None:
    assert masked.site.consent(masked.survivors(0, 1, 2, 3, 4))
    second = masked.survivors(0, 1, 2, 3)
    assert "not its turn" in refused(lambda: masked.site.consent(second)).message


def test_two_lists_for_two_halves_open_nothing(masked: Running) -> None:
    """The both-shares attack: one half is told that the victim dropped out."""
    lists = {
        name: masked.survivors(*((0, 1, 2, 3, 4) if name < "site003" else (1, 2, 3, 4)))
        for name in names(5)[1:]
    }
    consents = []
    for seat, (name, message) in enumerate(lists.items(), start=1):
        consents.append((seat, masked.epoch.sites[name].consent(message)[-64:]))
    said = masked.says(EnvelopeKind.CONSENTS, pack_by_seat(consents))
    for name in lists:
        assert (
            "not signed"
            in refused(partial(masked.epoch.sites[name].unmask, said)).message
        )


def test_a_list_signed_by_fewer_than_t_opens_nothing(consented: Running) -> None:
    rows = [
        (at, consented.epoch.sent["consent", names(5)[at]][-64:]) for at in range(5)
    ]
    few = consented.says(EnvelopeKind.CONSENTS, pack_by_seat(rows[:3]))
    assert "signatures of 4" in refused(lambda: consented.site.unmask(few)).message
    doubled = consented.says(EnvelopeKind.CONSENTS, pack_by_seat([*rows[:3], rows[2]]))
    assert "twice" in refused(lambda: consented.site.unmask(doubled)).message
    wrong = [*rows[:3], (3, rows[4][1])]
    forged = consented.says(EnvelopeKind.CONSENTS, pack_by_seat(wrong))
    assert "not signed" in refused(lambda: consented.site.unmask(forged)).message
    assert consented.site.unmask(
        consented.says(EnvelopeKind.CONSENTS, pack_by_seat(rows))
    )


def test_signers_outside_of_the_list_do_not_count(masked: Running) -> None:
    survivors = masked.survivors(0, 1, 2, 3)
    rows = [
        (at, masked.epoch.sites[names(5)[at]].consent(survivors)[-64:])
        for at in range(4)
    ]
    rows[3] = (4, rows[3][1])
    said = masked.says(EnvelopeKind.CONSENTS, pack_by_seat(rows))
    assert "of them" in refused(lambda: masked.site.unmask(said)).message


def test_shares_of_a_round_are_given_out_once(consented: Running) -> None:
    consents = consented.server.close_consents()
    assert consented.site.unmask(consents)
    assert "not its turn" in refused(lambda: consented.site.unmask(consents)).message


def test_consents_of_an_earlier_round_open_nothing(consented: Running) -> None:
    consents = consented.server.close_consents()
    consented.epoch.masked(consented.server, consented.epoch.sites, 2)
    consented.epoch.consented(consented.server, consented.epoch.sites)
    assert "of round 1" in refused(lambda: consented.site.unmask(consents)).message


@pytest.mark.parametrize("round_number", [0, 1, 4])
def test_rounds_only_go_up(running: Running, round_number: int) -> None:
    values = running.epoch.vector("site000", 1)
    running.site.mask(1, MODEL, values)
    again = refused(lambda: running.site.mask(round_number, MODEL, values))
    assert "comes after" in again.message
    assert running.site.mask(3, MODEL, values)
    assert "comes after" in refused(lambda: running.site.mask(2, MODEL, values)).message


def test_vectors_of_another_length_or_size_are_refused(running: Running) -> None:
    values = running.epoch.vector("site000", 1)
    longer = np.append(values, 0)
    for bad, why in (
        (longer, "1 to 5 values"),
        (values[:0], "1 to 5 values"),
        (values[:, None], "1 to 5 values"),
        (values + 2**31, "does not fit"),
    ):
        assert why in refused(partial(running.site.mask, 1, MODEL, bad)).message
    assert running.site.mask(1, MODEL, values)


def test_another_model_is_refused_by_the_server_and_by_sites(running: Running) -> None:
    running.server.begin(1, MODEL)
    values = running.epoch.vector("site000", 1)
    bent = running.site.mask(1, OTHER, values)
    assert "of model" in refused(lambda: running.server.masked(bent)).message
    said = running.survivors(0, 1, 2, 3, 4)
    assert "of model" in refused(lambda: running.site.consent(said)).message


@pytest.mark.parametrize("model", [MODEL, OTHER])
def test_another_model_gives_garbage_even_if_the_server_adds_it_up(
    model: bytes,
) -> None:
    """A server that knows all own masks is left with the masks of the pairs."""
    epoch = Epoch(setting(3, length=64))
    epoch.set_up()
    agreed = epoch.sites["site000"]._cohort.agreed
    total = Ring(32).zeros(64)
    for name, seen in zip(epoch.sites, (model, MODEL, MODEL), strict=True):
        site = epoch.sites[name]
        bound = binding(epoch.agreed.context(1, seen), agreed)
        seed = site._secrets.seed(1)
        message = site.mask(1, seen, np.zeros(64, dtype=np.int64))
        total += np.frombuffer(message[-64 - 256 : -64], "<u4")
        add_own(total, bound, seed, -1)
    # The chance that a uniform value is 0 is 2^-32.
    assert np.count_nonzero(total) == (0 if model == MODEL else 64)


def test_a_late_vector_is_refused(consented: Running) -> None:
    late = consented.epoch.sent["masked", "site001"]
    assert "too late" in refused(lambda: consented.server.masked(late)).message


def test_a_vector_that_comes_after_its_key_was_opened_is_not_added(
    running: Running,
) -> None:
    alive = names(5)[:4]
    running.epoch.masked(running.server, alive)
    late = running.epoch.sites["site004"].mask(1, MODEL, np.arange(5))
    running.epoch.consented(running.server, alive)
    running.epoch.unmasked(running.server, alive)
    assert "too late" in refused(lambda: running.server.masked(late)).message
    found = running.server.total(10**6)
    np.testing.assert_array_equal(found, running.epoch.true_sum(alive))
    # It is back in the next round, under other secrets.
    everybody = running.epoch.round(running.server, names(5), 2)
    np.testing.assert_array_equal(everybody, running.epoch.true_sum(names(5), 2))


def test_a_site_of_another_version_is_not_understood(masked: Running) -> None:
    message = bytearray(masked.survivors(0, 1, 2, 3, 4))
    message[4] += 1
    assert (
        "of version 2" in refused(lambda: masked.site.consent(bytes(message))).message
    )


def test_oversized_messages_are_refused_on_both_sides(running: Running) -> None:
    """Signed by whom they name, of the right kind and round, and a megabyte long."""
    epoch, server, site = running.epoch, running.server, running.site
    context = epoch.agreed.context(1, MODEL)

    def too_long(
        kind: EnvelopeKind, sender: Identity, take: Callable[[bytes], object]
    ) -> None:
        message = seal(kind, context, sender, bytes(2**20))
        assert "is not expected" in refused(lambda: take(message)).message

    first = identity("site000")
    server.begin(1, MODEL)
    too_long(EnvelopeKind.MASKED, first, server.masked)
    for name in names(5):
        values = epoch.vector(name, 1)
        server.masked(epoch.sites[name].mask(1, MODEL, values))
    survivors = server.close_masked()
    too_long(EnvelopeKind.SURVIVORS, SERVER, site.consent)
    too_long(EnvelopeKind.CONSENT, first, server.consented)
    for each in epoch.sites.values():
        server.consented(each.consent(survivors))
    consents = server.close_consents()
    too_long(EnvelopeKind.CONSENTS, SERVER, site.unmask)
    too_long(EnvelopeKind.UNMASK, first, server.unmasked)
    for each in epoch.sites.values():
        server.unmasked(each.unmask(consents))
    server.reconstruct()
