# SPDX-License-Identifier: Apache-2.0
"""Sketches that a tower pays for, and the least budget at which they are of use.

A tower gives a stated part of its budget to its sketches, in equal squares: the first
one to the keys of persons, each one before a look at columns to that look.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from lexfed.budget.noise_plan import Budget, DraftGroup
from lexfed.errors import ConfigError, Problem, Refused
from lexfed.federation.planning.choices import Choices, PopulationFacts
from lexfed.federation.planning.draft_releases import DraftTower, tower_drafts
from lexfed.federation.planning.programme_draft import DraftRelease
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.privacy.run_ledger import Limits
from lexfed.privacy.scopes import up
from lexfed.sketch.estimates.noised_cells import best_cells
from lexfed.sketch.queries.drift import TOTAL, places_for
from lexfed.sketch.queries.duplicates import noise_of_overlap, reach
from lexfed.sketch.queries.requested_tables import RequestedTable
from lexfed.sketch.releases.cadence import Cadence, planned_releases
from lexfed.terms import Accountant
from lexfed.tiers import Tier

PERSONS = "persons at sites"
"""Name of the release of keys."""

KEY_DEPTH = 5
KEY_WIDTHS = (8, 2**14)
"""Rows of a table of keys, and its fewest and most cells of a row."""

MOST_SHARE = 0.5
"""The largest part of a tower's budget that sketches may take."""


def drafts_with_sketches(tower: DraftTower, square: float) -> list[DraftRelease]:
    """Return the releases of a tower, its sketches included; as `tower_drafts`."""
    rest = training_part(tower)
    trained = [item.at_part(rest) for item in tower_drafts(tower, square * rest)]
    keys, look = _asks_keys(tower), _looks(tower)
    share = tower.choices.sketching.share / max(1, keys + look)
    if keys:
        sites, choices = len(tower.facts.sites), tower.choices
        width = _key_width(tower.facts, square * share / choices.loudness(sites))
        table = RequestedTable("", "keys", (), width, KEY_DEPTH, choices.seed, sites)
        trained = [_wanted(tower, PERSONS, (table,), share, None), *trained]
    if look:
        tier = tower.shape.tier
        name = f"columns up to {tier.label}"
        trained.append(_wanted(tower, name, _places(tower), share, tier))
    return trained


def training_part(tower: DraftTower) -> float:
    """Return the part of a tower's budget that is left for training it."""
    asked = _asks_keys(tower) or _looks(tower)
    return 1.0 - tower.choices.sketching.share if asked else 1.0


def _asks_keys(tower: DraftTower) -> bool:
    sketching, several = tower.choices.sketching, len(tower.facts.sites) > 1
    return tower.place == 0 and sketching.share > 0.0 and sketching.persons and several


def _looks(tower: DraftTower) -> bool:
    looks = tower.choices.sketching.looks_before(tower.place + 1, len(tower.shapes))
    return looks and bool(_watched(tower))


def _watched(tower: DraftTower) -> tuple[int, ...]:
    """Return the columns that the towers up to this one read."""
    shapes = tower.shapes[: tower.place + 1]
    return tower.choices.sketching.within([s for shape in shapes for s in shape.slots])


def _wanted(
    tower: DraftTower,
    name: str,
    tables: tuple[RequestedTable, ...],
    share: float,
    reads: Tier | None,
) -> DraftRelease:
    """Return the release of tables, one group each."""
    groups = tuple(
        DraftGroup(table.column or name, table.clip, table.cells) for table in tables
    )
    item = tower.release("sketch", name, groups, share, reads)
    return replace(item, tables=tables)


def _key_width(facts: PopulationFacts, square: float) -> int:
    """Return the width of a table that shows the overlap with the rest best."""
    site = facts.units / len(facts.sites)
    norms = math.sqrt(site), math.sqrt(facts.units - site)
    wanted = best_cells(square / 2.0, *norms) / KEY_DEPTH
    low, high = KEY_WIDTHS
    return min(max(1 << round(math.log2(max(1.0, wanted))), low), high)


def _places(tower: DraftTower) -> tuple[RequestedTable, ...]:
    sketching, watched = tower.choices.sketching, _watched(tower)
    width = max(sketching.watched[place].cells for place in watched)
    places = min(sketching.columns, len(watched))
    return places_for(tower.shape.tier.label, places, width, len(tower.facts.sites))


def require_use(programme: Programme, facts: PopulationFacts, choices: Choices) -> None:
    """Refuse sketches that could show nothing, whatever the data are.

    Keys must show a site all of whose persons are elsewhere; cells of a column must
    show that there is anybody. The refusal names the smallest useful share of the
    budget.
    """
    for stage in programme.stages:
        release = stage.releases[0]
        if stage.kind != "sketch" or release is None:
            continue
        square = release.noise_multiplier**-2 / len(stage.tables) / programme.loudness()
        sees = partial(_sees, stage.tables[0], facts)
        if not sees(square):
            part = choices.sketching.share * _smallest(sees, square) / square
            raise ConfigError([_too_small(stage, part)])


def _sees(table: RequestedTable, facts: PopulationFacts, square: float) -> bool:
    if table.domain != "keys":
        # The sum over sites has the noise of all of their cells.
        return TOTAL * math.sqrt(table.cells / square) < facts.units
    site = facts.units / len(facts.sites)
    cells = KEY_DEPTH * _key_width(facts, square)
    noise = noise_of_overlap(cells, square, site, facts.units - site)
    return reach(len(facts.sites)) * noise < site


def _smallest(holds: Callable[[float], bool], low: float) -> float:
    """Return about the smallest square at which something holds, above one."""
    high = 2.0 * low
    while not holds(high):
        low, high = high, 2.0 * high
    for _ in range(30):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _too_small(stage: Stage, share: float) -> Problem:
    if share <= MOST_SHARE:
        hint = f"set it to {up(share, 3):g} at least"
    else:
        hint = (
            f"that would take {share / MOST_SHARE:.3g} times what half of a tower's "
            "budget is: remove `[sketches]`, raise `budget.epsilon`, or wait for more "
            "persons"
        )
    what = f"`{stage.name}` would be lost in its noise, whatever the data are"
    return Problem("`sketches.share`", what, hint)


def refuse_every_round(
    programme: Programme, budget: Budget, accountant: Accountant
) -> None:
    """Refuse new noise for sketches in every round, with its cost."""
    events = [
        release
        for stage in programme.stages
        for release in stage.releases
        if stage.kind == "sketch" and release is not None
    ]
    limits = Limits(budget.epsilon, budget.delta, budget.neighbours)
    made = Cadence(max(2, programme.rounds), every=1)
    for event in events:
        try:
            planned_releases(made, event, limits, accountant, budget.sites_per_person)
        except Refused as refused:
            hint = "set `every = 1`: one look before each tower"
            problem = Problem("`sketches.every`", refused.message, hint)
            raise ConfigError([problem]) from refused
