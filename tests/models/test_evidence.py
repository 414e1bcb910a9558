# SPDX-License-Identifier: Apache-2.0
"""Noise alone is seldom taken for signal, and signal is found."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from lexfed.models.losses import LossName
from lexfed.models.rule.estimates import (
    Geometry,
    TargetEstimate,
    TowerState,
    geometry,
    unknown_target,
)
from lexfed.models.rule.evidence import (
    LEVEL,
    ReleasedEvidence,
    released_evidence,
    unbought_target,
)
from lexfed.models.tower_shapes import RuleFacts, TowerShape
from lexfed.tiers import Tier

NOISE = 0.03
TRIALS = 2000


def facts(
    loss: LossName = "logistic", outputs: int = 1, tail: float = 1.0
) -> RuleFacts:
    """A tower of twelve numbers and flags."""
    shape = TowerShape(
        tier=Tier.PERSONAL,
        slots=tuple(range(12)),
        architecture="linear",
        outputs=outputs,
        seed=0,
        kinds=("number", "flag") * 6,
        levels=(1,) * 12,
        columns=tuple(range(12)),
        tails=(0.0, tail) * 6,
        linear=(True,) * 12,
    )
    return RuleFacts(shape, loss)


def scales_of(of: RuleFacts, base: TargetEstimate, state: TowerState) -> Geometry:
    return geometry(of, base, state, kappa=2.0, rounds=1)


def noise_alone(of: RuleFacts, base: TargetEstimate) -> Iterator[ReleasedEvidence]:
    """Yield the evidence of towers whose releases are noise and an off-centre rate."""
    random = np.random.default_rng(11)
    start = TowerState.start(of)
    scales = scales_of(of, base, start)
    precision = np.full(of.size, NOISE**-2)
    for _ in range(TRIALS):
        blur = NOISE**2 + scales.drift
        value = random.normal(0.0, np.sqrt(blur))
        moment = value * precision[:, None]
        yield released_evidence(
            scales, replace(start, moment=moment, precision=precision)
        )


@pytest.mark.parametrize(("loss", "outputs"), [("logistic", 1), ("softmax", 3)])
def test_noise_alone_is_seldom_taken_for_signal(loss: LossName, outputs: int) -> None:
    base = unbought_target(unknown_target(loss, outputs))
    found = [one.p_value < LEVEL for one in noise_alone(facts(loss, outputs), base)]
    # At most 5 % by proof: the mean of 2000 trials varies by sqrt(.05 .95 / 2000) =
    # .0049, and is 6.11 times that above with a chance below 1e-9.
    assert np.mean(found) < LEVEL + 6.11 * 0.0049
    # It is no empty promise: a test that never rejects would not do.
    assert np.mean(found) > 0.01


def test_noise_that_is_larger_than_stated_is_found() -> None:
    """The same towers with three times the noise are taken for signal."""
    of = facts()
    louder = 0
    for one in noise_alone(of, unknown_target("logistic", 1)):
        louder += replace(one, whole=9 * one.whole, tails=9 * one.tails).p_value < LEVEL
    assert louder > 0.99 * TRIALS


@pytest.mark.parametrize("along", [True, False])
def test_signal_is_found(along: bool) -> None:
    of, base = facts(), unknown_target("logistic", 1)
    state = TowerState.start(of)
    scales = scales_of(of, base, state)
    direction = scales.common if along else np.eye(12)[:, :1]
    value = 8 * NOISE * direction / np.linalg.norm(direction)
    precision = np.full(12, NOISE**-2)
    state = replace(state, moment=value * precision[:, None], precision=precision)
    found = released_evidence(scales, state)
    assert not found.is_noise
    assert (found.entries, found.directions) == (12, 1)


def test_evidence_of_towers_adds_up() -> None:
    weak = ReleasedEvidence(whole=20.0, entries=12, tails=3.0, directions=1)
    assert weak.is_noise
    both = weak + weak + weak
    assert (both.whole, both.entries, both.tails, both.directions) == (60.0, 36, 9.0, 3)
    assert not both.is_noise
    assert both.p_value < weak.p_value


def test_nothing_released_is_no_evidence() -> None:
    assert ReleasedEvidence().p_value == 1.0
    assert ReleasedEvidence().is_noise


def test_without_long_tails_only_the_whole_is_compared() -> None:
    of, base = facts("squared", tail=0.0), unknown_target("squared", 1)
    state = TowerState.start(of)
    state = replace(state, precision=np.full(12, NOISE**-2))
    scales = replace(scales_of(of, base, state), common=np.zeros((12, 1)))
    found = released_evidence(scales, state)
    assert (found.directions, found.tails) == (0, 0.0)
    assert found.p_value == 1.0


def test_an_unbought_rate_is_doubted_as_much_as_its_guess() -> None:
    doubt = unbought_target(unknown_target("logistic", 1)).doubt
    assert doubt == pytest.approx(0.25)
    assert doubt > unknown_target("logistic", 1).doubt
