# SPDX-License-Identifier: Apache-2.0
"""A site counts the numbers of a query before it looks at its data."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.federation.site.data_holder import is_well_formed
from support.federation import site_checks
from support.federation.worlds import Played, World, play, world

WORLDS: dict[str, dict[str, Any]] = {
    "logistic": {},
    "softmax": {"loss": "softmax"},
    "squared": {"loss": "squared"},
    "networks by rule": {"model": "mlp:4", "by_rule": True},
    "descent": {"model": "mlp:4", "rounds": 2},
    "clients": {"unit": "client", "rounds": 2},
    "without noise": {"mechanism": "none", "rounds": 2},
}


@pytest.fixture(scope="module", params=WORLDS)
def played(request: pytest.FixtureRequest) -> tuple[World, Played]:
    of = world(sizes=(12, 9, 11), **WORLDS[request.param])
    return of, play(of)


def deformed(array: NDArray[np.float64]) -> Iterator[NDArray[Any]]:
    """Yield arrays that pass for a vector in arithmetic, but are not the one."""
    yield np.concatenate([array, [0.0]])
    yield array.reshape(1, -1)
    yield np.broadcast_to(array, (7, 1, array.size)).copy()
    yield array.astype(np.float32)
    if array.size:
        yield array[:-1]
        yield np.full_like(array, np.nan)
        yield np.full_like(array, np.inf)


def test_queries_of_a_run_are_well_formed(played: tuple[World, Played]) -> None:
    of, seen = played
    assert all(is_well_formed(query, of.programme) for query in seen.queries)


def test_every_array_has_one_length(played: tuple[World, Played]) -> None:
    of, seen = played
    for query in {query.kind: query for query in seen.queries}.values():
        for name, array in query.arrays.items():
            for other in deformed(array):
                changed = replace(query, arrays={**query.arrays, name: other})
                assert not is_well_formed(changed, of.programme), (query.kind, name)
            less = {key: value for key, value in query.arrays.items() if key != name}
            assert not is_well_formed(replace(query, arrays=less), of.programme)
        more = {**query.arrays, "more": np.zeros(1)}
        assert not is_well_formed(replace(query, arrays=more), of.programme)
        for other in deformed(query.model.intercept):
            model = replace(query.model, intercept=other)
            assert not is_well_formed(replace(query, model=model), of.programme)
        for name in ("parameters", "skip", "centre", "scale"):
            for other in deformed(getattr(query.model.towers[0], name)):
                field: dict[str, Any] = {name: other}
                tower = replace(query.model.towers[0], **field)
                model = query.model.with_tower(0, tower)
                assert not is_well_formed(replace(query, model=model), of.programme)


def test_a_refusal_does_not_depend_on_the_data() -> None:
    site_checks.a_refusal_says_nothing_about_data()
