# SPDX-License-Identifier: Apache-2.0
"""Sites compared. Error probabilities: 1e-4 for a coverage of 95 % in 1000 trials."""

import math

import numpy as np
import pytest

from lexfed.sketch.profile.answers import ProfiledNumber
from lexfed.sketch.profile.site_comparisons import (
    distances,
    elsewhere,
    overlaps,
    people_by_site,
)
from support.sketch.profile_tables import Federation

SITES = ("north", "south", "west")
PERSONS = (np.arange(0.0, 600), np.arange(400.0, 1000), np.arange(2000.0, 2300))


def holds(answer: ProfiledNumber, truth: float) -> bool:
    low = -math.inf if answer.low is None else answer.low
    return low <= truth <= (math.inf if answer.high is None else answer.high)


@pytest.mark.no_cover
def test_overlaps_are_covered() -> None:
    pairs = {("north", "south"): 200.0, ("north", "west"): 0.0, ("south", "west"): 0.0}
    held = dict.fromkeys(pairs, 0)
    shares = wrong = 0
    for seed in range(1000):
        told = Federation(1.0, seed).keys(PERSONS, seed=seed)
        for pair in overlaps(told, SITES):
            held[pair.left, pair.right] += holds(
                pair.persons, pairs[pair.left, pair.right]
            )
            if (pair.left, pair.right) == ("north", "south"):
                assert pair.jaccard is not None
                shares += holds(pair.jaccard, 0.2)
                wrong += holds(pair.persons, 0.0)
    assert all(count > 920 for count in held.values()), held
    assert shares > 920
    # Control: no overlap is in few of the intervals of two sites that have one.
    assert wrong < 100


@pytest.mark.no_cover
def test_persons_elsewhere_are_covered() -> None:
    held = np.zeros((3, 2))
    truths = [(600, 200), (600, 200), (300, 0)]
    for seed in range(1000):
        told = Federation(1.0, seed).keys(PERSONS, seed=seed)
        for at, (site, truth) in enumerate(
            zip(elsewhere(told, SITES), truths, strict=True)
        ):
            assert site.site == SITES[at]
            held[at] += holds(site.persons, truth[0]), holds(site.elsewhere, truth[1])
    assert (held > 920).all(), held


def test_what_is_lost_in_noise_has_no_share() -> None:
    told = Federation(200.0).keys(PERSONS)
    assert all(pair.jaccard is None for pair in overlaps(told, SITES))


def test_other_numbers_of_sites_are_refused() -> None:
    with pytest.raises(ValueError, match="tables of 2 sites"):
        overlaps(Federation(1.0).keys(PERSONS), SITES[:2])


@pytest.mark.parametrize("noise", [2.0, 10.0])
def test_distances_are_covered(noise: float) -> None:
    # p = (.5, .3, .2), q = (.2, .3, .5), the third as the first.
    parts = [(500, 300, 200), (200, 300, 500), (500, 300, 200)]
    values = [np.repeat([0.0, 1.0, 2.0], part) for part in parts]
    truth = {("north", "south"): math.sqrt(0.18), ("north", "west"): 0.0}
    truth["south", "west"] = truth["north", "south"]
    held = dict.fromkeys(truth, 0)
    wrong = 0
    for seed in range(1000):
        told = Federation(noise, seed).codes("ward", values, 3)
        people = people_by_site([told])
        for pair in distances(told, people, SITES):
            held[pair.left, pair.right] += holds(
                pair.distance, truth[pair.left, pair.right]
            )
            wrong += holds(pair.distance, 0.0) and truth[pair.left, pair.right] > 0
    assert all(count > 920 for count in held.values()), held
    # Control: sites that differ are told from equal ones.
    assert wrong < 20


def test_a_site_whose_size_is_lost_in_noise_has_no_distances() -> None:
    values = [np.zeros(5000), np.zeros(5000), np.zeros(3)]
    told = Federation(10.0).codes("ward", values, 3)
    people = people_by_site([told, told])
    assert people[2] is None
    assert people[0] == pytest.approx(5000, rel=0.05)
    (only,) = distances(told, people, SITES)
    assert (only.left, only.right) == ("north", "south")
