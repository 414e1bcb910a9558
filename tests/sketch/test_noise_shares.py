# SPDX-License-Identifier: Apache-2.0
"""Shares of noise: enough with the fewest sites, and a site that forgets is noticed."""

import math
from dataclasses import replace

import numpy as np
import pytest

from lexfed.errors import ClaimError, ConfigError, DataError, Refused, SecAggError
from lexfed.privacy.noise import shares
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.privacy.run_ledger import Ledger, Limits
from lexfed.randomness import SeededSource
from lexfed.sketch.releases.noised_sketch import (
    Contribution,
    GaussianColumn,
    NoisedSketch,
    NoisePlan,
)
from lexfed.sketch.sharing.sum_plan import MaskedPlan, noised_share, opened_sketch
from lexfed.tiers import Tier
from support.sketch import paying_checks as checks

PLAN = NoisePlan(
    "profile",
    (
        GaussianColumn("age", Tier.PERSONAL, Contribution(depth=2), 4, 6.0),
        GaussianColumn("codes", Tier.SPECIAL, Contribution(items=3), 5, 9.0),
    ),
    people=50,
)
MASKED = MaskedPlan(PLAN, NoiseCohort(3, dropouts=1))


def test_a_masked_sum_tells_no_more_than_its_event() -> None:
    checks.a_masked_sum_tells_no_more_than_its_event()


def test_noise_forgotten_at_one_site_is_noticed_on_neighbouring_inputs() -> None:
    """Negative control: of two sites in the sum, the second sends bare tables."""
    masked = checks.MASKED

    def broken(tables: list[checks.Integers], seed: str) -> NoisedSketch:
        ledger = checks.ledger_for(masked.event())
        share = noised_share(masked, tables, ledger, SeededSource(0, seed))
        bare = np.zeros_like(share)
        return opened_sketch(masked, share + bare, 2, private=False)

    found = checks.least_mu(
        broken(checks.zeros(checks.PLAN), "without"),
        broken(checks.persons(checks.PLAN), "there"),
        shift=60.0,
    )
    assert found > 1.1 / masked.event().noise_multiplier


def test_few_sites_open_nothing() -> None:
    checks.few_sites_open_nothing()


def test_shares_of_honest_sites_are_enough_for_theorem_d() -> None:
    for cohort in (
        NoiseCohort(2),
        NoiseCohort(3, dropouts=1),
        NoiseCohort(7, colluders=2),
    ):
        masked = MaskedPlan(PLAN, cohort)
        for column, half in zip(PLAN.columns, masked.halves(), strict=True):
            assert 2 * half * cohort.honest >= column.sigma**2 + 2.5
            assert 2 * (half - 1) * cohort.honest < column.sigma**2 + 2.5


def test_an_opened_sum_is_the_sum_of_all_tables_and_its_event() -> None:
    tables = [
        [np.full((2, 4), 10 * site), np.full((1, 5), 1000 * site)] for site in range(3)
    ]
    ledgers = [checks.ledger_for(MASKED.event()) for _ in tables]
    total = sum(
        noised_share(MASKED, own, ledger, SeededSource(site))
        for site, (own, ledger) in enumerate(zip(tables, ledgers, strict=True))
    )
    assert isinstance(total, np.ndarray)
    sketch = opened_sketch(MASKED, total, 3, private=True)
    assert sketch.private
    assert all(ledger.events() == (sketch.event,) for ledger in ledgers)
    assert sketch.event == replace(
        PLAN.event(), noise="skellam", samples=4 * 3 * (8 + 5)
    )
    age, codes = sketch.tables
    assert (age.name, codes.name) == ("age", "codes")
    assert [age.variance, codes.variance] == [6 * half for half in MASKED.halves()]
    # 8 deviations each: beyond with probability below 1e-8 (`wrap_probability`).
    assert np.abs(age.cells - 30).max() <= 8 * math.sqrt(age.variance)
    # A site cannot have more than all 50 people with 3 items each: 0 + 150 + 150.
    assert np.abs(codes.cells - 300).max() <= 8 * math.sqrt(codes.variance)


def test_only_renyi_accounting_pays_for_shares() -> None:
    ledger = checks.ledger_for(PLAN.event())
    source = checks.Watched()
    with pytest.raises(Refused):
        noised_share(MASKED, checks.zeros(PLAN), ledger, source)
    assert source.asked == 0
    exact = Ledger.planned(Limits(1000.0, 1e-6), [(PLAN.event(), 1)], "gdp")
    with pytest.raises(ClaimError, match="Rényi accounting only"):
        noised_share(MASKED, checks.zeros(PLAN), exact, source)
    assert source.asked == 0


def test_rings_hold_people_and_noise() -> None:
    assert MASKED.ring() == 16
    assert MaskedPlan(replace(PLAN, people=20_000), NoiseCohort(3)).ring() == 24
    # The same bound as that of a grid whose step is the unit.
    half = shares.half_variance(64.0, 1.0, NoiseCohort(3))
    bound = shares.sum_bound(
        Grid(128.0, 64.0, 1, 10, fineness=128.0), half, NoiseCohort(3)
    )
    edge = (2**15 - 1 - (bound - 1280)) // 128
    column = GaussianColumn("age", Tier.PERSONAL, Contribution(items=128), 1, 64.0)
    fits, wraps = (
        MaskedPlan(NoisePlan("profile", (column,), people), NoiseCohort(3))
        for people in (edge, edge + 1)
    )
    assert (fits.ring(), wraps.ring()) == (16, 24)
    assert fits.wrap_probability() == shares.wrap_probability(
        [half], [1], NoiseCohort(3)
    )


def test_what_does_not_fit_is_refused_before_it_costs() -> None:
    with pytest.raises(ConfigError, match="bits"):
        MaskedPlan(replace(PLAN, people=2**31), NoiseCohort(3))
    ledger = checks.ledger_for(MASKED.event())
    with pytest.raises(DataError, match="2 are planned"):
        noised_share(MASKED, [], ledger, SeededSource(1))
    assert ledger.events() == ()


def test_sums_that_are_not_the_plans_are_refused() -> None:
    total = np.zeros(13, dtype=np.int64)
    with pytest.raises(DataError, match=r"the sum has the shape \(12,\)"):
        opened_sketch(MASKED, total[:12], 3, private=False)
    with pytest.raises(ValueError, match="`present`"):
        opened_sketch(MASKED, total, 4, private=False)
    with pytest.raises(SecAggError, match="sized for 2 or more"):
        opened_sketch(MASKED, total, 1, private=False)
