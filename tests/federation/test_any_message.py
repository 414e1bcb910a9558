# SPDX-License-Identifier: Apache-2.0
"""Any message is refused by a site for nothing, or answered for its price.

A query is bytes from a stranger. Here every value in its head, and every array, takes
the place of values of every other type: all of them one by one, and several at random.
"""

import copy
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load, save

from lexfed.audit.entries import receipts
from lexfed.federation.programme.messages import Query, Refusal, answer_from_bytes
from lexfed.federation.site.data_holder import Site
from lexfed.signing.keys import Signer, fingerprint
from support.federation.worlds import Played, World, play, seeded, world

LOG = "example.org/log/small/0123456789abcdef"
STRANGE: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    2**53,
    2**63,
    10**40,
    -0.0,
    0.0,
    1.0,
    0.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "0",
    "1",
    "gradient",
    [],
    [[]],
    [1],
    {},
    {"version": 1},
)
WORLDS: dict[str, dict[str, Any]] = {
    "central": {},
    "local": {"trust": "local", "model": "mlp:4", "rounds": 2},
    "clients": {"unit": "client", "rounds": 2},
    "without noise": {"mechanism": "none", "rounds": 2},
}


@lru_cache
def played(name: str) -> tuple[World, Played]:
    of = world(sizes=(12, 9), **WORLDS[name])
    return of, play(of)


@lru_cache
def _signer() -> Signer:
    return Signer("north", Ed25519PrivateKey.from_private_bytes(bytes(32)))


def site_of(of: World) -> tuple[Site, list[Any]]:
    """Return a site that answers any round of its programme, and what it is charged."""
    ledger = of.ledger()
    charged: list[Any] = []

    class Watched:
        """The ledger of a site, seen from outside."""

        def __getattr__(self, name: str) -> Any:
            return getattr(ledger, name)

        def charge(self, release: Any) -> None:
            assert ledger is not None
            ledger.charge(release)
            charged.append(release)

    site = Site(
        of.programme,
        of.sites[0],
        None if ledger is None else Watched(),
        seeded(1),
        _signer(),
        every_answer=True,
        log=LOG,
    )
    return site, charged


def sound(of: World, content: bytes) -> bool:
    """Return True if a message is answered and paid for once; else it is free."""
    site, charged = site_of(of)
    answer = answer_from_bytes(site.handle(content))
    if isinstance(answer, Refusal):
        assert charged == []
        return False
    query = Query.from_bytes(content)
    stage = of.programme.stages[query.stage]
    assert answer.total.shape == (stage.dimension,)
    assert len(charged) == (query.release is not None)
    key = _signer().public
    _, receipt = receipts.check(answer.receipt, {fingerprint(key): key})
    assert receipt.round == query.round
    return True


def head_of(content: bytes) -> Any:
    size = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["lexfed"])


def with_head(
    content: bytes, head: Any, arrays: Mapping[str, NDArray[Any]] | None = None
) -> bytes:
    said = load(content) if arrays is None else dict(arrays)
    return save(said, metadata={"lexfed": json.dumps(head)})


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value in a head; of long lists to the first and last."""
    yield at
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*at, key))
    elif isinstance(value, list):
        for index in sorted({0, len(value) - 1} if value else ()):
            yield from places(value[index], (*at, index))


def replaced(head: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    changed = copy.deepcopy(head)
    inner = changed
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return changed


def removed(head: Any, at: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(head)
    inner = changed
    for key in at[:-1]:
        inner = inner[key]
    del inner[at[-1]]
    return changed


def questions(name: str) -> tuple[World, list[bytes]]:
    """Return one query of each kind, in the order of the programme."""
    of, seen = played(name)
    by_kind = {query.kind: query for query in reversed(seen.queries)}
    return of, [
        replace(query, log=LOG).to_bytes() for query in reversed(by_kind.values())
    ]


@pytest.mark.no_cover
@pytest.mark.parametrize("place", [0, -1], ids=["first", "last"])
@pytest.mark.parametrize("name", WORLDS)
def test_every_value_of_a_head_may_be_of_another_type(name: str, place: int) -> None:
    of, contents = questions(name)
    content = contents[place]
    head = head_of(content)
    for at in places(head):
        for value in STRANGE:
            changed = replaced(head, at, value)
            # A stage may have ended early, so other numbers of rounds are possible.
            is_number = at[-1:] in (("round",), ("step",)) and type(value) is int
            # Python takes 1, 1.0 and True for equal; another meaning is refused.
            meant = is_number or changed == head
            assert not sound(of, with_head(content, changed)) or meant
        if at:
            assert not sound(of, with_head(content, removed(head, at)))
    assert sound(of, content)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # 1e308 times a slope
def test_every_array_may_be_another(name: str) -> None:
    of, contents = questions(name)
    for content in contents:
        arrays = load(content)
        for key, array in arrays.items():
            for other in (
                array.astype(np.float32),
                array.astype(np.int64),
                array.astype(np.bool_),
                array.reshape(1, -1),
                np.zeros(0),
                np.zeros(()),
                np.full_like(array, 1e308),
                np.full_like(array, -1e308),
                np.full_like(array, 5e-324),
                np.full_like(array, np.nan),
            ):
                sound(of, with_head(content, head_of(content), {**arrays, key: other}))
            fewer = {name: each for name, each in arrays.items() if name != key}
            sound(of, with_head(content, head_of(content), fewer))


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-2, 2**70),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(STRANGE),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner)
    ),
    max_leaves=6,
)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(data=st.data())
@settings(max_examples=int(os.environ.get("LEXFED_MESSAGES", "150")))
def test_several_values_may_be_anything(data: st.DataObject) -> None:
    of, contents = questions(data.draw(st.sampled_from(list(WORLDS))))
    content = data.draw(st.sampled_from(contents))
    head = head_of(content)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.sampled_from(list(places(head))))
        head = replaced(head, at, data.draw(JSON))
    sound(of, with_head(content, head))
