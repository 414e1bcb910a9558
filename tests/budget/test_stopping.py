# SPDX-License-Identifier: Apache-2.0
"""A tower is done when its releases stop shrinking, and not before."""

from hypothesis import given
from hypothesis import strategies as st

from lexfed.budget.tower_steering import Plateau


def after(sizes: list[float]) -> Plateau:
    state = Plateau()
    for size in sizes:
        state = state.after(size)
    return state


def test_a_plateau_is_noticed_after_the_patience() -> None:
    falling = [1.0, 0.8, 0.6, 0.4, 0.2]
    assert not after(falling).is_over(3)
    assert not after([*falling, *[0.9] * 2]).is_over(3)
    assert after([*falling, *[0.9] * 3]).is_over(3)


def test_a_size_of_zero_is_a_plateau_too() -> None:
    """An average that dies away shrinks for ever, by less than counts as progress."""
    assert not after([1.0, *[0.0] * 10]).is_over(5)
    assert after([1.0, *[0.0] * 40]).is_over(5)
    assert after([0.0] * 6).is_over(5)


@given(sizes=st.lists(st.floats(0.0, 1e9), max_size=50))
def test_waiting_counts_rounds_without_progress(sizes: list[float]) -> None:
    state = after(sizes)
    assert 0 <= state.waited <= max(0, len(sizes) - 1)
    assert state.best <= state.largest
    assert state.rounds == len(sizes)


def test_the_state_survives_its_vector() -> None:
    state = after([1.0, 0.5, 0.7])
    assert Plateau.from_array(state.to_array()) == state
