# SPDX-License-Identifier: Apache-2.0
"""Cohorts and shares: enough honest noise whoever is missing, refusals in words."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.errors import ConfigError
from lexfed.privacy.distributed import Cohort, SharedGroup, SharedRelease
from lexfed.privacy.ring_encoding import Encoding
from lexfed.randomness import SeededSource
from lexfed.tiers import Tier

ENCODING = Encoding(1.0, 16)


def test_honest_survivors_and_inflation() -> None:
    cohort = Cohort(120, 24, 12)
    assert cohort.honest == 84
    assert cohort.least == 108
    assert cohort.threshold == 73
    assert cohort.inflation == pytest.approx(math.sqrt(120 / 84))
    assert "noise sized for 84 honest, 1.195 x" in str(cohort)
    assert Cohort(5).inflation == 1.0


def test_every_accepted_cohort_has_honest_noise_and_enough_answers() -> None:
    accepted = 0
    for sites in range(2, 9):
        for colluders in range(sites + 1):
            for dropouts in range(sites + 1):
                answers = sites - dropouts
                # Two lists that both unmask share an honest site: 2t > n + c.
                safe = any(2 * t > sites + colluders for t in range(answers + 1))
                possible = answers - colluders >= 1 and safe
                if possible:
                    cohort = Cohort(sites, colluders, dropouts)
                    assert cohort.honest >= 1
                    assert 2 * cohort.threshold > sites + colluders
                    assert 2 * (cohort.threshold - 1) <= sites + colluders
                    assert cohort.least >= cohort.threshold
                    accepted += 1
                else:
                    with pytest.raises(ConfigError):
                        Cohort(sites, colluders, dropouts)
    assert accepted > 30


def test_three_sites_survive_one_dropout_only_with_no_colluder() -> None:
    assert Cohort(3, 0, 1).honest == 2
    with pytest.raises(ConfigError, match="only with no colluder") as caught:
        Cohort(3, 1, 1)
    assert "3 sites with 1 colluder survive 0 dropouts, not 1" in caught.value.message
    assert "more sites" in caught.value.hint


def test_nobody_honest_is_refused_with_words() -> None:
    with pytest.raises(ConfigError, match="nobody's noise would be secret"):
        Cohort(4, 2, 2)
    with pytest.raises(ConfigError, match="4 sites with 1 colluder survive 1 dropout,"):
        Cohort(4, 1, 2)
    for bad in [(1, 0, 0), (3, -1, 0), (3, 0, 4)]:
        with pytest.raises(ValueError, match="expected"):
            Cohort(*bad)


@settings(derandomize=True, deadline=None)
@given(st.floats(1e-3, 1e4), st.integers(2, 300), st.data())
def test_shares_are_the_smallest_that_reach_the_wanted_noise(
    sigma: float, sites: int, data: st.DataObject
) -> None:
    colluders = data.draw(st.integers(0, sites // 3))
    cohort = Cohort(sites, colluders, (sites - colluders - 1) // 2)
    group = SharedGroup.for_sigma("g", ENCODING, sigma, cohort)
    wanted = (Fraction(sigma) * Fraction(ENCODING.scale)) ** 2
    assert group.variance(cohort) >= wanted
    assert 2 * (group.half - 1) * cohort.honest < wanted
    assert group.deviation(cohort) >= sigma * (1 - 1e-15)


def test_noise_after_dropouts_and_without_colluders_is_at_least_the_charged() -> None:
    cohort = Cohort(5, 1, 1)
    group = SharedGroup.for_sigma("g", Encoding(1.0, 40_000), 0.5, cohort)
    source = SeededSource(1)
    shares = [group.share(source) for _ in range(5)]
    charged = group.variance(cohort)
    # 6.11 standard errors of a variance are 1e-9; there are 10 sets of three honest
    # sites that may be left, of 4 answers with one colluder among them.
    error = 6.11 * math.sqrt(2 / 40_000)
    for honest in combinations(range(5), cohort.honest):
        total = sum((shares[i] for i in honest), np.zeros(40_000, dtype=np.int64))
        assert abs(total.var() / charged - 1) < error
    everybody = np.sum(shares, axis=0)
    assert abs(everybody.var() / charged / cohort.inflation**2 - 1) < error
    # Negative control: shares sized for all five sites would leave too little.
    small = SharedGroup.for_sigma("g", Encoding(1.0, 40_000), 0.5, Cohort(5))
    less = np.sum([small.share(source) for _ in range(cohort.honest)], axis=0)
    assert less.var() / charged < 1 - error


def test_a_release_counts_and_bounds_all_its_groups() -> None:
    cohort = Cohort(10, 1, 2)
    small = SharedGroup("small", Encoding(1.0, 4), 5000)
    large = SharedGroup("large", Encoding(2.0, 10_000), 10**9)
    release = SharedRelease("tower", (small, large), cohort, 1.0, Tier.SPECIAL)
    assert release.samples == 10 * 10_004
    assert SharedRelease("t", (small,), cohort, 1.0, None).ring_bits(100) == 16
    assert SharedRelease("t", (small,), cohort, 1.0, None).ring_bits(200) == 24
    assert release.ring_bits(200) == 24
    assert release.ring_bits(1000) == 32
    with pytest.raises(ConfigError, match="a ring has at most 32"):
        release.ring_bits(10**6)
    parts = [
        group.encoding.wrap_probability(math.sqrt(20 * group.half))
        for group in (small, large)
    ]
    assert release.wrap_probability == pytest.approx(sum(parts))
    assert release.wrap_probability < 1e-8


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at least one group"):
        SharedRelease("empty", (), Cohort(3), 1.0, None)
    group = SharedGroup("g", ENCODING, 1)
    with pytest.raises(ValueError, match="sampling_rate"):
        SharedRelease("t", (group,), Cohort(3), 1.5, None)
    for half in (0, 2**60 + 1):
        with pytest.raises(ValueError, match="half"):
            SharedGroup("g", ENCODING, half)
    with pytest.raises(ValueError, match="sigma"):
        SharedGroup.for_sigma("g", ENCODING, math.inf, Cohort(3))
