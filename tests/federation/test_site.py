# SPDX-License-Identifier: Apache-2.0
"""Messages keep their meaning; a site refuses what it did not agree to, unasked."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lexfed.audit.entries import ChargedEvent, receipts
from lexfed.errors import Refused
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.engines.clear_sums import InProcess
from lexfed.federation.programme.messages import (
    Query,
    Refusal,
    Reply,
    answer_from_bytes,
    answer_to_bytes,
)
from lexfed.federation.site import data_holder as site_module
from lexfed.federation.site.contributions import contribute
from lexfed.federation.site.data_holder import Site
from lexfed.privacy.run_ledger import Ledger, Limits
from lexfed.run.driver.round_replies import check_receipt
from lexfed.signing.keys import Signer
from support.federation.worlds import Played, World, play, seeded, world


@pytest.fixture(scope="module")
def of() -> World:
    return world(sizes=(12, 9))


@pytest.fixture(scope="module")
def seen(of: World) -> Played:
    return play(of)


def ledger_of(of: World) -> Ledger:
    ledger = of.ledger()
    assert ledger is not None
    return ledger


def asked(
    of: World, query: Query, before: int = 0, seen: Played | None = None
) -> Reply | Refusal:
    """Ask a fresh site, after it has answered some rounds of a played run."""
    site = Site(of.programme, of.sites[0], of.ledger(), seeded(1))
    for earlier in (seen.queries if seen else [])[:before]:
        site.handle(earlier.to_bytes())
    return answer_from_bytes(site.handle(query.to_bytes()))


def test_a_query_survives_its_bytes(seen: Played) -> None:
    for query in seen.queries:
        back = Query.from_bytes(query.to_bytes())
        assert back.to_bytes() == query.to_bytes()
        for name in ("programme", "round", "kind", "tower", "stage", "step", "release"):
            assert getattr(back, name) == getattr(query, name)
        for tower, other in zip(back.model.towers, query.model.towers, strict=True):
            assert tower.shape == other.shape
            assert np.array_equal(tower.parameters, other.parameters)
        assert back.arrays.keys() == query.arrays.keys()


def test_a_query_without_privacy_has_no_release() -> None:
    free = play(world(sizes=(9, 7), mechanism="none", rounds=1))
    assert Query.from_bytes(free.queries[0].to_bytes()).release is None


@pytest.mark.parametrize(
    "answer",
    [
        Reply("north", 3, np.array([1, -(2**62), 0]), noised=True),
        Reply("süd", 1, np.zeros(0, dtype=np.int64), noised=False),
    ],
)
def test_a_reply_survives_its_bytes(answer: Reply) -> None:
    back = answer_from_bytes(answer_to_bytes(answer))
    assert isinstance(back, Reply)
    assert (back.site, back.round, back.noised) == (
        answer.site,
        answer.round,
        answer.noised,
    )
    assert np.array_equal(back.total, answer.total)


def test_a_refusal_survives_its_bytes() -> None:
    refusal = Refusal("north", 4, "no `ledger`")
    assert answer_from_bytes(answer_to_bytes(refusal)) == refusal


Change = Callable[[World, Query], Query]


def _peeking(of: World, query: Query) -> Query:
    """Let the first tower read a slot of the special tier."""
    shape = of.programme.shapes[0]
    special = of.programme.shapes[-1].slots
    peek = replace(shape, slots=(*shape.slots[:-1], special[0]))
    tower = replace(query.model.towers[0], shape=peek)
    return replace(query, model=query.model.with_tower(0, tower))


def _louder(query: Query) -> Query:
    assert query.release is not None
    group = query.release.groups[0]
    groups = (replace(group, sigma=group.sigma / 3.0),)
    return replace(query, release=replace(query.release, groups=groups))


CHANGES: dict[str, tuple[Change, str]] = {
    "another programme": (
        lambda _, query: replace(query, programme="0" * 64),
        "another programme",
    ),
    "less noise": (lambda _, query: _louder(query), "not the one that was agreed on"),
    "no release": (
        lambda _, query: replace(query, release=None),
        "not the one that was agreed on",
    ),
    "another kind": (
        lambda _, query: replace(query, kind="metrics"),
        "not the one that was agreed on",
    ),
    "a tower that peeks": (_peeking, "not the one that was agreed on"),
    "another tower": (
        lambda _, query: replace(query, tower=2),
        "not the one that was agreed on",
    ),
    "another stage": (
        lambda _, query: replace(query, stage=query.stage + 1),
        "not the one that was agreed on",
    ),
    "a stage that is not there": (
        lambda _, query: replace(query, stage=999),
        "not the one that was agreed on",
    ),
    "round zero": (
        lambda _, query: replace(query, round=0),
        "not the one that was agreed on",
    ),
    "a round after the last": (
        lambda of, query: replace(query, round=of.programme.rounds + 1),
        "not the one that was agreed on",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_site_computes_nothing_for_what_it_did_not_agree_to(
    of: World, seen: Played, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = 2
    site = Site(of.programme, of.sites[0], of.ledger(), seeded(1))
    for earlier in seen.queries[:done]:
        site.handle(earlier.to_bytes())
    monkeypatch.setattr(site_module, "contribute", _never)
    monkeypatch.setattr(site_module, "flip_coins", _never)
    alter, reason = CHANGES[change]
    changed = alter(of, seen.queries[done])
    answer = answer_from_bytes(site.handle(changed.to_bytes()))
    assert isinstance(answer, Refusal)
    assert reason in answer.reason
    assert answer.round == changed.round


def _never(*_: Any) -> Any:
    raise AssertionError("computed for a query that must be refused")


def test_a_round_is_answered_once(of: World, seen: Played) -> None:
    site = Site(of.programme, of.sites[0], of.ledger(), seeded(1))
    content = seen.queries[0].to_bytes()
    assert isinstance(answer_from_bytes(site.handle(content)), Reply)
    again = answer_from_bytes(site.handle(content))
    assert isinstance(again, Refusal)
    assert "answered already" in again.reason


def test_a_round_out_of_order_is_refused(of: World, seen: Played) -> None:
    answer = asked(of, seen.queries[2])
    assert isinstance(answer, Refusal)
    assert "not the next one" in answer.reason


def test_a_ledger_ahead_of_the_round_is_refused(of: World, seen: Played) -> None:
    ledger = ledger_of(of)
    for query in seen.queries[:4]:
        assert query.release is not None
        ledger.charge(query.release)
    site = Site(of.programme, of.sites[0], ledger, seeded(1))
    answer = answer_from_bytes(site.handle(seen.queries[1].to_bytes()))
    assert isinstance(answer, Refusal)
    assert len(ledger.events()) == 4


def test_a_charged_round_is_answered_under_its_charge(of: World, seen: Played) -> None:
    """After a crash between charge and answer the round is not charged again."""
    ledger = ledger_of(of)
    assert seen.queries[0].release is not None
    ledger.charge(seen.queries[0].release)
    site = Site(of.programme, of.sites[0], ledger, seeded(1))
    answer = answer_from_bytes(site.handle(seen.queries[0].to_bytes()))
    assert isinstance(answer, Reply)
    assert len(ledger.events()) == 1


def test_a_site_without_a_ledger_refuses_a_release(of: World, seen: Played) -> None:
    site = Site(of.programme, of.sites[0], None, seeded(1))
    answer = answer_from_bytes(site.handle(seen.queries[0].to_bytes()))
    assert isinstance(answer, Refusal)
    assert "no ledger" in answer.reason


def test_a_site_refuses_what_its_ledger_cannot_pay(of: World, seen: Played) -> None:
    poor = Ledger.planned(ledger_of(of).limits, of.programme.charges()[1:])
    site = Site(of.programme, of.sites[0], poor, seeded(1))
    answer = answer_from_bytes(site.handle(seen.queries[0].to_bytes()))
    assert isinstance(answer, Refusal)
    assert poor.events() == ()


def test_the_charge_comes_before_the_answer(
    of: World, seen: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = ledger_of(of)
    site = Site(of.programme, of.sites[0], ledger, seeded(1))
    real = contribute
    charged: list[int] = []

    def watched(*parts: Any) -> Any:
        charged.append(len(ledger.events()))
        return real(*parts)

    monkeypatch.setattr(site_module, "contribute", watched)
    site.handle(seen.queries[0].to_bytes())
    assert charged == [1]


def test_with_local_trust_an_answer_leaves_noised() -> None:
    of = world(sizes=(12, 9), trust="local", model="mlp:4", rounds=2)
    query = play(of).queries[1]
    quiet = replace(of.programme, trust="central")
    answers = []
    for programme in (of.programme, quiet):
        site = Site(programme, of.sites[0], of.ledger(), seeded(1))
        first = replace(play(of).queries[0], programme=programme.digest)
        site.handle(first.to_bytes())
        sent = replace(query, programme=programme.digest)
        answers.append(answer_from_bytes(site.handle(sent.to_bytes())))
    noised, plain = answers
    assert isinstance(noised, Reply)
    assert isinstance(plain, Reply)
    assert noised.noised
    assert not plain.noised
    assert query.release is not None
    step = of.programme.stages[1].blocks[0].grid.step
    noise = (noised.total - plain.total) * step
    assert 0.3 < noise.std() / query.release.groups[0].sigma < 3.0


class Guarded(Learner):
    def question(self, progress: Any) -> Any:
        raise AssertionError(f"asked after {progress} before it was paid for")


def test_a_coordinator_refuses_before_it_asks(of: World) -> None:
    poor = Ledger.planned(ledger_of(of).limits, of.programme.charges()[1:])
    learner = Guarded(of.programme)
    coordinator = Coordinator(of.programme, learner, poor, seeded(1), learner.start())
    with pytest.raises(Refused, match="round 1 refused"):
        coordinator.next()
    assert poor.events() == ()
    assert coordinator.spent() == 0.0


def coordinator_of(of: World) -> Coordinator:
    learner = Learner(of.programme)
    return Coordinator(of.programme, learner, of.ledger(), seeded(1), learner.start())


def test_a_coordinator_releases_nothing_if_a_site_refuses(of: World) -> None:
    coordinator = coordinator_of(of)
    round_ = coordinator.next()
    assert round_ is not None
    with pytest.raises(Refused, match="`north` refused: because"):
        coordinator.receive(round_.query, [Refusal("north", 1, "because")])
    assert coordinator.progress.done == 0
    assert coordinator.spent() > 0.0


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        ([("a", 1, False), ("a", 1, False)], "answered twice"),
        ([("a", 1, False), ("b", 2, False)], "another round"),
        ([("a", 1, True)], "disagree on noise"),
    ],
)
def test_answers_to_another_question_do_not_enter_a_sum(
    of: World, replies: list[tuple[str, int, bool]], said: str
) -> None:
    coordinator = coordinator_of(of)
    round_ = coordinator.next()
    assert round_ is not None
    size = of.programme.stages[0].dimension
    answers = [
        Reply(site, number, np.zeros(size, dtype=np.int64), noised)
        for site, number, noised in replies
    ]
    with pytest.raises(Refused, match=said):
        coordinator.receive(round_.query, answers)
    assert coordinator.progress.done == 0


def test_a_charged_round_is_not_charged_again(of: World) -> None:
    ledger = ledger_of(of)
    first = of.programme.stages[0].releases[0]
    assert first is not None
    ledger.charge(first)
    learner = Learner(of.programme)
    coordinator = Coordinator(of.programme, learner, ledger, seeded(1), learner.start())
    spent = coordinator.spent()
    again = coordinator.next(charged=True)
    assert again is not None
    assert again.query.release == first
    assert coordinator.spent() == spent > 0.0


def test_all_rounds_are_charged_and_no_more(of: World, seen: Played) -> None:
    assert len(seen.queries) == of.programme.rounds
    charged = [query.release for query in seen.queries]
    planned = [
        r for release, count in of.programme.charges() for r in [release] * count
    ]
    assert charged == planned


def test_a_programme_has_one_hash_per_meaning(of: World) -> None:
    assert of.programme.digest == world(sizes=(12, 9)).programme.digest
    for other in (
        replace(of.programme, seed=22),
        replace(of.programme, trust="local"),
        replace(of.programme, stages=of.programme.stages[:-1]),
        replace(of.programme, shapes=of.programme.shapes[::-1]),
    ):
        assert other.digest != of.programme.digest


def test_strange_bytes_are_refused(of: World) -> None:
    site = Site(of.programme, of.sites[0], of.ledger(), seeded(1))
    for content in (b"", b"{}", b"\xff" * 64):
        answer = answer_from_bytes(site.handle(content))
        assert isinstance(answer, Refusal)
        assert answer.reason == "the message is not a query"


def test_a_client_pays_for_the_rounds_it_was_left_out_of() -> None:
    of = world(unit="client", sampling_rate=0.5, learning_rate=0.1, rounds=6)
    ledger = ledger_of(of)
    site = Site(of.programme, of.sites[0], ledger, seeded(1))
    queries = play(of).queries
    for place in (1, 4):
        answer = answer_from_bytes(site.handle(queries[place].to_bytes()))
        assert isinstance(answer, Reply)
        assert len(ledger.events()) == queries[place].round == place + 1


def test_ledgers_do_not_tell_whom_coins_chose() -> None:
    """All pay for a round before anybody is asked, in files that stay equal."""
    of = world(unit="client", sampling_rate=0.5, learning_rate=0.1, rounds=6)
    ledgers = [ledger_of(of) for _ in of.sites]
    sites = [
        Site(of.programme, data, ledger, seeded(1))
        for data, ledger in zip(of.sites, ledgers, strict=True)
    ]
    engine, seen = InProcess(sites), play(of)
    assert any(len(chosen) < len(sites) for chosen in seen.participants)
    for query, chosen in zip(seen.queries, seen.participants, strict=True):
        answers = engine.ask(query, chosen)
        assert [answer.site for answer in answers] == list(chosen)
        assert all(isinstance(answer, Reply) for answer in answers)
        assert {len(ledger.events()) for ledger in ledgers} == {query.round}
        assert len({ledger.events() for ledger in ledgers}) == 1


def test_a_ledger_that_does_not_pay_ends_the_round_for_all() -> None:
    of = world(unit="client", sampling_rate=0.5, learning_rate=0.1, rounds=6)
    poor = Ledger.planned(Limits(1.0, 1e-6), ())
    sites = [
        Site(of.programme, data, poor if place == 1 else ledger_of(of), seeded(1))
        for place, data in enumerate(of.sites)
    ]
    query = play(of, rounds=1).queries[0]
    [refusal] = InProcess(sites).ask(query, [of.sites[0].name])
    assert isinstance(refusal, Refusal)
    assert refusal.site == of.sites[1].name


# Receipts

LOG = "audit.example/run/0123456789abcdef"


def signing(of: World, log: str = LOG) -> tuple[Site, Signer, Ledger]:
    """Return a site that signs receipts for a log, its key and its ledger."""
    signer = Signer("site", Ed25519PrivateKey.from_private_bytes(bytes(32)))
    ledger = ledger_of(of)
    site = Site(of.programme, of.sites[0], ledger, seeded(1), signer, log=log)
    return site, signer, ledger


def test_a_receipt_names_the_log_and_the_noise_that_was_asked_for(
    of: World, seen: Played
) -> None:
    site, signer, _ = signing(of)
    query = replace(seen.queries[0], log=LOG)
    reply = site.answer(query.to_bytes())
    assert isinstance(reply, Reply)
    _, receipt = receipts.check(reply.receipt, {signer.fingerprint: signer.public})
    assert query.release is not None
    assert (receipt.log, receipt.run) == (LOG, "0123456789abcdef")
    assert receipt.event == ChargedEvent.of(query.release).digest


def test_a_receipt_binds_the_site_to_its_sum_and_hides_it(
    of: World, seen: Played
) -> None:
    """Two sites with the same sum sign different commitments."""
    query = replace(seen.queries[0], log=LOG)
    bound = []
    for _ in range(2):
        site, signer, _ = signing(of)
        reply = answer_from_bytes(site.handle(query.to_bytes()))
        assert isinstance(reply, Reply)
        keys = {signer.fingerprint: signer.public}
        _, receipt = receipts.check(reply.receipt, keys)
        assert receipt.answer == receipts.answer_digest(reply.content, reply.salt)
        changed = replace(reply, total=reply.total + 1)
        assert receipt.answer != receipts.answer_digest(changed.content, reply.salt)
        public = {"site0": signer.public}
        check_receipt(query, "site0", reply.receipt, reply, public)
        for other in (
            changed,
            replace(reply, salt=bytes(32)),
            replace(reply, salt=b""),
        ):
            with pytest.raises(Refused, match=r"another sum|32 bytes of salt"):
                check_receipt(query, "site0", reply.receipt, other, public)
        bound.append((receipt.answer, reply.content))
    (one, same), (two, again) = bound
    assert same == again
    assert one != two


@pytest.mark.parametrize(
    ("own", "asked_for"),
    [(LOG, f"x{LOG}"), (LOG, LOG[:-1] + "0"), (LOG, ""), ("", LOG)],
    ids=["another log", "another run", "no log", "of no log"],
)
def test_a_site_signs_for_no_other_log_than_the_runs(
    own: str, asked_for: str, of: World, seen: Played
) -> None:
    site, _, ledger = signing(of, own)
    answer = site.answer(replace(seen.queries[0], log=asked_for).to_bytes())
    assert isinstance(answer, Refusal)
    assert answer.reason == "the query belongs to another log"
    assert not ledger.events()
