# SPDX-License-Identifier: Apache-2.0
"""Cohorts: an honest site in every sum and enough answers, or a refusal in words."""

import math

import pytest

from lexfed.errors import ConfigError
from lexfed.privacy.noise.shares import NoiseCohort


def test_honest_survivors_and_inflation() -> None:
    cohort = NoiseCohort(120, 24, 12)
    assert cohort.honest == 84
    assert cohort.least == 108
    assert cohort.threshold == 73
    assert cohort.inflation == pytest.approx(math.sqrt(120 / 84))
    assert "noise sized for 84 honest, 1.195 x" in str(cohort)
    assert NoiseCohort(5).inflation == 1.0


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
                    cohort = NoiseCohort(sites, colluders, dropouts)
                    assert cohort.honest >= 1
                    assert 2 * cohort.threshold > sites + colluders
                    assert 2 * (cohort.threshold - 1) <= sites + colluders
                    assert cohort.least >= cohort.threshold
                    accepted += 1
                else:
                    with pytest.raises(ConfigError):
                        NoiseCohort(sites, colluders, dropouts)
    assert accepted > 30


def test_three_sites_survive_one_dropout_only_with_no_colluder() -> None:
    assert NoiseCohort(3, 0, 1).honest == 2
    with pytest.raises(ConfigError, match="only with no colluder") as caught:
        NoiseCohort(3, 1, 1)
    assert "3 sites with 1 colluder survive 0 dropouts, not 1" in caught.value.message
    assert "more sites" in caught.value.hint


def test_nobody_honest_is_refused_with_words() -> None:
    with pytest.raises(ConfigError, match="nobody's noise would be secret"):
        NoiseCohort(4, 2, 2)
    with pytest.raises(ConfigError, match="4 sites with 1 colluder survive 1 dropout,"):
        NoiseCohort(4, 1, 2)
    for bad in [(1, 0, 0), (3, -1, 0), (3, 0, 4)]:
        with pytest.raises(ValueError, match="expected"):
            NoiseCohort(*bad)
