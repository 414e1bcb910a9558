# SPDX-License-Identifier: Apache-2.0
"""Noise from a budget: it fits, it is not wasteful, and it takes few evaluations."""

from collections.abc import Sequence
from typing import Any

import pytest

from lexfed.errors import Refused
from lexfed.privacy.accountants import composition
from lexfed.privacy.accountants.calibration import (
    PrivacyTarget,
    noise_multiplier,
    scale_to_budget,
    scaled_steps,
)
from lexfed.privacy.accountants.composition import epsilon
from lexfed.privacy.accountants.gdp import Step
from lexfed.terms import Accountant, Neighbours


@pytest.mark.parametrize("budget", [0.01, 0.3, 1.0, 8.0, 50.0])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_exact_without_sampling(budget: float, neighbours: Neighbours) -> None:
    multiplier = noise_multiplier(budget, 1e-6, neighbours, releases=30)
    cost = epsilon([Step(multiplier, 1.0, 30)], 1e-6, neighbours)
    assert budget * (1 - 1e-9) <= cost <= budget


def test_rounding_of_floats_never_breaks_the_budget() -> None:
    steps, fixed = [Step(0.7, 1.0, 7), Step(3.1, 1.0, 11)], [Step(23.0, 1.0, 3)]
    for number in range(1, 300):
        budget = 2.0 + number / 7
        factor = scale_to_budget(steps, PrivacyTarget(budget, 1e-6), fixed)
        assert epsilon([*scaled_steps(steps, factor), *fixed], 1e-6) <= budget


def test_known_multiplier() -> None:
    assert noise_multiplier(1.0, 1e-5) == pytest.approx(3.7306, abs=1e-4)


SAMPLED = [
    ([Step(1.0, 0.02, 500)], 1.0),
    ([Step(1.0, 0.1, 30), Step(3.0, 0.1, 30)], 0.3),
    ([Step(20.0, 0.3, 5)], 12.0),
]


@pytest.mark.parametrize(("steps", "budget"), SAMPLED)
@pytest.mark.parametrize("accountant", ["rdp", "pld"])
def test_sampled_steps_fit_and_fill(
    steps: list[Step],
    budget: float,
    accountant: Accountant,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []
    composed = composition.composed_distribution

    def counting(steps: Sequence[Step], neighbours: Neighbours) -> Any:
        calls.append(1)
        return composed(steps, neighbours)

    monkeypatch.setattr(composition, "composed_distribution", counting)
    factor = scale_to_budget(
        steps, PrivacyTarget(budget, 1e-6, "replace-one", accountant)
    )
    assert len(calls) <= 12

    def cost(factor: float) -> float:
        return epsilon(scaled_steps(steps, factor), 1e-6, "replace-one", accountant)

    assert cost(factor) <= budget < cost(factor * (1 - 3e-4))


def test_budgets_below_what_renyi_orders_prove_are_found_by_distributions() -> None:
    steps = [Step(1.0, 0.05, 100)]
    factor = scale_to_budget(steps, PrivacyTarget(5e-4, 1e-6))
    assert epsilon(scaled_steps(steps, factor), 1e-6) <= 5e-4
    with pytest.raises(Refused):
        scale_to_budget(steps, PrivacyTarget(5e-4, 1e-6, accountant="rdp"))


def test_a_budget_met_by_hardly_any_noise_takes_the_smallest_factor() -> None:
    steps = [Step(100.0, 1e-4, 1)]
    factor = scale_to_budget(steps, PrivacyTarget(500.0, 1e-3, accountant="rdp"))
    assert factor == pytest.approx(1e-3)


@pytest.mark.parametrize("rate", [1.0, 0.2])
def test_fixed_steps_are_paid_first(rate: float) -> None:
    fixed = [Step(8.0)]
    steps = [Step(1.0, rate, 20)]
    factor = scale_to_budget(steps, PrivacyTarget(2.0, 1e-6), fixed)
    together = epsilon([*scaled_steps(steps, factor), *fixed], 1e-6)
    assert 2.0 * (1 - 1e-3) < together <= 2.0
    with pytest.raises(Refused, match="no amount of noise"):
        scale_to_budget(steps, PrivacyTarget(2.0, 1e-6), [Step(1.0)])


def test_a_budget_below_what_an_accountant_proves_is_named_as_that() -> None:
    """Rényi accounting with orders up to 4096 ends at about .002 for this delta."""
    with pytest.raises(Refused, match="RDP accounting proves no epsilon as small as"):
        scale_to_budget([Step(1.0)], PrivacyTarget(1e-3, 1e-6, accountant="rdp"))
    with pytest.raises(Refused, match="what is fixed costs more"):
        scale_to_budget(
            [Step(1.0)], PrivacyTarget(1e-3, 1e-6, accountant="rdp"), [Step(1.0)]
        )
    assert (
        scale_to_budget([Step(1.0)], PrivacyTarget(1e-3, 1e-6, accountant="gdp")) > 0.0
    )


def test_nothing_to_scale() -> None:
    assert scale_to_budget([], PrivacyTarget(1.0, 1e-6), [Step(10.0)]) == 0.0
    with pytest.raises(Refused):
        scale_to_budget([], PrivacyTarget(0.1, 1e-6), [Step(1.0)])


def test_impossible_budgets_are_refused() -> None:
    with pytest.raises(ValueError, match="epsilon"):
        scale_to_budget([Step(1.0)], PrivacyTarget(0.0, 1e-6))
    with pytest.raises(ValueError, match="delta"):
        scale_to_budget([Step(1.0)], PrivacyTarget(1.0, 0.0))
