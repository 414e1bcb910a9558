# SPDX-License-Identifier: Apache-2.0
"""Sketches are added by every road to the same bits, and by no other plan."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from lexfed.errors import ConfigError, SecAggError
from lexfed.federation.sharing.sketch_terms import masking_terms, sharing_terms
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.secagg.mask_sessions.relay import MaskRelay, RelayedServer
from lexfed.secagg.shares.schemes import SEED
from lexfed.sketch.sharing.sum_plan import SharedPlan
from support.secagg import shared_sums as sums
from support.secagg.secure_sums import SERVER, identity, names

PLAN = sums.plan()


def test_masked_sums_are_the_plain_ones_to_the_bit() -> None:
    vectors = sums.shares(PLAN)
    found = sums.masked(PLAN, vectors)
    assert np.array_equal(found, sums.truth(vectors))


def test_masked_sums_survive_a_lost_site() -> None:
    agreed = sums.plan(4, dropouts=1)
    vectors = sums.shares(agreed)
    vectors.pop("site002")
    found = sums.masked(agreed, vectors)
    assert np.array_equal(found, sums.truth(vectors))
    sketch = agreed.opened(found, 3, private=False)
    halves = agreed.masked.halves()
    assert [table.variance for table in sketch.tables] == [6 * half for half in halves]


@pytest.mark.parametrize("operators", [2, 3, 7])
def test_shares_for_aggregators_add_up_to_the_same_bits(operators: int) -> None:
    vectors = sums.shares(PLAN)
    found = sums.shared(PLAN, vectors, [f"operator{at}" for at in range(operators)])
    assert np.array_equal(found.values, sums.truth(vectors))
    assert found.listed.sites == names(3)


def test_sums_through_regions_are_the_same_bits() -> None:
    """Sites, two regions and a root, with one seed; also plain tables, by levels."""
    agreed = sums.plan(4)
    vectors = sums.shares(agreed)
    epoch = sums.mask_epoch(agreed)
    epoch.set_up()
    established = epoch.established
    regions = {"east": names(4)[:2], "west": names(4)[2:]}
    relays = sums.roster(regions)
    root = RelayedServer(SERVER, established, relays)
    root.begin(1, agreed.digest)
    for region, members in regions.items():
        agreed_on = established.cohort.agreed
        relay = MaskRelay(identity(region), epoch.agreed, relays, agreed_on)
        relay.begin(1, agreed.digest)
        for name in members:
            relay.take(epoch.sites[name].mask(1, agreed.digest, vectors[name]))
        root.relayed(relay.forward())
    assert np.array_equal(epoch.opened(root, names(4)), sums.truth(vectors))
    left, right, third, fourth = (sums.tables(at)[0] for at in range(4))
    by_levels = left.add(right).add(third.add(fourth))
    at_once = left.add(right).add(third).add(fourth)
    assert by_levels.to_bytes() == at_once.to_bytes()


def test_sites_can_be_the_aggregators_of_each_other() -> None:
    vectors = sums.shares(PLAN)
    found = sums.shared(PLAN, vectors, names(3))
    assert np.array_equal(found.values, sums.truth(vectors))


@pytest.mark.skipif(not find_spec("tenseal"), reason="needs the extra `lexfed[he]`")
def test_encrypted_sums_are_the_same_bits() -> None:
    vectors = sums.shares(PLAN)
    assert np.array_equal(sums.encrypted(PLAN, vectors), sums.truth(vectors))


def test_sums_become_the_sketch_of_all_items() -> None:
    vectors = sums.shares(PLAN)
    sketch = PLAN.opened(sums.masked(PLAN, vectors), 3, private=False)
    for at, table in enumerate(sketch.tables):
        exact = sum(sums.tables(site)[at].cells for site in range(3))
        # 8 deviations: beyond with probability below 1e-10 (`wrap_probability`).
        assert np.abs(table.cells - exact).max() < 8 * table.variance**0.5


def test_rings_are_the_smallest_that_hold_people_and_noise() -> None:
    assert masking_terms(PLAN).ring.bits == PLAN.masked.ring() == 16
    wide = sums.plan(people=40_000)
    assert masking_terms(wide).ring.bits == 24
    terms = sharing_terms(wide, 3)
    assert terms.scheme.largest >= terms.bound > 40_000
    assert [terms.scheme.share_bytes(seat) for seat in range(3)] == [SEED, SEED, 159]


def test_a_sum_that_leaves_its_bound_is_refused_by_every_road() -> None:
    # 16 bits hold 32,767; the bound is 500 people and 8 deviations.
    vectors = sums.shares(PLAN)
    vectors["site000"] = vectors["site000"] + 2000
    with pytest.raises(SecAggError, match="left its bound"):
        sums.masked(PLAN, vectors)
    with pytest.raises(SecAggError, match="left its bound"):
        sums.shared(PLAN, vectors, ["a", "b"])


def test_another_seed_opens_nothing() -> None:
    other = SharedPlan(PLAN.masked, sums.other_seed())
    assert other.digest != PLAN.digest
    vectors = sums.shares(PLAN)
    epoch = sums.mask_epoch(PLAN)
    server = epoch.set_up()
    server.begin(1, PLAN.digest)
    message = epoch.sites["site000"].mask(1, other.digest, vectors["site000"])
    with pytest.raises(SecAggError, match="of model"):
        server.masked(message)


def test_colluders_that_could_subtract_themselves_are_refused() -> None:
    masked = replace(PLAN.masked, cohort=NoiseCohort(3, colluders=2))
    with pytest.raises(ConfigError, match="2 colluders in a sum of 3"):
        masking_terms(replace(PLAN, masked=masked))
