# SPDX-License-Identifier: Apache-2.0
"""Additive towers: what they release, what they learn, and what they serve."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lexfed.arrays import Floats
from lexfed.models.losses import Loss, LossName
from lexfed.models.rule import amplitudes, estimates
from lexfed.models.rule.amplitudes import AmplitudeEstimate, amplitude_vectors
from lexfed.models.rule.calibration import calibrated_logits
from lexfed.models.rule.contributions import moment_vectors, residual_vectors
from lexfed.models.rule.estimates import (
    TargetEstimate,
    TowerState,
    geometry,
    learn_moments,
    learn_residuals,
    weights_and_bias,
)
from lexfed.models.shape_functions import BINS, FUNCTIONS
from lexfed.models.tower_shapes import RuleFacts, TowerShape, statistics_size
from lexfed.models.towers import Model, Tower, from_bytes, to_bytes
from lexfed.tiers import Tier

SHAPE = TowerShape(
    tier=Tier.SPECIAL,
    slots=(0, 1, 2, 3, 4, 5, 6),
    architecture="additive",
    outputs=1,
    seed=0,
    kinds=("number", "missing", "onehot", "onehot", "flag", "number", "number"),
    levels=(1, 1, 2, 2, 1, 1, 1),
    columns=(0, 0, 1, 1, 2, 3, 4),
    tails=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5),
    linear=(True, False, False, False, False, True, False),
    binned=(True, False, False, False, False, True, False),
)
FACTS = RuleFacts(SHAPE, "logistic")


def rows(count: int, seed: int = 0) -> Floats:
    draw = np.random.default_rng(seed)
    made = np.zeros((count, 7))
    made[:, 0] = np.clip(draw.normal(-0.3, 0.2, count), -1, 1)
    made[:, 1] = draw.random(count) < 0.1
    made[made[:, 1] > 0, 0] = 0.0
    level = draw.integers(0, 2, count)
    made[np.arange(count), 2 + level] = 1.0
    made[:, 4] = draw.random(count) < 0.3
    made[:, 5] = draw.uniform(-1, 1, count)
    made[:, 6] = draw.normal(0, 0.3, count)
    return made


def learned(count: int = 4000, rounds: int = 8) -> tuple[TowerState, Floats, Floats]:
    """Return a tower that learned a U-shaped effect without noise, rows and truth."""
    draw, data = np.random.default_rng(1), rows(count)
    truth = 3.0 * data[:, 5] ** 2 - 1.0
    label = (draw.random(count) < 1 / (1 + np.exp(-truth))).astype(float)
    base = TargetEstimate(np.array([label.mean()]), 0.4, 0.0)
    noise = 1e-6
    state = TowerState.start(FACTS)
    state = learn_moments(FACTS, state, moment_vectors(FACTS, data).mean(0), noise, 1e4)
    for _ in range(rounds):
        scales = geometry(FACTS, base, state, kappa=100.0, rounds=rounds)
        weights, bias = weights_and_bias(FACTS, scales, state)
        logits = served(weights, bias, data) + np.log(
            scales.reference / (1 - scales.reference)
        )
        slopes = 1 / (1 + np.exp(-logits)) - label[:, None]
        question = {
            "centre": state.centre,
            "scale": scales.scale * state.focus / scales.focus_radius(state.focus),
            "residual": np.array([scales.residual]),
            "basis": state.basis,
        }
        mean = residual_vectors(FACTS, data, slopes, question).mean(0)
        state = learn_residuals(FACTS, scales, state, mean, noise)
    return state, data, truth


def served(weights: Floats, bias: Floats, data: Floats) -> Floats:
    flat = np.concatenate([weights.T.ravel(), bias])
    return Tower(SHAPE, flat).logits(torch.from_numpy(data)).numpy()


def test_a_curved_effect_is_learned_and_a_line_is_not_enough() -> None:
    state, data, truth = learned()
    base = TargetEstimate(np.array([0.5]), 0.4, 0.0)
    scales = geometry(FACTS, base, state, kappa=100.0, rounds=8)
    found = served(*weights_and_bias(FACTS, scales, state), data)[:, 0]
    assert np.corrcoef(found, truth)[0, 1] > 0.95
    assert abs(np.corrcoef(data[:, 5], truth)[0, 1]) < 0.1


def test_what_is_served_is_what_was_learned() -> None:
    """Curves at bins are the sum of functions times weights, for every record."""
    state, data, _ = learned(500, 2)
    base = TargetEstimate(np.array([0.5]), 0.4, 0.0)
    scales = geometry(FACTS, base, state, kappa=100.0, rounds=2)
    found = served(*weights_and_bias(FACTS, scales, state), data)
    inner = SHAPE.coordinates_of(data, state.basis)
    centred = inner - SHAPE.coordinates.presence(inner) * state.centre
    assert np.allclose(found, (centred * scales.scale) @ state.weights, atol=1e-9)


def test_a_missing_number_adds_nothing_of_its_curve() -> None:
    draw = np.random.default_rng(0)
    tower = Tower(SHAPE, draw.normal(size=SHAPE.inputs + 1))
    absent = np.zeros((1, 7))
    absent[0, 1] = 1.0
    present = absent.copy()
    present[0, 0] = 0.7
    one, other = (
        tower.logits(torch.from_numpy(row)).item() for row in (absent, present)
    )
    assert one == other


def test_a_rows_logits_do_not_depend_on_other_rows() -> None:
    draw = np.random.default_rng(5)
    tower = Tower(SHAPE, draw.normal(size=SHAPE.inputs + 1))
    data = torch.from_numpy(rows(257))
    together = tower.logits(data)
    for count in (1, 2, 3, 100):
        assert torch.equal(tower.logits(data[:count]), together[:count])


@given(st.integers(0, 2**32 - 1))
def test_statistics_are_never_cut(seed: int) -> None:
    data = rows(20, seed)
    data[:, 6] = 0.0
    norms = np.linalg.norm(moment_vectors(FACTS, data), axis=1)
    assert norms.max() <= 1.0
    assert moment_vectors(FACTS, data).shape[1] == statistics_size(FACTS)


def test_models_with_curves_factors_and_shifts_survive_their_file() -> None:
    towers = (Tower.untrained(SHAPE), Tower.untrained(replace(SHAPE, binned=())))
    model = Model(towers, np.array([0.1]), np.array([0.2, 0.3]), np.array([0.5, 2.0]))
    again, _, _ = from_bytes(to_bytes(model))
    assert again.towers[0].shape == SHAPE
    assert again.shifts.tolist() == [0.2, 0.3]
    assert again.factors.tolist() == [0.5, 2.0]


def test_factors_are_for_models_with_all_towers_only() -> None:
    draw = np.random.default_rng(6)
    towers = tuple(Tower(SHAPE, draw.normal(size=SHAPE.inputs + 1)) for _ in range(2))
    model = Model(towers, np.array([0.1]), np.array([0.2, 0.3]), np.array([0.5, 2.0]))
    data = torch.from_numpy(rows(9))
    first, second = (tower.logits(data) for tower in towers)
    assert torch.allclose(model.logits(data, 1), 0.3 + first)
    assert torch.allclose(model.logits(data), 0.4 + 0.5 * first + 2.0 * second)
    assert torch.allclose(model.logits(data, 0), torch.tensor(0.1).double())


# --- factors of towers -----------------------------------------------------------


@pytest.mark.parametrize("loss", ["logistic", "softmax", "squared"])
@given(seed=st.integers(0, 2**32 - 1), size=st.floats(0.0, 1e6))
def test_a_record_moves_factors_by_at_most_one(
    loss: LossName, seed: int, size: float
) -> None:
    draw = np.random.default_rng(seed)
    outputs = 3 if loss == "softmax" else 1
    parts = size * draw.normal(size=(7, 4, outputs))
    logits = torch.from_numpy(parts.sum(axis=1))
    targets = torch.from_numpy(draw.integers(0, max(2, outputs), 7).astype(float))
    question = {"size": draw.uniform(0.02, 2.0, 4), "spread": np.array([0.3])}
    vectors = amplitude_vectors(
        loss,
        parts,
        Loss(loss).slope(logits, targets).numpy(),
        Loss(loss).predict(logits).numpy(),
        question,
    )
    assert vectors.shape == (7, amplitudes.dimension(4, outputs))
    assert np.linalg.norm(vectors, axis=1).max() <= 1.0 + 1e-9


def test_the_bound_of_factors_is_nearly_reached() -> None:
    """Negative control: with a matrix cut twice as far the bound would not hold."""
    parts = np.full((1, 1, 1), 1e6)
    question = {"size": np.ones(1), "spread": np.ones(1)}
    far = amplitude_vectors(
        "squared", parts, np.full((1, 1), 9.0), np.zeros((1, 1)), question
    )
    assert np.linalg.norm(far) > 0.99


def fitted(
    true: tuple[float, ...], shift: float, noise: float, rounds: int = 2
) -> AmplitudeEstimate:
    """Return factors learned from 20,000 made-up records with known ones."""
    draw, count = np.random.default_rng(8), 20_000
    parts = draw.normal(size=(count, len(true), 1)) * [[0.7], [0.4]]
    truth = shift + (parts[..., 0] * true).sum(axis=1)
    label = (draw.random(count) < 1 / (1 + np.exp(-truth))).astype(float)
    model = Model((), np.zeros(1))
    size = np.array([0.7, 0.4])
    estimate = AmplitudeEstimate.from_memory(model, {})
    estimate = replace(
        estimate,
        factors=np.ones(2),
        pull=np.zeros(3),
        bend=np.zeros((3, 3)),
        first=np.zeros(1),
        shift=np.zeros(1),
    )
    most = amplitudes.bounds("logistic", 2, 1, 0.4)
    for _ in range(rounds):
        logits = estimate.shift + (parts[..., 0] * estimate.factors).sum(axis=1)
        rate = 1 / (1 + np.exp(-logits))
        vectors = amplitude_vectors(
            "logistic",
            parts,
            (rate - label)[:, None],
            rate[:, None],
            {"size": size, "spread": np.array([0.4])},
        )
        mean = vectors.mean(axis=0) + noise * draw.normal(size=vectors.shape[1])
        estimate = amplitudes.learn_amplitudes(
            estimate, most, size, mean, noise, count, 0.2
        )
    return estimate


def test_factors_and_shift_are_found_without_noise() -> None:
    found = fitted((0.4, 1.8), -0.6, 0.0)
    assert found.factors == pytest.approx([0.4, 1.8], abs=0.1)
    assert found.shift[0] == pytest.approx(-0.6, abs=0.1)


def test_factors_stay_at_one_where_noise_decides() -> None:
    found = fitted((0.4, 1.8), -0.6, 1e3)
    assert found.factors == pytest.approx([1.0, 1.0], abs=0.01)
    assert found.shift[0] == pytest.approx(0.0, abs=0.01)


# --- the intercept ---------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
def test_predictions_have_the_released_rate(rate: float, spread: float) -> None:
    base = TargetEstimate(np.array([rate]), 0.4, 0.0)
    logits = calibrated_logits("logistic", base, True, np.array([spread**2]))
    drawn = np.random.default_rng(0).normal(size=200_000) * spread + logits[0]
    assert (1 / (1 + np.exp(-drawn))).mean() == pytest.approx(rate, abs=0.005)


def test_classes_have_their_released_rates() -> None:
    rates = np.array([0.6, 0.3, 0.1])
    base = TargetEstimate(rates, 0.4, 0.0)
    spreads = np.array([1.0, 0.5, 2.0])
    logits = calibrated_logits("softmax", base, True, spreads**2)
    drawn = np.random.default_rng(1).normal(size=(200_000, 3)) * spreads + logits
    shown = np.exp(drawn - drawn.max(axis=1, keepdims=True))
    shown /= shown.sum(axis=1, keepdims=True)
    assert shown.mean(axis=0) == pytest.approx(rates, abs=0.02)


def test_a_rate_that_nobody_bought_is_the_stated_guess() -> None:
    base = estimates.unknown_target("logistic", 1)
    logits = calibrated_logits("logistic", base, False, np.zeros(1))
    assert 1 / (1 + np.exp(-logits[0])) == pytest.approx(estimates.RATE_GUESS)


def test_a_secant_raises_the_curvature_and_never_lowers_it() -> None:
    state, gradient = TowerState.start(FACTS), np.zeros((SHAPE.coordinates.inputs, 1))
    state = replace(state, variance=np.full(gradient.shape[0], 0.2))
    base = TargetEstimate(np.array([0.5]), 0.4, 0.0)
    scales = geometry(FACTS, base, state, kappa=100.0, rounds=8)
    noise = np.full(gradient.shape[0], 1e-12)
    _, first = estimates._guarded(scales, state, gradient, noise)
    moved = replace(first, weights=np.ones_like(gradient))
    for factor, wanted in ((4.0, 4.0 * 1.1), (0.1, 1.0)):
        seen = factor * scales.curvature
        grown, after = estimates._guarded(scales, moved, seen, noise)
        ratio = grown.curvature[0, 0] / scales.curvature[0, 0]
        assert ratio == pytest.approx(max(1.0, wanted), rel=1e-6)
        assert after.damping[1] == 2.0


def test_shapes_without_curves_are_written_as_ever() -> None:
    plain = replace(SHAPE, binned=())
    assert "binned" not in plain.to_json()
    assert SHAPE.to_json()["binned"] == SHAPE.binned
    assert SHAPE.inputs == 5 + 2 * BINS
    assert len(SHAPE.coordinates.slots) == 5 + 2 * FUNCTIONS


def test_a_number_without_a_bounded_range_stays_a_line() -> None:
    kinds: Any = SHAPE.coordinates.kinds
    assert kinds.count("shape") == 2 * FUNCTIONS
    assert kinds.count("number") == 1
