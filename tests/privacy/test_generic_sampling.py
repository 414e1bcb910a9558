# SPDX-License-Identifier: Apache-2.0
"""Generic bounds on sampling, against exact divergences of sampled Skellam noise."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from lexfed.privacy import skellam
from lexfed.privacy.generic_sampling import Floats, sampled
from lexfed.privacy.rdp import ORDERS, curve
from lexfed.privacy.steps import Step
from support import skellam_exact

CASES = [
    (variance, shift, rate, order)
    for variance in (2.0, 100.0)
    for shift in (1, 5)
    for rate in (0.01, 0.2, 0.7)
    for order in (2, 3, 8, 32)
]


def gaussian(orders: Sequence[int]) -> Floats:
    return np.array(orders, dtype=float) / 2.0


@pytest.mark.parametrize(("variance", "shift", "rate", "order"), CASES)
def test_never_below_the_exact_divergence(
    variance: float, shift: int, rate: float, order: int
) -> None:
    # With the exact divergences without sampling: the theorem, without other slack.
    def once(orders: Sequence[int]) -> Floats:
        return np.array([skellam_exact.shifted(variance, shift, a) for a in orders])

    def twice(orders: Sequence[int]) -> Floats:
        return np.array([skellam_exact.shifted(variance, 2 * shift, a) for a in orders])

    added = skellam_exact.sampled(variance, shift, order, rate, both=False)
    assert sampled(once, rate, [order], "add-remove")[0] >= added
    replaced = skellam_exact.sampled(variance, shift, order, rate, both=True)
    assert sampled(twice, rate, [order], "replace-one")[0] >= replaced


def test_the_bound_for_add_remove_would_be_wrong_for_replace_one() -> None:
    # Negative control: why the second bound is not used there.
    def twice(orders: Sequence[int]) -> Floats:
        return skellam.curve(400.0, 2.0 * 20, 2.0 * 20, orders)

    exact = skellam_exact.sampled(400.0, 20, 8, 0.02, both=True)
    assert sampled(twice, 0.02, [8], "replace-one")[0] >= exact
    assert (
        sampled(twice, 0.02, [2], "add-remove")[0]
        < (sampled(twice, 0.02, [2], "replace-one")[0])
    )


def test_between_the_central_formula_and_no_sampling() -> None:
    for rate in (0.01, 0.3, 0.99):
        bound = sampled(gaussian, rate, ORDERS, "add-remove")
        assert (bound >= curve([Step(1.0, rate)], "add-remove") * (1 - 1e-9)).all()
        assert (bound <= gaussian(ORDERS) * (1 + 1e-11) + 1e-11).all()
        revealed = sampled(gaussian, rate, ORDERS, "replace-one")
        assert (bound <= revealed * (1 + 1e-11)).all()
    # Each of the two is the smaller one somewhere.
    for rate, better in [(0.3, True), (0.99, False)]:
        bound = sampled(gaussian, rate, [5], "add-remove")[0]
        revealed = sampled(gaussian, rate, [5], "replace-one")[0]
        assert bound < 0.9 * revealed if better else bound == revealed


def test_the_formulas_by_hand() -> None:
    q, d2, d3 = 0.25, 1.0, 1.5
    found = sampled(gaussian, q, [3], "replace-one")[0]
    assert found == pytest.approx(math.log(0.75 + 0.25 * math.exp(2 * d3)) / 2)
    small = 0.05
    hand = (
        0.95**2 * (1 + 2 * small)
        + 3 * small**2 * 0.95 * math.exp(d2)
        + 3 * small**3 * math.exp(2 * d3)
    )
    assert sampled(gaussian, small, [3], "add-remove")[0] == pytest.approx(
        math.log(hand) / 2
    )
