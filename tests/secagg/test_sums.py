# SPDX-License-Identifier: Apache-2.0
"""Sums are exact whoever is lost, whenever; or the round is refused."""

from functools import partial
from itertools import combinations, product

import numpy as np
import pytest

from lexfed.secagg.masks import vector_pieces
from lexfed.secagg.masks.thresholds import Threshold
from support.secagg.secure_sums import Epoch, names, refused, setting

STAGES = ("vector", "signature", "shares", "never lost")
"""What a site is lost before."""


def run_patterns(count: int, patterns: list[tuple[str, ...]]) -> int:
    """Run one round for each pattern in one epoch; return how many were refused.

    Sites that are lost in one round are back in the next. Vectors have other lengths.
    """
    epoch = Epoch(setting(count, rounds=len(patterns)))
    epoch.lengths = {number: 1 + number % 5 for number in range(len(patterns) + 1)}
    server = epoch.set_up()
    opens = Threshold.malicious(count, 0).shares
    lost = 0
    for number, pattern in enumerate(patterns, start=1):
        fates = dict(zip(names(count), pattern, strict=True))
        alive = [name for name in fates if fates[name] != "vector"]
        unsigned = [name for name in alive if fates[name] == "signature"]
        closed = [name for name in alive if fates[name] == "shares"]

        attempt = partial(
            epoch.round, server, alive, number, unsigned=unsigned, closed=closed
        )
        if len(alive) - len(unsigned) - len(closed) >= opens:
            np.testing.assert_array_equal(attempt(), epoch.true_sum(alive, number))
        else:
            assert "too small" in refused(attempt).message
            lost += 1
    return lost


def one_stage(count: int, stage: str) -> list[tuple[str, ...]]:
    """Every subset of sites that is lost before one stage."""
    return list(product((stage, "never lost"), repeat=count))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_fate_of_every_site(count: int) -> None:
    lost = run_patterns(count, list(product(STAGES, repeat=count)))
    assert 0 < lost < 4**count


@pytest.mark.parametrize("count", [2, 3])
def test_every_fate_of_every_site_with_vectors_in_pieces(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two values a piece: vectors of up to two travel whole, of up to five in three."""
    monkeypatch.setattr(vector_pieces, "PIECE_VALUES", 2)
    assert 0 < run_patterns(count, list(product(STAGES, repeat=count))) < 4**count


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES[:3])
@pytest.mark.parametrize("count", [4, 5, 6, 7, 8])
def test_every_subset_lost_before_every_stage_with_vectors_in_pieces(
    count: int, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_pieces, "PIECE_VALUES", 2)
    assert run_patterns(count, one_stage(count, stage)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 6])
def test_every_fate_of_every_site_of_more(count: int) -> None:
    assert run_patterns(count, list(product(STAGES, repeat=count))) > 0


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES[:3])
@pytest.mark.parametrize("count", [7, 8])
def test_every_subset_lost_before_every_stage(count: int, stage: str) -> None:
    assert run_patterns(count, one_stage(count, stage)) > 0


@pytest.mark.parametrize("stage", ["never", "silent"])
@pytest.mark.parametrize("count", [3, 4])
def test_every_subset_lost_in_the_set_up(count: int, stage: str) -> None:
    for size in range(count + 1):
        for gone in combinations(names(count), size):
            epoch = Epoch(setting(count, rounds=1))
            here = [name for name in names(count) if name not in gone]
            listed = count if stage == "silent" else len(here)
            enough = len(here) >= 2 and len(here) > listed / 2
            never, silent = (gone, ()) if stage == "never" else ((), gone)
            attempt = partial(epoch.set_up, never, silent)
            if not enough:
                assert "too small" in refused(attempt).message
                continue
            server = attempt()
            found = epoch.round(server, here)
            np.testing.assert_array_equal(found, epoch.true_sum(here))


@pytest.mark.parametrize("bits", [16, 24, 32])
def test_every_ring_decodes_signed_sums(bits: int) -> None:
    epoch = Epoch(setting(5, bits=bits, length=301, colluders=1, least=3))
    server = epoch.set_up()
    alive = names(5)[:4]
    np.testing.assert_array_equal(epoch.round(server, alive), epoch.true_sum(alive))


def test_a_sum_that_leaves_its_bound_fails_the_round() -> None:
    epoch = Epoch(setting(3))
    server = epoch.set_up()
    epoch.masked(server, epoch.sites)
    epoch.consented(server, epoch.sites)
    epoch.unmasked(server, epoch.sites)
    bound = int(np.abs(epoch.true_sum(epoch.sites)).max()) - 1
    assert "left its bound" in refused(lambda: server.total(bound)).message


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_cohorts_up_to_two_hundred(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors of random lengths, which travel in pieces of two values."""
    monkeypatch.setattr(vector_pieces, "PIECE_VALUES", 2)
    coins = np.random.default_rng(seed)
    count = 200 if seed == 0 else int(coins.integers(9, 200))
    colluders = int(coins.integers(0, count // 4))
    epoch = Epoch(setting(count, rounds=1, colluders=colluders, least=colluders + 2))
    epoch.lengths = {1: 1 + seed % 5}
    server = epoch.set_up()
    spare = Threshold.malicious(count, colluders).dropouts
    order = [str(name) for name in coins.permutation(names(count))]
    cuts = sorted(int(at) for at in coins.integers(0, spare + 1, 2))
    gone, unsigned, closed = (
        order[: cuts[0]],
        order[cuts[0] : cuts[1]],
        order[cuts[1] :],
    )
    closed = closed[: spare - cuts[1]]
    alive = [name for name in order if name not in set(gone)]
    found = epoch.round(server, alive, unsigned=unsigned, closed=closed)
    np.testing.assert_array_equal(found, epoch.true_sum(alive))
