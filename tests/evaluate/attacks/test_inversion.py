# SPDX-License-Identifier: Apache-2.0
"""Gradient inversion: rows come back without noise, and do not with it."""

import math
from functools import cache

import numpy as np
import pytest
import torch
from torch import Tensor

from lexfed.evaluate.attacks.attribute_inference import LabelledRows
from lexfed.evaluate.attacks.gradient_inversion import (
    InversionSize,
    RoundKnowledge,
    SlotKinds,
    attack_updates,
    invert,
    rounds_of,
)
from lexfed.evaluate.attacks.product_runs import observe_run
from lexfed.evaluate.attacks.target_value import find_target_value
from lexfed.models.losses import LOGISTIC, SOFTMAX, Loss
from lexfed.models.networks.architectures import build
from lexfed.models.networks.flat_parameters import count
from lexfed.run.pricing.priced_run import PricedRun, price
from support.evaluation.attacked_worlds import hospital
from support.federation.worlds import encoding, rows_of

CODE = encoding()
LAYOUT = SlotKinds.of(CODE)
INPUTS = rows_of(CODE, 200, np.random.default_rng(3))
LABELS = (np.random.default_rng(4).random(200) < 0.5).astype(np.float64)
SEX = find_target_value(CODE, "sex", INPUTS)


def rounds(
    architecture: str = "mlp:12",
    *,
    clip: float = 1.0,
    sigma: float = 0.0,
    loss: Loss = LOGISTIC,
    many: int = 2,
) -> RoundKnowledge:
    outputs = 3 if loss is SOFTMAX else 1
    module = build(architecture, CODE.width, outputs, seed=0).double()
    generator = torch.Generator().manual_seed(1)
    size = count(module)
    weights = [
        0.5 * torch.randn(size, generator=generator, dtype=torch.float64)
        for _ in range(many)
    ]
    return RoundKnowledge(module, loss, tuple(weights), clip, sigma)


def rows(people: int) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(INPUTS[:people]), torch.from_numpy(LABELS[:people])


@pytest.mark.parametrize("architecture", ["logistic", "mlp:12", "cnn"])
@pytest.mark.parametrize("clip", [0.3, math.inf])
def test_what_is_descended_is_what_sites_send(architecture: str, clip: float) -> None:
    of = rounds(architecture, clip=clip)
    inputs, labels = rows(5)
    sent = of.sums(inputs, labels)
    tried = torch.stack(of.tried(inputs.unsqueeze(0), labels.unsqueeze(0)), dim=1)[0]
    assert torch.allclose(sent, tried, atol=1e-9)


def test_the_same_with_several_classes() -> None:
    of = rounds(loss=SOFTMAX, clip=0.5)
    inputs = torch.from_numpy(INPUTS[:4])
    labels = torch.tensor([0.0, 2.0, 1.0, 1.0], dtype=torch.float64)
    tried = torch.stack(of.tried(inputs.unsqueeze(0), labels.unsqueeze(0)), dim=1)[0]
    assert torch.allclose(of.sums(inputs, labels), tried, atol=1e-9)


def test_every_try_is_a_valid_row() -> None:
    free = torch.randn(50, CODE.width, dtype=torch.float64) * 5
    made = LAYOUT.rows(free).numpy()
    for own in LAYOUT.categories:
        assert made[:, own].sum(axis=1) == pytest.approx(1.0)
    assert (np.abs(made) <= 1.0).all()
    assert (made[:, LAYOUT.flags] >= 0.0).all()
    every = [*LAYOUT.numbers, *LAYOUT.flags, *(i for c in LAYOUT.categories for i in c)]
    assert sorted(every) == list(range(CODE.width))


def test_one_row_comes_back_as_it_was() -> None:
    of = rounds("logistic", clip=100.0)
    inputs, labels = rows(1)
    seen = of.sums(inputs, labels).unsqueeze(0)
    size = InversionSize(tries=2, steps=300)
    found = invert(of, LAYOUT, seen, labels.unsqueeze(0), size)
    shown = [i for own in LAYOUT.categories for i in own]
    assert np.abs(found[0, 0].numpy() - INPUTS[0])[shown].max() < 0.1
    assert np.abs(found[0, 0].numpy() - INPUTS[0]).mean() < 0.1


def test_values_come_back_without_noise_and_not_beyond_the_bound_with_it() -> None:
    people = LabelledRows(INPUTS, LABELS)
    size = InversionSize(updates=15, tries=2, steps=80)
    exact = attack_updates(rounds(), CODE, SEX, people, size)
    assert exact.low > 0.8
    assert exact.bound == 1.0
    assert exact.n == 30
    fewer = InversionSize(updates=15, tries=2, steps=40)
    noised = attack_updates(rounds(sigma=10.0), CODE, SEX, people, fewer)
    assert not noised.contradicts_proof
    assert 0.5 < noised.bound < 0.60
    # Negative control: what is found without noise contradicts the bound with it.
    assert exact.low > noised.bound


@cache
def product(mechanism: str) -> PricedRun:
    config, population = hospital(
        mechanism,
        patients=60,
        federation={"rounds": 3, "learning_rate": 1.0, "model": "mlp:8"},
    )
    return price(config, population)


def test_rounds_of_the_product_are_inverted_as_it_asks_for_them() -> None:
    priced = product("uniform")
    run = observe_run(priced)
    seen, exact = (rounds_of(priced, run, who) for who in ("round", "central"))
    assert (seen.sigma > 0, exact.sigma) == (True, 0.0)
    assert 1 <= len(seen.weights) <= 3
    assert 0 < seen.clip < math.inf
    free = product("none")
    assert rounds_of(free, observe_run(free), "round").clip == math.inf


def test_rounds_that_are_no_gradients_of_one_network_are_refused() -> None:
    config, population = hospital("cascade", patients=60)
    priced = price(config, population)
    with pytest.raises(ValueError, match="one network"):
        rounds_of(priced, observe_run(priced), "round")
