# SPDX-License-Identifier: Apache-2.0
"""AUCs and their intervals: against brute force, and how often they hold the truth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from lexfed.arrays import Bools, Floats
from lexfed.evaluate.attacks.auc_intervals import (
    AttackResult,
    Interval,
    across_releases,
    auc_of,
    gain_over,
    joint_confidence,
    more_gain_among,
    one_release,
    several_releases,
)

FEW = st.lists(st.integers(0, 4), min_size=1, max_size=8)


@given(FEW, FEW)
def test_the_auc_is_the_share_of_pairs_in_order(
    high: list[int], low: list[int]
) -> None:
    pairs = [(h > x) + 0.5 * (h == x) for h in high for x in low]
    scores = np.array([*high, *low], dtype=float)
    positive = np.arange(len(scores)) < len(high)
    assert auc_of(scores, positive) == pytest.approx(np.mean(pairs))
    found = one_release(scores, positive)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert found.low < found.high


def test_a_perfect_attack_has_an_interval_too() -> None:
    scores = np.arange(60.0)
    found = one_release(scores, scores >= 30)
    assert found.value == found.high == 1.0
    assert 0.75 < found.low < 0.99
    worst = one_release(-scores, scores >= 30)
    assert worst.value == worst.low == 0.0
    assert worst.high == pytest.approx(1.0 - found.low)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    # Binormal scores of known AUC. If an interval holds it in .94 of all cases or
    # more, this fails with probability below 2e-6.
    generator = np.random.default_rng(1)
    least = int(binom.ppf(1e-6, 400, 0.94))
    for truth in (0.5, 0.8):
        shift = math.sqrt(2) * float(norm.ppf(truth))
        held = 0
        for _ in range(400):
            positive = np.arange(150) < 60
            scores = generator.normal(size=150) + shift * positive
            found = one_release(scores, positive)
            held += found.low <= truth <= found.high
        assert held >= least


def test_an_interval_that_is_half_as_wide_is_noticed() -> None:
    # Negative control of the test above: half the width holds about .67.
    generator = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        positive = np.arange(150) < 60
        found = one_release(generator.normal(size=150), positive)
        middle, half = (found.low + found.high) / 2, (found.high - found.low) / 4
        held += middle - half <= 0.5 <= middle + half
    assert held < int(binom.ppf(1e-6, 400, 0.94))


def test_several_releases_count_as_one_observation_each() -> None:
    found = several_releases([0.5, 0.6])
    assert found.value == pytest.approx(0.55)
    # t of one degree of freedom is 12.7: two releases say little.
    assert (found.low, found.high) == (0.0, 1.0)
    several = several_releases([0.5, 0.52, 0.48, 0.5])
    assert 0.47 < several.low < several.value < several.high < 0.53
    with pytest.raises(ValueError, match="two releases"):
        several_releases([0.5])


def test_a_gain_is_that_of_the_same_people() -> None:
    generator = np.random.default_rng(3)
    positive = np.arange(2000) < 1000
    base = generator.normal(size=2000) + positive
    better = base + 0.5 * positive
    gain = gain_over(better, base, positive)
    assert gain.value == pytest.approx(
        auc_of(better, positive) - auc_of(base, positive)
    )
    assert 0.0 < gain.low < gain.value < gain.high
    assert gain_over(better, base, positive, joint_confidence(20)).low < gain.low
    none = gain_over(3 * base + 1, base, positive)
    assert none.value == none.low == none.high == 0.0


def test_a_single_person_of_a_kind_has_no_variance_of_their_own() -> None:
    found = one_release(np.array([0.3, 0.1, 0.5, 0.4]), np.arange(4) == 0)
    assert found.value == pytest.approx(1 / 3)
    assert found.low < found.value < found.high


@pytest.mark.parametrize("positive", [np.zeros(3, bool), np.ones(3, bool)])
def test_people_of_one_kind_are_refused(positive: np.ndarray) -> None:
    with pytest.raises(ValueError, match="both kinds"):
        auc_of(np.arange(3.0), positive)


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="numbers"):
        auc_of(np.array([0.0, math.nan]), np.array([True, False]))


def test_only_a_lower_end_above_the_bound_contradicts_a_proof() -> None:
    assert AttackResult("a", 0.7, 0.66, 0.74, 0.65, 100, 0.1).contradicts_proof
    assert not AttackResult("a", 0.7, 0.64, 0.74, 0.65, 100, 0.1).contradicts_proof


def test_across_releases_only_pairs_of_different_ones_count() -> None:
    # Within a release scores are perfect, but a shift of its own hides them from the
    # others: .5 across, 1 within.
    generator = np.random.default_rng(4)
    truth = [np.arange(6) < 3 for _ in range(60)]
    told = [one.astype(np.float64) + 1e3 * generator.normal() for one in truth]
    found = across_releases(told, truth)
    assert found.low <= 0.5 <= found.high
    assert found.high - found.low < 0.3
    assert auc_of(told[0], truth[0]) == 1.0
    # Without shifts they are as good across.
    assert across_releases([one.astype(np.float64) for one in truth], truth).low == 1.0


def observed(
    generator: np.random.Generator,
    mu: float,
    confidence: float = 0.95,
    runs: int = 40,
) -> Interval:
    """Play the game of an informed observer: all people of a run share its noise."""
    truth = [generator.random(5) < 0.5 for _ in range(runs)]
    noise = generator.normal(size=runs)
    # A likelihood ratio of N(0, 1) against N(mu, 1), at the coin's own side.
    scores = [mu * (mu * (one - 0.5) + z) for one, z in zip(truth, noise, strict=True)]
    return across_releases(scores, truth, confidence)


@pytest.mark.parametrize("mu", [0.03, 0.6])
def test_intervals_across_releases_hold_the_truth_where_people_share_noise(
    mu: float,
) -> None:
    # If an interval holds it in .94 of all cases or more, and its lower end is above it
    # in .03 or less, this fails with probability below 4e-6.
    generator = np.random.default_rng(7)
    truth = float(norm.cdf(mu / math.sqrt(2)))
    found = [observed(generator, mu) for _ in range(400)]
    held = sum(one.low <= truth <= one.high for one in found)
    assert held >= int(binom.ppf(1e-6, 400, 0.94))
    above = sum(one.low > truth for one in found)
    assert above <= int(binom.ppf(1.0 - 1e-6, 400, 0.03))
    # Negative control: half the width is noticed.
    halves = [(one.value, (one.high - one.low) / 4) for one in found]
    narrow = sum(abs(value - truth) <= half for value, half in halves)
    assert narrow < int(binom.ppf(1e-6, 400, 0.94))


def test_ends_of_many_lines_hold_together() -> None:
    # Of twenty lines some lower end is above the truth in less than .05 of all cases;
    # fails with probability below 1e-6.
    generator = np.random.default_rng(8)
    truth, families = float(norm.cdf(0.03 / math.sqrt(2))), 60
    most = int(binom.ppf(1.0 - 1e-6, families, 0.05))

    def alarms(confidence: float) -> int:
        ends = [
            observed(generator, 0.03, confidence, runs=16).low
            for _ in range(20 * families)
        ]
        return int((np.reshape(ends, (families, 20)).max(axis=1) > truth).sum())

    assert alarms(joint_confidence(20)) <= most
    # Negative control: without a correction it is .40.
    assert alarms(0.95) > most


def test_across_releases_brute_force() -> None:
    generator = np.random.default_rng(5)
    scores = [generator.integers(0, 3, 4).astype(float) for _ in range(4)]
    truth = [np.array([True, True, False, False])] * 4
    pairs = [
        (h > x) + 0.5 * (h == x)
        for i in range(4)
        for j in range(4)
        for h in scores[i][:2]
        for x in scores[j][2:]
        if i != j
    ]
    assert across_releases(scores, truth).value == pytest.approx(np.mean(pairs))
    with pytest.raises(ValueError, match="three releases"):
        across_releases(scores[:2], [truth[0], ~truth[0]])
    with pytest.raises(ValueError, match="three releases"):
        across_releases([], [])


def test_a_gain_that_is_the_same_among_others_is_no_more() -> None:
    generator = np.random.default_rng(6)
    positive = np.arange(1000) < 500

    def people(strength: float) -> tuple[Floats, Floats, Bools]:
        base = generator.normal(size=1000) + positive
        better = base + strength * positive + 0.3 * generator.normal(size=1000)
        return better, base, positive

    same = more_gain_among(people(0.5), people(0.5))
    # The gain is .09 with a standard error below .01: .05 lies five of them away.
    assert same.low - 0.02 < 0.0 < same.high + 0.02
    more = more_gain_among(people(1.0), people(0.0))
    assert more.low > 0.05
    one, other = people(1.0), people(0.0)
    found = more_gain_among(one, other)
    gains = gain_over(*one), gain_over(*other)
    assert found.value == pytest.approx(gains[0].value - gains[1].value)
    width = math.hypot(*(gain.high - gain.low for gain in gains))
    assert found.high - found.low == pytest.approx(width)
