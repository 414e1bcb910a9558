# SPDX-License-Identifier: Apache-2.0
"""The shape of `[budget]`: totals, caps, and what makes rounds, sites, records differ.

Budgets of sites are public: every reader of the configuration knows them.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from lexfed.budget.allocation import Allocation
from lexfed.budget.noise_schedule import NoiseSchedule, ScheduleName
from lexfed.config.tables.field_types import (
    ConfigTable,
    NonEmptyText,
    Positive,
    Rate,
    Real,
)
from lexfed.terms import Neighbours, Realisation, Unit

_PACE = NoiseSchedule()

ProperFraction = Annotated[Real, Field(gt=0, lt=1)]


class CapsTable(ConfigTable):
    """`[budget.caps]`: the most attribute epsilon a tier may reach."""

    special: Positive | None = None
    personal: Positive | None = None
    non_personal: Positive | None = None


class PaceTable(ConfigTable):
    """`[budget.pace]`: the settings of `budget.schedule`."""

    ratio: Annotated[Real, Field(ge=1, le=1000)] = _PACE.ratio
    drops: Annotated[tuple[ProperFraction, ...], Field(min_length=1)] = _PACE.drops
    save: Annotated[Real, Field(ge=1e-3, le=1)] = _PACE.save
    save_until: ProperFraction = _PACE.save_until


class ProfileTable(ConfigTable):
    """`[budget.profiles]`: sites with a budget of their own."""

    sites: Annotated[tuple[NonEmptyText, ...], Field(min_length=1)]
    epsilon: Positive | None = None
    save: Annotated[Real, Field(ge=1e-3, le=1)] | None = None
    save_until: ProperFraction | None = None
    caps: CapsTable = CapsTable()


class ClientsTable(ConfigTable):
    """`[budget.clients]`: one total that all sites share as it helps most."""

    total: Positive
    gamma: Positive = 1.0
    gammas: Mapping[NonEmptyText, Positive] = Field(default_factory=dict)
    low: Positive
    high: Positive


class LevelTable(ConfigTable):
    """`[budget.levels]`: the level of one column, and why."""

    level: NonEmptyText
    reason: NonEmptyText


class ClassTable(ConfigTable):
    """`[[budget.classes]]`: a class of records, by a public rule on their columns."""

    name: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
            description="a name of up to 64 letters, digits, `_`, `-`",
        ),
    ]
    where: NonEmptyText
    epsilon: Positive


class MultipliersTable(ConfigTable):
    """`[budget.multipliers]`: how much of the budget a tier gets per importance."""

    special: Positive | None = None
    personal: Positive | None = None
    non_personal: Positive | None = None


class BudgetTable(ConfigTable):
    """`[budget]`: what the whole record may cost, and how the tiers share it."""

    epsilon: Positive
    delta: Annotated[Real, Field(gt=0, lt=1)]
    unit: Unit = "record"
    neighbours: Neighbours = "add-remove"
    allocation: Allocation = "caps"
    schedule: ScheduleName = "constant"
    alpha: Annotated[Real, Field(ge=1)] = 2.0
    realise: Realisation = "clip"
    policy: NonEmptyText = "default"
    policy_keys: tuple[NonEmptyText, ...] = ()
    ledgers: NonEmptyText | None = None
    pace: PaceTable = PaceTable()
    caps: CapsTable = CapsTable()
    multipliers: MultipliersTable = MultipliersTable()
    importance: Mapping[NonEmptyText, Positive] = Field(default_factory=dict)
    importance_from: NonEmptyText | None = None
    groups: Mapping[NonEmptyText, tuple[NonEmptyText, ...]] = Field(
        default_factory=dict
    )
    groups_from: NonEmptyText | None = None
    correlation: Rate = 0.8
    sparsity: Annotated[Real, Field(ge=0, lt=1)] = 0.0
    levels: Mapping[NonEmptyText, LevelTable] = Field(default_factory=dict)
    profiles: Mapping[NonEmptyText, ProfileTable] = Field(default_factory=dict)
    clients: ClientsTable | None = None
    classes: tuple[ClassTable, ...] = ()
