# SPDX-License-Identifier: Apache-2.0
"""Attacks of a server while an epoch is set up, which sites refuse."""

from functools import partial
from hashlib import sha256

import numpy as np
import pytest

from lexfed.secagg.envelopes.payloads import Deal, pack_seats
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from lexfed.secagg.mask_sessions.site import SiteSession
from support.secagg.disputes import payload_of
from support.secagg.secure_sums import (
    POLICY,
    SERVER,
    Epoch,
    identity,
    names,
    refused,
    setting,
)
from support.secagg.silenced import SHARES, summed_without_the_silenced

OTHER = sha256(b"another").digest()


def _keys(epoch: Epoch, messages: list[bytes]) -> bytes:
    body = b"".join(len(each).to_bytes(4, "big") + each for each in messages)
    payload = len(messages).to_bytes(2, "big") + body
    return seal(EnvelopeKind.KEYS, epoch.agreed.context(), SERVER, payload)


def test_substituted_keys_are_refused() -> None:
    """The server puts a key of its own in the place of a site's."""
    epoch = Epoch(setting(3))
    adverts = [site.advertise() for site in epoch.sites.values()]
    payload = bytearray(adverts[1][-64 - 32 * 5 : -64])
    payload[:32] = OTHER
    forged = seal(
        EnvelopeKind.ADVERTISE,
        epoch.agreed.context(),
        identity("stranger"),
        bytes(payload),
    )
    renamed = forged.replace(b"\x08stranger", b"\x07site001")
    site = epoch.sites["site000"]
    for bad, why in ((forged, "not enrolled"), (renamed, "not signed")):
        said = _keys(epoch, [adverts[0], bad, adverts[2]])
        assert why in refused(partial(site.deal, said)).message


def test_key_lists_that_leave_out_repeat_or_change_keys_are_refused() -> None:
    epoch = Epoch(setting(3))
    a, b, c = (site.advertise() for site in epoch.sites.values())
    site = epoch.sites["site000"]
    old = SiteSession(identity("site000"), epoch.agreed).advertise()
    for messages, why in (
        ([b, c], "does not have `site000`"),
        ([a, b, b], "twice"),
        ([b, a, c], "out of order"),
        ([a], "too small"),
        ([old, b, c], "other keys"),
    ):
        said = _keys(epoch, messages)
        assert why in refused(partial(site.deal, said)).message
    assert site.deal(_keys(epoch, [a, b, c]))


def test_lists_that_are_longer_than_any_honest_one_are_refused() -> None:
    epoch = Epoch(setting(3))
    adverts = [site.advertise() for site in epoch.sites.values()]
    context, site = epoch.agreed.context(), epoch.sites["site000"]
    long = seal(EnvelopeKind.KEYS, context, SERVER, bytes(2000))
    assert "is not expected" in refused(lambda: site.deal(long)).message
    site.deal(_keys(epoch, adverts))
    long = seal(EnvelopeKind.DELIVERY, context, SERVER, bytes(2000))
    assert "is not expected" in refused(lambda: site.accept(long)).message


def test_another_policy_or_terms_are_another_language() -> None:
    epoch, other = Epoch(setting(3)), Epoch(setting(3, policy=OTHER))
    stricter = Epoch(setting(3, colluders=1, least=3))
    adverts = [site.advertise() for site in epoch.sites.values()]
    for foreign in (other, stricter):
        message = foreign.sites["site001"].advertise()
        said = _keys(epoch, [adverts[0], message, adverts[2]])
        site = epoch.sites["site000"]
        assert "of policy" in refused(partial(site.deal, said)).message
    assert POLICY != OTHER


def test_a_cohort_below_the_minimum_is_refused() -> None:
    epoch = Epoch(setting(5, least=4))
    assert "too small" in refused(lambda: epoch.set_up(never=names(5)[:2])).message
    epoch = Epoch(setting(5, least=5))
    server = epoch.set_up()
    epoch.masked(server, names(4))
    assert "too small" in refused(server.close_masked).message


def test_cohorts_that_differ_by_one_are_refused() -> None:
    """Differencing: the sums of two epochs must not differ by one site."""
    first = Epoch(setting(5))
    first.set_up()
    seen = first.sites["site000"].cohort
    assert seen == frozenset(names(5))

    def second(least_change: int, never: tuple[str, ...]) -> None:
        agreed = setting(5, epoch=2, least_change=least_change)
        sites = {
            name: SiteSession(identity(name), agreed, earlier=[seen])
            for name in names(5)
        }
        Epoch(agreed, sites).set_up(never=never)

    assert "too few sites" in refused(lambda: second(2, ("site004",))).message
    second(2, ())
    second(2, ("site003", "site004"))
    second(1, ("site004",))


def test_shares_are_of_no_use_under_another_key_list() -> None:
    """A server that shows two key lists cannot pass shares from one to the other."""
    epoch = Epoch(setting(4))
    adverts = {name: site.advertise() for name, site in epoch.sites.items()}
    all_keys = _keys(epoch, list(adverts.values()))
    few_keys = _keys(epoch, list(adverts.values())[:3])
    dealt = []
    for dealer, keys, circle in ((1, few_keys, range(3)), (2, all_keys, range(4))):
        said = payload_of(epoch.sites[f"site00{dealer}"].deal(keys))
        deal = Deal.read(memoryview(said), dealer, circle, 2)
        dealt.append(deal.parts[0].packed())
    site = epoch.sites["site000"]
    site.deal(all_keys)
    rows = ((1).to_bytes(2, "big"), dealt[0], (2).to_bytes(2, "big"), dealt[1])
    said = seal(EnvelopeKind.DELIVERY, epoch.agreed.context(), SERVER, b"".join(rows))
    complaint = site.accept(said)
    assert complaint[-66:-64] == pack_seats((1,))


def test_inquiries_open_no_sum_of_fewer_sites_than_agreed() -> None:
    """Sites that a server silenced count among survivors only if their masks stay."""
    found = refused(lambda: summed_without_the_silenced(SHARES))
    assert "so many shares" in found.message


def test_what_an_inquiry_may_ask_for_leaves_the_masks_of_a_silenced_site_on() -> None:
    found, true = summed_without_the_silenced(SHARES - 1)
    assert not np.any(found == true)  # each of 5 by chance: 2^-32


@pytest.mark.parametrize(("count", "colluders"), [(3, 0), (3, 1), (5, 3), (70, 2)])
def test_parts_that_are_shown_and_shares_of_colluders_open_nothing(
    count: int, colluders: int
) -> None:
    epoch = Epoch(setting(count, colluders=colluders, least=count))
    epoch.set_up()
    listed = epoch.established.cohort.listed
    most, near = listed.most_shown, [s for s in listed.circles[0] if s]
    assert 1 <= most == listed.threshold.shares - 1 - listed.threshold.colluders
    context, site = epoch.agreed.context(), epoch.sites["site000"]
    for asked, answered in ((most + 1, False), (most, True)):
        said = seal(EnvelopeKind.INQUIRY, context, SERVER, pack_seats(near[:asked]))
        if answered:
            assert len(payload_of(site.prove(said))) == 32 * most
        elif asked <= len(near):
            refused(partial(site.prove, said))
