# SPDX-License-Identifier: Apache-2.0
"""Rounds that count: what is found, what is remembered, what is not asked."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.budget.noise_plan import Budget
from lexfed.data.letter_pairs import PAIRS, pairs_of
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.progress import tables_before, tables_so_far
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.engines.channel import InProcessChannel
from lexfed.federation.engines.clear_sums import OverChannel
from lexfed.federation.programme.messages import Reply
from lexfed.federation.site.data_holder import Site
from lexfed.sketch.queries.refinements import standing_out
from support.federation.sketch_worlds import (
    RICH,
    TABLES,
    TOWNS,
    cohort_of_all,
    plain_sum,
    second_looks,
    sketch_world,
)
from support.federation.worlds import World, engine_of, play, seeded, with_slots

Floats = NDArray[np.float64]


def test_second_looks_follow_what_was_found() -> None:
    of = second_looks(places=2)
    played = play(of)
    assert played.progress is not None
    told = tables_so_far(of.programme, played.progress.memory)
    assert [one.table.domain for one in told] == ["doubles", "letters", "bins",
                                                  "letters"]  # fmt: skip
    low, high = told[2].asked.tolist()
    ages = np.concatenate([site.train.inputs[..., 0].ravel() for site in of.sites])
    there = np.concatenate([site.train.weights.ravel() for site in of.sites]) > 0
    known = ages[there & np.isfinite(ages)]
    assert low <= known.min() < known.max() <= high
    # Nobody is left below and above; 7 deviations: one in 1e11.
    outside = told[2].counts[0, 0, [0, -2]]
    assert np.abs(outside).max() < 7 * math.sqrt(told[2].variance)
    found = {prefix for prefix, _ in standing_out(told[3])}
    # A person in eight is at each of these; noise is a few persons.
    assert {pairs_of(town)[:2] for town in ("Ulm", "Aarau", "Aalen")} <= found
    assert found <= {pairs_of(town)[:2] for town in TOWNS}


def test_counts_are_those_of_the_plain_loop() -> None:
    """Persons count one, though contributions leave room for rounding in the clip."""
    of = second_looks(places=3, sizes=(80, 60, 70))
    played = play(of)
    assert played.progress is not None
    told = iter(tables_so_far(of.programme, played.progress.memory))
    cohort = cohort_of_all(of)
    for stage, query in zip(of.programme.stages, played.queries, strict=True):
        exact = plain_sum(stage, query.arrays, cohort)
        for table, block in zip(stage.tables, stage.blocks, strict=True):
            one = next(told)
            assert one.table == table
            wanted = exact[block.start : block.stop].reshape(table.shape)
            # Normal noise on some 300,000 cells: beyond 7 deviations with
            # probability below 1e-6 in all.
            assert (
                np.abs(one.counts - wanted).max() < 7 * math.sqrt(one.variance) + 1e-3
            )


@pytest.mark.parametrize("trust", ["central", "local"])
def test_the_variance_is_that_of_the_noise(trust: str) -> None:
    """Over some 9,200 cells it is known to 1.5 %; 8 % are 5 deviations: 1e-6."""
    of = sketch_world((TABLES["letters"],), trust=trust)
    played = play(of)
    assert played.progress is not None
    [told] = tables_so_far(of.programme, played.progress.memory)
    assert told.counts.shape == (1, 1, PAIRS + 2)
    stage = of.programme.stages[0]
    exact = plain_sum(stage, {}, cohort_of_all(of))
    spread = float(np.mean((told.counts.ravel() - exact) ** 2))
    assert spread == pytest.approx(told.variance, rel=0.08)
    sites = 3 if trust == "local" else 1
    [release] = stage.releases
    assert release is not None
    assert told.variance == pytest.approx(
        sites * release.groups[0].sigma ** 2, rel=0.01
    )


def test_the_variance_without_privacy_is_none() -> None:
    of = sketch_world((TABLES["codes"],), mechanism="none")
    played = play(of)
    assert played.progress is not None
    [told] = tables_so_far(of.programme, played.progress.memory)
    assert told.variance == 0.0
    stage = of.programme.stages[0]
    exact = plain_sum(stage, {}, cohort_of_all(of))
    assert (
        np.abs(told.counts.ravel() - exact).max() <= stage.blocks[0].grid.release_step
    )


def test_missing_sites_are_not_counted_as_noise() -> None:
    of = sketch_world((TABLES["codes"],), trust="local")
    learner = Learner(of.programme)
    coordinator = Coordinator(
        of.programme, learner, of.ledger(), seeded(1), learner.start()
    )
    asked = coordinator.next()
    assert asked is not None
    two = engine_of(of, "inprocess", seeded(1)).ask(asked.query, asked.participants[:2])
    after = coordinator.receive(asked.query, two, {"site2"}).progress
    [told] = tables_so_far(of.programme, after.memory)
    assert asked.query.release is not None
    sigma = asked.query.release.groups[0].sigma
    assert told.variance == pytest.approx(2 * sigma**2, rel=0.01)


def empty_of(of: World) -> World:
    """Return a world in which every value is missing."""
    sites = tuple(
        replace(site, train=replace(site.train, inputs=site.train.inputs * np.nan))
        for site in of.sites
    )
    return replace(of, sites=sites)


def test_nothing_to_look_at_is_neither_asked_nor_charged() -> None:
    """Noise alone asks for more with probability .05 per column; not with this seed."""
    of = empty_of(second_looks(budget=Budget(8.0, 1e-6, "add-remove", {})))
    learner, ledger = Learner(of.programme), of.ledger()
    assert ledger is not None
    coordinator = Coordinator(of.programme, learner, ledger, seeded(2), learner.start())
    engine = engine_of(of, "inprocess", seeded(2))
    asked = coordinator.next()
    assert asked is not None
    coordinator.receive(asked.query, engine.ask(asked.query, asked.participants))
    assert coordinator.is_over()
    assert coordinator.next() is None
    assert len(ledger.events()) == 1
    told = tables_so_far(of.programme, coordinator.progress.memory)
    assert len(told) == 2
    # Control: with values, all three stages are asked.
    full = play(second_looks(budget=RICH))
    assert len(full.queries) == 3


def test_a_lost_first_look_has_no_second() -> None:
    of = second_looks()
    learner = Learner(of.programme)
    coordinator = Coordinator(
        of.programme, learner, of.ledger(), seeded(1), learner.start()
    )
    asked = coordinator.next()
    assert asked is not None
    coordinator.lost(asked.query)
    assert coordinator.is_over()
    assert tables_so_far(of.programme, coordinator.progress.memory) == ()


def test_declared_ends_need_no_array() -> None:
    of = sketch_world((TABLES["declared"],))
    played = play(of)
    assert played.queries[0].arrays == {}
    assert played.progress is not None
    [told] = tables_before(of.programme, played.progress.memory, 1)
    assert told.asked.tolist() == [40.0, 250.0]
    assert tables_before(of.programme, played.progress.memory, 0) == ()


def doors(of: World) -> dict[str, Callable[[bytes], bytes]]:
    """Return the doors of sites that have not answered yet."""
    return {
        data.name: Site(of.programme, data, of.ledger(place), seeded(1)).handle
        for place, data in enumerate(of.sites)
    }


def test_sites_elsewhere_count_the_same_and_may_be_missing() -> None:
    of = second_looks(sizes=(40, 25, 31))
    names = of.programme.sites
    query = play(of, rounds=1).queries[0]
    here = engine_of(of, "inprocess", seeded(1)).ask(query, names)
    everybody = InProcessChannel(doors(of))
    there = OverChannel(of.programme, everybody, 1, lambda *_: None).ask(query, names)
    assert len(here) == len(there) == 3
    for mine, theirs in zip(here, there, strict=True):
        assert isinstance(mine, Reply)
        assert isinstance(theirs, Reply)
        assert np.array_equal(mine.total, theirs.total)
    without = InProcessChannel({**doors(of), "site1": lambda _: b""})
    some = OverChannel(of.programme, without, 1, lambda *_: None).ask(query, names)
    assert [answer.site for answer in some] == ["site0", "site2"]


def test_other_values_of_a_column_leave_rounds_of_others_as_they_are() -> None:
    """Queries, sums and releases of one column, to the bit; those of the other move."""
    age, town = (TABLES["doubles"],), (TABLES["letters"],)
    of = sketch_world(age, (TABLES["bins"],), town, sizes=(400, 300, 350))
    towns = list(range(3, of.sites[0].train.inputs.shape[-1]))
    before = play(of)
    for change in (np.zeros_like, lambda values: np.full_like(values, np.nan)):
        after = play(with_slots(of, towns, change))
        for at in range(2):
            assert before.queries[at].to_bytes() == after.queries[at].to_bytes()
            assert np.array_equal(before.totals[at], after.totals[at])
            assert np.array_equal(before.released[at], after.released[at])
        assert not np.array_equal(before.totals[2], after.totals[2])
