# SPDX-License-Identifier: Apache-2.0
"""The lemmas of docs/theory/guarantees.md, by quadrature on random vectors.

The divergence H of two mixtures of normals in the plane is an integral of a Lipschitz
function. The grid has step h = 1/20 and reaches 9 beyond every mean. Where the kink of
the integrand runs along the grid the error is of order h^2/16 times its slope, so below
1e-4, which the comparisons allow for.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

Floats = NDArray[np.float64]
STEP, REACH, ERROR = 1 / 20, 9.0, 1e-4


def _normal(at: Floats, mean: Floats) -> Floats:
    square = ((at - mean) ** 2).sum(axis=-1)
    return np.asarray(np.exp(-square / 2.0) / (2.0 * np.pi))


def _divergence(
    q: float, v: Floats, other: Floats | None, gamma: float, swap: bool = False
) -> float:
    """Return H of (1-q)N(0) + qN(v) against the same with `other`, or N(0)."""
    far = REACH + max(float(np.abs(m).max()) for m in (v, other) if m is not None)
    axis = np.arange(-far, far, STEP)
    at = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    still = _normal(at, np.zeros(2))
    first = (1.0 - q) * still + q * _normal(at, v)
    second = still
    if other is not None:
        second = (1.0 - q) * still + q * _normal(at, other)
    if swap:
        first, second = second, first
    return float(np.maximum(first - gamma * second, 0.0).sum() * STEP**2)


def _inside(generator: np.random.Generator, radius: float) -> Floats:
    angle, length = generator.uniform(0, 2 * np.pi), radius * generator.uniform() ** 0.5
    return np.asarray(np.array([np.cos(angle), np.sin(angle)]) * length)


@pytest.mark.parametrize("seed", range(6))
def test_opposite_and_saturated_is_the_worst_replacement(seed: int) -> None:
    generator = np.random.default_rng(seed)
    radius, q = generator.uniform(0.2, 2.0), generator.uniform(0.05, 1.0)
    gamma = float(np.exp(generator.uniform(-0.5, 1.5)))
    pole = np.array([radius, 0.0])
    worst = _divergence(q, pole, -pole, gamma)
    for _ in range(3):
        v, other = _inside(generator, radius), _inside(generator, radius)
        assert _divergence(q, v, other, gamma) <= worst + ERROR


def test_a_replacement_is_not_a_sampled_gaussian_of_its_own_length() -> None:
    # Negative control: charging |v - v'| alone would under-report a pair that is far
    # from zero, because there it shows who took part.
    v, other = np.array([2.0, 0.3]), np.array([2.0, -0.3])
    apart = np.array([0.0, 0.6])
    gamma = float(np.exp(0.05))
    charged = max(_divergence(0.1, apart, None, gamma, swap) for swap in (False, True))
    assert _divergence(0.1, v, other, gamma) > charged + 10 * ERROR


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("swap", [False, True])
def test_less_sensitivity_and_fewer_coins_cost_no_more(seed: int, swap: bool) -> None:
    generator = np.random.default_rng(seed)
    radius, q = generator.uniform(0.2, 2.0), generator.uniform(0.05, 1.0)
    gamma = float(np.exp(generator.uniform(-0.5, 1.5)))
    largest = _divergence(q, np.array([radius, 0.0]), None, gamma, swap)
    v = _inside(generator, radius)
    fewer = q * generator.uniform()
    assert _divergence(fewer, v, None, gamma, swap) <= largest + ERROR
