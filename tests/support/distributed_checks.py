# SPDX-License-Identifier: Apache-2.0
"""Promises about noise in shares, as checks that also run on mutants."""

import math

import numpy as np

from lexfed.errors import ConfigError
from lexfed.privacy.distributed import Cohort, SharedGroup, SharedRelease
from lexfed.privacy.distributed_price import curve, record_epsilon, sampler_delta
from lexfed.privacy.ring_encoding import Encoding
from lexfed.randomness import SeededSource
from lexfed.tiers import Tier
from support import skellam_exact

COHORT = Cohort(6, 1, 1)
VALUES = 60_000
ERROR = 6.11 * math.sqrt(2 / VALUES)
"""Standard errors of a variance for an error probability of 1e-9."""


def release(half: int = 2000, rate: float = 1.0, dimension: int = 1) -> SharedRelease:
    group = SharedGroup("one", Encoding(1.0, dimension), half)
    return SharedRelease("one", (group,), COHORT, rate, Tier.SPECIAL)


def the_price_covers_the_exact_divergence() -> None:
    """Against Skellam variables of the honest shares' variance, moved by a clip."""
    shift = int(Encoding(1.0, 1).l2)
    variance = 2.0 * 2000 * 4
    first = curve([(release(), 1)], "add-remove")
    second = curve([(release(), 1)], "replace-one")
    for place, order in [(0, 2), (1, 3)]:
        assert first[place] >= skellam_exact.shifted(variance, shift, order)
        assert second[place] >= skellam_exact.shifted(variance, 2 * shift, order)


def the_price_is_that_of_the_theorem() -> None:
    """With its correction, which exact numbers in one dimension do not ask for."""
    variance, l2, orders = 16_000.0, 128.0, np.array([2.0, 3.0])
    fine = ((2 * orders - 1) * l2**2 + 6 * l2) / (4 * variance**2)
    wanted = orders * l2**2 / (2 * variance) + fine
    assert (curve([(release(), 1)], "add-remove")[:2] >= wanted).all()


def honest_shares_have_the_charged_variance() -> None:
    """The shares of the fewest honest sites that may be left."""
    group = SharedGroup.for_sigma("many", Encoding(1.0, VALUES), 1.0, COHORT)
    source = SeededSource(1)
    total = np.sum([group.share(source) for _ in range(4)], axis=0)
    wanted = group.encoding.scale**2
    assert total.var() >= wanted * (1 - ERROR)


def contributions_keep_their_norm() -> None:
    """No encoded contribution is longer than what is charged."""
    encoding = Encoding(1.0, 50)
    rows = np.random.default_rng(1).standard_normal((20, 50))
    rows *= encoding.clip_to / np.linalg.norm(rows, axis=1, keepdims=True)
    for row in rows:
        exact = row * encoding.scale
        assert (np.abs(encoding.encode(row[None])) <= np.abs(exact)).all()


def rounded_sums_keep_the_charge() -> None:
    """One unit more, wherever the rest of the sum lies between two grid points."""
    encoding = Encoding(1.0, 400)
    unit = np.full(400, encoding.clip_to_in_sums(0.0) / 20)
    for place in np.linspace(-0.5, 0.5, 41):
        rest = np.full(400, place / encoding.scale)
        moved = encoding.encode_sum(rest + unit, 2) - encoding.encode_sum(rest, 2)
        assert np.linalg.norm(moved) <= encoding.l2


def sampling_is_priced_for_any_noise() -> None:
    """Above the exact divergence of a sampled replacement."""
    shift = int(Encoding(1.0, 1).l2)
    exact = skellam_exact.sampled(16_000.0, shift, 8, 0.02, both=True)
    assert curve([(release(rate=0.02), 1)], "replace-one")[6] >= exact


def small_cohorts_say_no() -> None:
    """Three sites with a colluder survive no dropout."""
    try:
        Cohort(3, 1, 1)
    except ConfigError:
        return
    raise AssertionError("accepted")


def every_sites_sampler_is_charged() -> None:
    """Six sites draw six values for every coordinate."""
    large = sampler_delta([(release(dimension=100), 10)], 1.0)
    assert large >= 6 * 100 * 10 * (1 + math.e) * 2.0**-88 * (1 - 1e-12)
    assert record_epsilon([(release(), 1)], 1e-5, "add-remove") > 0


def sums_fit_their_ring() -> None:
    """Units that all pull one coordinate the same way, and loud noise."""
    shared = release(half=10**6)
    encoding = shared.groups[0].encoding
    total = 100 * int(encoding.l2) + 6 * math.sqrt(2 * 10**6 * 6)
    assert 2 ** (shared.ring_bits(100) - 1) > total
