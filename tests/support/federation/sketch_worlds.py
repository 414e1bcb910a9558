# SPDX-License-Identifier: Apache-2.0
"""Small federations that are asked for tables, and the plain loop they are held to."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lexfed.budget import allocation
from lexfed.budget.noise_plan import Budget, Draft, DraftGroup
from lexfed.data.letter_pairs import LEVELS, PAIRS, pairs_of
from lexfed.data.people.unit_blocks import SiteData, UnitBlock, person_keys
from lexfed.federation.planning.choices import Choices
from lexfed.federation.planning.programme_draft import (
    DraftRelease,
    ProgrammeDraft,
    tower_shapes,
)
from lexfed.federation.planning.programme_price import lay_out, price_programme
from lexfed.federation.planning.site_shares import whole_shares
from lexfed.federation.programme.messages import Query
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.federation.site.table_counts import FINEST
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.sketch.queries.requested_tables import (
    BINS,
    DOUBLES,
    MOST_PREFIXES,
    RequestedTable,
    double_edges,
)
from lexfed.sketch.tables.shape import HashRows
from support.federation.worlds import BUDGET, World, play, world

Floats = NDArray[np.float64]

TOWNS = ("Ulm", "Ulm", "Ulm", "Ulm", "Aarau", "Aalen", "Zürich", "100%")
SLOTS = 3 + LEVELS
"""Slots of a unit: age, ward, blood pressure, and the letters of a town."""

KEYS = RequestedTable("", "keys", (), 64, 5, seed=7, sites=3)
TABLES: Mapping[str, RequestedTable] = {
    "keys": KEYS,
    "shared keys": replace(KEYS, sites=0, seed=2**53 - 1),
    "doubles": RequestedTable("age", "doubles", (0,), DOUBLES + 1),
    "bins": RequestedTable("age", "bins", (0,), BINS + 3),
    "declared": RequestedTable("pressure", "bins", (2,), 13, ends=(40.0, 250.0)),
    "codes": RequestedTable("ward", "codes", (1,), 6),
    "by site": RequestedTable("ward", "codes", (1,), 6, sites=3),
    "letters": RequestedTable("town", "letters", (3,), PAIRS + 2),
    "letters 2": RequestedTable("town", "letters", (3, 4), MOST_PREFIXES * PAIRS + 2),
}
STAGES = (
    ("keys", "shared keys"),
    ("doubles", "codes", "declared", "by site", "letters"),
    ("bins",),
    ("letters 2",),
)

EVERY = (
    "keys",
    "shared keys",
    "doubles",
    "bins",
    "declared",
    "codes",
    "by site",
    "letters",
    "letters 2",
)
RICH = Budget(20.0, 1e-5, "add-remove", {})
"""Little noise: follow-ups then find what is there."""

SECOND_LOOKS = ("doubles", "letters"), ("bins",), ("letters 2",)


def raw_block(
    units: int, places: int, generator: np.random.Generator, first_person: int = 0
) -> UnitBlock:
    """Return persons with one to `places` rows of raw values, some of them missing."""
    shape = (units, places)
    inputs = np.empty((*shape, SLOTS))
    inputs[..., 0] = np.round(generator.normal(60.0, 12.0, shape))
    inputs[..., 1] = generator.integers(-1, 4, shape)
    inputs[..., 2] = generator.normal(130.0, 25.0, shape)
    codes = np.array([pairs_of(town) for town in TOWNS], dtype=np.float64)
    inputs[..., 3:] = codes[generator.integers(0, len(TOWNS), shape)]
    for slot in range(4):
        inputs[..., slot][generator.random(shape) < 0.1] = np.nan
    rows = generator.integers(1, places + 1, units)
    there = np.arange(places)[None, :] < rows[:, None]
    inputs[~there] = 0.0
    persons = first_person + np.arange(units, dtype=np.int64)
    return UnitBlock(
        inputs,
        np.where(there, 1.0, 0.0),
        there / rows[:, None],
        persons,
        keys=person_keys([f"person {person}" for person in persons]),
    )


def sketch_programme(
    *stages: Sequence[RequestedTable],
    base: World | None = None,
    budget: Budget = BUDGET,
    choices: Choices | None = None,
) -> Programme:
    """Return a programme that asks for tables, stage by stage."""
    asked = stages or tuple(tuple(TABLES[name] for name in names) for names in STAGES)
    of = base or world(sizes=(40, 25, 31))
    own = choices or of.choices
    facts = of.facts
    shapes = tower_shapes(facts.encoding, "cascade", "linear", facts.outputs, own.seed)
    count = sum(map(len, asked))
    wanted = []
    for number, tables in enumerate(asked):
        groups = tuple(
            DraftGroup(f"table {number}.{at}", table.clip, table.cells)
            for at, table in enumerate(tables)
        )
        item = Draft(
            f"tables {number}", 0, groups, 1.0, (1.0,), None,
            len(tables) / count, own.senders(len(facts.sites)),
        )  # fmt: skip
        wanted.append(DraftRelease("sketch", item, tuple(tables)))
    draft = ProgrammeDraft(facts, own, shapes, tuple(wanted))
    if own.mechanism == "none":
        return lay_out(draft, None, whole_shares(facts, len(shapes)))
    return price_programme(draft, budget, partial(allocation.caps, [count, 1, 1]))


def sketch_world(
    *stages: Sequence[RequestedTable],
    sizes: Sequence[int] = (40, 25, 31),
    places: int = 1,
    seed: int = 0,
    budget: Budget = BUDGET,
    overlap: int = 10,
    **options: Any,
) -> World:
    """Return a federation with raw units; some persons are at two sites.

    Args:
        *stages: the tables of each stage; by default all there are.
        sizes: units of each site.
        places: rows that a person may have.
        seed: of the values.
        budget: of everything.
        overlap: persons of a site who are at the next one too.
        **options: of `Choices`.
    """
    base = world(sizes=sizes, places=places, budget=budget, **options)
    programme = sketch_programme(*stages, base=base, budget=budget)
    sites, first = [], 0
    for place, (name, size) in enumerate(zip(programme.sites, sizes, strict=True)):
        generator = np.random.default_rng([seed, place])
        block = raw_block(size, places, generator, first)
        test = raw_block(3, places, generator, 10**6 * (place + 1))
        sites.append(SiteData(name, block, test))
        first += max(0, size - overlap)
    return replace(base, programme=programme, sites=tuple(sites))


def plain_loop(
    stage: Stage, arrays: Mapping[str, Floats], cohort: UnitBatch, place: int = 0
) -> Iterator[Floats]:
    """Yield each unit's vector, by loops that a reader can follow; not yet scaled."""
    keys = None if cohort.keys is None else cohort.keys.numpy().view(np.uint64)
    for unit in range(len(cohort)):
        vector = np.zeros(stage.dimension)
        for at, (table, block) in enumerate(
            zip(stage.tables, stage.blocks, strict=True)
        ):
            own = vector[block.start : block.stop].reshape(table.shape)
            part = own[place if table.sites else 0]
            weights = [
                math.floor(float(weight) / FINEST) * FINEST
                for weight in cohort.weights[unit]
            ]
            if table.domain == "keys":
                assert keys is not None
                rows = HashRows(table.seed, table.depth, table.width)
                columns = rows.columns(keys[unit : unit + 1])[:, 0]
                signs = rows.signs(keys[unit : unit + 1])[:, 0]
                for row in range(table.depth):
                    part[row, columns[row]] += signs[row] * sum(weights)
                continue
            for weight, values in zip(weights, cohort.inputs[unit], strict=True):
                slots = [float(values[slot]) for slot in table.slots]
                part[0, cell_of(table, slots, arrays, at)] += weight
        yield vector


def plain_sum(
    stage: Stage, arrays: Mapping[str, Floats], cohort: UnitBatch, place: int = 0
) -> Floats:
    """Return the sum of all units' vectors."""
    total = np.zeros(stage.dimension)
    for vector in plain_loop(stage, arrays, cohort, place):
        total += vector
    return total


def cell_of(
    table: RequestedTable, slots: Sequence[float], arrays: Mapping[str, Floats], at: int
) -> int:
    """Return the cell of one row, said as plainly as possible."""
    if math.isnan(slots[0]):
        return table.width - 1
    if table.domain == "codes":
        known = slots[0] in range(table.width - 2)
        return int(slots[0]) if known else table.width - 2
    if table.domain == "doubles":
        inner = double_edges()[1:-1]
        return sum(1 for edge in inner if slots[0] >= edge)
    if table.domain == "bins":
        low, high = table.ends or arrays[f"ends.{at}"].tolist()
        bins = table.width - 3
        if slots[0] < low:
            return 0
        if slots[0] > high:
            return bins + 1
        return 1 + min(bins - 1, int((slots[0] - low) / (high - low) * bins))
    prefixes: list[list[float]] = [[]]
    if table.level > 1:
        prefixes = arrays[f"prefixes.{at}"].reshape(-1, table.level - 1).tolist()
    if slots[-1] in range(PAIRS):
        for number, prefix in enumerate(prefixes):
            if prefix == slots[:-1]:
                return number * PAIRS + int(slots[-1])
    return table.width - 2


def asked_at_once(**options: Any) -> tuple[World, Query]:
    """Return a world with one stage of all tables, and its query."""
    tables = tuple(TABLES[name] for name in EVERY)
    of = sketch_world(tables, **options)
    query = play(of, rounds=1).queries[0]
    prefixes = np.full(MOST_PREFIXES, -1.0)
    towns = of.sites[0].train.inputs[..., 3].ravel()
    known = np.unique(towns[np.isfinite(towns)])
    prefixes[: len(known)] = known
    arrays = {"ends.3": np.array([30.0, 90.0]), "prefixes.8": prefixes}
    return of, replace(query, arrays=arrays)


def second_looks(**options: Any) -> World:
    """Return a world of first and second looks, with little noise."""
    stages = [tuple(TABLES[name] for name in names) for names in SECOND_LOOKS]
    return sketch_world(
        *stages, **{"sizes": (400, 300, 350), "budget": RICH, **options}
    )


def cohort_of_all(of: World) -> UnitBatch:
    """Return the units of all sites behind each other."""
    return UnitBatch.of([site.train for site in of.sites])


def ones(cohort: UnitBatch) -> torch.Tensor:
    """Return weight 1 for every site of a cohort."""
    return torch.ones(len(cohort.sites), dtype=torch.float64)
