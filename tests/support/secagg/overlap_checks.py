# SPDX-License-Identifier: Apache-2.0
"""Checks of shared overlaps: each passes on the real code and fails on its mutants."""

import math
from itertools import combinations, product
from statistics import NormalDist

import numpy as np
import pytest

from lexfed.errors import Refused, SecAggError
from lexfed.federation.sharing.overlap_aggregator import OverlapAggregator
from lexfed.federation.sharing.overlap_protocol import OverlapSetting
from lexfed.privacy.noise.shares import draw_share
from lexfed.privacy.releases import Release
from lexfed.randomness import SeededSource
from lexfed.sketch.sharing.overlap_plan import OverlapPlan
from lexfed.sketch.tables.counts import BloomFilter
from support.secagg import overlap_sums as sums
from support.secagg.secure_sums import names
from support.sketch.paying_checks import ledger_for

AUDITED = 250
# Skellam noise beyond 8 deviations: below 1e-12 for one count (`wrap_probability`).
DEVIATIONS = 8.0


def counts_are_exact_but_for_the_noise() -> None:
    """Sigma 1 on counts up to 30, and the same bits as a plain product."""
    plan = sums.plan(5, 256, sigma=1.0)
    vectors = sums.made(plan)
    found = sums.Computation(sums.agreed(plan)).run(vectors)
    assert found.sites == names(5)
    assert found.left_out == ()
    assert not found.private
    assert np.array_equal(found.counts, found.counts.T)
    error = found.counts - sums.truth(vectors)
    assert np.abs(error).max() < DEVIATIONS * math.sqrt(found.variance)
    # Noise is there: 15 counts without any have probability below 1e-8.
    assert np.any(error)


def rows_that_are_not_of_bits_are_left_out() -> None:
    """Also what is bits modulo small powers of two: each passes with 2^-64."""
    plan = sums.plan(4)
    for odd in (2, -1, 1000, 2**31 - 1, -(2**31) + 1, 2**30, 2**16 + 1):
        vectors = sums.made(plan)
        changed = vectors["site002"].copy()
        changed[5] = odd
        vectors["site002"] = changed
        found = sums.Computation(sums.agreed(plan)).run(vectors)
        assert found.left_out == ("site002",)
        assert found.sites == ("site000", "site001", "site003")
        vectors.pop("site002")
        error = np.abs(found.counts - sums.truth(vectors)).max()
        assert error < DEVIATIONS * math.sqrt(found.variance)


def bits_are_never_added_up_without_noise() -> None:
    computation = sums.Computation(sums.agreed(sums.plan()))
    computation.deal(sums.made(sums.plan()))
    signed = computation.signed()
    for party in computation.parties.values():
        with pytest.raises(SecAggError, match="no noise"):
            party.add(signed)


def each_aggregator_draws_the_full_noise() -> None:
    """1,275 counts of zeros, less the noise of one aggregator, which it knows itself.

    A sample variance has a relative deviation of sqrt(2 / 1275) = 4 %; 6 are 24 %, so
    that a right variance fails with a probability below 1e-8.
    """
    plan = sums.plan(50, 2, sigma=20.0)
    zeros = {name: np.zeros(2, dtype=np.int64) for name in names(50)}
    computation = sums.Computation(sums.agreed(plan))
    found = computation.run(zeros)
    upper = np.triu_indices(50)
    total = found.counts[upper]
    assert abs(float(np.mean(total**2)) / found.variance - 1) < 0.24
    for at in range(2):
        source = SeededSource(at, "overlap noise")
        known = draw_share(source, [plan.half], [len(total)])
        left = float(np.mean((total - known) ** 2))
        assert left > (1 - 0.24) * plan.sigma**2


def nobody_moves_counts_further_than_the_event() -> None:
    """All filters of four sites with one place, and of three with two places.

    A person at up to p sites is added to whatever is there; the largest distances of
    pairs and of sizes are those that are charged, so the bounds are attained.
    """
    for sites, width in ((4, 2), (3, 2), (2, 4)):
        for places in range(1, sites + 1):
            plan = OverlapPlan("overlaps", sites, sums.shape(width), 3.0, places)
            pairs, sizes = _farthest(sites, places)
            clips = [group.clip for group in plan.event().groups]
            assert math.isclose(clips[0], math.sqrt(pairs))
            assert math.isclose(clips[1], math.sqrt(sizes))
            assert clips[0] ** 2 >= pairs - 1e-12


def _farthest(sites: int, places: int) -> tuple[int, int]:
    """Largest squared distances over all filters, all places and all sets of sites.

    The person has one place; the others do not change, so one place is enough.
    """
    pairs = sizes = 0
    for before in product((0, 1), repeat=sites):
        for count in range(1, places + 1):
            for there in combinations(range(sites), count):
                after = [1 if at in there else bit for at, bit in enumerate(before)]
                moved = np.outer(after, after) - np.outer(before, before)
                off = moved[np.triu_indices(sites, 1)]
                pairs = max(pairs, int((off**2).sum()))
                sizes = max(sizes, int((np.diagonal(moved) ** 2).sum()))
    return pairs, sizes


def the_event_is_one_of_shares() -> None:
    event: Release = sums.plan(120, 256, sigma=30.0).event()
    assert [group.name for group in event.groups] == ["pairs", "sizes"]
    # The root of 119 as a float is below it, so the next one is charged.
    assert event.groups[0].clip == math.nextafter(math.sqrt(119), math.inf)
    assert event.noise == "skellam"
    assert event.samples == 4 * 2 * (120 * 121 // 2)
    assert event.reads is None
    assert math.isclose(event.noise_multiplier, 30 / math.sqrt(120))


def a_site_pays_before_its_bits_are_given_out() -> None:
    plan = sums.plan()
    ledger = ledger_for(plan.event())
    filter_ = BloomFilter.build(plan.shape, sums.KEYS.keys(np.arange(9)))
    bits = plan.share(filter_, ledger)
    assert ledger.events() == (plan.event(),)
    assert bits.tolist() == filter_.bits.astype(int).tolist()
    with pytest.raises(Refused):
        plan.share(filter_, ledger)


def counts_tell_no_more_than_their_event(
    forgets: type[OverlapAggregator] | None = None,
) -> float:
    """Return a lower bound on mu for an aggregator that takes off its own noise.

    Nine sites with one place, which all but the first have set; the first has it or
    not. The sum of that site's 8 pairs and its size is the best statistic: it moves by
    9 under noise of deviation 3 times that of a count. At half the shift error rates of
    N trials are below the true ones by more than sqrt(ln(1/b)/(2N)) with probability b
    at most (Hoeffding), so the bound is above mu with probability 2e-6 at most.

    Args:
        forgets: what the second aggregator is, if not the real one.
    """
    overlap = sums.agreed(sums.plan(9, 2, sigma=3.0))
    rest = {name: np.array([1, 0]) for name in names(9)[1:]}
    rates = []
    for there in (0, 1):
        vectors = {"site000": np.array([there, 0]), **rest}
        found = [
            _first_row(overlap, vectors, f"{there} {at}", forgets)
            for at in range(AUDITED)
        ]
        rates.append(float(np.mean((np.array(found) > 4.5) != bool(there))))
    slack = math.sqrt(math.log(1e6) / (2 * AUDITED))
    normal = NormalDist()
    return -sum(normal.inv_cdf(rate + slack) for rate in rates)


def _first_row(
    overlap: OverlapSetting,
    vectors: dict[str, sums.Integers],
    seed: str,
    forgets: type[OverlapAggregator] | None,
) -> float:
    """Return the first site's counts, less the first aggregator's noise, in sum."""
    computation = sums.Computation(overlap, seed=seed)
    if forgets is not None:
        computation.parties["university"].__class__ = forgets
    counts = computation.run(vectors).counts
    known = draw_share(SeededSource(0, seed), [overlap.plan.half], [45])
    # The first 9 of the upper triangle are the first row.
    return float(counts[0].sum() - known[:9].sum())
