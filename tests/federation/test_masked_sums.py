# SPDX-License-Identifier: Apache-2.0
"""Masked sums of real sites: exact, whoever is lost and when, and lost when too few."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from lexfed.arrays import Integers
from lexfed.errors import Refused, SecAggError
from lexfed.federation.coordinator.learner import Learner, Progress
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.engines.clear_sums import RoundLost
from lexfed.federation.engines.masked_setting import epoch_settings
from lexfed.federation.engines.masked_sums import MaskedSums
from lexfed.federation.programme.messages import Query, Reply
from lexfed.federation.site.data_holder import Site
from lexfed.secagg.envelopes.payloads import Deal
from support.federation.masked_worlds import (
    LOG,
    Line,
    ask,
    charged,
    federation,
    losing,
    masked_world,
    step_of,
)
from support.federation.worlds import World, seeded, world

SITES = ("site0", "site1", "site2", "site3")
LOST_IN_A_ROUND = ("ask", "survivors", "consents")
LOST_IN_THE_SET_UP = ("begin", "keys", "delivery")


@pytest.fixture(scope="module")
def of() -> World:
    return masked_world(dropouts=1)


def clear(of: World, queries: Sequence[Query], sites: Sequence[str]) -> list[Integers]:
    """Return the sums of some sites, noise included, without masks."""
    totals = []
    here = [
        Site(of.programme, data, of.ledger(place), seeded(1))
        for place, data in enumerate(of.sites)
        if data.name in sites
    ]
    for query in queries:
        answers = [site.answer(query.to_bytes()) for site in here]
        totals.append(sum(a.total for a in answers if isinstance(a, Reply)))
    return [np.asarray(total) for total in totals]


def test_masks_change_nothing(of: World) -> None:
    """The model of a whole run is, to the bit, the one without masks."""
    fed = federation(of)
    while not fed.coordinator.is_over():
        asked, reply = ask(fed)
        assert reply.of == SITES
        fed.coordinator.receive(asked.query, [reply])
    learner = Learner(of.programme)
    plain = Coordinator(
        of.programme, learner, of.ledger(), seeded(1), learner.start(), LOG
    )
    sites = [
        Site(of.programme, data, of.ledger(place), seeded(1))
        for place, data in enumerate(of.sites)
    ]
    while (asked_again := plain.next()) is not None:
        content = asked_again.query.to_bytes()
        plain.receive(asked_again.query, [site.answer(content) for site in sites])
    assert _same(fed.coordinator.progress, plain.progress)
    assert fed.coordinator.progress.done == of.programme.rounds > 5


def _same(one: Progress, other: Progress) -> bool:
    towers = zip(one.model.towers, other.model.towers, strict=True)
    return all(np.array_equal(a.parameters, b.parameters) for a, b in towers)


def test_other_noise_gives_another_model(of: World) -> None:
    """The comparison above can fail."""
    first, second = federation(of, seed=1), federation(of, seed=2)
    for fed in (first, second):
        for _ in range(3):
            asked, reply = ask(fed)
            fed.coordinator.receive(asked.query, [reply])
    assert not _same(first.coordinator.progress, second.coordinator.progress)


@pytest.mark.parametrize("step", LOST_IN_A_ROUND)
def test_a_site_may_be_lost_at_every_step_of_a_round(of: World, step: str) -> None:
    fed = federation(of)
    fed.engine.prepare()
    fed.line.tamper = losing(step, "site2")
    asked, reply = ask(fed)
    present = [name for name in SITES if name != "site2" or step != "ask"]
    assert reply.of == tuple(present)
    assert set(reply.receipts) == set(present)
    [total] = clear(of, [asked.query], present)
    assert np.array_equal(reply.total, total)
    reply.record.check(fed.setting(1))
    fed.line.tamper = losing("", "")
    fed.coordinator.receive(asked.query, [reply], set(SITES) - set(present))
    _, after = ask(fed)  # it comes back
    assert after.of == SITES


@pytest.mark.parametrize("step", LOST_IN_THE_SET_UP)
def test_a_site_may_be_lost_at_every_step_of_a_set_up(of: World, step: str) -> None:
    fed = federation(of)
    fed.line.tamper = losing(step, "site1")
    asked, reply = ask(fed)
    # Who dealt shares may still answer; whose shares are missing may not.
    present = SITES if step == "delivery" else ("site0", "site2", "site3")
    assert reply.of == present
    assert np.array_equal(reply.total, clear(of, [asked.query], present)[0])


@pytest.mark.parametrize("step", LOST_IN_A_ROUND)
def test_too_many_lost_sites_lose_the_round_only(of: World, step: str) -> None:
    fed = federation(of)
    fed.engine.prepare()
    gone = SITES[1:] if step != "ask" else SITES[2:]
    fed.line.tamper = losing(step, *gone)
    asked = charged(fed)
    with pytest.raises(RoundLost, match="round 1 is lost") as lost:
        fed.engine.ask(asked.query, asked.participants)
    assert lost.value.cause == "site-lost"
    assert all(len(ledger.events()) == 1 for ledger in fed.ledgers.values())
    fed.coordinator.lost(asked.query)
    fed.line.tamper = losing("", "")
    asked, reply = ask(fed)
    assert asked.query.round == 2
    assert reply.of == SITES
    assert reply.record.epoch == 2  # after a lost round everything is set up again


@pytest.mark.parametrize("step", LOST_IN_THE_SET_UP)
def test_too_few_for_a_set_up_charge_nobody(of: World, step: str) -> None:
    fed = federation(of)
    fed.line.tamper = losing(step, "site0", "site3")
    with pytest.raises(SecAggError, match="no epoch of masked sums") as stopped:
        fed.engine.prepare()
    assert "continue the run" in stopped.value.hint
    assert fed.coordinator.spent() == 0.0
    assert all(ledger.events() == () for ledger in fed.ledgers.values())
    fed.line.tamper = losing("", "")
    fed.engine.prepare()


def test_refusals_are_said(of: World) -> None:
    fed = federation(of)
    fed.engine.prepare()
    for name in ("site0", "site1"):
        for release, count in of.programme.charges():
            for _ in range(count):
                fed.ledgers[name].charge(release)
    with pytest.raises(RoundLost, match="site `site0` refused") as lost:
        ask(fed)
    assert lost.value.cause == "site-refused"


def test_an_epoch_ends_after_its_rounds(of: World) -> None:
    short = replace(of, programme=replace(of.programme, setup_rounds=2))
    fed = federation(short)
    epochs = []
    for _ in range(5):
        asked, reply = ask(fed)
        fed.coordinator.receive(asked.query, [reply])
        epochs.append((reply.record.epoch, reply.record.round))
    assert epochs == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)]


def test_another_query_to_one_site_yields_nothing_of_it(of: World) -> None:
    """A coordinator that bends the question for one site learns nothing about it."""
    fed = federation(of)
    fed.engine.prepare()

    def bent(site: str, step: str, message: bytes) -> bytes:
        if site != "site1" or step != "ask":
            return message
        query = Query.from_bytes(message[12:])
        model = replace(query.model, intercept=query.model.intercept + 1.0)
        return message[:12] + replace(query, model=model).to_bytes()

    fed.line.before = bent
    asked, reply = ask(fed)
    assert reply.of == ("site0", "site2", "site3")
    assert np.array_equal(reply.total, clear(of, [asked.query], reply.of)[0])
    # What it sent is bound to what it saw; all four together are noise, not a sum.
    assert len(fed.ledgers["site1"].events()) == 1


def test_a_message_of_another_site_is_nobodys(of: World) -> None:
    fed = federation(of)
    fed.engine.prepare()
    kept: dict[str, bytes] = {}

    def copied(site: str, step: str, said: bytes) -> bytes:
        kept.setdefault(step, said)
        return kept[step] if site == "site1" else said

    fed.line.tamper = copied
    _, reply = ask(fed)
    assert "site1" not in reply.of


def test_a_receipt_that_is_wrong_keeps_a_site_out(
    of: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed = federation(of)

    def check(_: Query, name: str, __: bytes, ___: object) -> None:
        if name == "site3":
            raise Refused("no receipt")

    monkeypatch.setattr(fed.engine, "_check", check)
    _, reply = ask(fed)
    assert reply.of == SITES[:3]


def test_sums_in_the_clear_are_refused(of: World) -> None:
    """A site whose sums are masked answers no bare query."""
    site = Site(of.programme, of.sites[0], of.ledger(0), seeded(1))
    fed = federation(of)
    asked = fed.coordinator.next()
    assert asked is not None
    assert b"its sums leave only masked" in site.handle(asked.query.to_bytes())


def test_programmes_without_shares_have_no_masks() -> None:
    plain = world().programme
    with pytest.raises(ValueError, match="noise in shares"):
        epoch_settings(plain, LOG, {}, bytes(32))
    with pytest.raises(ValueError, match="noise in shares"):
        MaskedSums(plain, *cast(Any, [None] * 4))


def test_answers_are_bounded_by_what_is_asked_for(
    of: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every answer fits, and a vector of one value too many would not."""
    fed = federation(of)
    bounds: dict[str, int] = {}
    exchange = Line.exchange

    def watched(
        self: Line, messages: Mapping[str, bytes], most: int = 2**20
    ) -> Mapping[str, bytes]:
        bounds[step_of(next(iter(messages.values())))] = most
        return exchange(self, messages, most)

    monkeypatch.setattr(Line, "exchange", watched)
    asked, _ = ask(fed)
    dimension = of.programme.stages[asked.query.stage].dimension
    ring = fed.setting(1).terms.ring
    assert bounds["ask"] == 2**16 + 256 + 32 + max(dimension * ring.bits // 8, 36)
    said = {step: len(answer) for _, step, answer in fed.line.said}
    assert said["keys"] <= bounds["keys"] == bounds["begin"]
    assert bounds["survivors"] == bounds["consents"] == 2**20
    rounds = of.programme.setup_rounds
    assert bounds["keys"] == 256 + Deal.length(len(of.programme.sites), rounds)


def test_a_site_that_answers_too_much_is_missing(of: World) -> None:
    fed = federation(of)
    fed.line.tamper = lambda site, step, said: (
        said + bytes(2**20) if (site, step) == ("site1", "survivors") else said
    )
    _, reply = ask(fed)
    assert "site1" in reply.of  # its vector had come before
    assert len(reply.record.consents) == len(of.programme.sites) - 1
    assert fed.engine.blamed == set()
