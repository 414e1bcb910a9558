# SPDX-License-Identifier: Apache-2.0
"""The programme of a profile: its tables, their order and their noise.

One stage per table, the least sensitive tier first, so that nothing that is asked of a
tier follows from what a more sensitive one released (Theorem C):

    persons   their keys, one table per site          reads no column
    label     the target                              reads no column but the label
    tier      of its columns what is asked first: codes of a list, bins of a declared
              range, doubles of an open one, the first letters of an open list
              bins between the ends that were found
              letters 2, 3, ... of the prefixes that were found

All tables of a tier have the same ratio of clip to noise, since each of them answers
for one column. Which stages there are follows from declarations alone, and what a
follow-up asks from released tables alone.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lexfed.budget import allocation
from lexfed.budget.allocation import CappedShares
from lexfed.budget.drafts import Draft, DraftGroup
from lexfed.budget.noise_plan import Budget, tower_bounds
from lexfed.data.letter_pairs import LEVELS, PAIRS
from lexfed.data.reading.conversion import raw_places
from lexfed.federation.planning.choices import Choices, PopulationFacts
from lexfed.federation.planning.profile_resolution import PERSONS
from lexfed.federation.planning.programme_draft import (
    DraftRelease,
    ProgrammeDraft,
    tower_tiers,
)
from lexfed.federation.planning.programme_price import price_programme
from lexfed.federation.planning.tower_shapes import tower_shapes
from lexfed.federation.programme.sequence import Programme
from lexfed.models.towers.shape import TowerShape
from lexfed.sketch.profile.profiled_columns import ProfiledColumn
from lexfed.sketch.queries.requested_tables import RequestedTable
from lexfed.sketch.queries.value_cells import BINS, DOUBLES, MOST_PREFIXES
from lexfed.tiers import Tier

KEY_DEPTH = 5
KEY_WIDTHS = (64, 2**14)
"""Rows of a table of keys, and its fewest and most cells of a row."""

_LONGEST_NAME = 96
"""Letters of a column's name that a release is called by; logs take 128 in all."""


@dataclass(frozen=True)
class _Step:
    """A table, the tower that pays, and the most sensitive tier it depends on."""

    tower: int
    reads: Tier | None
    table: RequestedTable


def plan_profile(
    facts: PopulationFacts,
    budget: Budget,
    choices: Choices,
    columns: Sequence[ProfiledColumn],
    left_out: Collection[str] = (),
) -> Programme:
    """Return the programme that buys a profile with a budget of its own.

    Args:
        facts: public facts about the population.
        budget: of the profile alone, caps included.
        choices: of the run that the profile is for; only trust, accountant and seed
            matter here.
        columns: of the units' raw slots, in order.
        left_out: names of those that nothing is asked about, PERSONS for the keys of
            persons; at least one column is asked.

    Raises:
        ConfigError: if the tables do not fit what sites can sum.
    """
    own = choices.of_purchase()
    shapes = _towers(facts, own, columns, left_out)
    steps = list(_steps(facts, shapes, columns, left_out))
    counts = [sum(step.tower == at for step in steps) for at in range(len(shapes))]
    # What a table of keys may hold depends on its noise; the sampler's error does not.
    shares = allocation.caps(counts, tower_bounds(budget, tower_tiers(facts, shapes)))
    steps = [_sized(step, facts, own, shares, counts) for step in steps]
    wanted = tuple(_wanted(step, facts, own, counts) for step in steps)
    draft = ProgrammeDraft(facts, own, shapes, wanted)
    return price_programme(draft, budget, partial(allocation.caps, counts))


def _towers(
    facts: PopulationFacts,
    choices: Choices,
    columns: Sequence[ProfiledColumn],
    left_out: Collection[str],
) -> tuple[TowerShape, ...]:
    """Return a tower for each tier that is asked about; it pays, and learns nothing."""
    target = facts.encoding.schema.target
    asked = {c.tier for c in columns if c.name not in (target, *left_out)}
    shapes = tower_shapes(
        facts.encoding, "cascade", "linear", facts.outputs, choices.seed
    )
    # Where the target alone is asked about, the lowest tower pays for it.
    return tuple(shape for shape in shapes if shape.tier in asked) or shapes[:1]


def _steps(
    facts: PopulationFacts,
    shapes: Sequence[TowerShape],
    columns: Sequence[ProfiledColumn],
    left_out: Collection[str],
) -> Iterator[_Step]:
    schema, places = facts.encoding.schema, raw_places(columns)
    columns = [column for column in columns if column.name not in left_out]
    alone = schema.person is None or len(facts.sites) == 1
    if not alone and PERSONS not in left_out:
        keys = RequestedTable(
            PERSONS, "keys", (), KEY_WIDTHS[0], KEY_DEPTH, sites=len(facts.sites)
        )
        yield _Step(0, None, keys)
    target = [column for column in columns if column.name == schema.target]
    for table in _questions(target, places):
        yield _Step(0, None, table)
    for tower, shape in enumerate(shapes):
        own = [
            column
            for column in columns
            if column.tier == shape.tier and column.name != schema.target
        ]
        for table in _questions(own, places):
            yield _Step(tower, shape.tier, table)


def _questions(
    columns: Sequence[ProfiledColumn], places: Mapping[str, tuple[int, ...]]
) -> Iterator[RequestedTable]:
    """Yield the tables of these columns: first looks, then second ones."""
    for column in columns:
        yield _first(column, places[column.name])
    for column in columns:
        if column.kind == "number" and column.range is None:
            yield _bins(column.name, places[column.name])
    texts = [c.name for c in columns if c.kind == "category" and c.values is None]
    for level in range(2, LEVELS + 1):
        for name in texts:
            yield _letters(name, places[name][:level])


def _first(column: ProfiledColumn, slots: tuple[int, ...]) -> RequestedTable:
    codes = column.codes
    if codes is not None:
        return RequestedTable(column.name, "codes", slots, len(codes) + 2)
    if column.kind == "category":
        return _letters(column.name, slots[:1])
    if column.range is not None:
        return _bins(column.name, slots, column.range)
    return RequestedTable(column.name, "doubles", slots, DOUBLES + 1)


def _bins(
    name: str, slots: tuple[int, ...], ends: tuple[float, float] | None = None
) -> RequestedTable:
    return RequestedTable(name, "bins", slots, BINS + 3, ends=ends)


def _letters(name: str, slots: tuple[int, ...]) -> RequestedTable:
    prefixes = 1 if len(slots) == 1 else MOST_PREFIXES
    return RequestedTable(name, "letters", slots, prefixes * PAIRS + 2)


def _sized(
    step: _Step,
    facts: PopulationFacts,
    choices: Choices,
    shares: CappedShares,
    counts: Sequence[int],
) -> _Step:
    """Return the step; a table of keys has the best size for its noise.

    The variance of an overlap is least at m = 2 rho |f| |g| cells, |f|² and |g|² the
    numbers of persons of two sites.
    """
    if step.table.domain != "keys":
        return step
    persons = facts.units / len(facts.sites)
    rho = shares.squares[0] / counts[0] / 2.0 / choices.loudness(len(facts.sites))
    best = max(KEY_WIDTHS[0], 2.0 * rho * persons / KEY_DEPTH)
    width = min(KEY_WIDTHS[1], 2 ** round(math.log2(best)))
    table = replace(step.table, width=width, seed=choices.seed)
    return replace(step, table=table)


def _wanted(
    step: _Step, facts: PopulationFacts, choices: Choices, counts: Sequence[int]
) -> DraftRelease:
    table, name = step.table, _name(step.table)
    draft = Draft(
        name=f"profile {name}",
        tower=step.tower,
        groups=(DraftGroup(name, table.clip, table.cells),),
        sampling_rate=1.0,
        profile=(1.0,),
        reads=step.reads,
        share=1.0 / counts[step.tower],
        senders=choices.senders(len(facts.sites)),
    )
    return DraftRelease("sketch", draft, (table,))


def _name(table: RequestedTable) -> str:
    """Return the name of a table, which no other one of a programme has."""
    if table.domain == "keys":
        return "persons, keys"
    level = f" {table.level}" if table.domain == "letters" else ""
    return f"{table.column[:_LONGEST_NAME]}, {table.domain}{level}"
