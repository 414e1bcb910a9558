# SPDX-License-Identifier: Apache-2.0
"""Every rule: reaches its ceiling, falls short of it, and is left out on a fact."""

import pytest

from lexfed.audit.rules import AT_CEILING, Judgement, catalogue
from support.rules.cases import CASES
from support.rules.cases.words import NO, OUT, UP
from support.rules.world import Case, World

RULES = {rule.id: rule for rule in catalogue().rules}
# In one world Safe Harbor is used, not an expert, and nothing is biometric.
ELSEWHERE = {"hipaa.ed", "aiact.12.3"}
# A log that does not verify is all that could be wrong, or nothing could be.
NEVER_SHORT = {"gdpr.25.1.suff", "edpb.28-2024.claim", "hipaa.sh.know", "hipaa.audit"}


def judged(rule: str, case: Case) -> Judgement:
    world = World()
    for spoil in case[2]:
        spoil(world)
    return world.judged(rule)


@pytest.mark.parametrize("rule", [name for name in RULES if name not in ELSEWHERE])
def test_rule_reaches_its_ceiling(rule: str) -> None:
    judgement = World().judged(rule)
    assert judgement.outcome == AT_CEILING[RULES[rule].ceiling], judgement.why
    assert judgement.at_ceiling


@pytest.mark.parametrize("rule", CASES)
def test_rule_finds_what_is_wrong(rule: str) -> None:
    for case in CASES[rule]:
        judgement = judged(rule, case)
        expected = AT_CEILING[RULES[rule].ceiling] if case[1] == UP else case[1]
        assert judgement.outcome == expected, (case[0], judgement.why)
        assert judgement.why, case[0]
        assert list(judgement.evidence) == sorted(set(judgement.evidence))


def test_every_rule_has_its_cases() -> None:
    assert set(CASES) == set(RULES)
    for name, cases in CASES.items():
        outcomes = {case[1] for case in cases}
        assert NO in outcomes or name in NEVER_SHORT, name
        assert (OUT in outcomes) == bool(RULES[name].applies) or (
            RULES[name].ceiling == "not-applicable"
        ), name
        assert len({case[0] for case in cases}) == len(cases), name


@pytest.mark.parametrize("rule", sorted(ELSEWHERE))
def test_other_rules_reach_their_ceiling_elsewhere(rule: str) -> None:
    reached = [judged(rule, case).at_ceiling for case in CASES[rule] if case[1] == UP]
    assert any(reached)
    assert all(reached)
