# SPDX-License-Identifier: Apache-2.0
"""A coordinator that bends the question for one site opens noise, never its update.

It goes as far as it can: it says that all four survived, and has the own mask of its
victim opened by the others. Masks between the victim and them are bound to what each
was asked, and stay. That 14 random words modulo 2^24 all come within 2^20 of the right
sum has probability below 2^-41.
"""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from lexfed.arrays import Integers
from lexfed.federation.engines.masked_setting import (
    MaskedQuery,
    read_answer,
    refusal_in,
)
from lexfed.federation.programme.messages import Query, Reply
from lexfed.federation.site.data_holder import Site
from lexfed.secagg.envelopes.sealed_messages import DIGEST, SIGNATURE
from lexfed.secagg.mask_sessions.server_rounds import ServerSession
from support.federation.masked_worlds import (
    Federation,
    charged,
    federation,
    masked_world,
)
from support.federation.worlds import World, seeded

VICTIM = "site1"
_HEAD = 150 + 1 + 32 + 4


@pytest.fixture(scope="module")
def of() -> World:
    return masked_world(mechanism="grouped", rounds=1, dropouts=1)


def bent(query: Query) -> Query:
    """Return the question with another model."""
    model = replace(query.model, intercept=query.model.intercept + 1.0)
    return replace(query, model=model)


def opened(
    fed: Federation, query: Query, to_victim: Callable[[Query], Query]
) -> tuple[Integers, Integers]:
    """Open a sum by force; return it, and what the four vectors really sum up to."""
    session = fed.engine._session
    assert isinstance(session, ServerSession)
    stage = fed.of.programme.stages[query.stage]
    terms = fed.setting(1).terms
    seats = {name: seat for seat, name in fed.engine._names.items()}
    session.begin(1, _digest(query), stage.dimension)
    true = np.zeros(stage.dimension, dtype=np.int64)
    for place, (name, site) in enumerate(fed.sites.items()):
        asked = to_victim(query) if name == VICTIM else query
        said = site.handle(MaskedQuery(1, asked.to_bytes()).to_bytes())
        message = read_answer(said).masked
        words = message[_HEAD + DIGEST : -SIGNATURE]
        # A lying server adds up what it was sent, whatever is signed in it.
        terms.ring.add(session._sum, terms.ring.unpack(words, stage.dimension))
        session._answered.add(seats[name])
        plain = Site(
            fed.of.programme, fed.of.sites[place], fed.of.ledger(place), seeded(1)
        )
        answer = plain.answer(asked.to_bytes())
        assert isinstance(answer, Reply)
        true += answer.total
    survivors = session.close_masked()
    for name, site in fed.sites.items():
        if name != VICTIM:
            session.consented(site.handle(survivors))
    consents = session.close_consents()
    for name, site in fed.sites.items():
        if name != VICTIM:
            session.unmasked(site.handle(consents))
    session.reconstruct()
    return session.total(terms.ring.largest), true


def _digest(query: Query) -> bytes:
    return sha256(query.to_bytes()).digest()


def second_query(fed: Federation) -> Query:
    """Return the question of the tower, which has many coordinates."""
    asked = charged(fed)
    fed.coordinator.lost(asked.query)
    after = fed.coordinator.next()
    assert after is not None
    return after.query


def test_what_is_opened_by_force_is_noise(of: World) -> None:
    fed = federation(of)
    query = second_query(fed)
    found, true = opened(fed, query, bent)
    assert len(found) == 14
    assert np.abs(found - true).max() > 2**20


def test_the_same_force_opens_an_honest_sum(of: World) -> None:
    """The check above can fail: where all were asked the same, masks cancel."""
    fed = federation(of)
    query = second_query(fed)
    found, true = opened(fed, query, lambda asked: asked)
    assert np.array_equal(found, true)


def test_the_victim_signs_nothing_for_it(of: World) -> None:
    fed = federation(of)
    query = second_query(fed)
    session = fed.engine._session
    assert isinstance(session, ServerSession)
    dimension = fed.of.programme.stages[query.stage].dimension
    session.begin(1, _digest(query), dimension)
    for name, site in fed.sites.items():
        asked = bent(query) if name == VICTIM else query
        said = site.handle(MaskedQuery(1, asked.to_bytes()).to_bytes())
        if name != VICTIM:
            session.masked(read_answer(said).masked)
    refusal = refusal_in(fed.sites[VICTIM].handle(session.close_masked()))
    assert refusal is not None
    assert "is of model" in refusal.reason
