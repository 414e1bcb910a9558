# SPDX-License-Identifier: Apache-2.0
"""Long vectors of real sites come in pieces: whole in the sum, or not at all."""

import numpy as np
import pytest

from lexfed.arrays import Integers
from lexfed.federation.engines.clear_sums import RoundLost
from lexfed.federation.engines.masked_setting import (
    PieceRequest,
    read_request,
    refusal_in,
)
from lexfed.federation.programme.messages import Reply
from lexfed.federation.site.data_holder import Site
from lexfed.secagg.masks import vector_pieces
from support.federation.masked_worlds import (
    Federation,
    ask,
    charged,
    federation,
    losing,
    masked_world,
)
from support.federation.worlds import World, seeded

SITES = ("site0", "site1", "site2", "site3")


@pytest.fixture(scope="module")
def of() -> World:
    return masked_world(dropouts=1)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a single value, so that every vector of two or more has several."""
    monkeypatch.setattr(vector_pieces, "PIECE_VALUES", 1)
    monkeypatch.setattr("lexfed.federation.engines.masked_sums._AT_ONCE", 3)


def long_round(of: World) -> tuple[Federation, list[bytes]]:
    """Run until vectors are long; return the queries that were answered."""
    fed, asked_so_far = federation(of), []
    while not any(step == "fetch" for _, step, _ in fed.line.said):
        asked, reply = ask(fed)
        asked_so_far.append(asked.query.to_bytes())
        assert np.array_equal(reply.total, clear(of, asked_so_far, SITES))
        fed.coordinator.receive(asked.query, [reply])
    fed.engine.prepare()
    return fed, asked_so_far


def clear(of: World, queries: list[bytes], sites: tuple[str, ...]) -> Integers:
    """Return the last sum of some sites, noise included, without masks."""
    totals = []
    for place, data in enumerate(of.sites):
        if data.name in sites:
            site = Site(of.programme, data, of.ledger(place), seeded(1))
            answers = [site.answer(query) for query in queries]
            assert isinstance(answers[-1], Reply)
            totals.append(answers[-1].total)
    return np.asarray(sum(totals))


def test_sums_of_pieces_are_the_sums(of: World) -> None:
    fed, before = long_round(of)
    asked, reply = ask(fed)
    assert reply.of == SITES
    expected = clear(of, [*before, asked.query.to_bytes()], SITES)
    assert np.array_equal(reply.total, expected)
    assert len(expected) > 1


@pytest.mark.parametrize("damage", [None, b"junk", b""])
def test_a_site_that_is_lost_between_pieces_is_left_out(
    of: World, damage: bytes | None
) -> None:
    fed, before = long_round(of)
    seen = 0

    def later(name: str, step: str, answer: bytes) -> bytes | None:
        nonlocal seen
        if (name, step) != ("site2", "fetch"):
            return answer
        seen += 1
        return answer if seen == 1 else damage

    fed.line.tamper = later
    asked, reply = ask(fed)
    present = ("site0", "site1", "site3")
    assert reply.of == present
    assert set(reply.receipts) == set(present)
    expected = clear(of, [*before, asked.query.to_bytes()], present)
    assert np.array_equal(reply.total, expected)


def test_too_many_lost_between_pieces_lose_the_round(of: World) -> None:
    fed, before = long_round(of)
    fed.line.tamper = losing("fetch", *SITES)
    asked = charged(fed)
    with pytest.raises(RoundLost, match=f"round {len(before) + 1} is lost"):
        fed.engine.ask(asked.query, asked.participants)


def test_a_piece_is_given_in_its_turn_only(of: World) -> None:
    fed = federation(of)
    fed.engine.prepare()
    refusal = refusal_in(fed.sites["site0"].handle(PieceRequest(0).to_bytes()))
    assert refusal is not None
    assert "not its turn" in refusal.reason
    assert read_request(PieceRequest(5).to_bytes()) == PieceRequest(5)
