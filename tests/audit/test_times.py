# SPDX-License-Identifier: Apache-2.0
"""Times of entries against times that witnesses signed."""

from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.audit.verify.outside_evidence import times_in_order

YEAR = 365 * 24 * 3600
HONEST = [100, 200, 300, 400]
WITNESSED = [(1, 105), (2, 203), (4, 410)]


def indices(entries: list[int], signed: list[tuple[int, int]], skew: int) -> list[int]:
    return [found.index for found in times_in_order(entries, signed, skew)]


def test_honest_times_pass() -> None:
    assert indices(HONEST, WITNESSED, skew=5) == []


def test_a_clock_a_year_ahead_is_found() -> None:
    ahead = [time + YEAR for time in HONEST]
    assert indices(ahead, WITNESSED, skew=3600) == [0, 1, 2, 3]


def test_a_clock_a_year_behind_is_found() -> None:
    # Nothing was signed before the first entry, so its time has no lower bound.
    behind = [time - YEAR for time in HONEST]
    assert indices(behind, WITNESSED, skew=3600) == [1, 2, 3]


def test_one_entry_dated_back_is_found_and_named() -> None:
    (found,) = times_in_order([100, 200, 90, 400], WITNESSED, skew=5)
    assert (found.index, found.time) == (2, 90)
    assert (found.earliest, found.latest) == (203, 410)
    assert str(found) == "entry 2 claims time 90, signed times allow 203 to 410"


def test_the_skew_is_inclusive_on_both_sides() -> None:
    assert indices([105 + 5, 105 - 5], [(1, 105)], skew=5) == []
    assert indices([105 + 6, 105 - 6], [(1, 105)], skew=5) == [0, 1]


def test_open_ends_are_said_in_words() -> None:
    first, last = times_in_order([999, 0], [(1, 500)], skew=0)
    assert "allow any time to 500" in str(first)
    assert "allow 500 to any time" in str(last)


def test_without_signatures_there_is_nothing_to_compare_with() -> None:
    assert indices([5, 3, -YEAR], [], skew=0) == []


def test_order_of_entries_does_not_depend_on_their_times() -> None:
    assert indices([30, 10, 20], [(3, 40)], skew=0) == []


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.integers(0, 50), max_size=8),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50)), max_size=8),
    st.integers(0, 5),
)
def test_every_pair_of_entry_and_signature_is_judged(
    entries: list[int], signed: list[tuple[int, int]], skew: int
) -> None:
    wrong = [
        index
        for index, time in enumerate(entries)
        if any(
            (time > at + skew) if index < size else (time < at - skew)
            for size, at in signed
        )
    ]
    assert indices(entries, signed, skew) == wrong
