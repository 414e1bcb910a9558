# SPDX-License-Identifier: Apache-2.0
"""Sites behind a channel that answer in the clear: who is missing, and what is lost."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from lexfed.errors import Refused
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.rounds import Coordinator, RoundRequest
from lexfed.federation.engines.channel import InProcessChannel
from lexfed.federation.engines.clear_sums import InProcess, OverChannel, RoundLost
from lexfed.federation.programme.messages import (
    Query,
    Refusal,
    Reply,
    answer_from_bytes,
    answer_to_bytes,
)
from lexfed.federation.site.data_holder import Site
from lexfed.privacy.run_ledger import Ledger
from support.federation.worlds import World, seeded, world

Change = Callable[[Reply], Reply | Refusal | bytes | None]


def taken(_: Query, __: str, receipt: bytes, ___: Reply | None) -> None:
    """Take every receipt but one."""
    if receipt == b"forged":
        raise Refused("not a receipt")


class Bent:
    """A channel on which one site's answer is changed, or lost."""

    def __init__(self, doors: InProcessChannel, name: str, change: Change) -> None:
        self._doors, self._name, self._change = doors, name, change

    def exchange(
        self, messages: Mapping[str, bytes], most: int = 2**20
    ) -> Mapping[str, bytes]:
        """Bring messages to sites, and answers back."""
        came = dict(self._doors.exchange(messages, most))
        answer = answer_from_bytes(came.pop(self._name))
        assert isinstance(answer, Reply)
        changed = self._change(answer)
        if changed is not None:
            said = changed if isinstance(changed, bytes) else answer_to_bytes(changed)
            came[self._name] = said
        return came


def asked_of(
    of: World,
) -> tuple[Coordinator, RoundRequest, InProcessChannel, list[Ledger]]:
    ledgers = []
    doors = {}
    for place, data in enumerate(of.sites):
        ledger = of.ledger(place)
        assert ledger is not None
        ledgers.append(ledger)
        site = Site(of.programme, data, ledger, seeded(1), every_answer=True)
        doors[data.name] = site.handle
    learner = Learner(of.programme)
    coordinator = Coordinator(
        of.programme, learner, of.ledger(), seeded(1), learner.start()
    )
    asked = coordinator.next()
    assert asked is not None
    return coordinator, asked, InProcessChannel(doors), ledgers


@pytest.fixture(scope="module", params=["central", "local"])
def of(request: pytest.FixtureRequest) -> World:
    return world(sizes=(12, 9, 14), trust=request.param)


def test_sites_elsewhere_say_what_sites_here_say(of: World) -> None:
    _, asked, doors, _ = asked_of(of)
    engine = OverChannel(of.programme, doors, 0, taken)
    engine.prepare()
    answers = engine.ask(asked.query, asked.participants)
    here = InProcess(
        [
            Site(of.programme, data, of.ledger(place), seeded(1))
            for place, data in enumerate(of.sites)
        ]
    )
    here.prepare()
    for one, other in zip(
        answers, here.ask(asked.query, asked.participants), strict=True
    ):
        assert isinstance(one, Reply)
        assert isinstance(other, Reply)
        assert one.receipts == {one.site: b""}
        assert np.array_equal(one.total, other.total)


CHANGES: dict[str, Change] = {
    "nothing": lambda _: None,
    "junk": lambda _: b"junk",
    "a refusal": lambda reply: Refusal(reply.site, reply.round, "no more budget"),
    "another's name": lambda reply: replace(reply, site="site0"),
    "another round": lambda reply: replace(reply, round=9),
    "other noise": lambda reply: replace(reply, noised=not reply.noised),
    "too short": lambda reply: replace(reply, total=reply.total[:-1]),
    "floats": lambda reply: replace(reply, total=reply.total.astype(np.float64)),
    "too large": lambda reply: replace(
        reply, total=np.full_like(reply.total, -(2**63))
    ),
    "no receipt": lambda reply: replace(reply, receipt=b"forged"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whoever_sends_something_else_is_missing(of: World, change: str) -> None:
    _, asked, doors, ledgers = asked_of(of)
    channel = Bent(doors, "site1", CHANGES[change])
    answers = OverChannel(of.programme, channel, 1, taken).ask(
        asked.query, asked.participants
    )
    assert [answer.site for answer in answers] == ["site0", "site2"]
    assert all(len(ledger.events()) == 1 for ledger in ledgers)


@pytest.mark.parametrize("change", ["nothing", "a refusal"])
def test_with_too_few_answers_a_round_is_lost(of: World, change: str) -> None:
    coordinator, asked, doors, _ = asked_of(of)
    engine = OverChannel(of.programme, Bent(doors, "site1", CHANGES[change]), 0, taken)
    with pytest.raises(RoundLost, match="2 of 3 sites answered") as lost:
        engine.ask(asked.query, asked.participants)
    refused = change == "a refusal"
    assert lost.value.cause == ("site-refused" if refused else "site-lost")
    assert ("no more budget" in lost.value.message) == refused
    spent = coordinator.spent()
    assert coordinator.lost(asked.query).done == 1
    after = coordinator.next()
    assert after is not None
    assert after.query.round == 2
    assert coordinator.spent() > spent


def test_every_answer_is_charged_where_answers_may_be_lost(of: World) -> None:
    """A site that starts again answers the same round again, and pays again."""
    _, asked, _, _ = asked_of(of)
    ledger = of.ledger(0)
    assert ledger is not None
    content = asked.query.to_bytes()
    first = Site(of.programme, of.sites[0], ledger, seeded(1), every_answer=True)
    assert isinstance(first.answer(content), Reply)
    again = Site(of.programme, of.sites[0], ledger, seeded(1), every_answer=True)
    answer = again.answer(content)
    assert len(ledger.events()) == 1
    assert isinstance(answer, Refusal)  # the label rate was planned once
    assert "would reach" in answer.reason


def test_rounds_may_be_missed() -> None:
    of = world(sizes=(12, 9, 14), trust="local")
    ledger = of.ledger(0)
    assert ledger is not None
    coordinator, asked, _, _ = asked_of(of)
    coordinator.lost(asked.query)
    after = coordinator.next()
    assert after is not None
    site = Site(of.programme, of.sites[0], ledger, seeded(1))
    assert isinstance(site.answer(after.query.to_bytes()), Reply)
    assert ledger.events() == (after.query.release,)


def test_what_a_ledger_refuses_at_the_last_moment_is_not_computed(
    of: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, asked, _, _ = asked_of(of)

    ledger = of.ledger(0)
    assert ledger is not None

    def late(_: object) -> None:
        raise Refused("its ledger does not pay for it")

    monkeypatch.setattr(ledger, "charge", late)
    site = Site(of.programme, of.sites[0], ledger, seeded(1))
    answer = site.answer(asked.query.to_bytes())
    assert isinstance(answer, Refusal)
    assert answer.reason == "its ledger does not pay for it"


def test_an_answer_that_is_longer_than_the_sum_asks_for_is_missing(of: World) -> None:
    _, asked, doors, _ = asked_of(of)
    dimension = of.programme.stages[asked.query.stage].dimension
    most = 8 * dimension + 2 * 2**16
    name = of.programme.sites[0]
    handlers = dict(doors._handlers)
    handlers[name] = lambda _: bytes(most + 1)
    engine = OverChannel(of.programme, InProcessChannel(handlers), 1, taken)
    replies = engine.ask(asked.query, asked.participants)
    assert name not in {reply.site for reply in replies}
    assert InProcessChannel(handlers).exchange({name: b""}, most) == {}
    assert InProcessChannel(handlers).exchange({name: b""}, most + 1) == {
        name: bytes(most + 1)
    }
