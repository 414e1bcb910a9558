# SPDX-License-Identifier: Apache-2.0
"""The budget of a configuration, its parts, and the budgets of purchases."""

from pathlib import Path

import pytest

from lexfed.config import loads
from lexfed.privacy.scopes import up
from lexfed.run import seeded_population
from lexfed.run.pricing.policy_terms import StatedBudget, stated_budget
from lexfed.tiers import Tier
from support.configurations import configuration


@pytest.fixture(scope="module")
def stated() -> StatedBudget:
    changes = {
        "budget.delta": 1e-7,
        "budget.neighbours": "replace-one",
        "budget.policy": "published",
    }
    config = loads(configuration(changes))
    return stated_budget(config, seeded_population(config, Path()), Path())


def test_the_whole_is_what_configuration_and_policy_state(
    stated: StatedBudget,
) -> None:
    whole = stated.whole
    assert (whole.epsilon, whole.delta) == (3.0, 1e-7)
    assert whole.neighbours == "replace-one"
    assert whole.sites_per_person == 1
    assert whole.caps == stated.terms.caps
    assert whole.caps[Tier.SPECIAL] == 0.1
    assert stated.policy.policy.name == "published"


def test_a_part_takes_the_same_of_epsilon_and_of_every_cap(
    stated: StatedBudget,
) -> None:
    assert stated.part(1.0) == stated.whole
    half = stated.part(0.5)
    assert half.epsilon == 1.5
    assert half.caps == {t: cap / 2 for t, cap in stated.whole.caps.items()}
    assert (half.delta, half.neighbours) == (1e-7, "replace-one")


@pytest.mark.parametrize("epsilon", [1.0, 0.3, 1.0 / 3.0, 2.0**0.5, 2.9999999999])
def test_a_purchase_is_claimed_within_its_price(
    stated: StatedBudget, epsilon: float
) -> None:
    """Claims are rounded up to eight digits, so budgets of purchases have no more.

    Calibration stays 1e-12 below its target (`calibration._exact_factor`).
    """
    bought = stated.purchase(epsilon)
    exact = stated.part(epsilon / 3.0)
    assert up(bought.epsilon * (1 - 1e-12)) <= bought.epsilon <= epsilon
    assert bought.epsilon == pytest.approx(epsilon, rel=1e-7)
    for tier, cap in bought.caps.items():
        assert up(cap * (1 - 1e-12)) <= cap <= exact.caps[tier]
        assert cap == pytest.approx(exact.caps[tier], rel=1e-7)
