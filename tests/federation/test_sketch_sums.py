# SPDX-License-Identifier: Apache-2.0
"""Counts of sites: the plain loop to the bit, in every engine."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from lexfed.federation.engines.clear_sums import Simulation
from lexfed.federation.programme.integer_sums import ring_of, to_grid
from lexfed.federation.programme.messages import Reply
from lexfed.federation.site import table_counts
from lexfed.federation.site.contributions import contribute
from lexfed.federation.site.data_holder import Site
from lexfed.federation.site.table_counts import on_grid, table_sums
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.sketch.queries.requested_tables import BINS
from support.federation.masked_worlds import ask, federation
from support.federation.sketch_worlds import (
    TABLES,
    asked_at_once,
    cohort_of_all,
    ones,
    plain_loop,
    plain_sum,
    sketch_programme,
    sketch_world,
)
from support.federation.worlds import play, seeded, world


@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("site", [0, 2])
def test_sums_are_those_of_a_plain_loop(places: int, site: int) -> None:
    of, query = asked_at_once(places=places)
    stage = of.programme.stages[0]
    cohort = UnitBatch.of([of.sites[site].train])
    total = table_sums(stage, query.arrays, cohort, site).numpy()
    assert np.array_equal(total, plain_sum(stage, query.arrays, cohort, site))
    assert np.count_nonzero(total) > 100


def test_a_person_counts_one_in_every_table_whatever_the_number_of_rows() -> None:
    of, query = asked_at_once(places=4)
    stage = of.programme.stages[0]
    cohort = cohort_of_all(of)
    total = table_sums(stage, query.arrays, cohort, 0).numpy()
    for table, block in zip(stage.tables, stage.blocks, strict=True):
        if table.domain != "keys":
            persons = total[block.start : block.stop].sum()
            # Weights are cut to multiples of 2^-20, by less than that for each row.
            assert len(cohort) * (1 - 4 * 2.0**-20) < persons <= len(cohort)
    for vector in plain_loop(stage, query.arrays, cohort):
        for table, block in zip(stage.tables, stage.blocks, strict=True):
            length = np.linalg.norm(vector[block.start : block.stop])
            assert length <= table.clip * (1 + 1e-15)


def test_neither_order_nor_slices_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    of, query = asked_at_once(places=3)
    stage = of.programme.stages[0]
    cohort = cohort_of_all(of)
    whole = table_sums(stage, query.arrays, cohort, 0)
    order = torch.randperm(len(cohort), generator=torch.Generator().manual_seed(3))
    assert cohort.keys is not None
    mixed = UnitBatch(
        cohort.inputs[order],
        cohort.targets[order],
        cohort.weights[order],
        (len(cohort),),
        keys=cohort.keys[order],
    )
    monkeypatch.setattr(table_counts, "_UNITS", 7)
    assert torch.equal(table_sums(stage, query.arrays, mixed, 0), whole)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"places": 3},
        {"trust": "local"},
        {"mechanism": "none"},
        {"accountant": "rdp"},
        {"weights": (1.0, 0.5, 0.25)},
    ],
)
def test_simulation_and_sites_have_the_same_sums_to_the_bit(
    options: dict[str, Any],
) -> None:
    of = sketch_world(**options)
    one, other = play(of, "inprocess"), play(of, "simulation")
    assert len(one.totals) == len(other.totals) == 4
    for mine, theirs in zip(one.totals, other.totals, strict=True):
        assert np.array_equal(mine, theirs)
    assert [q.to_bytes() for q in one.queries] == [q.to_bytes() for q in other.queries]


def test_other_values_have_other_sums() -> None:
    """The comparisons to the bit can fail."""
    one, other = sketch_world(), sketch_world(seed=1)
    assert not np.array_equal(play(one).totals[1], play(other).totals[1])


def test_masked_sums_are_those_of_the_sites_to_the_bit() -> None:
    tables = tuple(TABLES[name] for name in ("codes", "doubles", "shared keys"))
    of = sketch_world(
        tables, (TABLES["bins"],), trust="distributed", accountant="rdp",
        sizes=(30, 25, 31, 22), overlap=0,
    )  # fmt: skip
    fed = federation(of)
    sites = [
        Site(of.programme, data, of.ledger(place), seeded(1))
        for place, data in enumerate(of.sites)
    ]
    rounds = 0
    while not fed.coordinator.is_over():
        asked, reply = ask(fed)
        answers = [site.answer(asked.query.to_bytes()) for site in sites]
        totals = [answer.total for answer in answers if isinstance(answer, Reply)]
        assert len(totals) == len(sites)
        assert np.array_equal(reply.total, np.sum(totals, axis=0))
        fed.coordinator.receive(asked.query, [reply])
        rounds += 1
    assert rounds == 2


def test_a_million_persons_fit_the_ring() -> None:
    base = world(sizes=(3, 3, 3), trust="distributed", accountant="rdp")
    large = replace(base, facts=replace(base.facts, units=10**6))
    programme = sketch_programme((TABLES["letters 2"],), base=large)
    assert programme.cohort is not None
    assert ring_of(programme, programme.cohort) == 32


def test_masked_letters_fit_the_ring() -> None:
    of = sketch_world(
        (TABLES["letters"],), (TABLES["letters 2"],), trust="distributed",
        accountant="rdp", sizes=(300, 250, 310, 220), overlap=0,
    )  # fmt: skip
    fed = federation(of)
    while not fed.coordinator.is_over():
        asked, reply = ask(fed)
        fed.coordinator.receive(asked.query, [reply])
    assert fed.coordinator.progress.done == 2


# Tables of sites


def test_each_site_counts_in_a_table_of_its_own() -> None:
    of, query = asked_at_once()
    stage = of.programme.stages[0]
    [at] = [k for k, table in enumerate(stage.tables) if table.column == "ward"
            and table.sites]  # fmt: skip
    table, block = stage.tables[at], stage.blocks[at]
    for place, site in enumerate(of.sites):
        cohort = UnitBatch.of([site.train])
        total = table_sums(stage, query.arrays, cohort, place)
        own = total[block.start : block.stop].reshape(table.shape)
        assert own[place].sum() == len(cohort)
        assert own.sum() == len(cohort)


def test_clients_that_are_absent_leave_the_tables_of_others_where_they_are() -> None:
    of = sketch_world((TABLES["by site"],), unit="client")
    query = play(of, rounds=1).queries[0]
    simulated = Simulation(of.programme, of.sites, seeded(1))
    [reply] = simulated.ask(query, ("site0", "site2"))
    assert isinstance(reply, Reply)
    rows = reply.total.reshape(3, -1)
    assert rows[0].any()
    assert rows[2].any()
    assert not rows[1].any()


def test_persons_at_two_sites_count_in_the_same_cells() -> None:
    table = replace(TABLES["keys"], width=2**12, sites=2)
    of = sketch_world((table,), sizes=(60, 60), overlap=25, mechanism="none")
    query = play(of, rounds=1).queries[0]
    cohort = cohort_of_all(of)
    total = contribute(query, of.programme, cohort, ones(cohort), (0, 1))
    one, other = total.reshape(2, 5, -1)
    # Each of 60 * 60 pairs collides with probability 2^-12 in a row: the mean over
    # rows is off by less than 6 deviations, but for one in 1e9.
    common = (one * other).sum(dim=1).mean()
    assert abs(float(common) - 25) < 6 * math.sqrt(60 * 60 / 2**12 / 5)
    apart = sketch_world((table,), sizes=(60, 60), overlap=0, mechanism="none")
    far = contribute(query, apart.programme, cohort_of_all(apart), ones(cohort), (0, 1))
    assert abs(float((far[:20480] * far[20480:]).sum() / 5)) < 6


def test_units_without_keys_are_refused() -> None:
    of, query = asked_at_once()
    cohort = replace(UnitBatch.of([of.sites[0].train]), keys=None)
    with pytest.raises(ValueError, match="units have none"):
        contribute(query, of.programme, cohort, ones(cohort), (0,))


def test_a_sum_on_the_grid_stays_where_it_is() -> None:
    of, query = asked_at_once(places=3)
    stage = of.programme.stages[0]
    total = table_sums(stage, query.arrays, cohort_of_all(of), 0)
    rounded = on_grid(total, stage, 0.7)
    steps = np.concatenate(
        [np.full(b.stop - b.start, b.grid.step) for b in stage.blocks]
    )
    assert np.array_equal(to_grid(rounded, stage) * steps, rounded.numpy())
    assert np.abs(rounded.numpy() - 0.7 * total.numpy()).max() < 0.7
    assert stage.tables[3].width == BINS + 3
