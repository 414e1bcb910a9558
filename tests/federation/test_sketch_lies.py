# SPDX-License-Identifier: Apache-2.0
"""Ends and prefixes that no honest coordinator sends: refused, and not charged."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.data.letter_pairs import PAIRS
from lexfed.federation.programme.messages import Query, Refusal
from lexfed.federation.programme.sketch_schedule import follow_up_lengths
from lexfed.federation.site.data_holder import Site, is_well_formed
from lexfed.sketch.queries.requested_tables import MOST_PREFIXES
from support.federation.sketch_worlds import second_looks
from support.federation.worlds import World, play, seeded

Floats = NDArray[np.float64]


def spoil(name: str, value: Callable[[Floats], Floats]) -> Callable[[Query], Query]:
    def apply(query: Query) -> Query:
        return replace(
            query, arrays={**query.arrays, name: value(query.arrays[name].copy())}
        )

    return apply


def with_first(number: float) -> Callable[[Floats], Floats]:
    def change(array: Floats) -> Floats:
        array[0] = number
        return array

    return change


LIES: dict[str, tuple[int, Callable[[Query], Query]]] = {
    "too many ends": (1, spoil("ends.0", lambda a: np.append(a, 1.0))),
    "one end": (1, spoil("ends.0", lambda a: a[:1])),
    "ends of nothing": (1, spoil("ends.0", lambda a: a * math.nan)),
    "endless ends": (1, spoil("ends.0", with_first(-math.inf))),
    "ends that are one": (1, spoil("ends.0", lambda a: a * 0)),
    "ends that fall": (1, spoil("ends.0", lambda a: a[::-1].copy())),
    "ends too far apart": (1, spoil("ends.0", lambda _: np.array([-1.7e308, 1.7e308]))),
    "ends with an axis": (1, spoil("ends.0", lambda a: a.reshape(1, 2))),
    "single precision": (1, spoil("ends.0", lambda a: a.astype(np.float32))),
    "ends of a table that has none": (
        1,
        lambda q: replace(q, arrays={**q.arrays, "ends.1": q.arrays["ends.0"]}),
    ),
    "no ends": (1, lambda q: replace(q, arrays={})),
    "too few prefixes": (2, spoil("prefixes.0", lambda a: a[:-1])),
    "a pair that is none": (2, spoil("prefixes.0", with_first(PAIRS))),
    "less than nothing": (2, spoil("prefixes.0", with_first(-2.0))),
    "half a pair": (2, spoil("prefixes.0", with_first(0.5))),
    "no pair": (2, spoil("prefixes.0", with_first(math.nan))),
}


@pytest.fixture(scope="module")
def asked() -> tuple[World, list[Query]]:
    of = second_looks()
    return of, play(of).queries


@pytest.mark.parametrize("lie", LIES)
def test_a_site_looks_at_ends_and_prefixes_before_its_data(
    lie: str, asked: tuple[World, list[Query]]
) -> None:
    of, queries = asked
    stage, change = LIES[lie]
    ledger = of.ledger(0)
    assert ledger is not None
    site = Site(of.programme, of.sites[0], ledger, seeded(1), every_answer=True)
    answer = site.answer(change(queries[stage]).to_bytes())
    assert isinstance(answer, Refusal)
    assert "not the one that was agreed on" in answer.reason
    assert ledger.events() == ()
    assert not is_well_formed(change(queries[stage]), of.programme)


def test_honest_questions_are_answered(asked: tuple[World, list[Query]]) -> None:
    of, queries = asked
    site = Site(of.programme, of.sites[0], of.ledger(0), seeded(1), every_answer=True)
    for query in queries:
        assert is_well_formed(query, of.programme)
        assert not isinstance(site.answer(query.to_bytes()), Refusal)
    assert follow_up_lengths(of.programme.stages[2].tables) == {
        "prefixes.0": MOST_PREFIXES
    }
