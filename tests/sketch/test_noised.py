# SPDX-License-Identifier: Apache-2.0
"""Noised sketches: paid before noise is drawn, and telling no more than was paid."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.errors import DataError, Refused
from lexfed.privacy.noise.gaussian import rounded_gaussian
from lexfed.privacy.run_ledger import Ledger, Limits
from lexfed.privacy.scopes import record_epsilon
from lexfed.randomness import RandomSource, SecureSource, SeededSource
from lexfed.sketch.releases.noised_sketch import (
    LEAST_MULTIPLIER,
    Contribution,
    GaussianColumn,
    NoisedSketch,
    NoisedTable,
    NoisePlan,
    person_moves,
    release_sketch,
)
from lexfed.tiers import Tier
from support.sketch import paying_checks as checks

PERSON = Contribution(depth=2, items=3)
PLAN = NoisePlan(
    "profile",
    (
        GaussianColumn("age", Tier.PERSONAL, PERSON, 8, 6.0),
        GaussianColumn("codes", Tier.SPECIAL, Contribution(signed=True), 5, 2.0),
    ),
    people=50,
)


def _ledger(plan: NoisePlan, times: int = 1) -> Ledger:
    return checks.ledger_for(plan.event(), times)


def test_a_release_tells_no_more_than_its_event() -> None:
    checks.a_release_tells_no_more_than_its_event()


def test_less_noise_than_charged_is_noticed() -> None:
    """Negative control: seven tenths of the noise, found on neighbouring inputs."""

    def broken(tables: list[checks.Integers], seed: int) -> NoisedSketch:
        (table,) = tables
        drawn = rounded_gaussian(SeededSource(seed), 0.7 * checks.SIGMA, table.size)
        cells = (table + drawn.reshape(table.shape)).astype(np.float64)
        noised = NoisedTable("age", cells, checks.SIGMA**2)
        return NoisedSketch((noised,), checks.PLAN.event(), private=False)

    found = checks.least_mu(
        broken(checks.zeros(checks.PLAN), 0),
        broken(checks.persons(checks.PLAN), 1),
        shift=60.0,
    )
    assert found > 1.0 / checks.PLAN.event().noise_multiplier


def test_stated_variances_are_those_of_the_noise() -> None:
    checks.stated_variances_are_those_of_the_noise()


def test_cells_have_noise_of_their_own() -> None:
    checks.cells_have_noise_of_their_own()


def test_nothing_is_drawn_before_it_is_paid() -> None:
    checks.nothing_is_drawn_before_it_is_paid()


def test_an_event_reads_its_most_sensitive_column() -> None:
    checks.an_event_reads_its_most_sensitive_column()


def test_an_event_has_the_sensitivities_of_the_tables() -> None:
    clips = [group.clip for group in PLAN.event().groups]
    assert clips == [person_moves([PERSON], "add-remove").l2, 1.0]
    together = person_moves([c.person for c in PLAN.columns], "add-remove").l2
    assert math.isclose(math.hypot(*clips), together)


def test_one_table_costs_depth_over_twice_the_variance() -> None:
    column = GaussianColumn("age", Tier.PERSONAL, Contribution(depth=5), 8, 10.0)
    event = NoisePlan("profile", (column,), 50).event()
    # rho of a Gaussian is the square of clip/sigma, halved.
    assert math.isclose(1 / (2 * event.noise_multiplier**2), 5 / (2 * 10.0**2))


def test_a_person_at_two_sites_pays_twice_the_sensitivity() -> None:
    event = PLAN.event()
    once = Ledger.planned(Limits(1000.0, 1e-6), [(event, 1)], "gdp")
    twice = Ledger.planned(Limits(1000.0, 1e-6), [(event, 1)], "gdp", 2)
    for ledger in (once, twice):
        release_sketch(PLAN, checks.zeros(PLAN), ledger, SeededSource(1))
    half = tuple(replace(column, sigma=column.sigma / 2) for column in PLAN.columns)
    quieter = replace(PLAN, columns=half).event()
    expected = record_epsilon([(quieter, 1)], 1e-6, "add-remove", "gdp")
    assert math.isclose(twice.spent().record, expected)
    assert once.spent().record < expected


def test_a_sketch_returns_what_it_was_charged_for() -> None:
    ledger = _ledger(PLAN)
    tables = [np.arange(16).reshape(2, 8), np.arange(5).reshape(1, 5)]
    kept = [table.copy() for table in tables]
    sketch = release_sketch(PLAN, tables, ledger, SeededSource(1))
    assert ledger.events() == (sketch.event,)
    assert sketch.event == PLAN.event()
    assert not sketch.private
    assert [table.name for table in sketch.tables] == ["age", "codes"]
    assert [table.cells.shape for table in sketch.tables] == [(2, 8), (1, 5)]
    for table, before, noised in zip(tables, kept, sketch.tables, strict=True):
        assert (table == before).all()
        # 8 deviations: exceeded by any of 21 cells with probability below 1e-13.
        assert np.abs(noised.cells - table).max() < 8 * math.sqrt(noised.variance)


def test_noise_of_a_secure_source_is_private_and_never_the_same() -> None:
    ledger = _ledger(PLAN, 2)
    zeros = checks.zeros(PLAN)
    first, second = (
        release_sketch(PLAN, zeros, ledger, SecureSource()) for _ in range(2)
    )
    assert first.private
    # Two grids of 2^-14 steps: all 16 cells agree with probability below 2^-160.
    assert (first.tables[0].cells != second.tables[0].cells).any()


@given(
    person=st.builds(
        Contribution,
        depth=st.integers(1, 8),
        # With one cell a grid of step 1 is as fine as the clip, and 2^20 is its limit.
        items=st.integers(1, 2**18 - 1),
        records=st.integers(1, 4),
    ),
    width=st.integers(1, 64),
    people=st.integers(1, 1000),
    beyond=st.integers(-3, 3),
    seed=st.integers(0, 2**32),
)
def test_integer_tables_move_on_the_grid_as_far_as_they_move(
    person: Contribution, width: int, people: int, beyond: int, seed: int
) -> None:
    """Nothing is rounded, and at the edge of the box nothing moves further apart."""
    column = GaussianColumn("age", Tier.PERSONAL, person, width, 1e7)
    (grid,) = NoisePlan("profile", (column,), people).grids()
    assert grid.step <= 1.0
    rng = np.random.default_rng(seed)
    edge = int(people * column.clip)
    cells = rng.choice([-edge, 0, edge], column.cells) + beyond
    moved = cells + rng.integers(0, person.occurrences + 1, column.cells)
    apart = grid.encode(moved.astype(float)) - grid.encode(cells.astype(float))
    assert (np.abs(apart) * grid.step <= moved - cells).all()
    inside = (np.abs(cells) <= edge) & (np.abs(moved) <= edge)
    assert (apart * grid.step == moved - cells)[inside].all()


def test_more_people_than_declared_are_cut_off_and_not_refused() -> None:
    plan = replace(PLAN, people=1)
    ledger = _ledger(plan)
    tables = [np.full(column.shape, 10**15) for column in plan.columns]
    sketch = release_sketch(plan, tables, ledger, SeededSource(1))
    assert np.abs(sketch.tables[0].cells).max() < PERSON.occurrences * 2 + 8 * 6.0


def test_tables_that_do_not_fit_cost_nothing() -> None:
    ledger, source = _ledger(PLAN), checks.Watched()
    good = checks.zeros(PLAN)
    with pytest.raises(DataError, match="1 tables, and 2 are planned"):
        release_sketch(PLAN, good[:1], ledger, source)
    turned = [good[0].T.copy(), good[1].astype(np.int32)]
    with pytest.raises(DataError) as caught:
        release_sketch(PLAN, turned, ledger, source)  # type: ignore[arg-type]
    assert len(caught.value.problems) == 2
    assert "column `age`: the table is (8, 2) of int64" in caught.value.message
    assert "of int32" in caught.value.message
    assert ledger.events() == ()
    assert source.asked == 0


def test_a_tier_pays_for_what_reads_it() -> None:
    event = PLAN.event()
    limits = Limits(1000.0, 1e-6, caps=((Tier.SPECIAL, 0.01),))
    with pytest.raises(Refused, match="special"):
        Ledger.planned(limits, [(event, 1)], "rdp")
    public = NoisePlan("profile", (PLAN.columns[0],), people=50)
    Ledger.planned(limits, [(public.event(), 1)], "rdp")


def test_another_plan_is_not_paid_by_this_one() -> None:
    ledger: Ledger = _ledger(PLAN)
    source: RandomSource = SeededSource(1)
    quieter = replace(PLAN.columns[0], sigma=5.9)
    for plan in (
        replace(PLAN, columns=(quieter, PLAN.columns[1])),
        replace(PLAN, name="other"),
        replace(PLAN, columns=(replace(PLAN.columns[0], width=16), PLAN.columns[1])),
    ):
        with pytest.raises(Refused):
            release_sketch(plan, checks.zeros(plan), ledger, source)
    assert ledger.events() == ()


def test_plans_that_make_no_sense_are_refused() -> None:
    column = PLAN.columns[0]
    with pytest.raises(ValueError, match="names to differ"):
        NoisePlan("profile", (column, column), 10)
    with pytest.raises(ValueError, match="at least one group"):
        NoisePlan("profile", (), 10)
    with pytest.raises(ValueError, match="`width`"):
        replace(column, width=0)
    with pytest.raises(ValueError, match="`sigma`"):
        replace(column, sigma=math.inf)
    with pytest.raises(ValueError, match="`noise_multiplier`"):
        replace(column, sigma=0.9 * LEAST_MULTIPLIER * column.clip)
    with pytest.raises(ValueError, match="`counts`"):
        NoisePlan("profile", (column,), 2**52)
    with pytest.raises(ValueError, match="`counts`"):
        NoisePlan("profile", (column,), 0)
