# SPDX-License-Identifier: Apache-2.0
"""Small federations that are profiled: raw values of three tiers, persons with keys."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lexfed.budget.noise_plan import Budget
from lexfed.data.encoding import build_encoding
from lexfed.data.letter_pairs import pairs_of
from lexfed.data.people.unit_blocks import PersonRows, SiteData, group_units
from lexfed.data.reading.conversion import raw_places
from lexfed.federation.planning.choices import Choices
from lexfed.federation.planning.purchase_programmes import plan_profile
from lexfed.sketch.profile.federation_profile import ProfiledColumn
from lexfed.tiers import Tier
from support.federation.worlds import TIERS, World, world

COLUMNS = (
    ProfiledColumn("dose", "number", Tier.NON_PERSONAL),
    ProfiledColumn("ward", "category", Tier.NON_PERSONAL),
    ProfiledColumn("age", "number", Tier.PERSONAL, range=(18.0, 98.0)),
    ProfiledColumn("sex", "category", Tier.PERSONAL, values=("f", "m")),
    ProfiledColumn("hba1c", "number", Tier.SPECIAL),
    ProfiledColumn("ill", "flag", Tier.SPECIAL),
    ProfiledColumn("gene", "number", Tier.SPECIAL, range=(-1.0, 1.0)),
    ProfiledColumn("y", "flag", Tier.SPECIAL),
)
BUDGET = Budget(8.0, 1e-6, "add-remove", {Tier.SPECIAL: 4.0, Tier.PERSONAL: 6.0})
WARDS = ("north", "south")


def profile_world(
    sizes: Sequence[int] = (300, 200),
    *,
    budget: Budget = BUDGET,
    columns: Sequence[ProfiledColumn] = COLUMNS,
    left_out: Sequence[str] = (),
    person: str | None = "id",
    **choices: object,
) -> World:
    """Return a world whose programme is a profile of its raw values."""
    base = world(sizes=sizes)
    schema = replace(base.encoding.schema, person=person)
    code = build_encoding(schema, TIERS)
    chosen = replace(Choices(), **choices)  # type: ignore[arg-type]
    facts = replace(base.facts, encoding=code)
    programme = plan_profile(facts, budget, chosen, columns, left_out)
    sites = tuple(
        _site(f"site{at}", size, columns, at) for at, size in enumerate(sizes)
    )
    return World(programme, sites, budget, chosen, facts, code)


def _site(
    name: str, persons: int, columns: Sequence[ProfiledColumn], at: int
) -> SiteData:
    generator = np.random.default_rng([7, at])
    raw = np.empty((persons, 0))
    for column in columns:
        raw = np.concatenate([raw, _values(column, persons, generator)], axis=1)
    # The first hundred persons of every site are the same.
    codes = np.arange(persons, dtype=np.int64) + 1000 * at
    codes[:100] = np.arange(100)
    goals = np.zeros(persons)
    rows = PersonRows(raw, goals, np.arange(persons), keys=codes)
    units = group_units(rows)
    nobody = group_units(rows.take(np.zeros(0, dtype=np.int64)))
    return SiteData(name, units, nobody)


def _values(
    column: ProfiledColumn, persons: int, generator: np.random.Generator
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    if column.codes is not None:
        return generator.integers(0, len(column.codes), (persons, 1)).astype(float)
    if column.kind == "number":
        return generator.normal(8.0, 1.0, (persons, 1))
    pairs = np.array([pairs_of(ward) for ward in WARDS], dtype=np.float64)
    return pairs[generator.integers(0, len(WARDS), persons)]


def slots_of(columns: Sequence[ProfiledColumn], tier: Tier) -> list[int]:
    """Return the raw slots of a tier's columns, without the target's."""
    places = raw_places(columns)
    return [
        slot
        for column in columns
        if column.tier == tier and column.name != "y"
        for slot in places[column.name]
    ]
