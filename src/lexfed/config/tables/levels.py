# SPDX-License-Identifier: Apache-2.0
"""The shape of `[budget.levels]`: single columns at another level of the policy."""

from lexfed.config.tables.field_types import ConfigTable, NonEmptyText


class LevelTable(ConfigTable):
    """`[budget.levels]`: the level of one column, and why."""

    level: NonEmptyText
    reason: NonEmptyText
