# SPDX-License-Identifier: Apache-2.0
"""What noise in shares costs: beside central noise, per scope, and calibrated."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from lexfed.errors import ClaimError, Refused
from lexfed.privacy import accountant
from lexfed.privacy.distributed import Cohort, SharedGroup, SharedRelease
from lexfed.privacy.distributed_price import (
    Counted,
    curve,
    label_epsilon,
    record_epsilon,
    sampler_delta,
    smallest_factor,
    tier_epsilon,
)
from lexfed.privacy.rdp import ORDERS
from lexfed.privacy.ring_encoding import Encoding
from lexfed.privacy.steps import Neighbours, Step
from lexfed.tiers import MODEL_TIERS, Tier
from support import skellam_exact

DELTA = 1e-5


def release(
    sigma: float,
    dimension: int = 1000,
    cohort: Cohort | None = None,
    rate: float = 1.0,
    reads: Tier | None = Tier.SPECIAL,
    fineness: float = 100.0,
) -> SharedRelease:
    cohort = cohort or Cohort(10)
    encoding = Encoding(1.0, dimension, fineness)
    group = SharedGroup.for_sigma("all", encoding, sigma, cohort)
    return SharedRelease("tower", (group,), cohort, rate, reads)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("fineness", [100.0, 1000.0])
@pytest.mark.parametrize("dimension", [1, 60, 10_000])
@pytest.mark.parametrize(("sigma", "rounds"), [(0.5, 1), (2.0, 4), (20.0, 100)])
def test_shares_cost_at_most_five_per_cent_more_than_central_noise(
    neighbours: Neighbours, fineness: float, dimension: int, sigma: float, rounds: int
) -> None:
    shared = [(release(sigma, dimension, fineness=fineness), rounds)]
    found = record_epsilon(shared, DELTA, neighbours)
    steps = [Step(sigma, 1.0, rounds)]
    central = accountant.epsilon(steps, DELTA, neighbours, "rdp")
    assert 0.999 * central <= found <= 1.05 * central


def test_dropouts_and_colluders_cost_noise_not_epsilon() -> None:
    tolerant = release(2.0, cohort=Cohort(12, 2, 4))
    plain = release(2.0, cohort=Cohort(12))
    assert record_epsilon([(tolerant, 5)], DELTA, "add-remove") == pytest.approx(
        record_epsilon([(plain, 5)], DELTA, "add-remove"), rel=1e-4
    )
    ratio = tolerant.groups[0].half / plain.groups[0].half
    assert math.sqrt(ratio) == pytest.approx(tolerant.cohort.inflation, rel=1e-3)


def test_the_exact_divergence_of_one_coordinate_is_below_the_price() -> None:
    # 5 honest shares of variance 2 x 400, one coordinate that moves by l2 = 128 steps.
    encoding = Encoding(1.0, 1)
    cohort = Cohort(6, 1, 0)
    group = SharedGroup("one", encoding, 400)
    shared = SharedRelease("one", (group,), cohort, 1.0, None)
    shift = int(encoding.l2)
    for neighbours, factor in [("add-remove", 1), ("replace-one", 2)]:
        for place, order in [(0, 2), (2, 4), (6, 8)]:
            exact = skellam_exact.shifted(4000.0, factor * shift, order)
            bound = curve([(shared, 1)], neighbours)[place]  # type: ignore[arg-type]
            # Tight at low orders, where a factor forgotten would be noticed.
            assert exact <= bound
            if order == 2:
                assert bound < 1.3 * exact


def test_groups_add_up_as_their_divergences() -> None:
    cohort = Cohort(4)
    groups = tuple(
        SharedGroup.for_sigma(name, Encoding(clip, size), sigma, cohort)
        for name, clip, size, sigma in [("a", 1.0, 30, 2.0), ("b", 0.1, 500, 0.5)]
    )
    joint = SharedRelease("joint", groups, cohort, 1.0, None)
    alone = [SharedRelease("one", (group,), cohort, 1.0, None) for group in groups]
    total = curve([(joint, 3)], "add-remove")
    parts = curve([(alone[0], 3), (alone[1], 3)], "add-remove")
    assert np.allclose(total, parts, rtol=1e-12)
    # As one Gaussian of R^2 = sum (C/sigma)^2, and a little more.
    gaussian = 3 * np.array(ORDERS) / 2 * (1 / 4 + 0.04)
    assert (total >= gaussian * (1 - 1e-3)).all()
    assert total[0] < 1.01 * gaussian[0]


def plan() -> list[Counted]:
    return [
        (release(3.0, reads=None), 2),
        (release(2.0, reads=Tier.NON_PERSONAL), 4),
        (release(4.0, reads=Tier.PERSONAL), 5),
        (release(8.0, reads=Tier.SPECIAL), 6),
    ]


def test_tiers_pay_for_what_reads_them() -> None:
    releases = plan()
    record = record_epsilon(releases, DELTA, "replace-one")
    tiers = [tier_epsilon(releases, tier, DELTA) for tier in MODEL_TIERS]
    assert all(low >= high for low, high in pairwise(tiers))
    assert record > tiers[0] > tiers[-1] > 0
    assert label_epsilon(releases, DELTA) == record
    assert record > record_epsilon(releases, DELTA, "add-remove")
    top = [(releases[3][0], 6)]
    assert tiers[-1] == record_epsilon(top, DELTA, "replace-one")
    central = accountant.epsilon([Step(8.0, 1.0, 6)], DELTA, "replace-one", "rdp")
    assert tiers[-1] == pytest.approx(central, rel=1e-3)
    assert tier_epsilon(releases[:1], Tier.SPECIAL, DELTA) == 0.0


def test_a_person_at_several_sites_pays_for_each() -> None:
    once = curve([(release(4.0), 1)], "add-remove")
    assert (curve([(release(4.0), 1)], "add-remove", 2) > 3.999 * once).all()
    same = record_epsilon([(release(4.0), 1)], DELTA, "replace-one")
    assert record_epsilon([(release(4.0), 1)], DELTA, "add-remove", 2) == same
    three = tier_epsilon([(release(4.0), 1)], Tier.SPECIAL, DELTA, 3)
    assert three == label_epsilon([(release(4.0), 1)], DELTA, 3) > same
    with pytest.raises(ClaimError, match="no proof") as caught:
        curve([(release(4.0, rate=0.5), 1)], "add-remove", 2)
    assert "sampling_rate = 1" in caught.value.hint
    with pytest.raises(ValueError, match="sites_per_person"):
        curve([], "add-remove", 0)


def test_sampling_is_never_priced_by_the_central_formula() -> None:
    shared = [(release(2.0, rate=0.05), 2000)]
    found = record_epsilon(shared, DELTA, "add-remove")
    steps = [Step(2.0, 0.05, 2000)]
    central = accountant.epsilon(steps, DELTA, "add-remove", "rdp")
    assert 1.1 * central < found < 1.4 * central
    whole = record_epsilon([(release(2.0), 2000)], DELTA, "add-remove")
    assert found < whole
    replaced = record_epsilon(shared, DELTA, "replace-one")
    assert replaced > 2 * accountant.epsilon(steps, DELTA, "replace-one", "rdp")
    assert not curve([(release(2.0, rate=0.0), 5)], "add-remove").any()


def test_nothing_costs_nothing() -> None:
    assert record_epsilon([], DELTA, "add-remove") == 0.0
    assert sampler_delta([], 1.0) == 0.0
    with pytest.raises(ValueError, match="delta"):
        record_epsilon([], 0.0, "add-remove")


def test_the_sampler_is_charged_for_all_sites() -> None:
    samples = 10 * 1000 * 7
    expected = samples * (1 + math.exp(2.0)) * 2.0**-88
    assert sampler_delta([(release(1.0), 7)], 2.0) == pytest.approx(expected)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_calibrated_noise_fits_and_is_not_wasted(
    neighbours: Neighbours, epsilon: float, rate: float
) -> None:
    def louder(factor: float) -> Sequence[Counted]:
        return [(release(factor, rate=rate), 10), (release(3 * factor, rate=rate), 5)]

    factor = smallest_factor(louder, epsilon, DELTA, neighbours)
    usable = DELTA - sampler_delta(louder(factor), epsilon)
    assert 0.999 * epsilon < record_epsilon(louder(factor), usable, neighbours)
    assert record_epsilon(louder(factor), usable, neighbours) <= epsilon
    assert record_epsilon(louder(factor * 0.9998), usable, neighbours) > epsilon


def test_calibration_at_both_ends() -> None:
    # Integer shares have a variance of at least 2: below that less noise is the same.
    def coarse(factor: float) -> Sequence[Counted]:
        return [(release(1e-9 * factor, 1, Cohort(1000)), 1)]

    assert smallest_factor(coarse, 40.0, DELTA) == 2.0**-20
    with pytest.raises(Refused, match="no amount of noise in shares meets epsilon"):
        smallest_factor(lambda _: [(release(1.0), 1)], 1e-3, DELTA)
    with pytest.raises(ValueError, match="epsilon"):
        smallest_factor(coarse, 0.0, DELTA)


def test_a_delta_below_the_samplers_is_refused() -> None:
    with pytest.raises(Refused, match="no amount"):
        smallest_factor(lambda _: [(release(1.0), 1)], 10.0, 1e-30)
