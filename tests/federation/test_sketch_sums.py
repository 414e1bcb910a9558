# SPDX-License-Identifier: Apache-2.0
"""What sites count: the plain loop to the bit, in every engine, within the clip."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from lexfed.data.letters import PAIRS
from lexfed.federation import sketch_vectors
from lexfed.federation.cohort import Cohort
from lexfed.federation.contribute import contribute
from lexfed.federation.engines import Simulation
from lexfed.federation.messages import Query, Reply
from lexfed.federation.noise_shares import ring_of
from lexfed.federation.site import Site
from lexfed.federation.sketch_vectors import cells_of, on_grid, table_sums
from lexfed.federation.sums import to_grid
from lexfed.sketch.asked import AskedTable
from lexfed.sketch.cells import BINS, MOST_PREFIXES
from support import checks
from support.masked_worlds import ask, federation
from support.sketch_worlds import (
    TABLES,
    cohort_of_all,
    ones,
    plain_loop,
    plain_sum,
    sketch_programme,
    sketch_world,
)
from support.worlds import World, play, seeded, world

ALL = ("keys", "shared keys", "doubles", "bins", "declared", "codes", "by site")
ODD = (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, -1.0, 0.5, 2.0**63)


def asked_at_once(**options: Any) -> tuple[World, Query]:
    """Return a world with one stage of all tables, and its query."""
    tables = tuple(TABLES[name] for name in (*ALL, "letters", "letters 2"))
    of = sketch_world(tables, **options)
    query = play(of, rounds=1).queries[0]
    prefixes = np.full(MOST_PREFIXES, -1.0)
    towns = of.sites[0].train.inputs[..., 3].ravel()
    known = np.unique(towns[np.isfinite(towns)])
    prefixes[: len(known)] = known
    arrays = {"ends.3": np.array([30.0, 90.0]), "prefixes.8": prefixes}
    return of, replace(query, arrays=arrays)


@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("site", [0, 2])
def test_sums_are_those_of_a_plain_loop(places: int, site: int) -> None:
    of, query = asked_at_once(places=places)
    stage = of.programme.stages[0]
    cohort = Cohort.of([of.sites[site].train])
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
    mixed = Cohort(
        cohort.inputs[order],
        cohort.targets[order],
        cohort.weights[order],
        (len(cohort),),
        keys=cohort.keys[order],
    )
    monkeypatch.setattr(sketch_vectors, "_UNITS", 7)
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


# One clip


def wild(cohort: Cohort, generator: np.random.Generator) -> Cohort:
    """Return a cohort with values that no honest file holds."""
    shape = tuple(cohort.inputs.shape)
    values = generator.choice(np.array(ODD), size=shape)
    return replace(cohort, inputs=torch.from_numpy(values))


def arrays_of_a_liar(table: AskedTable) -> Iterator[np.ndarray[Any, Any]]:
    if table.domain == "bins":
        for low in (*ODD, 50.0):
            for high in (*ODD, 50.0):
                yield np.array([low, high])
    else:
        size = MOST_PREFIXES * (table.level - 1)
        for value in (*ODD, 0.0, 7.0, PAIRS - 1.0, float(PAIRS)):
            yield np.full(size, value)


@pytest.mark.parametrize("name", [*ALL, "letters", "letters 2"])
def test_no_values_and_no_lies_lead_outside_a_table(name: str) -> None:
    """Also past the check of a query: what is counted has one cell in any case."""
    table = TABLES[name]
    if table.domain == "keys":
        return
    cohort = wild(cohort_of_all(sketch_world(places=2)), np.random.default_rng(5))
    needs = table.domain == "bins" or (table.level > 1 and table.domain == "letters")
    for asked in arrays_of_a_liar(table) if needs else [np.zeros(0)]:
        cells = cells_of(table, cohort.inputs, asked)
        assert cells.shape == tuple(cohort.inputs.shape[:2])
        assert 0 <= int(cells.min()) <= int(cells.max()) < table.width


@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("trust", ["central", "local"])
def test_nobody_moves_a_table_further_than_the_clip(places: int, trust: str) -> None:
    checks.check_sensitivity(sketch_world(places=places, trust=trust))


@pytest.mark.parametrize("places", [1, 3])
def test_cells_that_a_person_is_not_in_stay_as_they_are(
    places: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit, also where others are then in other slices: grids rest on it."""
    of, query = asked_at_once(places=places)
    stage = of.programme.stages[0]
    monkeypatch.setattr(sketch_vectors, "_UNITS", 8)
    cohort = Cohort.of([of.sites[0].train])
    whole = checks.sum_of(of, query, cohort)
    for gone in range(0, len(cohort), 5):
        kept = np.arange(len(cohort)) != gone
        moved = whole != checks.sum_of(of, query, cohort.take(kept))
        for block in stage.blocks:
            assert block.grid.moved is not None
            cells = np.count_nonzero(moved[block.start : block.stop])
            assert 1 <= cells <= block.grid.moved
    assert {block.grid.moved for block in stage.blocks} == {places, 5 * places}
    client = sketch_world((TABLES["codes"],), unit="client")
    assert client.programme.stages[0].blocks[0].grid.moved is None


def test_the_clip_is_reached_and_room_is_left_for_rounding() -> None:
    """A clip that nobody reaches would be too much noise."""
    of, query = asked_at_once()
    stage = of.programme.stages[0]
    cohort = Cohort.of([of.sites[0].train]).between(0, 1)
    one = contribute(query, of.programme, cohort, ones(cohort), (0,)).numpy()
    for block, scale in zip(stage.blocks, stage.shrinking, strict=True):
        length = float(np.linalg.norm(one[block.start : block.stop]))
        assert length <= block.grid.clip_to * (1 + 1e-3)
        assert 0.99 * block.grid.clip < length <= block.grid.clip
        assert 0.995 < scale < 1.0
    checks.within(of, query, to_grid(torch.from_numpy(one), stage), 1.0)


@pytest.mark.parametrize(
    "weights",
    [(1.0, 1.0), (2.0, 0.0), (1e300, 1e300), (math.inf, 0.0), (math.nan, 1.0),
     (-5.0, 1.0)],
)  # fmt: skip
def test_weights_that_are_none_leave_one_clip(weights: tuple[float, float]) -> None:
    of, query = asked_at_once(places=2)
    cohort = Cohort.of([of.sites[0].train]).between(0, 1)
    bent = replace(cohort, weights=torch.tensor([weights], dtype=torch.float64))
    total = contribute(query, of.programme, bent, ones(bent), (0,))
    checks.within(of, query, to_grid(total, of.programme.stages[0]), 1.0)


def test_classes_and_sites_that_count_less_stay_within_their_part() -> None:
    of, query = asked_at_once(places=2)
    stage = of.programme.stages[0]
    assert query.release is not None
    for share, weight in ((0.25, 1.0), (1.0, 0.5), (0.3, 0.5), (1e-6, 1.0)):
        own = replace(stage, weights=(weight,) * 3)
        cohort = Cohort.of([of.sites[0].train]).between(0, 1)
        if share < 1.0:
            cohort = replace(cohort, shares=torch.tensor([share], dtype=torch.float64))
        factors = torch.tensor(own.factors[:1], dtype=torch.float64)
        total = contribute(query, of.programme, cohort, factors, (0,))
        integers = to_grid(total, stage)
        checks.within(of, query, integers, share * weight)
        assert share < 1e-3 or np.count_nonzero(integers)


def test_a_whole_client_moves_a_table_by_one_clip() -> None:
    of = sketch_world(unit="client", places=2)
    checks.check_client_sensitivity(of)
    one, other = play(of, "inprocess"), play(of, "simulation")
    assert all(map(np.array_equal, one.totals, other.totals))


def test_an_empty_site_counts_nothing() -> None:
    of, query = asked_at_once()
    cohort = Cohort.of([of.sites[0].train]).between(0, 0)
    total = contribute(query, of.programme, cohort, ones(cohort), (0,))
    assert not total.any()


# Tables of sites


def test_each_site_counts_in_a_table_of_its_own() -> None:
    of, query = asked_at_once()
    stage = of.programme.stages[0]
    [at] = [k for k, table in enumerate(stage.tables) if table.column == "ward"
            and table.sites]  # fmt: skip
    table, block = stage.tables[at], stage.blocks[at]
    for place, site in enumerate(of.sites):
        cohort = Cohort.of([site.train])
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
    cohort = replace(Cohort.of([of.sites[0].train]), keys=None)
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
