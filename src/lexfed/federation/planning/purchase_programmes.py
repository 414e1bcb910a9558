# SPDX-License-Identifier: Apache-2.0
"""Programmes of purchases, each with a budget of its own: importances, and a profile.

**Importances**: the label rate, then one sum per tier. The sum of a tier reads that
tier's columns alone, as a tower does, so it is charged to the tiers up to its own and
Theorem C holds for it as it stands. Nothing is sampled.

**A profile**: one stage per table, the least sensitive tier first, so that no question
about a tier follows from a release of a more sensitive one (Theorem C):

    persons   their keys, one table per site          reads no column
    label     the target                              reads no column but the label
    tier      of its columns first: codes of a list, bins of a declared
              range, doubles of an open one, the first letters of an open list
              bins between the ends that the doubles showed
              letters 2, 3, ... of the prefixes that the letters before showed

All tables of a tier have the same ratio of clip to noise, since each of them answers
for one column. Which stages there are follows from declarations alone, and what a
follow-up asks from released tables alone. How common a value must be to be seen
(`hidden_shares`) follows from the programme, so it is known before anything is spent.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lexfed.budget import allocation
from lexfed.budget.allocation import CappedShares
from lexfed.budget.noise_plan import Budget, Draft, DraftGroup, tower_bounds
from lexfed.data.letter_pairs import LEVELS, PAIRS
from lexfed.data.reading.conversion import raw_places
from lexfed.federation.planning.choices import Choices, PopulationFacts
from lexfed.federation.planning.draft_releases import LABEL_SHARE
from lexfed.federation.planning.programme_draft import (
    DraftRelease,
    ProgrammeDraft,
    tower_shapes,
    tower_tiers,
)
from lexfed.federation.planning.programme_price import price_programme
from lexfed.federation.programme.sequence import Programme
from lexfed.models.rule.purchases import CLIP, label_dimension
from lexfed.models.tower_shapes import RuleFacts, TowerShape
from lexfed.sketch.profile.federation_profile import ProfiledColumn
from lexfed.sketch.queries.refinements import ERROR, threshold
from lexfed.sketch.queries.requested_tables import (
    BINS,
    DOUBLES,
    MOST_PREFIXES,
    RequestedTable,
)
from lexfed.tiers import Tier

IMPORTANCE = "importance"
"""First word of the names of releases that buy importances; the tier follows."""

KEY_DEPTH = 5
KEY_WIDTHS = (64, 2**14)
"""Rows of a table of keys, and its fewest and most cells of a row."""

USEFUL = 0.1
"""A value that this part of all persons has must not be hidden in noise."""

USEFUL_OVERLAP = 0.5
"""Nor must an overlap of this part of a site's persons."""

PERSONS = ""
"""Stands for a column where the keys of persons are asked."""

_LONGEST_NAME = 96
"""Letters of a column's name in the name of a release; logs take 128 in all."""


def plan_importance(
    facts: PopulationFacts, budget: Budget, choices: Choices
) -> Programme:
    """Return the programme that buys importances for a run.

    Of the run's choices only trust, accountant and seed matter here.
    """
    own = choices.of_purchase()
    shapes = tower_shapes(facts.encoding, "cascade", "linear", facts.outputs, own.seed)
    wanted = tuple(
        item
        for tower, shape in enumerate(shapes)
        for item in _importance_drafts(facts, own, tower, shape)
    )
    draft = ProgrammeDraft(facts, own, shapes, wanted)
    slots = [len(shape.slots) for shape in shapes]
    return price_programme(draft, budget, partial(allocation.caps, slots))


def _importance_drafts(
    facts: PopulationFacts, choices: Choices, tower: int, shape: TowerShape
) -> list[DraftRelease]:
    senders = choices.senders(len(facts.sites))
    left, wanted = 1.0, []
    if tower == 0:
        name, share = "label rate", LABEL_SHARE
        groups = (
            DraftGroup(name, CLIP, label_dimension(RuleFacts(shape, facts.loss))),
        )
        draft = Draft(name, tower, groups, 1.0, (1.0,), None, share, senders)
        wanted.append(DraftRelease("labels", draft))
        left -= share
    name = f"{IMPORTANCE} {shape.tier.label}"
    groups = (DraftGroup(name, CLIP, len(shape.slots) * shape.outputs),)
    draft = Draft(name, tower, groups, 1.0, (1.0,), shape.tier, left, senders)
    return [*wanted, DraftRelease("importance", draft)]


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

    Of the run's choices only trust, accountant and seed matter here. `columns` are
    those of the units' raw slots, in order; those `left_out` have no questions, PERSONS
    stands for the keys of persons, and at least one column is asked.
    """
    own = choices.of_purchase()
    shapes = _towers(facts, own, columns, left_out)
    steps = list(_steps(facts, shapes, columns, left_out))
    counts = [sum(step.tower == at for step in steps) for at in range(len(shapes))]
    # The best size of a table of keys depends on its noise; the sampler's error does
    # not depend on the size.
    shares = allocation.caps(counts, tower_bounds(budget, tower_tiers(facts, shapes)))
    wanted = tuple(
        _profile_draft(_sized(step, facts, own, shares, counts), facts, own, counts)
        for step in steps
    )
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
    others = [column for column in columns if column.name != schema.target]
    for tower, shape in enumerate(shapes):
        own = [column for column in others if column.tier == shape.tier]
        for table in _questions(own, places):
            yield _Step(tower, shape.tier, table)


def _questions(
    columns: Sequence[ProfiledColumn], places: Mapping[str, tuple[int, ...]]
) -> Iterator[RequestedTable]:
    """Yield the tables of these columns: first ones, then follow-ups."""
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

    The variance of an overlap is least at m = 2 rho |f| |g| cells, with |f|² and |g|²
    persons at two sites.
    """
    if step.table.domain != "keys":
        return step
    persons = facts.units / len(facts.sites)
    rho = shares.squares[0] / counts[0] / 2.0 / choices.loudness(len(facts.sites))
    best = max(KEY_WIDTHS[0], 2.0 * rho * persons / KEY_DEPTH)
    width = min(KEY_WIDTHS[1], 2 ** round(math.log2(best)))
    table = replace(step.table, width=width, seed=choices.seed)
    return replace(step, table=table)


def _profile_draft(
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
    """Return the name of a table, unique in its programme."""
    if table.domain == "keys":
        return "persons, keys"
    level = f" {table.level}" if table.domain == "letters" else ""
    return f"{table.column[:_LONGEST_NAME]}, {table.domain}{level}"


@dataclass(frozen=True)
class HiddenShare:
    """The part of all persons that must have a value of a column so that it is seen.

    Of keys (PERSONS), the part of a site's persons that must be at another one as well.
    """

    column: str
    share: float

    @property
    def useful(self) -> bool:
        """True if the table is worth its price."""
        most = USEFUL_OVERLAP if self.column == PERSONS else USEFUL
        return self.share <= most


def hidden_shares(programme: Programme, units: int) -> tuple[HiddenShare, ...]:
    """Return the share that each table of a profile hides, in the order of stages.

    A cell stands out of a table of m cells with noise of variance s² if it is above s
    sqrt(2 ln(m / a)) (`lexfed.sketch.queries.refinements`), here over all persons.
    """
    persons, louder = units / len(programme.sites), math.sqrt(programme.loudness())
    hidden = []
    for stage in programme.stages:
        release = stage.releases[0]
        for place, table in enumerate(stage.tables):
            sigma = 0.0 if release is None else louder * release.groups[place].sigma
            if table.domain == "keys":
                share = _overlap(table, sigma, persons)
            else:
                share = threshold(table.cells, sigma**2, ERROR) / units
            hidden.append(HiddenShare(table.column, share))
    return tuple(hidden)


def _overlap(table: RequestedTable, deviation: float, persons: float) -> float:
    """Return the share of a site's persons below which an overlap is hidden.

    Tables of keys of two sites with n persons each, of m cells at rho each, tell the
    overlap with variance n²/m + n/rho + m/(4 rho²), beside its own
    (`lexfed.sketch.estimates`). It is hidden below 1.96 standard deviations.
    """
    cells = table.depth * table.width
    # Noise on every cell of variance depth / (2 rho).
    doubt = deviation * deviation / table.depth
    variance = persons**2 / cells + 2.0 * persons * doubt + cells * doubt**2
    return 1.96 * math.sqrt(variance) / persons
