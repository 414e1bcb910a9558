# SPDX-License-Identifier: Apache-2.0
"""One person moves a table by its clip at most, whatever anybody holds or asks."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lexfed.data.letter_pairs import PAIRS
from lexfed.federation.programme.integer_sums import to_grid
from lexfed.federation.site import table_counts
from lexfed.federation.site.contributions import contribute
from lexfed.federation.site.table_counts import FINEST, cells_of, table_sums
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.sketch.queries.requested_tables import MOST_PREFIXES, RequestedTable
from support.federation import checks
from support.federation.sketch_worlds import (
    EVERY,
    TABLES,
    asked_at_once,
    cohort_of_all,
    ones,
    sketch_world,
)
from support.federation.worlds import play

ODD = (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, -1.0, 0.5, 2.0**63)


def wild(cohort: UnitBatch, generator: np.random.Generator) -> UnitBatch:
    """Return a cohort with values that no honest file holds."""
    shape = tuple(cohort.inputs.shape)
    values = generator.choice(np.array(ODD), size=shape)
    return replace(cohort, inputs=torch.from_numpy(values))


def arrays_of_a_liar(table: RequestedTable) -> Iterator[np.ndarray[Any, Any]]:
    if table.domain == "bins":
        for low in (*ODD, 50.0):
            for high in (*ODD, 50.0):
                yield np.array([low, high])
    else:
        size = MOST_PREFIXES * (table.level - 1)
        for value in (*ODD, 0.0, 7.0, PAIRS - 1.0, float(PAIRS)):
            yield np.full(size, value)


@pytest.mark.parametrize("name", EVERY)
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
    monkeypatch.setattr(table_counts, "_UNITS", 8)
    cohort = UnitBatch.of([of.sites[0].train])
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
    cohort = UnitBatch.of([of.sites[0].train]).between(0, 1)
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
    cohort = UnitBatch.of([of.sites[0].train]).between(0, 1)
    bent = replace(cohort, weights=torch.tensor([weights], dtype=torch.float64))
    total = contribute(query, of.programme, bent, ones(bent), (0,))
    checks.within(of, query, to_grid(total, of.programme.stages[0]), 1.0)


def test_classes_and_sites_that_count_less_stay_within_their_part() -> None:
    of, query = asked_at_once(places=2)
    stage = of.programme.stages[0]
    assert query.release is not None
    for share, weight in ((0.25, 1.0), (1.0, 0.5), (0.3, 0.5), (1e-6, 1.0)):
        own = replace(stage, weights=(weight,) * 3)
        cohort = UnitBatch.of([of.sites[0].train]).between(0, 1)
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
    cohort = UnitBatch.of([of.sites[0].train]).between(0, 0)
    total = contribute(query, of.programme, cohort, ones(cohort), (0,))
    assert not total.any()


SMALL = sketch_world((TABLES["codes"], TABLES["keys"]), places=2)
ANY = st.floats(width=64)


@given(
    st.tuples(ANY, ANY), st.tuples(ANY, ANY), st.floats(0.0, 1.0), st.integers(0, 2**62)
)
def test_whatever_a_unit_is_it_counts_its_share_at_most(
    values: tuple[float, float],
    weights: tuple[float, float],
    share: float,
    key: int,
) -> None:
    """In every row of a table, and in multiples of 2^-20."""
    stage = SMALL.programme.stages[0]
    inputs = torch.zeros(1, 2, 11, dtype=torch.float64)
    inputs[0, :, 1] = torch.tensor(values, dtype=torch.float64)
    unit = UnitBatch(
        inputs,
        torch.zeros(1, 2),
        torch.tensor([weights], dtype=torch.float64),
        (1,),
        torch.tensor([share], dtype=torch.float64),
        torch.tensor([key]),
    )
    total = table_sums(stage, {}, unit, 1)
    for table, block in zip(stage.tables, stage.blocks, strict=True):
        rows = total[block.start : block.stop].reshape(-1, table.width)
        assert float(rows.abs().sum(dim=1).max()) <= share
    whole = total / FINEST
    assert torch.equal(whole, whole.round())
