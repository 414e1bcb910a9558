# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from lexfed.models.descent import FLOOR, Descent


def test_a_constant_step_stays() -> None:
    descent = Descent(0.5, 0.0, "constant", 4)
    assert [descent.rate(step) for step in range(4)] == [0.5] * 4


def test_a_cosine_falls_to_a_tenth() -> None:
    rates = [Descent(0.5, 0.0, "cosine", 5).rate(step) for step in range(5)]
    assert rates[0] == pytest.approx(0.5)
    assert rates[2] == pytest.approx(0.5 * (1 + FLOOR) / 2)
    assert rates[-1] == pytest.approx(0.5 * FLOOR)
    assert Descent(0.5, 0.0, "cosine", 1).rate(0) == 0.5


def test_momentum_remembers_earlier_gradients() -> None:
    descent = Descent(0.1, 0.9, "constant", 3)
    gradient = np.array([1.0, -2.0])
    parameters, velocity = descent.step(np.zeros(2), np.zeros(2), gradient, 0)
    parameters, velocity = descent.step(parameters, velocity, gradient, 1)
    np.testing.assert_allclose(velocity, 1.9 * gradient)
    np.testing.assert_allclose(parameters, -0.1 * (1.0 + 1.9) * gradient)
