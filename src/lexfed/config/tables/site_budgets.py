# SPDX-License-Identifier: Apache-2.0
"""The shape of what makes rounds and sites differ: `[budget.pace]`, profiles, clients.

Budgets of sites are public: whoever knows the configuration knows them.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from lexfed.budget.noise_schedule import NoiseSchedule
from lexfed.config.tables.field_types import ConfigTable, NonEmptyText, Positive, Real

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
