# SPDX-License-Identifier: Apache-2.0
"""Membership attacks: nothing where nothing is told, more where more is remembered."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from benchmarks.shadow_models import (
    FittedLogistic,
    NoisyLogistic,
    ShadowPopulation,
)
from sklearn.linear_model import LogisticRegression

from lexfed.arrays import Bools, Floats
from lexfed.evaluate.attacks.auc_intervals import auc_of
from lexfed.evaluate.attacks.membership import (
    attack_membership,
    calibrated,
    flip_memberships,
    likelihood_ratios,
)


def people(count: int, slots: int, seed: int = 0) -> ShadowPopulation:
    generator = np.random.default_rng(seed)
    inputs = generator.normal(size=(count, slots))
    chance = 1 / (1 + np.exp(-inputs[:, 0]))
    return ShadowPopulation(inputs, (generator.random(count) < chance).astype(float))


@dataclass(frozen=True)
class Told:
    """Margins of noise, and as much of everybody's coin as is told."""

    people: int
    told: float
    seed: int = 0

    def margins(self, members: Bools) -> Floats:
        generator = np.random.default_rng(self.seed)
        own = 3.0 * generator.normal(size=self.people)
        noise = generator.normal(size=members.shape)
        return noise + own + self.told * members


def test_nothing_told_is_nothing_found() -> None:
    # 20 attacks of each kind, whose 95 % intervals hold .5 as often as they say: 15 of
    # 20 or fewer happens with probability below 3e-4 each.
    for kind in (1, 2):
        held = 0
        for seed in range(20):
            found = attack_membership(Told(300, 0.0, seed), None, seed=seed)[kind]
            held += found.low <= 0.5 <= found.high
        assert held > 15


def test_shadows_take_out_what_is_hard_about_a_person() -> None:
    threshold, lira, centred = attack_membership(Told(1000, 1.0), None)
    # Two normal laws one deviation apart: .76 is the best there is.
    assert 0.5 < threshold.auc < 0.60
    assert 0.70 < lira.auc < 0.77
    assert 0.70 < centred.auc < 0.77
    assert lira.n == 17_000
    assert lira.bound == 1.0


def test_where_little_is_told_one_mean_is_better_than_two() -> None:
    # What is told is a tenth of the noise: the best AUC there is is .53. The interval
    # of the calibrated attack is some .004 wide on 17 times 20,000 people.
    _, lira, centred = attack_membership(Told(20_000, 0.1), None)
    assert centred.low > 0.52
    assert lira.auc < centred.auc


def test_what_is_remembered_is_found_without_noise_and_not_beyond_the_bound() -> None:
    group = people(400, 60)
    fitted = attack_membership(FittedLogistic(group), None)
    assert fitted[1].low > 0.62
    quiet = NoisyLogistic(group, sigma=math.sqrt(20) / 4)
    loud = NoisyLogistic(group, sigma=math.sqrt(20) / 0.24)
    found = attack_membership(quiet, quiet.trade_off)
    assert found[1].low > 0.62
    hidden = attack_membership(loud, loud.trade_off)
    assert all(attack.low <= attack.bound < 0.60 for attack in hidden)
    assert not any(attack.contradicts_proof for attack in (*found, *hidden))


def test_noise_that_is_not_there_contradicts_the_proof() -> None:
    # Negative control: the same attack, on a model whose noise is a hundredth.
    group = people(400, 60)
    claimed = NoisyLogistic(group, sigma=math.sqrt(20) / 0.24).trade_off
    broken = NoisyLogistic(group, sigma=math.sqrt(20) / 24)
    for attack in attack_membership(broken, claimed):
        assert attack.contradicts_proof


def test_shadow_models_are_what_each_would_be_alone() -> None:
    group = people(300, 8)
    members = flip_memberships(300, 5, seed=1)
    together = FittedLogistic(group, ridge=1.0).weights(members)
    for row, weights in zip(members, together, strict=True):
        alone = FittedLogistic(group, ridge=1.0).weights(row[None])[0]
        assert np.allclose(weights, alone, atol=1e-12)
    with_ones = np.c_[group.inputs, np.ones(300)]
    peer = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=2000)
    peer.fit(with_ones[members[0]], group.labels[members[0]])
    assert np.allclose(together[0], peer.coef_[0], atol=1e-4)


def test_separable_people_do_not_break_the_fit() -> None:
    inputs = np.array([[-1.0], [-0.5], [0.5], [1.0]])
    fitted = FittedLogistic(
        ShadowPopulation(inputs, np.array([0.0, 0.0, 1.0, 1.0])), ridge=1e-9
    )
    margins = fitted.margins(np.ones((1, 4), dtype=bool))
    assert np.isfinite(margins).all()
    assert (margins > 0).all()


def test_a_person_moves_the_sum_of_a_step_by_at_most_one() -> None:
    # One step from zero, without noise to speak of: weights are rate * sum / divisor.
    far = ShadowPopulation(100.0 * np.eye(4), np.array([0.0, 1.0, 0.0, 1.0]))
    trainer = NoisyLogistic(far, sigma=1e-9, steps=1, rate=2.0)
    everybody = np.ones((1, 4), dtype=bool)
    without = everybody.copy()
    without[0, 0] = False
    moved = trainer.margins(everybody) - trainer.margins(without)
    # Margins are sign * (100 w_i + w_0): the one weight of person 0 moved by rate/2.
    assert abs(moved[0, 0]) / 100.0 == pytest.approx(1.0, rel=1e-2)


def test_coins_of_models_are_fair_and_independent() -> None:
    # 17 * 4000 fair coins: outside .48-.52 with probability below 1e-20; correlations
    # of 4000 coins are beyond .1 with probability below 1e-9 each.
    coins = flip_memberships(4000, 17, seed=2)
    assert 0.48 < coins.mean() < 0.52
    off = np.corrcoef(coins) - np.eye(17)
    assert np.abs(off).max() < 0.1
    assert (coins == flip_memberships(4000, 17, seed=2)).all()
    assert (coins != flip_memberships(4000, 17, seed=3)).any()


def test_a_persons_score_does_not_use_the_attacked_models_coins() -> None:
    members = flip_memberships(50, 9, seed=0)
    margins = Told(50, 1.0).margins(members)
    other = members.copy()
    other[4] = ~other[4]
    assert (
        likelihood_ratios(margins, members, 4) == likelihood_ratios(margins, other, 4)
    ).all()
    assert auc_of(likelihood_ratios(margins, members, 4), members[4]) > 0.5
    assert auc_of(calibrated(margins, 4), members[4]) > 0.5


def test_who_is_in_no_shadow_and_margins_that_never_move_have_a_score() -> None:
    members = np.array([[True, False], [False, True], [False, True], [False, True]])
    scores = likelihood_ratios(np.ones((4, 2)), members, 0)
    assert np.isfinite(scores).all()


def test_too_few_shadows_are_refused() -> None:
    with pytest.raises(ValueError, match="shadows"):
        attack_membership(Told(10, 0.0), None, shadows=1)


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [(np.zeros(3), np.zeros(3)), (np.zeros((3, 1)), np.zeros(2))],
)
def test_people_must_fit_together(inputs: Floats, labels: Floats) -> None:
    with pytest.raises(ValueError, match="people, slots"):
        ShadowPopulation(inputs, labels)


def test_labels_must_be_zero_or_one() -> None:
    with pytest.raises(ValueError, match="0 and 1"):
        ShadowPopulation(np.zeros((2, 1)), np.array([0.0, 2.0]))


@pytest.mark.parametrize("wrong", [{"sigma": 0.0}, {"sigma": 1.0, "steps": 0}])
def test_noise_and_steps_must_be_there(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        NoisyLogistic(people(4, 1), **wrong)  # type: ignore[arg-type]
