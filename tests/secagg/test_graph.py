# SPDX-License-Identifier: Apache-2.0
"""Graphs: regular and connected always, and as safe as their bounds say."""

import random
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lexfed.errors import ConfigError
from lexfed.secagg.masks import thresholds
from lexfed.secagg.masks.thresholds import BREACH, LOSS, Threshold, density, neighbours

SEED = bytes(range(32))
KNOWN = ((4, 6), (3, 4), (3, 5), (1, 2), (0, 1), (2, 6), (0, 5))
SEEDS = st.binary(min_size=32, max_size=32)


def _seed(number: int) -> bytes:
    return sha256(number.to_bytes(8, "big")).digest()


def _connected(joined: tuple[tuple[int, ...], ...], alive: set[int]) -> bool:
    """Return True if those alive reach each other through those alive."""
    start = min(alive)
    reached, waiting = {start}, [start]
    while waiting:
        found = set(joined[waiting.pop()]) & alive - reached
        reached |= found
        waiting += found
    return reached == alive


@settings(max_examples=60)
@given(st.integers(3, 130), SEEDS, st.data())
def test_graphs_are_regular_symmetric_and_connected(
    sites: int, seed: bytes, data: st.DataObject
) -> None:
    even = st.integers(1, max((sites - 2) // 2, 1)).map(lambda half: 2 * half)
    degree = data.draw(st.one_of(even, st.just(sites - 1)))
    joined = neighbours(sites, seed, degree)
    assert len(joined) == sites
    for one, near in enumerate(joined):
        assert len(set(near)) == len(near) == degree
        assert list(near) == sorted(near)
        assert one not in near
        assert all(one in joined[other] for other in near)
    assert _connected(joined, set(range(sites)))
    assert neighbours(sites, seed, degree) == joined


def test_a_graph_of_our_own_stays_as_it_is() -> None:
    assert neighbours(7, SEED, 2) == KNOWN


def test_another_seed_is_another_graph() -> None:
    assert len({neighbours(70, _seed(number), 10) for number in range(50)}) == 50


def test_removing_fewer_than_k_sites_never_cuts_it() -> None:
    """Every cut of a small circle needs two runs of k/2."""
    joined = neighbours(9, SEED, 4)
    everybody = set(range(9))
    cut = 0
    for bits in range(2**9):
        gone = {place for place in range(9) if bits >> place & 1}
        if len(gone) < 9 and not _connected(joined, everybody - gone):
            assert len(gone) >= 4
            cut += 1
    assert cut > 0


@pytest.mark.parametrize(
    ("marked", "drawn", "least"),
    [(20, 42, 0), (20, 42, 9), (20, 42, 20), (20, 42, 21), (95, 42, 38), (0, 5, 1)],
)
def test_tails_are_those_of_scipy(marked: int, drawn: int, least: int) -> None:
    wanted = stats.hypergeom.sf(least - 1, 100, marked, drawn)
    assert thresholds.hypergeometric_tail(100, marked, drawn, least) == pytest.approx(
        wanted, rel=1e-9
    )


@pytest.mark.parametrize(
    ("asked", "degree", "shares"),
    [
        ((100, 20, 10), 42, 32),
        ((120, 24, 12), 50, 38),
        ((200, 10, 20), 42, 27),
        ((200, 40, 20), 80, 61),
    ],
)
def test_known_densities_keep_their_bounds_and_the_next_smaller_do_not(
    asked: tuple[int, int, int], degree: int, shares: int
) -> None:
    sites, colluders, dropouts = asked
    found = density(*asked)
    assert (found.degree, found.threshold.shares) == (degree, shares)
    assert not found.complete

    def safe(k: int) -> bool:
        among = thresholds.most_colluders(sites, colluders, k)
        outvoted = sites * thresholds.hypergeometric_tail(
            sites - 1, colluders, k, among + 1
        )
        if among >= k:
            return False
        t = Threshold.malicious(k + 1, among).shares
        return (
            outvoted + thresholds.split_bound(sites, colluders, dropouts, k) <= BREACH
            and thresholds.loss_bound(sites, dropouts, k, t) <= LOSS
        )

    assert safe(degree)
    assert not safe(degree - 2)


@pytest.mark.parametrize("asked", [(3, 0, 1), (60, 10, 6), (61, 50, 5)])
def test_small_or_crowded_federations_are_complete(asked: tuple[int, int, int]) -> None:
    found = density(*asked)
    assert found.complete
    assert found.threshold == Threshold.malicious(*asked)


def test_what_no_graph_withstands_is_refused() -> None:
    with pytest.raises(ConfigError, match="100 sites survive 40 dropouts only with"):
        density(100, 33, 40)


def _fewest_paid(sites: int, colluding: set[int], circle: list[int], half: int) -> int:
    """Return the fewest honest sites the server must call missing to cut the circle."""
    honest = [place not in colluding for place in circle]
    runs = [sum(honest[(at + i) % sites] for i in range(half)) for at in range(sites)]
    # Somebody honest must be left on both sides of the two runs.
    best = sites
    for a in range(sites):
        for b in range(a + half, sites):
            between = any(honest[at] for at in range(a + half, b))
            around = any(honest[at % sites] for at in range(b + half, a + sites))
            if between and around:
                best = min(best, runs[a] + runs[b])
    return best


def _circle(joined: tuple[tuple[int, ...], ...]) -> list[int]:
    """The order on the circle: nearest neighbours share most neighbours."""
    order, rest = [0], set(range(1, len(joined)))
    while rest:
        last = set(joined[order[-1]])
        order.append(max(rest & last, key=lambda x: (len(last & set(joined[x])), x)))
        rest.remove(order[-1])
    return order


def _splits(sites: int, colluders: int, dropouts: int, degree: int, runs: int) -> int:
    """Return the number of graphs that a server that sees all can cut apart."""
    chance = random.Random(1)
    found = 0
    for number in range(runs):
        joined = neighbours(sites, _seed(number), degree)
        colluding = set(chance.sample(range(sites), colluders))
        paid = _fewest_paid(sites, colluding, _circle(joined), degree // 2)
        found += paid <= dropouts
    return found


@pytest.mark.slow
def test_servers_that_choose_who_is_missing_split_no_more_than_the_bound() -> None:
    """Wrongly fails with probability 1e-6 over seeds; the seeds are fixed."""
    runs = 400
    bound = thresholds.split_bound(40, 15, 2, 12)
    assert 1e-3 < bound < 0.5
    assert stats.binom.sf(_splits(40, 15, 2, 12, runs) - 1, runs, bound) > 1e-6
    # The control: a graph of half the degree does not keep that bound.
    assert stats.binom.sf(_splits(40, 15, 2, 6, runs) - 1, runs, bound) < 1e-6


def test_rounds_are_lost_no_more_than_the_bound() -> None:
    """Wrongly fails with probability 1e-6 over seeds; the seed is fixed."""

    def losses(shares: int) -> int:
        chance = random.Random(2)
        found = 0
        for number in range(400):
            joined = neighbours(80, _seed(number), 12)
            gone = set(chance.sample(range(80), 8))
            found += any(len(gone & set(near)) > 12 - shares for near in joined)
        return found

    bound = thresholds.loss_bound(80, 8, 12, 7)
    assert 1e-3 < bound < 0.5
    assert stats.binom.sf(losses(7) - 1, 400, bound) > 1e-6
    assert stats.binom.sf(losses(9) - 1, 400, bound) < 1e-6  # the control


@pytest.mark.parametrize(
    ("sites", "seed", "degree", "words"),
    [
        (9, SEED, 3, "an even `degree` below 8"),
        (9, SEED, 0, "`degree`"),
        (9, SEED, 9, "`degree`"),
        (9, SEED[:-1], 4, "a seed of 32 bytes"),
    ],
)
def test_wrong_calls_are_refused(
    sites: int, seed: bytes, degree: int, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        neighbours(sites, seed, degree)
