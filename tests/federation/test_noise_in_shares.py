# SPDX-License-Identifier: Apache-2.0
"""Noise in shares: enough of it whoever is missing, known to the learner, in its ring.

Deviations are estimated from 40,000 values. An estimate is off by 5 %, 14 times its own
deviation of 1/sqrt(80000), with probability below 10^-40.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from lexfed.budget.noise_plan import Budget
from lexfed.errors import ConfigError
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.engines.clear_sums import Simulation
from lexfed.federation.planning.choices import Choices
from lexfed.federation.planning.purchase_programmes import plan_importance
from lexfed.federation.programme.integer_sums import (
    FINENESS,
    add_share,
    grid_in_ring,
    longest_sum,
    ring_of,
)
from lexfed.federation.programme.messages import Reply
from lexfed.federation.programme.sequence import Block, Stage
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.noise.shares import NoiseCohort, half_variance, sum_bound
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.randomness import SeededSource
from lexfed.tiers import Tier
from support.federation.masked_worlds import ask, federation, masked_world
from support.federation.worlds import seeded, world

SIGMA = 3.0
VALUES = 40_000
CLOSE = 0.05


def stage_of(cohort: NoiseCohort) -> tuple[Stage, Release]:
    """Return a stage with one long vector."""
    grid = Grid(1.0, SIGMA, VALUES, 1000, fineness=FINENESS)
    group = ReleaseGroup("tower", 1.0, SIGMA)
    release = Release("t", (group,), 1.0, Tier.SPECIAL, 4 * VALUES, "skellam")
    ones = (1.0,) * cohort.sites
    block = (Block(0, VALUES, grid),)
    return Stage("t", "update", 0, 1.0, ones, ones, 1.0, (release,), block), release


def deviation(cohort: NoiseCohort, adding: int) -> float:
    """Return the deviation of a sum in which so many sites added their shares."""
    stage, release = stage_of(cohort)
    total = np.zeros(VALUES, dtype=np.int64)
    for site in range(adding):
        source = SeededSource(7, f"noise/{site}")
        total = add_share(total, stage, release, cohort, source)
    return float(np.std(total)) * stage.blocks[0].grid.step


COHORTS = [
    NoiseCohort(4),
    NoiseCohort(4, 0, 1),
    NoiseCohort(5, 1, 1),
    NoiseCohort(8, 2, 2),
]


@pytest.mark.parametrize("cohort", COHORTS, ids=str)
def test_noise_after_dropouts_is_at_least_what_is_charged(cohort: NoiseCohort) -> None:
    """The honest sites alone have it; colluders may tell theirs or leave it out."""
    found = deviation(cohort, cohort.least - cohort.colluders)
    assert SIGMA * (1.0 - CLOSE) < found < SIGMA * (1.0 + CLOSE)


@pytest.mark.parametrize("cohort", COHORTS, ids=str)
def test_one_more_missing_site_would_show(cohort: NoiseCohort) -> None:
    """The check above can fail: with one share less there is too little noise."""
    assert deviation(cohort, cohort.honest - 1) < SIGMA * (1.0 - CLOSE)


def test_a_site_that_skips_its_share_is_a_colluder() -> None:
    tolerant, trusting = NoiseCohort(4, 1, 0), NoiseCohort(4, 0, 0)
    assert deviation(tolerant, 3) > SIGMA * (1.0 - CLOSE)
    assert deviation(trusting, 3) < SIGMA * (1.0 - CLOSE)


@pytest.mark.parametrize("cohort", COHORTS, ids=str)
def test_with_everybody_present_noise_is_inflated(cohort: NoiseCohort) -> None:
    found = deviation(cohort, cohort.sites)
    assert found == pytest.approx(SIGMA * cohort.inflation, rel=CLOSE)


def test_the_learner_knows_how_much_noise_there_is() -> None:
    of = masked_world(dropouts=1)
    programme, cohort = of.programme, of.programme.cohort
    assert cohort is not None
    assert programme.loudness() == pytest.approx(cohort.inflation**2)
    assert programme.loudness(1) == 1.0
    release = programme.stages[0].releases[0]
    assert release is not None
    learner = Learner(programme)
    sigma = release.groups[0].sigma
    assert learner._noise(release) == pytest.approx(sigma * math.sqrt(4 / 3))
    assert learner._noise(release, 1) == pytest.approx(sigma)
    assert world().programme.loudness() == 1.0
    local = world(trust="local").programme
    assert (local.loudness(), local.loudness(1)) == (3.0, 2.0)


def test_a_mean_without_some_sites_is_still_a_mean() -> None:
    """The divisor counts who is there, by public numbers."""
    of = masked_world(dropouts=1)
    stage = of.programme.stages[0]
    assert of.programme.without(stage, ()) is stage
    smaller = of.programme.without(stage, {"site3"})
    assert smaller.divisor == pytest.approx(stage.divisor * 3 / 4)
    sizes = replace(of.programme, site_units=(1.0, 1.0, 1.0, 7.0))
    assert sizes.without(stage, {"site3"}).divisor == pytest.approx(stage.divisor * 0.3)
    unknown = replace(of.programme, site_units=())
    smaller = unknown.without(stage, {"site0", "site1"})
    assert smaller.divisor == pytest.approx(stage.divisor / 2)


def test_a_missing_site_does_not_shrink_what_is_learned() -> None:
    """With one of four like sites missing the label rate stays about what it was."""
    of = masked_world(
        sizes=(400, 400, 400, 400), dropouts=1, budget=Budget(20.0, 1e-6, "add-remove")
    )
    rates = []
    for missing in ((), ("site2",)):
        fed = federation(of)
        fed.engine.prepare()
        asked = fed.coordinator.next()
        assert asked is not None
        here = [name for name in asked.participants if name not in missing]
        [reply] = fed.engine.ask(asked.query, here)
        after = fed.coordinator.receive(asked.query, [reply], missing)
        rates.append(float(after.progress.memory["base.rate"][0]))
    assert rates[0] == pytest.approx(rates[1], abs=0.1)
    assert rates[0] != rates[1]


# Plans


def test_plans_say_that_noise_comes_in_shares() -> None:
    of = masked_world(dropouts=1, mechanism="grouped")
    for stage in of.programme.stages:
        for block in stage.blocks:
            assert block.grid.fineness == FINENESS
        for release in stage.releases:
            assert release is not None
            assert release.noise == "skellam"
            assert release.samples == 4 * 4 * stage.dimension
    assert world().programme.cohort is None


def test_tolerance_is_part_of_what_is_agreed() -> None:
    digests = {
        masked_world(dropouts=dropouts, setup_rounds=rounds).programme.digest
        for dropouts in (0, 1)
        for rounds in (8, 32)
    }
    assert len(digests) == 4


def test_paid_importances_come_in_shares_too() -> None:
    of = masked_world()
    bought = plan_importance(of.facts, of.budget, of.choices)
    assert bought.cohort == of.programme.cohort
    releases = [release for stage in bought.stages for release in stage.releases]
    assert {release.noise for release in releases if release is not None} == {"skellam"}


def test_without_a_mechanism_nobody_shares_noise() -> None:
    choices = Choices(mechanism="none", trust="distributed")
    assert choices.cohort(4) is None


def longest_of(grid: Grid, cohort: NoiseCohort) -> int:
    half = half_variance(grid.sigma, grid.step, cohort)
    return sum_bound(grid, half, cohort)


def test_grids_keep_their_room_where_it_fits() -> None:
    cohort = NoiseCohort(4)
    small = Grid(1.0, 1.0, 10, 16 * 100)
    assert grid_in_ring(small, 100, cohort).units == 1600
    large = Grid(1.0, 1.0, 10_000, 16 * 60_000)
    kept = grid_in_ring(large, 60_000, cohort)
    assert kept.units == 120_000
    assert 2 * longest_of(kept, cohort) < 2**32 < 4 * longest_of(kept, cohort)
    with pytest.raises(ConfigError, match="need"):
        grid_in_ring(Grid(1.0, 1.0, 10_000, 16 * 600_000), 600_000, cohort)


def test_every_sum_of_a_programme_fits_its_ring() -> None:
    of = masked_world(dropouts=1)
    cohort = of.programme.cohort
    assert cohort is not None
    bits = ring_of(of.programme, cohort)
    longest = max(longest_sum(stage, cohort) for stage in of.programme.stages)
    assert 2 * longest < 2**bits
    assert bits == 24


def test_rehearsals_of_all_sites_at_once_have_the_same_noise() -> None:
    """In memory all sites are computed as one; sums agree within one grid step."""
    of = masked_world(dropouts=1)
    fed = federation(of)
    simulated = Simulation(of.programme, of.sites, seeded(1))
    asked, reply = ask(fed)
    [whole] = simulated.ask(asked.query, asked.participants)
    assert isinstance(whole, Reply)
    assert whole.noised
    assert int(np.abs(whole.total - reply.total).max()) <= len(of.sites)
