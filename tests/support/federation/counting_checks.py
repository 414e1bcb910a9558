# SPDX-License-Identifier: Apache-2.0
"""Checks of tables that sites count in, which mutants of the real code must fail."""

import math
from dataclasses import replace

import numpy as np
import torch

from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.progress import table_memory, tables_so_far
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.programme.messages import Query, Refusal
from lexfed.federation.site.contributions import contribute
from lexfed.federation.site.data_holder import Site
from lexfed.federation.site.table_counts import cells_of, table_sums
from lexfed.federation.site.unit_batch import UnitBatch
from support.federation import checks
from support.federation.sketch_worlds import (
    TABLES,
    cohort_of_all,
    ones,
    plain_sum,
    sketch_world,
)
from support.federation.worlds import World, engine_of, play, seeded


def _asked(*names: str, places: int = 3) -> tuple[World, Query]:
    of = sketch_world(tuple(TABLES[name] for name in names), places=places)
    return of, play(of, rounds=1).queries[0]


def sums_are_exact() -> None:
    """Sums are those of a plain loop, for every site, to the bit."""
    of, query = _asked("keys", "doubles", "declared", "codes", "by site", "letters")
    stage = of.programme.stages[0]
    for place, site in enumerate(of.sites):
        cohort = UnitBatch.of([site.train])
        total = table_sums(stage, query.arrays, cohort, place).numpy()
        assert np.array_equal(total, plain_sum(stage, query.arrays, cohort, place))


def nobody_exceeds_the_clip() -> None:
    """A person of several rows moves a table by the clip at most, added or changed."""
    checks.check_sensitivity(
        sketch_world((TABLES["keys"], TABLES["doubles"], TABLES["codes"]), places=4)
    )


def room_is_left_for_rounding() -> None:
    """A contribution is as long as the grid clips to, but for rounding to the grid."""
    of, query = _asked("keys", "codes", places=1)
    cohort = UnitBatch.of([of.sites[0].train]).between(0, 1)
    one = contribute(query, of.programme, cohort, ones(cohort), (0,)).numpy()
    for table, block in zip(
        of.programme.stages[0].tables, of.programme.stages[0].blocks, strict=True
    ):
        rounding = math.sqrt(table.depth) * block.grid.step / 2
        length = float(np.linalg.norm(one[block.start : block.stop]))
        assert length <= block.grid.clip_to + rounding


def weights_of_a_unit_are_one_at_most() -> None:
    """Whatever weights a unit has, it counts once."""
    of, query = _asked("keys", "codes", places=2)
    cohort = UnitBatch.of([of.sites[0].train]).between(0, 1)
    bent = replace(cohort, weights=torch.tensor([[1.0, 1.0]], dtype=torch.float64))
    total = contribute(query, of.programme, bent, ones(bent), (0,)).numpy()
    for block in of.programme.stages[0].blocks:
        part = total[block.start : block.stop]
        assert np.linalg.norm(part) <= block.grid.clip


def engines_agree_to_the_bit() -> None:
    """One program for all sites has the very sums of the sites."""
    of = sketch_world(places=3)
    one, other = play(of, "inprocess"), play(of, "simulation")
    assert len(one.totals) == len(other.totals)
    assert all(map(np.array_equal, one.totals, other.totals))


def order_does_not_matter() -> None:
    """The same units in another order have the same sum to the bit."""
    of, query = _asked("codes", places=4)
    stage = of.programme.stages[0]
    cohort = cohort_of_all(of)
    backwards = torch.arange(len(cohort) - 1, -1, -1)
    turned = UnitBatch(
        cohort.inputs[backwards],
        cohort.targets[backwards],
        cohort.weights[backwards],
        (len(cohort),),
    )
    assert torch.equal(
        table_sums(stage, query.arrays, cohort, 0),
        table_sums(stage, query.arrays, turned, 0),
    )


def lies_are_refused_before_anything_is_charged() -> None:
    """A site looks at ends before its data, and pays nothing for what it refuses."""
    of = sketch_world((TABLES["doubles"],), (TABLES["bins"],), sizes=(400, 300, 350))
    query = play(of).queries[1]
    for ends in ((5.0, 5.0), (5.0, 4.0), (-1.7e308, 1.7e308)):
        ledger = of.ledger(0)
        assert ledger is not None
        site = Site(of.programme, of.sites[0], ledger, seeded(1), every_answer=True)
        lie = replace(query, arrays={"ends.0": np.array(ends)})
        assert isinstance(site.answer(lie.to_bytes()), Refusal)
        assert ledger.events() == ()


def no_ends_lead_outside_a_table() -> None:
    """Also ends that no check let through give every value a cell of the table."""
    values = torch.tensor([[[math.inf, 1.0, -1e308]]], dtype=torch.float64)
    for low, high in ((math.nan, 1.0), (1.0, 1.0), (-math.inf, math.inf), (5.0, -5.0)):
        for slot in range(3):
            table = replace(TABLES["bins"], slots=(slot,))
            cells = cells_of(table, values, np.array([low, high]))
            assert 0 <= int(cells.min()) <= int(cells.max()) < table.width


def nothing_found_is_nothing_spent() -> None:
    """Where a first look shows nothing, there is no second and no charge for it."""
    of = sketch_world((TABLES["doubles"],), (TABLES["bins"],))
    sites = tuple(
        replace(site, train=replace(site.train, inputs=site.train.inputs * np.nan))
        for site in of.sites
    )
    empty = replace(of, sites=sites)
    learner, ledger = Learner(of.programme), of.ledger()
    assert ledger is not None
    coordinator = Coordinator(of.programme, learner, ledger, seeded(2), learner.start())
    engine = engine_of(empty, "inprocess", seeded(2))
    while (asked := coordinator.next()) is not None:
        coordinator.receive(asked.query, engine.ask(asked.query, asked.participants))
    assert len(ledger.events()) == 1


def a_person_is_told_as_one() -> None:
    """Room for rounding is taken out of counts again, and out of their variance."""
    of, query = _asked("keys", "codes")
    stage = of.programme.stages[0]
    scaled = np.concatenate(
        [
            np.full(block.stop - block.start, scale)
            for block, scale in zip(stage.blocks, stage.shrinking, strict=True)
        ]
    )
    memory = table_memory(stage, 0, {}, query.release, scaled, 3.0)
    assert query.release is not None
    for told, group, scale in zip(
        tables_so_far(of.programme, memory),
        query.release.groups,
        stage.shrinking,
        strict=True,
    ):
        assert np.array_equal(told.counts, np.ones(told.table.shape))
        assert math.isclose(told.variance, 3.0 * (group.sigma / scale) ** 2)


def noise_of_every_site_is_in_the_variance() -> None:
    """With `trust = "local"` there is the noise of every site in a sum."""
    of = sketch_world((TABLES["codes"],), trust="local")
    played = play(of)
    assert played.progress is not None
    [told] = tables_so_far(of.programme, played.progress.memory)
    [release] = of.programme.stages[0].releases
    assert release is not None
    assert told.variance > 2.9 * release.groups[0].sigma ** 2


def a_table_reads_its_own_slots_alone() -> None:
    """What stands in other slots, and in padding, moves nothing."""
    of, query = _asked("codes", places=2)
    stage = of.programme.stages[0]
    cohort = cohort_of_all(of)
    other = cohort.inputs.clone()
    [slot] = stage.tables[0].slots
    other[..., [k for k in range(other.shape[-1]) if k != slot]] = math.nan
    other[cohort.weights == 0] = math.inf
    before = table_sums(stage, query.arrays, cohort, 0)
    changed = replace(cohort, inputs=other)
    assert torch.equal(before, table_sums(stage, query.arrays, changed, 0))
    other[..., slot] = 1.0
    assert not torch.equal(before, table_sums(stage, query.arrays, changed, 0))


def keys_stay_with_their_units() -> None:
    """Who is drawn keeps the key that it has."""
    cohort = cohort_of_all(sketch_world())
    assert cohort.keys is not None
    chosen = np.arange(len(cohort)) % 3 == 1
    taken = cohort.take(chosen).keys
    assert taken is not None
    assert np.array_equal(taken.numpy(), cohort.keys.numpy()[chosen])
