# SPDX-License-Identifier: Apache-2.0
"""Thresholds: what a lying server cannot get round, and what is said otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.errors import ConfigError
from lexfed.secagg.masks.thresholds import Threshold
from support.secagg import checks as secagg_checks


@pytest.mark.parametrize(
    ("sites", "colluders", "shares", "dropouts"),
    [
        (120, 24, 73, 47),
        (120, 36, 79, 41),
        (24, 7, 16, 8),
        (100, 33, 67, 33),
        (3, 0, 2, 1),
        (3, 1, 3, 0),
        (2, 0, 2, 0),
    ],
)
def test_known_thresholds(
    sites: int, colluders: int, shares: int, dropouts: int
) -> None:
    found = Threshold.malicious(sites, colluders)
    assert (found.shares, found.dropouts) == (shares, dropouts)


def test_a_lying_server_never_gets_both_kinds() -> None:
    secagg_checks.a_lying_server_never_gets_both_kinds()


@given(st.integers(2, 300), st.data())
def test_it_is_the_smallest_and_leaves_two_honest_sites(
    sites: int, data: st.DataObject
) -> None:
    colluders = data.draw(st.integers(0, sites - 2))
    found = Threshold.malicious(sites, colluders)
    assert 2 * found.shares > sites + colluders
    assert 2 * (found.shares - 1) <= sites + colluders
    assert found.shares <= sites
    assert found.honest >= 2


@given(st.integers(2, 60), st.data())
def test_dropouts_are_survived_or_refused(sites: int, data: st.DataObject) -> None:
    colluders = data.draw(st.integers(0, sites - 2))
    dropouts = data.draw(st.integers(0, sites))
    possible = Threshold.malicious(sites, colluders).dropouts
    if dropouts <= possible:
        assert Threshold.malicious(sites, colluders, dropouts).dropouts == possible
    else:
        with pytest.raises(ConfigError, match="survive"):
            Threshold.malicious(sites, colluders, dropouts)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ((3, 1, 1), "three sites survive one dropout only with no colluder"),
        ((9, 5, 2), "9 sites survive two dropouts only with at most four colluders"),
        ((4, 2, 1), "four sites survive one dropout only with at most one colluder"),
        ((3, 0, 2), "three sites survive at most one dropout, without a colluder"),
        ((3, 2, 0), "two colluders among three sites would leave no two honest"),
        ((1, 0, 0), "no colluders among one site would leave no two honest"),
    ],
)
def test_what_cannot_be_withstood_is_said_in_words(
    asked: tuple[int, int, int], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        Threshold.malicious(*asked)
    (problem,) = caught.value.problems
    assert problem.where == "secure aggregation"
    assert problem.hint


def test_the_words_are_true() -> None:
    assert Threshold.malicious(3, 0, 1).shares == 2
    assert Threshold.malicious(9, 4, 2).shares == 7
    assert Threshold.malicious(4, 1, 1).shares == 3


@pytest.mark.parametrize("asked", [(3, -1, 0), (3, 4, 0), (3, 0, -1), (3, 0, 4)])
def test_numbers_that_cannot_be_are_refused(asked: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="expected 0 <= "):
        Threshold.malicious(*asked)
