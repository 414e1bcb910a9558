# SPDX-License-Identifier: Apache-2.0
"""Sites that cheat are found out and left out; broken messages leak nothing."""

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from lexfed.errors import SecAggError
from lexfed.federation.engines.channel import Handler
from lexfed.federation.engines.clear_sums import RoundLost
from lexfed.federation.engines.masked_setting import (
    EpochRequest,
    MaskedAnswer,
    MaskedQuery,
    read_answer,
    read_request,
    refusal_in,
    seat_identity,
    seat_name,
    sender_of,
)
from lexfed.federation.engines.masked_site import MaskedSite
from lexfed.federation.programme.integer_sums import longest_sum, stays_within
from lexfed.federation.programme.messages import Refusal, Reply, answer_to_bytes
from lexfed.secagg.envelopes.sealed_messages import SIGNATURE, EnvelopeKind, seal
from lexfed.secagg.masks.epoch_secrets import EpochSecrets
from lexfed.secagg.masks.thresholds import Threshold
from lexfed.secagg.primitives.shamir import PRIME, Elements
from support.federation.masked_worlds import (
    Federation,
    ask,
    charged,
    federation,
    masked_world,
    signer,
    step_of,
)
from support.federation.worlds import World
from support.secagg.disputes import bad_part, complaint

SITES = ("site0", "site1", "site2", "site3", "site4")
CHEAT = "site1"
MESSAGES = 3000


@pytest.fixture(scope="module")
def of() -> World:
    return masked_world(sizes=(20, 15, 21, 12, 14), dropouts=2)


def cheating(of: World, cheat: Callable[[MaskedSite], Handler]) -> Federation:
    return federation(of, swapped={CHEAT: cheat})


def resealed(site: MaskedSite, kind: EnvelopeKind, answer: bytes, at: int) -> bytes:
    """Return an answer with one byte of its payload changed, signed anew."""
    session = site._session
    assert session is not None
    payload = bytearray(answer[150 + 1 + 32 + 4 : -SIGNATURE])
    payload[at] ^= 1
    return seal(kind, session._round, seat_identity(signer(2)), bytes(payload))


def false_shares(site: MaskedSite) -> Handler:
    """Give out shares that nobody dealt."""

    def handle(message: bytes) -> bytes:
        answer = site.handle(message)
        if step_of(message) == "consents":
            return resealed(site, EnvelopeKind.UNMASK, answer, 2)
        return answer

    return handle


def bad_dealer(site: MaskedSite) -> Handler:
    """Deal parts whose inner signature is wrong."""

    def handle(message: bytes) -> bytes:
        answer = site.handle(message)
        if step_of(message) == "keys":
            return resealed(site, EnvelopeKind.DEAL, answer, -1)
        return answer

    return handle


def another_list(site: MaskedSite) -> Handler:
    """Sign a list that nobody sent."""

    def handle(message: bytes) -> bytes:
        answer = site.handle(message)
        if step_of(message) == "survivors":
            return resealed(site, EnvelopeKind.CONSENT, answer, 0)
        return answer

    return handle


def test_false_shares_are_found_and_the_sum_is_opened_without_them(of: World) -> None:
    fed = cheating(of, false_shares)
    asked, reply = ask(fed)
    assert reply.of == SITES  # its vector was honest, and is in the sum
    assert fed.engine.blamed == {CHEAT}
    fed.coordinator.receive(asked.query, [reply])
    _, after = ask(fed)
    assert after.record.epoch == 2
    assert after.of == tuple(name for name in SITES if name != CHEAT)


def test_a_bad_dealer_is_left_out_of_the_next_set_up(of: World) -> None:
    fed = cheating(of, bad_dealer)
    _, reply = ask(fed)
    assert fed.engine.blamed == {CHEAT}
    assert reply.record.epoch == 2
    assert CHEAT not in reply.of


def test_whoever_signs_another_list_is_left_out_and_the_sum_is_opened(
    of: World,
) -> None:
    fed = cheating(of, another_list)
    asked, reply = ask(fed)
    assert reply.of == SITES
    assert fed.excluded == {
        CHEAT: f"`{seat_name(signer(2).public)}` signed another list"
    }
    fed.coordinator.receive(asked.query, [reply])
    _, after = ask(fed)
    assert CHEAT not in after.of


def complains_of_everybody(site: MaskedSite) -> Handler:
    """Say that nobody's shares can be used."""

    def handle(message: bytes) -> bytes:
        answer, session = site.handle(message), site._session
        if step_of(message) == "delivery" and session is not None:
            others = set(range(len(SITES))) - {session._seat}
            return complaint(session, answer, tuple(sorted(others)))
        return answer

    return handle


def test_a_false_complaint_costs_who_makes_it_its_place(of: World) -> None:
    fed = cheating(of, complains_of_everybody)
    _, reply = ask(fed)
    assert fed.excluded.keys() == {CHEAT}
    assert reply.record.epoch == 2
    assert reply.of == tuple(name for name in SITES if name != CHEAT)


def test_who_shows_what_it_dealt_is_not_charged_for_a_query(of: World) -> None:
    fed = cheating(of, complains_of_everybody)
    with pytest.raises(SecAggError, match="disputed"):
        fed.engine._set_up(())
    refusal = refusal_in(fed.sites["site2"].handle(MaskedQuery(1, b"").to_bytes()))
    assert refusal is not None
    assert "not finished" in refusal.reason
    assert fed.ledgers["site2"].events() == ()


def test_a_bad_dealer_that_does_not_answer_is_missing_from_the_next_set_up(
    of: World,
) -> None:
    def handle_of(site: MaskedSite) -> Handler:
        def handle(message: bytes) -> bytes:
            answer, session = site.handle(message), site._session
            if step_of(message) == "keys" and session is not None:
                victim = 0 if session._seat else 1
                return bad_part(session, answer, victim, "noise")
            return answer if step_of(message) != "inquiry" else b"nothing"

        return handle

    fed = cheating(of, handle_of)
    _, reply = ask(fed)
    assert fed.excluded == {}
    assert reply.record.epoch == 2
    assert reply.of == tuple(name for name in SITES if name != CHEAT)


def test_a_dealer_whose_shares_open_nothing_loses_one_round(
    of: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, name = EpochSecrets.shares, seat_name(signer(2).public)

    def bent(self: EpochSecrets, threshold: Threshold) -> Elements:
        shares = honest(self, threshold)
        if self._name == name:
            shares[0] = (shares[0] + 1) % PRIME
        return shares

    monkeypatch.setattr(EpochSecrets, "shares", bent)
    fed = federation(of)
    asked = charged(fed)
    with pytest.raises(RoundLost, match="open no secret") as lost:
        fed.engine.ask(asked.query, asked.participants)
    assert lost.value.cause == "site-blamed"
    assert fed.excluded.keys() == {CHEAT}
    fed.coordinator.lost(asked.query)
    _, reply = ask(fed)
    assert CHEAT not in reply.of


def test_the_blamed_may_be_too_many() -> None:
    of = masked_world(sizes=(20, 15, 21), dropouts=0)
    fed = cheating(of, bad_dealer)
    with pytest.raises(SecAggError, match="without site1, who broke the rules"):
        fed.engine.prepare()


def test_a_sum_that_wraps_is_not_released(of: World) -> None:
    """A vector that fits the ring, and is far beyond what honest sites send."""

    def loud(site: MaskedSite) -> Handler:
        real = site._site.answer

        def answer(content: bytes) -> Reply | Refusal:
            said = real(content)
            assert isinstance(said, Reply)
            largest = site._setting.terms.ring.largest
            return replace(said, total=np.full_like(said.total, largest))

        vars(site._site)["answer"] = answer
        return site.handle

    fed = cheating(of, loud)
    asked = charged(fed)
    with pytest.raises(RoundLost, match="left its bound") as lost:
        fed.engine.ask(asked.query, asked.participants)
    assert lost.value.cause == "sum-out-of-bound"


def test_a_small_group_has_a_bound_of_its_own() -> None:
    """What fits the whole vector's bound may still be too much for one group."""
    of = masked_world(mechanism="grouped", rounds=1)
    cohort = of.programme.cohort
    assert cohort is not None
    stage = of.programme.stages[-1]
    assert len(stage.blocks) > 1
    total = np.zeros(stage.dimension, dtype=np.int64)
    assert stays_within(total, stage, cohort)
    bounds = []
    for block in stage.blocks:
        loud = total.copy()
        loud[block.start] = longest_sum(stage, cohort)
        bounds.append(stays_within(loud, stage, cohort))
    assert any(bounds)
    assert not all(bounds)


@pytest.mark.parametrize("step", ["begin", "keys", "delivery"])
@pytest.mark.parametrize("junk", [b"", b"\x00" * 40, b"LXSA" + bytes(400)])
def test_junk_in_a_set_up_is_as_good_as_nothing(
    of: World, step: str, junk: bytes
) -> None:
    fed = federation(of)
    fed.line.tamper = lambda site, at, said: (
        junk if (site, at) == (CHEAT, step) else said
    )
    _, reply = ask(fed)
    assert len(reply.of) >= 4
    assert fed.engine.blamed == set()


@pytest.mark.parametrize("step", ["ask", "survivors", "consents"])
@pytest.mark.parametrize("junk", [b"", b"LX", b"LXMV" + bytes(8), b"LXSA" + bytes(400)])
def test_junk_in_a_round_is_as_good_as_nothing(
    of: World, step: str, junk: bytes
) -> None:
    fed = federation(of)
    fed.line.tamper = lambda site, at, said: (
        junk if (site, at) == (CHEAT, step) else said
    )
    _, reply = ask(fed)
    assert (CHEAT in reply.of) == (step != "ask")


# What comes to a site


def broken(coins: random.Random, message: bytes) -> bytes:
    """Return a message with bytes changed, cut, added or doubled."""
    content = bytearray(message)
    kind = coins.randrange(5)
    if kind == 0 and content:
        content[coins.randrange(len(content))] ^= 1 << coins.randrange(8)
    elif kind == 1:
        del content[coins.randrange(len(content) + 1) :]
    elif kind == 2:
        content += coins.randbytes(coins.randrange(1, 200))
    elif kind == 3:
        at = coins.randrange(len(content) + 1)
        content[at:at] = coins.randbytes(coins.randrange(1, 20))
    else:
        content[: coins.randrange(1, 12)] = coins.randbytes(coins.randrange(1, 12))
    return bytes(content)


def test_broken_messages_crash_nothing_and_leak_nothing(of: World) -> None:
    """Between all messages of two rounds, thousands of broken ones come to a site.

    It answers in the clear to none of them, and is charged for queries alone. A leak
    would be its vector with its share of noise, in any answer.
    """
    coins = random.Random(5)
    fed = federation(of)
    site, vectors = fed.sites[CHEAT], list[bytes]()
    real = site._site.answer

    def watched(content: bytes) -> Reply | Refusal:
        said = real(content)
        if isinstance(said, Reply):
            for kind in ("<i8", "<i4", "<i2"):
                vectors.append(said.total.astype(kind).tobytes())
        return said

    vars(site._site)["answer"] = watched
    answers: list[bytes] = []

    def between(name: str, step: str, message: bytes) -> bytes:
        if name == CHEAT and step not in ("begin", "ask"):
            # A broken copy of these may be a whole one, and be answered.
            for _ in range(MESSAGES // 6):
                answers.append(site.handle(broken(coins, message)))
        return message

    fed.line.before = between
    for _ in range(2):
        asked, reply = ask(fed)
        fed.coordinator.receive(asked.query, [reply], set(SITES) - set(reply.of))
    assert len(answers) == MESSAGES
    assert len(fed.ledgers[CHEAT].events()) == 2
    assert len(vectors) == 6
    said = b"".join([*answers, *(m for name, _, m in fed.line.said if name == CHEAT)])
    long = [vector for vector in vectors if len(vector) >= 8]
    assert long
    assert not any(vector in said for vector in long)


def test_a_broken_query_is_refused_or_charged(of: World) -> None:
    """Whatever is computed is charged first, and leaves masked."""
    coins = random.Random(6)
    fed = federation(of)
    site = fed.sites[CHEAT]
    asked = charged(fed)
    message = MaskedQuery(1, asked.query.to_bytes()).to_bytes()
    answered = 0
    for _ in range(300):
        said = site.handle(broken(coins, message))
        if refusal_in(said) is None:
            answered += 1
            assert read_answer(said).masked[:4] == b"LXSA"
    assert answered <= len(fed.ledgers[CHEAT].events()) <= 1


ORDER = {
    "a query before any epoch": (MaskedQuery(1, b"").to_bytes(), "no epoch has begun"),
    "an old epoch": (EpochRequest(0).to_bytes(), "is not after epoch"),
    "a number that is too large": (EpochRequest(2**60).to_bytes(), "too large"),
    "a cut number": (b"LXMB\x00", "ends too early"),
    "bytes after an epoch": (EpochRequest(9).to_bytes() + b"x", "after its end"),
}


@pytest.mark.parametrize("name", ORDER)
def test_messages_out_of_order_are_refused_with_words(of: World, name: str) -> None:
    message, words = ORDER[name]
    fed = federation(of)
    site = fed.sites[CHEAT]
    if name == "an old epoch":
        fed.engine.prepare()
    refusal = refusal_in(site.handle(message))
    assert refusal is not None
    assert words in refusal.reason


def test_a_query_waits_for_the_set_up(of: World) -> None:
    fed = federation(of)
    site = fed.sites[CHEAT]
    site.handle(EpochRequest(1).to_bytes())
    refusal = refusal_in(site.handle(MaskedQuery(1, b"").to_bytes()))
    assert refusal is not None
    assert "set-up of this epoch is not finished" in refusal.reason


@pytest.mark.parametrize("number", [0, 1, 33])
def test_rounds_of_an_epoch_only_go_up(of: World, number: int) -> None:
    fed = federation(of)
    asked, _ = ask(fed)
    message = MaskedQuery(number, asked.query.to_bytes()).to_bytes()
    refusal = refusal_in(fed.sites[CHEAT].handle(message))
    assert refusal is not None
    assert "over, or not in it" in refusal.reason
    assert len(fed.ledgers[CHEAT].events()) == 1


def test_a_refused_query_is_not_charged(of: World) -> None:
    fed = federation(of)
    asked = charged(fed)
    other = replace(asked.query, programme="0" * 64).to_bytes()
    refusal = refusal_in(fed.sites[CHEAT].handle(MaskedQuery(1, other).to_bytes()))
    assert refusal is not None
    assert "another programme" in refusal.reason
    assert fed.ledgers[CHEAT].events() == ()


def test_a_site_that_complained_waits_for_the_next_epoch(of: World) -> None:
    """Shares that do not open keep their holder out of rounds, and uncharged."""
    fed = federation(of)
    holder = fed.sites["site2"]

    def spoiled(site: str, step: str, message: bytes) -> bytes:
        if (site, step) != ("site2", "delivery"):
            return message
        payload = bytearray(message[150 + 1 + 32 + 4 : -SIGNATURE])
        payload[-200] ^= 1
        server = seat_identity(signer(99))
        setting = fed.setting(1)
        return seal(EnvelopeKind.DELIVERY, setting.context(), server, bytes(payload))

    fed.line.before = spoiled
    fed.engine.prepare()
    assert fed.engine.blamed == set()  # it is the coordinator's own fault
    refusal = refusal_in(holder.handle(MaskedQuery(1, b"").to_bytes()))
    assert refusal is not None
    assert "not finished" in refusal.reason


def test_messages_survive_their_bytes() -> None:
    for request in (EpochRequest(7), MaskedQuery(3, b"query")):
        assert read_request(request.to_bytes()) == request
    assert read_request(b"LXSA") is None
    answer = MaskedAnswer(b"receipt", b"masked")
    assert read_answer(answer.to_bytes()) == answer
    with pytest.raises(SecAggError, match="not one"):
        read_answer(b"LXSA" + bytes(20))
    assert refusal_in(b"junk") is None
    reply = Reply("a", 1, np.zeros(1, dtype=np.int64), True)
    assert refusal_in(answer_to_bytes(reply)) is None
    assert sender_of(bytes(150) + b"\x02ab" + b"rest") == "ab"
