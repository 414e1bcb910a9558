# SPDX-License-Identifier: Apache-2.0
"""Attribute inference: correlation is not leakage, and a model that remembers leaks."""

from dataclasses import replace

import numpy as np
import pytest

from lexfed.arrays import Floats
from lexfed.errors import DataError
from lexfed.evaluate.attacks.attribute_inference import (
    ATTACKS,
    InferencePeople,
    LabelledRows,
    attack_attribute,
    csmia,
    inversion,
)
from lexfed.evaluate.attacks.auc_intervals import auc_of, joint_confidence
from lexfed.evaluate.attacks.bounds import of_gaussian, of_tier
from lexfed.evaluate.attacks.product_runs import ProductTrainer
from lexfed.evaluate.attacks.target_value import TargetValue, find_target_value
from lexfed.models.losses import LOGISTIC, SOFTMAX, SQUARED
from lexfed.models.towers import Model, untrained_model
from lexfed.tiers import Tier
from support.evaluation.attacked_worlds import hospital
from support.federation.worlds import encoding, rows_of, world

CODE = encoding()
GENERATOR = np.random.default_rng(8)
PEOPLE = rows_of(CODE, 3000, GENERATOR)
ILL = find_target_value(CODE, "ill", PEOPLE)


def linear(weights: Floats, intercept: float = 0.0) -> Model:
    """Return a model of one tower that reads everything."""
    model = untrained_model(world(mechanism="none").programme.shapes)
    tower = replace(model.towers[0], parameters=np.append(weights, intercept))
    return replace(model, towers=(tower,))


def only(slot: int, weight: float) -> Floats:
    weights = np.zeros(CODE.width)
    weights[slot] = weight
    return weights


def labelled(strength: float) -> tuple[LabelledRows, LabelledRows, LabelledRows]:
    """Return three groups of people whose label follows the illness by that much."""
    chance = 1 / (1 + np.exp(-strength * (2 * PEOPLE[:, ILL.slots[0]] - 1)))
    labels = (np.random.default_rng(9).random(len(PEOPLE)) < chance).astype(float)
    parts = (slice(0, 1200), slice(1200, 2200), slice(2200, 3000))
    first, second, third = (LabelledRows(PEOPLE[part], labels[part]) for part in parts)
    return first, second, third


def test_a_model_that_only_learned_what_is_true_of_all_leaks_nothing() -> None:
    model = linear(only(int(ILL.slots[0]), 2.0), -1.0)
    found = attack_attribute(
        model,
        LOGISTIC,
        ILL,
        InferencePeople(*labelled(1.0)),
        trade_off=None,
        shadow=model,
    )
    by_name = {attack.name: attack for attack in found.attacks}
    # The attacks do find the illness: the label tells it, to whoever imputes too.
    assert by_name["ill by inversion"].low > 0.6
    assert by_name["ill by imputation"].low > 0.6
    assert set(found.gains) == {"inversion", "CSMIA", "both"}
    assert all(gain.value < 0.05 for gain in found.gains.values())
    # Three intervals of 95 %: one fails by chance with probability below .15, but the
    # people are always the same.
    assert all(leak.low <= 0.0 <= leak.high for leak in found.leaks.values())


def test_a_model_that_remembers_its_members_gains_and_leaks() -> None:
    # Negative control: labels of others are coins, but the model answers as if it
    # had each member's illness by heart.
    members, others, outsiders = labelled(0.0)
    told = LabelledRows(members.inputs, members.inputs[:, ILL.slots[0]].copy())
    model = linear(only(int(ILL.slots[0]), 6.0), -3.0)
    found = attack_attribute(
        model,
        LOGISTIC,
        ILL,
        InferencePeople(told, others, outsiders),
        trade_off=of_gaussian(0.1),
    )
    for name in ("inversion", "CSMIA"):
        assert found.gains[name].low > 0.3
        assert found.leaks[name].low > 0.3
    assert any(attack.contradicts_proof for attack in found.attacks)
    assert found.excess > 0.3


def test_the_excess_of_honest_columns_stays_below_zero() -> None:
    # 30 honest columns of 200 members, at an advantage of .002. Four or more above zero
    # happen with probability below 3e-4 if each does in 1 of 100. Points instead of
    # ends are the control: they are above their bound far more often.
    generator = np.random.default_rng(12)
    trade_off = of_gaussian(0.005)
    model = linear(only(int(ILL.slots[0]), 2.0), -1.0)
    above = points = 0
    for _ in range(30):
        order = generator.permutation(len(PEOPLE))[:500]
        labels = generator.integers(0, 2, 500).astype(float)
        parts = (slice(0, 200), slice(200, 350), slice(350, 500))
        people = (LabelledRows(PEOPLE[order[part]], labels[part]) for part in parts)
        found = attack_attribute(
            model,
            LOGISTIC,
            ILL,
            InferencePeople(*people),
            trade_off=trade_off,
            confidence=joint_confidence(2),
        )
        above += found.excess > 0.0
        points += any(attack.auc > attack.bound for attack in found.attacks[1:])
    assert above < 4
    assert points > 4


def test_what_outsiders_are_guessed_by_is_no_leak_of_members() -> None:
    # The value decides the label in the whole population, and the attacker knows few
    # people: the model guesses outsiders better than imputation does, and the bound
    # counts that.
    members, others, outsiders = labelled(1.0)
    few = others.of(np.arange(len(others.labels)) < 25)
    weights = only(int(ILL.slots[0]), 2.0)
    trade_off = of_gaussian(0.2)
    found = attack_attribute(
        linear(weights),
        LOGISTIC,
        ILL,
        InferencePeople(members, few, outsiders),
        trade_off=trade_off,
    )
    imputed, inverted = found.attacks[:2]
    known = outsiders.of(ILL.known(outsiders.inputs))
    told = inversion(linear(weights), LOGISTIC, ILL, known)
    guessed = auc_of(told, ILL.has(known.inputs))
    assert guessed > imputed.auc
    assert inverted.bound == pytest.approx(guessed + trade_off.advantage)


def test_a_stricter_confidence_lowers_gains_and_leaks() -> None:
    people = labelled(1.0)
    model = linear(np.ones(CODE.width))
    usual, strict = (
        attack_attribute(
            model,
            LOGISTIC,
            ILL,
            InferencePeople(*people),
            trade_off=None,
            confidence=level,
        )
        for level in (0.95, 0.9999)
    )
    for name in usual.gains:
        assert strict.gains[name].low < usual.gains[name].low
        assert strict.leaks[name].low < usual.leaks[name].low
    # Without a shadow there is no `both`.
    assert {*usual.gains, "both"} == set(ATTACKS)


def test_bounds_are_the_best_guess_plus_what_the_proof_leaves() -> None:
    members, others, outsiders = labelled(1.0)
    model = linear(np.zeros(CODE.width))
    trade_off = of_gaussian(0.2)
    found = attack_attribute(
        model,
        LOGISTIC,
        ILL,
        InferencePeople(members, others, outsiders),
        trade_off=trade_off,
    )
    imputed = next(a for a in found.attacks if a.name == "ill by imputation")
    for attack in found.attacks[1:]:
        # A model that is blind guesses no outsider better than imputation does.
        assert attack.bound == pytest.approx(imputed.auc + trade_off.advantage)
    assert imputed.bound >= imputed.auc + trade_off.advantage
    assert [attack.name for attack in found.attacks] == [
        "ill by imputation",
        "ill by inversion",
        "ill by CSMIA",
    ]
    known = ILL.known(members.inputs)
    assert imputed.n == known.sum() < 1200


def test_inversion_is_bayes_rule() -> None:
    members = labelled(1.0)[0]
    model = linear(only(int(ILL.slots[0]), 2.0), -1.0)
    score = inversion(model, LOGISTIC, ILL, members)
    chance = 1 / (1 + np.exp(-np.array([-1.0, 1.0])))
    for label in (0.0, 1.0):
        likely = chance if label else 1 - chance
        odds = np.log(likely[1] * ILL.shares[1] / (likely[0] * ILL.shares[0]))
        assert score[members.labels == label] == pytest.approx(odds)


def cases() -> tuple[TargetValue, LabelledRows]:
    sex = find_target_value(CODE, "sex", PEOPLE)
    return sex, LabelledRows(PEOPLE[:1].repeat(2, axis=0), np.array([1.0, 0.0]))


@pytest.mark.parametrize(
    ("weights", "guesses"),
    [
        # One value predicts the label: it is taken, for either label.
        ((2.0, -2.0), (0, 1)),
        # Both predict 1: for that label the surer one, for the other the less sure.
        ((2.0, 1.0), (0, 1)),
        ((1.0, 3.0), (1, 0)),
    ],
)
def test_csmia_decides_by_its_three_cases(
    weights: tuple[float, float], guesses: tuple[int, int]
) -> None:
    sex, rows = cases()
    model = linear(
        only(int(sex.slots[0]), weights[0]) + only(int(sex.slots[1]), weights[1])
    )
    score = csmia(model, LOGISTIC, sex, rows)
    assert tuple((score > 0) == (np.array(guesses) == sex.wanted)) == (True, True)
    sure = {2: 2.0, 1: 1.0, 0: 0.0}
    assert np.abs(score).max() >= sure[2] if weights[1] < 0 else np.abs(score[1]) < 1.0


def test_tasks_with_several_classes_are_attacked_too() -> None:
    made = world(loss="softmax", mechanism="none")
    model = untrained_model(made.programme.shapes)
    rows = LabelledRows(PEOPLE[:600], GENERATOR.integers(0, 3, 600).astype(float))
    others = LabelledRows(PEOPLE[600:], GENERATOR.integers(0, 3, 2400).astype(float))
    found = attack_attribute(
        model, SOFTMAX, ILL, InferencePeople(rows, others, rows), trade_off=None
    )
    assert all(attack.low <= 0.5 <= attack.high for attack in found.attacks[:1])
    with pytest.raises(ValueError, match="classes"):
        attack_attribute(
            model, SQUARED, ILL, InferencePeople(rows, others, rows), trade_off=None
        )


def test_a_run_of_the_product_gives_no_more_than_imputation() -> None:
    config, population = hospital("cascade", patients=900)
    made = ProductTrainer(config, population)
    members = np.random.default_rng(2).random(made.people) < 0.5
    blocks = [site.train for site in population.sites]
    inputs = np.concatenate([block.inputs[:, 0] for block in blocks])
    labels = np.concatenate([block.targets[:, 0] for block in blocks])
    everybody, half = LabelledRows(inputs, labels), np.arange(made.people) % 2
    about = find_target_value(population.encoding, "hba1c", inputs[~members])
    found = attack_attribute(
        made.trained(members),
        LOGISTIC,
        about,
        InferencePeople(
            everybody.of(members),
            everybody.of(~members & (half == 0)),
            everybody.of(~members & (half == 1)),
        ),
        trade_off=of_tier(made.priced.programme.charges(), Tier.SPECIAL),
        shadow=made.trained(~members & (half == 0)),
    )
    assert not any(attack.contradicts_proof for attack in found.attacks)
    # Intervals reach .1 to either side, so .1 is four standard errors from their low
    # ends: probability below 4e-4 for noise that alone is drawn anew, which moves
    # scores less than people do.
    assert all(leak.low <= 0.1 for leak in found.leaks.values())
    assert all(gain.low <= 0.1 for gain in found.gains.values())


def test_a_group_in_which_nobody_has_the_value_is_refused() -> None:
    members, others, outsiders = labelled(1.0)
    nobody = LabelledRows(ILL.filled(outsiders.inputs, 0), outsiders.labels)
    model = linear(np.zeros(CODE.width))
    with pytest.raises(DataError, match="or nobody has"):
        attack_attribute(
            model,
            LOGISTIC,
            ILL,
            InferencePeople(members, others, nobody),
            trade_off=None,
        )


def test_neither_imputation_nor_the_model_counts_against_the_other() -> None:
    # A model whose odds point the wrong way is left out, and imputation stays.
    members, others, outsiders = labelled(1.0)
    wrong = linear(only(int(ILL.slots[0]), -2.0), 1.0)
    found = attack_attribute(
        wrong,
        LOGISTIC,
        ILL,
        InferencePeople(members, others, outsiders),
        trade_off=None,
        shadow=wrong,
    )
    by_name = {attack.name: attack.auc for attack in found.attacks}
    assert by_name["ill by inversion"] < 0.5
    assert by_name["ill by both"] == pytest.approx(by_name["ill by imputation"])
