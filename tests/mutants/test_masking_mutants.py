# SPDX-License-Identifier: Apache-2.0
"""Ways to get the protocol of secure aggregation wrong, each noticed by a check."""

from dataclasses import replace
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.identities import Roster
from lexfed.secagg.envelopes.key_agreement import Context
from lexfed.secagg.envelopes.payloads import SealedPart, pack_by_seat, pack_seats
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from lexfed.secagg.mask_sessions import server_rounds, server_setup, site
from lexfed.secagg.mask_sessions.server_rounds import RoundOpening
from lexfed.secagg.mask_sessions.server_setup import ServerSetup
from lexfed.secagg.mask_sessions.site import SiteSession
from lexfed.secagg.masks import cohort, epoch_secrets
from lexfed.secagg.masks.epoch_secrets import (
    OWN,
    PAIR,
    EpochSecrets,
    add_own,
    add_pairs,
    binding,
)
from lexfed.secagg.primitives.ring import Ring, RingWords
from support.mutant import Mutant, Patch, both_tests
from support.secagg.disputes import OTHER_KEY, bad_part, complaint, said_instead
from support.secagg.secure_sums import (
    MODEL,
    SERVER,
    Epoch,
    identity,
    names,
    refused,
    setting,
)
from support.secagg.silenced import SHARES, summed_without_the_silenced


def _agreed(epoch: Epoch) -> bytes:
    return epoch.sites["site000"]._cohort.agreed


def _says(epoch: Epoch, kind: EnvelopeKind, payload: bytes) -> bytes:
    return seal(kind, epoch.agreed.context(1, MODEL), SERVER, payload)


def _list(epoch: Epoch, *seats: int) -> bytes:
    return _says(epoch, EnvelopeKind.SURVIVORS, _agreed(epoch) + pack_seats(seats))


def _masked() -> Epoch:
    epoch = Epoch(setting(5))
    epoch.masked(epoch.set_up(), epoch.sites)
    return epoch


def one_list_is_signed() -> None:
    epoch = _masked()
    victim = epoch.sites["site000"]
    victim.consent(_list(epoch, 0, 1, 2, 3, 4))
    refused(lambda: victim.consent(_list(epoch, 0, 1, 2, 3)))


def small_lists_are_refused() -> None:
    epoch = _masked()
    refused(lambda: epoch.sites["site000"].consent(_list(epoch, 0, 1)))


def forged_consents_open_nothing() -> None:
    epoch = _masked()
    epoch.sites["site000"].consent(_list(epoch, 0, 1, 2))
    forged = pack_by_seat([(at, bytes(64)) for at in range(3)])
    said = _says(epoch, EnvelopeKind.CONSENTS, forged)
    refused(lambda: epoch.sites["site000"].unmask(said))


def a_late_vector_stays_masked() -> None:
    """Its mask key was opened, as of a site that dropped out."""
    epoch = Epoch(setting(3))
    epoch.set_up()
    late = epoch.sites["site000"]
    key = late._secrets.mask_key(1)
    message = late.mask(1, MODEL, np.zeros(5, dtype=np.int64))
    total = np.frombuffer(message[-64 - 20 : -64], "<u4").astype(np.uint32)
    bound = binding(epoch.agreed.context(1, MODEL), _agreed(epoch))
    peers = [
        (name, epoch.sites[name]._keys.masks[0]) for name in ("site001", "site002")
    ]
    add_pairs(total, bound, "site000", key, peers, -1)
    assert total.any()


def _left_of_two(model: bytes, delivered: int) -> RingWords:
    """Add up two sites without vectors, own masks and those with the third taken off.

    Args:
        model: what the first site is shown.
        delivered: from how many others it is told that shares came.
    """
    epoch = Epoch(setting(3))
    server = ServerSetup(SERVER, epoch.agreed)
    for each in epoch.sites.values():
        server.advertised(each.advertise())
    keys = server.close_keys()
    for each in epoch.sites.values():
        server.dealt(each.deal(keys))
    row_size = 2 + SealedPart.length(2)
    total = Ring(32).zeros(5)
    for name, delivery in server.close_deals().items():
        each, first = epoch.sites[name], name == "site000"
        rows = delivery[-64 - 2 * row_size : -64][
            : row_size * (delivered if first else 2)
        ]
        said = seal(EnvelopeKind.DELIVERY, epoch.agreed.context(), SERVER, rows)
        each.accept(said)
        agreed = each._cohort.agreed
        seen = epoch.agreed.context(1, model if first else MODEL)
        bound = vars(site)["binding"](seen, agreed)
        seed, key = each._secrets.seed(1), each._secrets.mask_key(1)
        if name == "site002":
            peers = [
                (other, epoch.sites[other]._keys.masks[0])
                for other in names(2)
                if delivered == 2 or other == "site001"
            ]
            add_pairs(total, bound, name, key, peers, 1)
        else:
            zeros = np.zeros(5, dtype=np.int64)
            message = each.mask(1, seen.model, zeros)
            total += np.frombuffer(message[-64 - 20 : -64], "<u4")
            add_own(total, bound, seed, -1)
    return total


def the_same_view_cancels_and_others_do_not() -> None:
    assert not _left_of_two(MODEL, 2).any()
    assert _left_of_two(bytes(32), 2).any()
    assert _left_of_two(MODEL, 1).any()


def secrets_are_forgotten() -> None:
    victim = _masked().sites["site000"]
    assert not victim._secrets._drawn[:2].any()


def every_round_has_its_own_secrets() -> None:
    epoch = Epoch(setting(3))
    keys = epoch.sites["site000"]._secrets
    assert keys.seed(1) != keys.seed(2)
    assert keys.public().masks[0] != keys.public().masks[1]
    rows = {epoch_secrets.row(at, which) for at in (1, 2) for which in (OWN, PAIR)}
    assert len(rows) == 4


def neighbouring_cohorts_are_refused() -> None:
    agreed = setting(5, epoch=2)
    earlier = [frozenset(names(5))]
    sites = {name: SiteSession(identity(name), agreed, earlier) for name in names(5)}
    refused(lambda: Epoch(agreed, sites).set_up(never=["site004"]))


def wrong_secrets_are_noticed() -> None:
    """A dealer publishes marks of other secrets than it deals."""
    epoch = Epoch(setting(5))
    site000 = epoch.sites["site000"]
    drawn = site000._secrets._drawn
    drawn += 1
    said = site000.advertise()
    drawn -= 1
    vars(site000)["advertise"] = lambda: said
    server = epoch.set_up()
    epoch.masked(server, epoch.sites)
    epoch.consented(server, epoch.sites)
    assert refused(lambda: epoch.unmasked(server, epoch.sites)).blamed == ("site000",)


def wrong_shares_are_blamed_on_who_gives_them() -> None:
    epoch = Epoch(setting(5))
    server = epoch.set_up()
    epoch.masked(server, epoch.sites)
    epoch.consented(server, epoch.sites)
    said = epoch.sites["site000"].unmask(server.close_consents())
    payload = bytearray(said[-64 - 160 : -64])
    payload[32] ^= 1
    context = epoch.agreed.context(1, MODEL)
    wrong = seal(EnvelopeKind.UNMASK, context, identity("site000"), bytes(payload))
    assert refused(lambda: server.unmasked(wrong)).blamed == ("site000",)


def _blamed(fault: str, shown: bytes | None = None) -> tuple[str, ...]:
    """Let site000 complain of what site001 dealt it; return who is blamed.

    Args:
        fault: of the part; without one the complaint is a lie.
        shown: the private key that site001 shows; the one it drew if it is not given.
    """
    epoch = Epoch(setting(5))
    server = ServerSetup(SERVER, epoch.agreed)
    for each in epoch.sites.values():
        server.advertised(each.advertise())
    keys = server.close_keys()
    for name, each in epoch.sites.items():
        said = each.deal(keys)
        bent = fault and name == "site001"
        server.dealt(bad_part(each, said, 0, fault) if bent else said)
    for name, delivery in server.close_deals().items():
        each = epoch.sites[name]
        said = each.accept(delivery)
        server.ready(complaint(each, said, (1,)) if name == "site000" else said)
    dealer = epoch.sites["site001"]
    for inquiry in server.inquiries().values():
        said = dealer.prove(inquiry)
        server.proven(
            said
            if shown is None
            else said_instead(dealer, EnvelopeKind.EVIDENCE, shown)
        )
    return refused(server.established).blamed


def a_complaint_shows_which_of_the_two_lies() -> None:
    assert _blamed("noise") == ("site001",)
    assert _blamed("") == ("site000",)


def another_key_does_not_clear_a_dealer() -> None:
    """It signs one key, encrypts under another, and shows the other."""
    assert _blamed("another key", OTHER_KEY) == ("site001",)


def who_shows_what_it_dealt_masks_nothing_with_it() -> None:
    epoch = Epoch(setting(5))
    epoch.set_up()
    site000 = epoch.sites["site000"]
    context = epoch.agreed.context()
    site000.prove(seal(EnvelopeKind.INQUIRY, context, SERVER, pack_seats((1, 2))))
    refused(lambda: site000.mask(1, MODEL, epoch.vector("site000", 1)))


def silenced_sites_stay_in_the_way_of_a_smaller_sum() -> None:
    try:
        found, true = summed_without_the_silenced(SHARES)
    except SecAggError:
        return
    assert not np.array_equal(found, true)


def what_was_dealt_is_not_shown_after_a_round_has_begun() -> None:
    epoch = _masked()
    said = _says(epoch, EnvelopeKind.INQUIRY, pack_seats((1,)))
    refused(lambda: epoch.sites["site000"].prove(said))


def _nothing(*_: Any) -> None:
    """Do nothing, whatever is asked."""


def _own_mask_left_out(patch: Patch) -> None:
    patch.setattr(site, "add_own", _nothing)


def _binding_without_the_model(patch: Patch) -> None:
    def broken(context: Context, agreed: bytes) -> bytes:
        return binding(replace(context, model=bytes(32)), agreed)

    patch.setattr(site, "binding", broken)


def _binding_without_the_cohort(patch: Patch) -> None:
    def broken(context: Context, _: bytes) -> bytes:
        return binding(context, bytes(32))

    patch.setattr(site, "binding", broken)


def _one_row_for_all_rounds(_: int, which: int) -> int:
    return which


def _always_right(*_: Any) -> bool:
    return True


class _AnyHash:
    """Agrees with every commitment: equal to whatever it is compared with."""

    def __call__(self, *_: Any) -> "_AnyHash":
        return self

    def __ne__(self, _: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]


def _any_key_opens_a_part(patch: Patch) -> None:
    def broken(
        listed: bytes, pair: tuple[str, str], key: bytes, peer: bytes, part: SealedPart
    ) -> bool:
        private = X25519PrivateKey.from_private_bytes(key)
        public = private.public_key().public_bytes_raw()
        return epoch_secrets.is_good(listed, pair, key, peer, replace(part, key=public))

    patch.setattr(server_setup, "is_good", broken)


def _stage_stays_ready(patch: Patch) -> None:
    prove = SiteSession.prove

    def broken(self: SiteSession, message: bytes) -> bytes:
        said = prove(self, message)
        self._stage = site.SitePhase.READY
        return said

    patch.setattr(SiteSession, "prove", broken)


MUTANTS = (
    Mutant(
        "a site answers as often as it is asked",
        lambda patch: patch.setattr(SiteSession, "_expect", _nothing),
        one_list_is_signed,
    ),
    Mutant(
        "sums may have any number of sites",
        lambda patch: patch.setattr(cohort, "check_size", _nothing),
        small_lists_are_refused,
    ),
    Mutant(
        "signatures are not looked at",
        lambda patch: patch.setattr(Roster, "verify", _nothing),
        forged_consents_open_nothing,
    ),
    Mutant("no own mask", _own_mask_left_out, a_late_vector_stays_masked),
    Mutant(
        "masks do not depend on the model",
        _binding_without_the_model,
        the_same_view_cancels_and_others_do_not,
    ),
    Mutant(
        "masks do not depend on the cohort",
        _binding_without_the_cohort,
        the_same_view_cancels_and_others_do_not,
    ),
    Mutant(
        "secrets of rounds that are over are kept",
        lambda patch: patch.setattr(EpochSecrets, "erase", _nothing),
        secrets_are_forgotten,
    ),
    Mutant(
        "one secret for all rounds",
        lambda patch: patch.setattr(epoch_secrets, "row", _one_row_for_all_rounds),
        every_round_has_its_own_secrets,
    ),
    Mutant(
        "cohorts may differ by one",
        lambda patch: patch.setattr(site, "check_change", _nothing),
        neighbouring_cohorts_are_refused,
    ),
    Mutant(
        "opened secrets are not checked",
        lambda patch: patch.setattr(RoundOpening, "_is_right", _always_right),
        wrong_secrets_are_noticed,
    ),
    Mutant(
        "shares are not compared with commitments",
        lambda patch: patch.setattr(server_rounds, "commitment", _AnyHash()),
        wrong_shares_are_blamed_on_who_gives_them,
    ),
    Mutant(
        "dealers are believed",
        lambda patch: patch.setattr(server_setup, "is_good", _always_right),
        a_complaint_shows_which_of_the_two_lies,
    ),
    Mutant(
        "holders are believed",
        lambda patch: patch.setattr(server_setup, "is_good", lambda *_: False),
        a_complaint_shows_which_of_the_two_lies,
    ),
    Mutant(
        "the key of a part is not compared with the one that was signed",
        _any_key_opens_a_part,
        another_key_does_not_clear_a_dealer,
    ),
    Mutant(
        "a site goes on with secrets of which it showed shares",
        _stage_stays_ready,
        who_shows_what_it_dealt_masks_nothing_with_it,
    ),
    Mutant(
        "as many shares are shown as are asked for",
        lambda patch: patch.setattr(cohort.KeyList, "most_shown", 2**16),
        silenced_sites_stay_in_the_way_of_a_smaller_sum,
    ),
    Mutant(
        "shares are shown while vectors are under their masks",
        lambda patch: patch.setattr(SiteSession, "_expect", _nothing),
        what_was_dealt_is_not_shown_after_a_round_has_begun,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
