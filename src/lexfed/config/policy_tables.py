# SPDX-License-Identifier: Apache-2.0
"""The shape of `[budget.levels]`: single columns at another level of the policy."""

from lexfed.config.table import Table, Text


class LevelTable(Table):
    """`[budget.levels]`: the level of one column, and why."""

    level: Text
    reason: Text
