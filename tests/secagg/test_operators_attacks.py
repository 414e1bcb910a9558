# SPDX-License-Identifier: Apache-2.0
"""Refusals of aggregators and sites, by name; broken messages crash nothing."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from hashlib import sha256

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lexfed.secagg.envelopes.identities import Identity
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from lexfed.secagg.primitives.ring import Ring
from lexfed.secagg.shares.aggregator import AggregatorSession, open_sum, propose_list
from lexfed.secagg.shares.schemes import (
    AdditiveSharing,
    PolynomialSharing,
    SharingScheme,
)
from lexfed.secagg.shares.site import (
    NONCE,
    OperatorSetting,
    OperatorTerms,
    SharingSite,
    channel,
)
from support.secagg.operator_sums import Round, additive, agreed, operators, polynomial
from support.secagg.secure_sums import MODEL, identity, names, refused, vector

OTHER = sha256(b"other").digest()
FIRST = "operator0"
BOTH = pytest.mark.parametrize("scheme", [additive(), polynomial()])


def forged(round_: Round, operator: str, share: bytes, site: str = "site000") -> bytes:
    """Return a message of an enrolled site that does not keep to the scheme."""
    setting = round_.setting
    context = setting.context(round_.number, round_.model)
    private = X25519PrivateKey.generate()
    peer = round_.sessions[operator]._channel.public_key().public_bytes_raw()
    sealed = channel(private, peer, context, site, operator).encrypt(NONCE, share, None)
    seat = bytes((setting.operators.point(operator) - 1,))
    payload = private.public_key().public_bytes_raw() + seat + sealed
    return seal(EnvelopeKind.DEALT, context, identity(site), payload)


@BOTH
def test_aggregators_that_are_shown_different_lists_add_nothing(
    scheme: SharingScheme,
) -> None:
    round_ = Round(agreed(scheme))
    round_.take()
    held = {name: each.held() for name, each in round_.sessions.items()}
    longer = propose_list(round_.setting, 1, MODEL, held.values())
    shorter = longer[: 3 * 34]
    signed = {
        name: each.sign(shorter if name == FIRST else longer)
        for name, each in round_.sessions.items()
    }
    for each in round_.sessions.values():
        error = refused(partial(each.add, list(signed.values())))
        assert "signed different lists" in error.message
    if scheme.needed < scheme.operators:
        others = [signed[name] for name in operators(5) if name != FIRST]
        error = refused(lambda: round_.sessions[FIRST].add(others))
        assert "another list was signed here" in error.message


def test_liars_cannot_get_two_lists_added() -> None:
    # Two of five lie: they sign both lists. Honest ones are shown one each.
    round_ = Round(agreed(polynomial(), liars=2))
    round_.take()
    held = [each.held() for each in round_.sessions.values()]
    longer = propose_list(round_.setting, 1, MODEL, held)
    shorter = longer[: 3 * 34]
    context = round_.setting.context(1, MODEL)
    lies = {
        listed: [
            seal(EnvelopeKind.LISTED, context, identity(name), listed)
            for name in operators(5)[:2]
        ]
        for listed in (longer, shorter)
    }
    honest = {
        name: (longer if name != "operator4" else shorter) for name in operators(5)[2:]
    }
    for name, listed in honest.items():
        lies[listed].append(round_.sessions[name].sign(listed))
    assert round_.sessions["operator2"].add(lies[longer])
    error = refused(lambda: round_.sessions["operator4"].add(lies[shorter]))
    assert "3 aggregators signed the list, 4 must" in error.message


def test_a_sum_over_another_list_is_refused() -> None:
    round_ = Round(agreed(additive()))
    round_.take()
    signed = round_.sign()
    sums = round_.add(signed)
    wrong = seal(
        EnvelopeKind.PARTIAL_SUM,
        round_.setting.context(1, MODEL),
        identity(FIRST),
        OTHER + bytes(round_.setting.terms.scheme.sum_bytes),
    )
    error = refused(lambda: round_.open(signed, [wrong, *sums[1:]]))
    assert f"`{FIRST}` added a different list" in error.message
    error = refused(lambda: round_.open(signed, [sums[0], *sums]))
    assert "sent two sums" in error.message
    error = refused(lambda: round_.open(signed, sums[:2]))
    assert "2 partial sums of 3" in error.message
    error = refused(lambda: round_.open(signed[:2], sums))
    assert "2 aggregators signed the list, 3 must" in error.message


@BOTH
def test_replays_and_late_messages_are_refused(scheme: SharingScheme) -> None:
    round_ = Round(agreed(scheme))
    session = round_.sessions[FIRST]
    mine = {site: sent[FIRST] for site, sent in round_.sent.items()}
    session.take(mine["site000"])
    error = refused(lambda: session.take(mine["site000"]))
    assert "dealt already" in error.message
    round_.take(names(3)[1:], [FIRST])
    round_.take(names(3), operators(scheme.operators)[1:])
    signed = round_.sign()
    late = refused(lambda: session.take(mine["site003"]))
    assert "too late" in late.message
    assert "signed already" in refused(lambda: session.sign(b"")).message
    session.add(signed)
    assert "no signed list" in refused(lambda: session.add(signed)).message
    assert not session._shares
    following = round_.next()
    error = refused(lambda: session.take(mine["site003"]))
    assert "is of round 1" in error.message
    assert "is over" in refused(lambda: session.start(2, MODEL)).message
    values = vector("site000", 2, 5)
    again = refused(lambda: following.sites["site000"].deal(2, MODEL, values))
    assert "is over" in again.message
    following.take()
    error = refused(lambda: following.open(signed, []))
    assert "is of round 1" in error.message


def test_two_deals_of_one_site_are_never_mixed() -> None:
    # A site that was restarted deals twice; aggregators hold different deals of it.
    round_ = Round(agreed(additive()))
    round_.take(names(3))
    keys = [each.announce() for each in round_.sessions.values()]
    again = SharingSite(identity("site003"), round_.setting, keys)
    second = again.deal(1, MODEL, vector("site003", 1, 5))
    for operator, session in round_.sessions.items():
        sent = second if operator == FIRST else round_.sent["site003"]
        session.take(sent[operator])
    whole = round_.sessions[FIRST].held()
    listed = propose_list(round_.setting, 1, MODEL, [whole])
    error = refused(lambda: round_.sessions["operator1"].sign(listed))
    assert "no share of that deal of `site003`" in error.message
    signed = round_.sign()
    summed = round_.open(signed, round_.add(signed))
    assert summed.values.tolist() == round_.true_sum(names(3))


@BOTH
def test_other_hashes_are_refused(scheme: SharingScheme) -> None:
    round_ = Round(agreed(scheme))
    session = round_.sessions[FIRST]
    keys = [each.announce() for each in round_.sessions.values()]
    values = vector("site000", 1, 5)
    site = SharingSite(identity("site000"), round_.setting, keys)
    error = refused(lambda: session.take(site.deal(1, OTHER, values)[FIRST]))
    assert "is of model" in error.message
    for changed, what in (
        (agreed(scheme, policy=OTHER), "policy"),
        (agreed(scheme, session=OTHER), "session"),
        (agreed(scheme, sites=5), "roster"),
        (agreed(scheme, least=3), "policy"),
    ):
        error = refused(partial(SharingSite, identity("site000"), changed, keys))
        assert f"is of {what}" in error.message
        message = Round(changed).sent["site000"][FIRST]
        assert f"is of {what}" in refused(partial(session.take, message)).message


def test_a_share_that_is_signed_again_for_another_model_does_not_decrypt() -> None:
    # The key of a share is bound to the model: a new signature does not move it.
    round_ = Round(agreed(additive()))
    session = round_.sessions[FIRST]
    payload = round_.sent["site000"][FIRST][-64 - 81 : -64]
    session.start(2, OTHER)
    context = round_.setting.context(2, OTHER)
    resealed = seal(EnvelopeKind.DEALT, context, identity("site000"), payload)
    error = refused(lambda: session.take(resealed))
    assert "cannot be decrypted" in error.message


def test_keys_of_aggregators_are_checked() -> None:
    setting = agreed(additive())
    sessions = [AggregatorSession(identity(name), setting) for name in operators(3)]
    keys = [each.announce() for each in sessions]
    build = partial(SharingSite, identity("site000"), setting)
    assert "announced two keys" in refused(lambda: build([*keys, keys[0]])).message
    assert "2 aggregators announced" in refused(lambda: build(keys[:2])).message
    stranger = Identity.generate(FIRST)
    substituted = seal(EnvelopeKind.OPERATOR_KEY, setting.context(), stranger, OTHER)
    assert "not signed" in refused(lambda: build([substituted])).message
    for error in (
        refused(lambda: AggregatorSession(stranger, setting)),
        refused(lambda: SharingSite(Identity.generate("site000"), setting, keys)),
    ):
        assert "enrolled with another key" in error.message
    few = agreed(polynomial())
    alive = [AggregatorSession(identity(name), few) for name in operators(3)]
    site = SharingSite(identity("site000"), few, [each.announce() for each in alive])
    assert set(site.deal(1, MODEL, vector("site000", 1, 5))) == set(operators(3))


def test_lists_are_exact_and_long_enough() -> None:
    round_ = Round(agreed(additive(), least=3))
    round_.take()
    session = round_.sessions[FIRST]
    listed = propose_list(round_.setting, 1, MODEL, [session.held()])
    rows = [listed[at : at + 34] for at in range(0, len(listed), 34)]
    stranger = (4).to_bytes(2, "big") + rows[0][2:]
    for bad, what in (
        (rows[0] + rows[0] + rows[1], "twice"),
        (rows[1] + rows[0] + rows[2], "out of order"),
        (rows[0] + rows[1] + stranger, "a stranger"),
        (rows[0] + rows[1], "too small"),
        (b"", "too small"),
        (listed[:-1], "not expected"),
        (listed + rows[0], "not expected"),
        (rows[0][:2] + OTHER + rows[1] + rows[2], "no share of that deal"),
    ):
        assert what in refused(partial(session.sign, bad)).message
    assert propose_list(round_.setting, 1, MODEL, []) == b""
    lone = round_.next()
    lone.take(names(2))
    held = [each.held() for each in lone.sessions.values()]
    short = propose_list(lone.setting, 2, MODEL, held)
    assert "too small" in refused(lambda: lone.sessions[FIRST].sign(short)).message
    # Nor does whoever opens take a short list, though all aggregators signed it.
    context = lone.setting.context(2, MODEL)
    signed = [
        seal(EnvelopeKind.LISTED, context, identity(name), short)
        for name in operators(3)
    ]
    error = refused(lambda: open_sum(lone.setting, 2, MODEL, signed, []))
    assert "too small" in error.message


def test_shares_for_others_and_bad_shares_are_refused() -> None:
    round_ = Round(agreed(polynomial()))
    session = round_.sessions[FIRST]
    swapped = round_.sent["site000"]["operator1"]
    assert "for another aggregator" in refused(lambda: session.take(swapped)).message
    outside = forged(round_, FIRST, b"\xff" * 40)
    assert "not in the field" in refused(lambda: session.take(outside)).message
    seeds = Round(agreed(additive(2)))
    mixed = forged(seeds, FIRST, bytes(20))
    error = refused(lambda: seeds.sessions[FIRST].take(mixed))
    assert "for another aggregator" in error.message


def test_shares_that_do_not_belong_together_are_noticed() -> None:
    round_ = Round(agreed(polynomial()))
    del round_.sent["site000"]["operator4"]
    for operator, message in round_.sent["site000"].items():
        round_.sessions[operator].take(message)
    round_.take(names(4)[1:])
    signed = round_.sign(operators(4))
    sums = round_.add(signed, operators(4))
    bad = seal(
        EnvelopeKind.PARTIAL_SUM,
        round_.setting.context(1, MODEL),
        identity("operator3"),
        sums[3][-64 - 72 : -64 - 40] + bytes(40),
    )
    error = refused(lambda: round_.open(signed, [*sums[:3], bad]))
    assert "contradict each other" in error.message
    assert round_.open(signed, sums).values.tolist() == round_.true_sum(names(4))


@pytest.mark.parametrize("scheme", [additive(bits=16), polynomial()])
def test_values_that_do_not_fit_are_refused(scheme: SharingScheme) -> None:
    round_ = Round(agreed(scheme))
    deal = partial(round_.sites["site000"].deal, 2, MODEL)
    big = np.full(5, scheme.largest + 1, dtype=np.int64)
    for values in (big, -big):
        assert "does not fit" in refused(partial(deal, values)).message
    for shape in (np.zeros(4, dtype=np.int64), np.zeros(5, dtype=np.int32)):
        assert "a vector of 5" in refused(partial(deal, shape)).message
    # A round that was refused was not dealt.
    assert deal(np.zeros(5, dtype=np.int64))


@BOTH
def test_a_sum_beyond_its_bound_is_refused(scheme: SharingScheme) -> None:
    setting = agreed(scheme)
    tight = replace(setting, terms=replace(setting.terms, bound=1))
    round_ = Round(tight)
    round_.take()
    signed = round_.sign()
    sums = round_.add(signed)
    assert "left its bound" in refused(lambda: round_.open(signed, sums)).message


def test_terms_that_protect_nobody_are_refused() -> None:
    scheme = polynomial()
    for build, what in (
        (lambda: AdditiveSharing(1, Ring(32), 5), "operators"),
        (lambda: AdditiveSharing(3, Ring(32), 0), "length"),
        (lambda: PolynomialSharing(8, 3, 5), "operators"),
        (lambda: PolynomialSharing(5, 1, 5), "needed"),
        (lambda: PolynomialSharing(5, 6, 5), "needed"),
        (lambda: PolynomialSharing(5, 3, 0), "length"),
        (lambda: PolynomialSharing(5, 3, 2**27 + 1), "length"),
        (lambda: OperatorTerms(scheme, 1, 9), "least_sites"),
        (lambda: OperatorTerms(scheme, 2, 2**60), "bound"),
        (lambda: OperatorTerms(scheme, 2, 9, 3), "liars"),
        (lambda: replace(agreed(scheme), terms=agreed(additive()).terms), "as many"),
    ):
        with pytest.raises(ValueError, match=what):
            build()


def mutations(message: bytes, count: int, rng: np.random.Generator) -> list[bytes]:
    found = []
    for at in range(count):
        changed = bytearray(message)
        place = int(rng.integers(len(message)))
        if at % 4 == 0:
            changed[place] ^= 1 << int(rng.integers(8))
        elif at % 4 == 1:
            del changed[place:]
        elif at % 4 == 2:
            changed[place:place] = rng.bytes(int(rng.integers(1, 99)))
        else:
            size = int(rng.integers(1, 40))
            changed[place : place + size] = bytes(len(changed[place : place + size]))
        found.append(bytes(changed))
    return [each for each in found if each != message] + [b"", message + bytes(10**6)]


def all_refused(
    take: Callable[[bytes], object], message: bytes, rng: np.random.Generator
) -> int:
    """Try mutations of a message and return how many there were."""
    tried = mutations(message, 1050, rng)
    for each in tried:
        refused(partial(take, each))
    return len(tried)


@BOTH
def test_broken_messages_are_refused_and_change_nothing(scheme: SharingScheme) -> None:
    rng = np.random.default_rng(7)
    round_ = Round(agreed(scheme))
    setting = round_.setting
    keys = [each.announce() for each in round_.sessions.values()]
    session = round_.sessions[FIRST]
    build = partial(SharingSite, identity("site000"), setting)
    count = all_refused(lambda m: build([m, *keys[1:]]), keys[0], rng)
    count += all_refused(session.take, round_.sent["site000"][FIRST], rng)
    round_.take()
    held = session.held()
    count += all_refused(lambda m: propose_list(setting, 1, MODEL, [m]), held, rng)
    listed = propose_list(setting, 1, MODEL, [held])
    others = [each for name, each in round_.sessions.items() if name != FIRST]
    signed = [each.sign(listed) for each in others]
    before = dict(session._shares)
    signed.append(session.sign(listed))
    count += all_refused(lambda m: session.add([m, *signed[1:]]), signed[0], rng)
    assert session._shares == before
    sums = round_.add(signed)
    count += all_refused(lambda m: round_.open(signed, [m]), sums[0], rng)
    assert count >= 5000
    assert round_.open(signed, sums).values.tolist() == round_.true_sum(names(4))


def test_a_fuzzed_list_is_refused_or_signed_only_as_it_is() -> None:
    rng = np.random.default_rng(8)
    setting: OperatorSetting = agreed(additive())
    round_ = Round(setting)
    round_.take()
    session = round_.sessions[FIRST]
    listed = propose_list(setting, 1, MODEL, [session.held()])
    whole = {2: listed[:68], 3: listed[:102]}
    for each in mutations(listed, 500, rng):
        if each not in whole.values():
            refused(partial(session.sign, each))
    assert session.sign(listed)
