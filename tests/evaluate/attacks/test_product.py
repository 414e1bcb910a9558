# SPDX-License-Identifier: Apache-2.0
"""Attacks on models that the product trains."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from lexfed.evaluate.attacks.membership import attack_membership
from lexfed.evaluate.attacks.product_runs import (
    ProductTrainer,
    restrict_population,
    row_margins,
    trade_off_of,
    unit_margins,
)
from lexfed.models.losses import LOGISTIC, SOFTMAX, SQUARED
from lexfed.models.towers import untrained_model
from support.evaluation.attacked_worlds import hospital


def trainer(mechanism: str, epsilon: float = 1.9) -> ProductTrainer:
    return ProductTrainer(*hospital(mechanism, epsilon))


def test_noise_hides_whom_no_noise_shows() -> None:
    free = trainer("none")
    assert trade_off_of(free.priced) is None
    shown = attack_membership(free, None, shadows=6)
    assert shown[1].low > 0.51
    private = trainer("cascade")
    hidden = attack_membership(private, trade_off_of(private.priced), shadows=6)
    for attack in hidden:
        # Mean of 7 models around .505 with a standard error of .01: .56 is reached
        # with probability below 1e-6.
        assert attack.auc < 0.56 < attack.bound < 0.60
        assert attack.n == 7 * private.people


def test_whom_a_model_is_trained_on_changes_nothing_of_its_price() -> None:
    made = trainer("cascade")
    members = np.arange(made.people) < 20
    few = replace(made.priced, population=restrict_population(made.population, members))
    assert few.programme is made.priced.programme
    assert made.priced.population.units == made.population.units // 2
    assert sum(len(site.train) for site in few.population.sites) == 20


def test_the_people_left_are_those_asked_for() -> None:
    made = trainer("none")
    members = np.random.default_rng(0).random(made.people) < 0.3
    left = restrict_population(made.population, members)
    whole = np.concatenate([site.train.persons for site in made.population.sites])
    kept = np.concatenate([site.train.persons for site in left.sites])
    assert (kept == whole[members]).all()
    for site, before in zip(left.sites, made.population.sites, strict=True):
        assert site.test is before.test


def test_margins_are_those_of_the_persons_rows() -> None:
    made = trainer("none")
    model = untrained_model(made.priced.programme.shapes)
    model = replace(model, intercept=np.array([0.7]))
    blocks = [site.train for site in made.population.sites]
    margins = unit_margins(LOGISTIC, model, blocks)
    rows = np.concatenate([block.targets for block in blocks])
    weights = np.concatenate([block.weights for block in blocks])
    expected = ((2 * rows - 1) * 0.7 * weights).sum(axis=1)
    assert margins == pytest.approx(expected)


def test_margins_of_every_loss_are_log_odds_of_the_own_label() -> None:
    logits = torch.tensor([[1.0, -2.0, 0.5], [40.0, 0.0, 0.0]], dtype=torch.float64)
    targets = torch.tensor([2.0, 0.0], dtype=torch.float64)
    share = torch.softmax(logits, dim=-1)[0, 2]
    found = row_margins(SOFTMAX, logits, targets)
    assert found[0].item() == pytest.approx(float(torch.log(share / (1 - share))))
    assert found[1].item() == pytest.approx(40.0 - np.log(2.0))
    numbers = row_margins(SQUARED, logits[:, :1], targets)
    assert numbers.tolist() == pytest.approx([-0.5, -800.0])
