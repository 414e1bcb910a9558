# SPDX-License-Identifier: Apache-2.0
"""The default rule: short vectors, honest shrinkage, and a model that is worth it."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.budget.noise_plan import Budget
from lexfed.federation.planning.programme_draft import tower_shapes
from lexfed.models.losses import Loss, LossName, metrics
from lexfed.models.rule.contributions import (
    into_ball,
    label_vectors,
    moment_vectors,
    residual_vectors,
)
from lexfed.models.rule.estimates import (
    TargetEstimate,
    TowerState,
    geometry,
    learn_labels,
    learn_moments,
    learn_residuals,
    posterior,
    unknown_target,
    weights_and_bias,
)
from lexfed.models.rule.purchases import (
    MAX_ROUNDS,
    label_dimension,
    plan_tower,
    worth_training,
)
from lexfed.models.tower_shapes import RuleFacts, public_guess, statistics_clip
from support.federation.worlds import (
    Floats,
    World,
    encoding,
    play,
    rows_of,
    targets_of,
    world,
)

LOSSES: tuple[LossName, ...] = ("logistic", "softmax", "squared")


def facts_of(loss: LossName = "logistic", tower: int | None = None) -> RuleFacts:
    """Return the facts of one tower, or of a tower that reads everything."""
    mechanism = "uniform" if tower is None else "cascade"
    outputs = 3 if loss == "softmax" else 1
    shapes = tower_shapes(encoding(loss), mechanism, "logistic", outputs, 0)  # type: ignore[arg-type] # one of two literals
    return RuleFacts(shapes[tower or 0], loss)


def rows(facts: RuleFacts, count: int, seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    code = encoding(facts.loss)
    return rows_of(code, count, generator)[:, list(facts.shape.slots)]


seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=60, deadline=None)
@given(seeds, st.floats(1e-3, 1e6), st.sampled_from(LOSSES))
def test_no_record_is_longer_than_one(seed: int, size: float, loss: LossName) -> None:
    generator = np.random.default_rng(seed)
    facts = facts_of(loss)
    slots = size * generator.normal(size=(20, facts.size))
    question = {
        "centre": generator.normal(size=facts.size),
        "scale": size * generator.random(facts.size),
        "residual": np.array([generator.uniform(1e-3, 2)]),
    }
    slopes = generator.normal(size=(20, facts.outputs))
    high = 3 if loss == "softmax" else 2
    labels = generator.integers(0, high, 20).astype(np.float64)
    if loss == "squared":
        labels = generator.uniform(-1, 1, 20)
    for vectors in (
        label_vectors(loss, labels, facts.outputs),
        moment_vectors(facts, slots),
        residual_vectors(facts, slots, slopes, question),
        into_ball(slots),
    ):
        assert np.linalg.norm(vectors, axis=-1).max() <= 1.0 + 1e-12


def test_a_short_row_is_not_scaled() -> None:
    row = np.array([[0.3, -0.4], [0.0, 0.0]])
    assert np.array_equal(into_ball(row), row)


@pytest.mark.parametrize("loss", LOSSES)
def test_dimensions_are_those_of_the_vectors(loss: LossName) -> None:
    facts = facts_of(loss)
    labels = np.zeros(3)
    assert label_vectors(loss, labels, facts.outputs).shape[-1] == label_dimension(
        facts
    )
    bought = {item.kind: item for item in plan_tower(facts, 1e5, 1.0, True)}
    slots = rows(facts, 3, 0)
    assert moment_vectors(facts, slots).shape[-1] == bought["moments"].dimension
    assert bought["residuals"].dimension == facts.size * facts.outputs


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(LOSSES),
    st.floats(1.0, 1e7),
    st.floats(1e-4, 10.0),
    st.booleans(),
    st.one_of(st.none(), st.integers(1, 100)),
)
def test_a_tower_spends_its_whole_share(
    loss: LossName, units: float, mu: float, first: bool, rounds: int | None
) -> None:
    bought = plan_tower(facts_of(loss), units, mu, first, rounds)
    assert math.fsum(item.share for item in bought) == pytest.approx(1.0, rel=1e-12)
    assert all(0.0 < item.share <= 1.0 for item in bought)
    kinds = [item.kind for item in bought]
    assert kinds[-1] == "residuals"
    assert kinds == sorted(kinds, key=["labels", "moments", "residuals"].index)
    assert "labels" not in kinds or first
    chosen = bought[-1].rounds
    assert chosen == rounds if rounds else 1 <= chosen <= MAX_ROUNDS


def test_a_drowned_tower_is_not_worth_training() -> None:
    facts = facts_of()
    assert worth_training(facts, 1e5, 1.0)
    assert not worth_training(facts, 10.0, 1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tower", [None, 0, 1, 2])
def test_folded_weights_predict_what_training_saw(
    loss: LossName, tower: int | None
) -> None:
    facts = facts_of(loss, tower)
    generator = np.random.default_rng(3)
    base = unknown_target(loss, facts.outputs)
    state = TowerState.start(facts)
    scales = geometry(facts, base, state, kappa=10.0, rounds=2)
    size = (facts.size, facts.outputs)
    state = TowerState(
        centre=generator.uniform(-0.5, 0.9, facts.size),
        variance=state.variance,
        focus=state.focus,
        weights=generator.normal(size=size),
        moment=state.moment,
        precision=state.precision,
    )
    slots = rows(facts, 50, 1)
    # Undeclared categories are zero everywhere: nothing is subtracted for them.
    slots[::7, facts.mask("onehot")] = 0.0
    weights, bias = weights_and_bias(facts, scales, state)
    centred = slots - facts.shape.presence(slots) * state.centre
    trained = (centred * scales.scale) @ state.weights
    np.testing.assert_allclose(slots @ weights + bias, trained, atol=1e-12)


def test_the_posterior_keeps_a_strong_signal_and_drops_noise() -> None:
    generator = np.random.default_rng(0)
    prior = np.full((200, 1), 1.0)
    common = np.zeros((200, 1))
    signal = 0.3 * generator.normal(size=(200, 1))
    quiet, _ = posterior(signal, np.full((200, 1), 1e-6), prior, common)
    np.testing.assert_allclose(quiet, signal, rtol=1e-3)
    noise = generator.normal(size=(200, 1))
    loud, square = posterior(noise, np.ones((200, 1)), prior, common)
    # No evidence of signal: an eighth of the noise at most is let through.
    assert np.linalg.norm(loud) < np.linalg.norm(noise) / 8
    assert (square >= loud**2 - 1e-12).all()


def test_the_posterior_of_nothing_is_nothing() -> None:
    shape = (10, 2)
    mean, _ = posterior(
        np.zeros(shape), np.ones(shape), np.ones(shape), np.zeros(shape)
    )
    assert not mean.any()


def test_more_noise_means_smaller_weights() -> None:
    facts = facts_of()
    generator = np.random.default_rng(1)
    mean = 0.1 * generator.normal(size=facts.size)
    base, state = unknown_target("logistic", 1), TowerState.start(facts)
    lengths = []
    for deviation in (1e-4, 1e-2, 1e-1, 1.0, 100.0):
        scales = geometry(facts, base, state, kappa=0.1 / deviation, rounds=1)
        learned = learn_residuals(facts, scales, state, mean, deviation)
        lengths.append(float(np.linalg.norm(learned.weights)))
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] < 1e-3 * lengths[0]


@pytest.mark.parametrize("loss", LOSSES)
def test_labels_are_learned_and_shrunk(loss: LossName) -> None:
    facts = facts_of(loss)
    before = unknown_target(loss, facts.outputs)
    labels = {
        "logistic": np.array([1.0, 0.0, 0.0, 0.0]),
        "softmax": np.array([0.0, 0.0, 1.0, 2.0]),
        "squared": np.array([-0.5, 0.0, 0.5, 0.6]),
    }[loss]
    mean = label_vectors(loss, labels, facts.outputs).mean(axis=0)
    exact = learn_labels(facts, before, mean, 1e-9)
    if loss == "squared":
        assert exact.rate[0] == pytest.approx(labels.mean())
        assert exact.spread == pytest.approx(labels.std())
    else:
        wanted = [0.25] if loss == "logistic" else [0.5, 0.25, 0.25]
        np.testing.assert_allclose(exact.rate, wanted, atol=1e-6)
        blurred = learn_labels(facts, before, mean, 100.0)
        assert np.abs(blurred.rate - exact.rate).max() > 1e-3
    assert np.isfinite(exact.logits(loss)).all()


def test_moments_are_learned_and_shrunk_to_the_public_guess() -> None:
    facts = facts_of()
    slots = rows(facts, 20_000, 5)
    vectors = moment_vectors(facts, slots)
    state = TowerState.start(facts)
    exact = learn_moments(facts, state, vectors.mean(axis=0), 1e-9)
    present = facts.shape.presence(slots) > 0
    wanted = np.array([slots[present[:, k], k].mean() for k in range(facts.size)])
    # Clipped records bias the statistics a little, never beyond their range.
    assert np.abs(exact.centre - wanted).max() < 0.15
    drowned = learn_moments(facts, state, vectors.mean(axis=0), 1e6)
    assert np.abs(drowned.centre - public_guess(facts).centre).max() < 1e-2
    assert statistics_clip(facts) > 0.0


def test_state_survives_its_memory() -> None:
    facts = facts_of()
    state = TowerState.start(facts)
    back = TowerState.from_memory(facts, 1, state.to_memory(1))
    for name in ("centre", "variance", "focus", "weights", "moment", "precision"):
        assert np.array_equal(getattr(back, name), getattr(state, name))
    fresh = TowerState.from_memory(facts, 2, state.to_memory(1))
    assert np.array_equal(fresh.centre, state.centre)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_base_predicts_its_own_rates(loss: LossName) -> None:
    rate = {
        "logistic": np.array([0.2]),
        "softmax": np.array([0.2, 0.3, 0.5]),
        "squared": np.array([0.4]),
    }[loss]
    logits = torch.from_numpy(TargetEstimate(rate, 0.4, 0.1).logits(loss))
    np.testing.assert_allclose(Loss(loss).predict(logits).numpy(), rate, atol=1e-12)


def score(of: World, loss: LossName) -> float:
    """Return the deciding metric of the trained model on 2000 fresh rows."""
    seen = play(of, "simulation")
    assert seen.progress is not None
    generator = np.random.default_rng(77)
    inputs = rows_of(of.encoding, 2000, generator)
    targets = targets_of(loss, inputs, generator, 4.0)
    logits = seen.progress.model.logits(torch.from_numpy(inputs))
    found = metrics(loss, logits, torch.from_numpy(targets))
    return next(iter(found.values()))


@pytest.mark.parametrize("mechanism", ["cascade", "uniform"])
def test_the_rule_learns_at_a_record_epsilon_of_two(mechanism: str) -> None:
    """1500 persons, a fixed seed; chance is .5."""
    budget = Budget(2.0, 1e-6, "add-remove")
    of = world(sizes=(700, 500, 300), budget=budget, mechanism=mechanism)
    assert score(of, "logistic") > 0.75


def test_the_rule_without_budget_learns_nothing() -> None:
    """Negative control: at epsilon .001 the same pipeline is at chance."""
    of = world(sizes=(700, 500, 300), budget=Budget(0.001, 1e-6, "add-remove"))
    assert score(of, "logistic") < 0.7


def test_softmax_and_squared_learn() -> None:
    budget = Budget(4.0, 1e-6, "add-remove")
    many = world(sizes=(700, 800), budget=budget, loss="softmax")
    assert score(many, "softmax") > 0.5
    number = world(sizes=(700, 800), budget=budget, loss="squared", model="linear")
    assert score(number, "squared") > 0.15
