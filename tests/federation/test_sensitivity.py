# SPDX-License-Identifier: Apache-2.0
"""One unit moves the integers that leave a site by at most the charged clip.

Negative controls are the clipping mutants of `tests/mutants`.
"""

from typing import Any

import pytest

from lexfed.budget.noise_plan import Budget
from lexfed.tiers import Tier
from support.federation import checks
from support.federation.worlds import world

CASES: dict[str, dict[str, Any]] = {
    "rule": {},
    "rule persons": {"places": 3, "paid_metrics": True},
    "rule softmax": {"loss": "softmax", "paid_metrics": True},
    "rule squared": {"loss": "squared", "model": "linear", "paid_metrics": True},
    "additive": {"model": "additive", "declared": 10**5, "paid_metrics": True},
    "additive persons": {"model": "additive", "declared": 10**5, "places": 3},
    "additive softmax": {"model": "additive", "declared": 10**5, "loss": "softmax"},
    "additive squared": {"model": "additive", "declared": 10**5, "loss": "squared"},
    "uniform": {"mechanism": "uniform", "paid_metrics": True},
    "mlp": {"model": "mlp:6,4", "rounds": 2},
    "mlp persons": {"model": "mlp:6,4", "rounds": 2, "places": 3},
    "mlp softmax": {"model": "mlp:6", "rounds": 2, "loss": "softmax"},
    "mlp squared": {"model": "mlp:6", "rounds": 2, "loss": "squared"},
    "networks by the rule": {
        "model": "mlp:4",
        "rounds": 2,
        "by_rule": True,
        "declared": 10**6,
    },
    "networks of persons by the rule": {
        "model": "mlp:4",
        "rounds": 2,
        "by_rule": True,
        "declared": 10**6,
        "places": 2,
    },
    "cnn": {"model": "cnn", "rounds": 1},
    "grouped": {"mechanism": "grouped", "rounds": 2, "clip": {Tier.SPECIAL: 0.05}},
    "grouped mlp": {"mechanism": "grouped", "rounds": 2, "model": "mlp:6"},
    "grouped persons": {"mechanism": "grouped", "rounds": 2, "places": 2},
    "small clip": {"model": "mlp:6", "rounds": 2, "default_clip": 0.01},
}


@pytest.mark.no_cover
@pytest.mark.parametrize("case", CASES)
def test_a_person_moves_a_sum_by_at_most_the_clip(case: str) -> None:
    checks.check_sensitivity(world(sizes=(30, 20), **CASES[case]))


@pytest.mark.parametrize(
    "options",
    [
        {"model": "logistic", "learning_rate": 5.0},
        {"model": "mlp:6", "local_steps": 3},
        {"mechanism": "grouped", "clip": {Tier.SPECIAL: 0.01}, "learning_rate": 5.0},
        {"mechanism": "uniform", "paid_metrics": True, "loss": "softmax"},
    ],
)
def test_a_client_moves_a_sum_by_at_most_the_clip(options: dict[str, Any]) -> None:
    checks.check_client_sensitivity(
        world(sizes=(30, 20, 9), unit="client", rounds=2, **options)
    )


def test_a_tight_budget_keeps_the_clip() -> None:
    checks.check_sensitivity(
        world(sizes=(30, 20), budget=Budget(0.05, 1e-9, "replace-one"))
    )
