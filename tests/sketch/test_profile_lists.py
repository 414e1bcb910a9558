# SPDX-License-Identifier: Apache-2.0
"""Lists of values. Error probabilities: 1e-8 for a coverage of 95 % in 4000 trials."""

import numpy as np
import pytest

from lexfed.sketch.profile.value_lists import (
    chosen_count,
    declared_values,
    found_values,
    other_count,
    unlisted_count,
)
from support.sketch.profile_tables import Federation, exactly

NOISE = 10.0


def test_counts_of_a_declared_list_are_covered() -> None:
    codes = np.repeat([0.0, 1.0, 2.0, -1.0, np.nan], [400, 60, 5, 30, 5])
    truths = [400, 60, 5, 30]
    federation = Federation(NOISE)
    held = np.zeros(4)
    for _ in range(4000):
        table = federation.codes("ward", [codes], 3)
        listed = declared_values(table, ("a", "b", "c"), exactly(500))
        assert [each.value for each in listed] == ["a", "b", "c"]
        counts = [*(each.count for each in listed), other_count(table, exactly(500))]
        for at, (truth, count) in enumerate(zip(truths, counts, strict=True)):
            assert count.low is not None
            assert count.high is not None
            held[at] += count.low <= truth <= count.high
    assert ((held / 4000 > 0.93) & (held / 4000 < 0.97)).all()


def test_a_list_of_another_length_is_refused() -> None:
    table = Federation(NOISE).codes("ward", [np.zeros(10)], 3)
    with pytest.raises(ValueError, match="3 values, got 2"):
        declared_values(table, ("a", "b"), exactly(10))


@pytest.mark.no_cover
@pytest.mark.parametrize("truth", [30.0, 50.0, 60.0, 200.0])
def test_counts_of_what_stood_out_are_covered_given_that(truth: float) -> None:
    least = 50.0
    noised = truth + np.random.default_rng(1).normal(0, NOISE, 200_000)
    told = noised[noised > least][:4000]
    answers = [chosen_count(each, least, NOISE, 1000.0) for each in told]
    held = [each.low <= truth <= each.high for each in answers]  # type: ignore[operator]
    assert len(held) == 4000
    assert 0.935 < np.mean(held) < 0.965
    # The value told is too high as often as too low.
    assert 0.46 < np.mean([each.value > truth for each in answers]) < 0.54
    # Control: the usual interval fails near the threshold.
    usual = np.mean(np.abs(told - truth) < 1.96 * NOISE)
    assert usual < 0.8 or truth >= least


def test_counts_stay_between_nobody_and_all() -> None:
    near = chosen_count(50.001, 50.0, NOISE, 1000.0)
    assert near.low == 0.0
    far = chosen_count(2000.0, 50.0, NOISE, 1000.0)
    assert far.high == pytest.approx(1000.0)
    assert chosen_count(70.0, 0.0, 0.0, 1000.0).low == 70.0


def test_words_are_found_whole_with_their_counts() -> None:
    words: dict[str | None, int] = {
        "emergency": 900,
        "elective": 700,
        "é": 400,
        "a text that is longer than sixteen": 300,
        "rare": 4,
        None: 100,
    }
    people = sum(words.values())
    tables = Federation(NOISE, 1).words("kind", words)
    listed = found_values(tables)
    assert [(each.value, each.whole) for each in listed] == [
        ("emergency", True),
        ("elective", True),
        ("é", True),
        ("a text that is l", False),
    ]
    for each, truth in zip(listed, (900, 700, 400, 300), strict=True):
        assert each.count.value == pytest.approx(truth, abs=50)
    rest = unlisted_count(tables, listed, exactly(people))
    assert rest is not None
    assert rest.low is not None
    assert rest.high is not None
    assert rest.low <= 4 <= rest.high


def test_values_that_nobody_has_are_listed_as_rarely_as_stated() -> None:
    # At most 5 % of 200, 10; 24 or more have probability 1e-4 at most.
    wrong = sum(
        bool(found_values(Federation(NOISE, s).words("kind", {}))) for s in range(200)
    )
    assert wrong < 24


@pytest.mark.no_cover
def test_unlisted_persons_are_covered() -> None:
    words: dict[str | None, int] = {"a": 300, "b": 150, None: 50}
    words |= {f"{letter}{number}": 3 for letter in "pqrst" for number in range(10)}
    people = sum(words.values())
    held = 0
    for seed in range(1000):
        tables = Federation(NOISE, seed).words("kind", words)
        rest = unlisted_count(tables, found_values(tables), exactly(people))
        assert rest is not None
        assert rest.low is not None
        assert rest.high is not None
        held += rest.low <= 150 <= rest.high
    # Below 92 % of 1000 with probability 1e-4.
    assert held > 920
