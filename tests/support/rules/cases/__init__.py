# SPDX-License-Identifier: Apache-2.0
"""For every rule: how to spoil a world in which it finds everything, and what it says.

`UP` stands for the ceiling of the rule.
"""

from collections.abc import Mapping

from support.rules.cases import (
    assessment,
    duties,
    guidance,
    health,
    others,
    principles,
)
from support.rules.world import Case

CASES: Mapping[str, list[Case]] = {
    **principles.CASES,
    **duties.CASES,
    **assessment.CASES,
    **guidance.CASES,
    **health.CASES,
    **others.CASES,
}
