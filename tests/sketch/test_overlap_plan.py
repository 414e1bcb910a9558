# SPDX-License-Identifier: Apache-2.0
"""Overlaps are charged for what a person moves, before bits are given out."""

from dataclasses import replace

import numpy as np
import pytest

from lexfed.errors import DataError, Refused
from lexfed.sketch.sharing.overlap_plan import OverlapPlan, width_for
from lexfed.sketch.tables.counts import BloomFilter
from lexfed.sketch.tables.shape import SketchKind, SketchShape
from lexfed.tiers import Tier
from support.secagg import overlap_checks
from support.secagg.overlap_sums import KEYS, plan, shape
from support.sketch.paying_checks import ledger_for

PLAN = plan()


def test_nobody_moves_counts_further_than_the_event() -> None:
    overlap_checks.nobody_moves_counts_further_than_the_event()


def test_the_event_is_one_of_shares() -> None:
    overlap_checks.the_event_is_one_of_shares()


def test_a_site_pays_before_its_bits_are_given_out() -> None:
    overlap_checks.a_site_pays_before_its_bits_are_given_out()


def test_another_filter_is_refused_without_a_charge() -> None:
    ledger = ledger_for(PLAN.event())
    other = BloomFilter.build(shape(seed=8), KEYS.keys(np.arange(9)))
    with pytest.raises(DataError, match="the seed of the hashes differs"):
        PLAN.share(other, ledger)
    assert ledger.events() == ()


def test_noise_of_each_aggregator_is_enough_for_theorem_d() -> None:
    for sigma in (0.5, 3.0, 34.0):
        found = replace(PLAN, sigma=sigma)
        assert 2 * found.half >= sigma**2 + 2.5 > 2 * (found.half - 1)
        assert found.variance == 4 * found.half


def test_every_part_of_a_plan_is_in_its_digest() -> None:
    others = [
        replace(PLAN, name="x"),
        replace(PLAN, sites=5),
        replace(PLAN, shape=shape(seed=8)),
        replace(PLAN, sigma=3.5),
        replace(PLAN, places=2),
        replace(PLAN, reads=Tier.SPECIAL),
    ]
    assert len({each.digest for each in [PLAN, *others]}) == 7


def test_plans_that_nobody_could_keep_are_refused() -> None:
    counts = SketchShape(SketchKind.COUNT_SKETCH, 5, 256, 7, KEYS.digest)
    with pytest.raises(ValueError, match="counts have no bound"):
        replace(PLAN, shape=counts)
    with pytest.raises(ValueError, match="places"):
        replace(PLAN, places=5)
    with pytest.raises(ValueError, match="all_bits"):
        OverlapPlan("overlaps", 4096, shape(2**20), 3.0)


def test_filters_have_eight_bits_for_each_person() -> None:
    assert [width_for(people) for people in (1, 2000, 2048, 2049)] == [
        *(8, 16384, 16384, 32768),
    ]
    with pytest.raises(DataError, match="1048576 are the most"):
        width_for(200_000)


def test_a_budget_that_is_spent_gives_out_nothing() -> None:
    ledger = ledger_for(PLAN.event())
    filter_ = BloomFilter.build(PLAN.shape, KEYS.keys(np.arange(9)))
    PLAN.share(filter_, ledger)
    with pytest.raises(Refused):
        PLAN.share(filter_, ledger)
