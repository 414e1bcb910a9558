# SPDX-License-Identifier: Apache-2.0
"""The shape of what makes rounds and sites differ: `[budget.pace]`, profiles, clients.

Budgets of sites are public: whoever knows the configuration knows them.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from lexfed.budget.pace import NoiseSchedule
from lexfed.config.table import Positive, Real, Table, Text

_PACE = NoiseSchedule()

Part = Annotated[Real, Field(gt=0, lt=1)]


class CapsTable(Table):
    """`[budget.caps]`: the most attribute epsilon a tier may reach."""

    special: Positive | None = None
    personal: Positive | None = None
    non_personal: Positive | None = None


class PaceTable(Table):
    """`[budget.pace]`: the settings of `budget.schedule`."""

    ratio: Annotated[Real, Field(ge=1, le=1000)] = _PACE.ratio
    drops: Annotated[tuple[Part, ...], Field(min_length=1)] = _PACE.drops
    save: Annotated[Real, Field(ge=1e-3, le=1)] = _PACE.save
    save_until: Part = _PACE.save_until


class ProfileTable(Table):
    """`[budget.profiles]`: sites with a budget of their own."""

    sites: Annotated[tuple[Text, ...], Field(min_length=1)]
    epsilon: Positive | None = None
    save: Annotated[Real, Field(ge=1e-3, le=1)] | None = None
    save_until: Part | None = None
    caps: CapsTable = CapsTable()


class ClientsTable(Table):
    """`[budget.clients]`: one total that all sites share as it helps most."""

    total: Positive
    gamma: Positive = 1.0
    gammas: Mapping[Text, Positive] = Field(default_factory=dict)
    low: Positive
    high: Positive
