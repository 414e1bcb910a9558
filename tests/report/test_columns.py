# SPDX-License-Identifier: Apache-2.0
"""Columns in the report: what was decided, and what had been proposed."""

from dataclasses import replace
from typing import Literal

import pytest

from lexfed.law.explanations import Proposal
from lexfed.law.tags import Tag
from lexfed.report.sections.column_table import column_rows
from lexfed.tiers import Tier
from support.audit.worlds import tagged


@pytest.mark.parametrize(
    ("by", "tier", "told"),
    [
        ("rule", Tier.SPECIAL, "the tagger proposed special, health"),
        ("generator", Tier.SPECIAL, "the source proposed special, health"),
        ("rule", Tier.PERSONAL, ""),
    ],
)
def test_what_a_person_overruled_is_told(
    by: Literal["rule", "generator"], tier: Tier, told: str
) -> None:
    world = tagged()
    name = next(iter(world.tags))
    category = "health" if told else "demographic"
    proposal = Proposal(tier, category, by, "because")
    tag = Tag(Tier.PERSONAL, "demographic", (), "we know", "person", proposal)
    changed = replace(world, tags={**world.tags, name: tag})
    (row,) = (row for row in column_rows(changed) if row.name == name)
    assert row.proposed == told
