# SPDX-License-Identifier: Apache-2.0
"""Hash rows: alike everywhere, uniform on structured keys, signs of their own."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lexfed.sketch.tables.shape import HashRows, ItemKeys, string_keys

ROWS = HashRows(seed=7, depth=5, width=256)
# Written down once; another value would break every sketch that was stored.
COLUMNS = [[116, 13, 187], [170, 145, 10], [248, 56, 96], [32, 209, 52], [173, 71, 165]]
SIGNS = [[1, 1, -1], [-1, -1, -1], [-1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
STRINGS = [
    4490210150949542640,
    1421095870848096882,
    14760155660961413502,
    16294208416658607535,
]


def _keys(count: int, step: int = 1) -> ItemKeys:
    return np.arange(count, dtype=np.uint64) * np.uint64(step)


def test_the_same_seed_gives_the_same_rows_on_every_machine() -> None:
    assert ROWS.columns(_keys(3)).tolist() == COLUMNS
    assert ROWS.signs(_keys(3)).tolist() == SIGNS


def test_another_seed_gives_other_rows() -> None:
    other = HashRows(8, 5, 256)
    assert (ROWS.columns(_keys(1000)) == other.columns(_keys(1000))).mean() < 0.02


def test_the_first_rows_do_not_depend_on_how_many_follow() -> None:
    fewer = HashRows(7, 2, 256)
    assert np.array_equal(fewer.columns(_keys(99)), ROWS.columns(_keys(99))[:2])
    assert np.array_equal(fewer.signs(_keys(99)), ROWS.signs(_keys(99))[:2])


def test_a_column_in_half_the_width_is_half_the_column() -> None:
    narrow = HashRows(7, 5, 128)
    assert np.array_equal(narrow.columns(_keys(999)), ROWS.columns(_keys(999)) // 2)
    assert np.array_equal(narrow.signs(_keys(999)), ROWS.signs(_keys(999)))


def test_items_are_not_changed() -> None:
    keys = _keys(9)
    ROWS.columns(keys)
    assert keys.tolist() == list(range(9))


def test_no_items_have_no_columns() -> None:
    assert ROWS.columns(_keys(0)).shape == ROWS.signs(_keys(0)).shape == (5, 0)


def test_one_column_takes_everything() -> None:
    only = HashRows(7, 2, 1)
    assert not only.columns(_keys(50)).any()
    assert set(only.signs(_keys(50)).ravel().tolist()) == {-1, 1}


def _chi_square(found: NDArray[np.int64]) -> float:
    """Deviation from uniform; about normal with mean 0 and variance 1."""
    mean, freedom = found.mean(), found.size - 1
    squares = float(((found - mean) ** 2 / mean).sum())
    return (squares - freedom) / math.sqrt(2 * freedom)


# Each of 4 x 5 values is above 6 with probability below 1e-6 for ideal hashes (the
# chi-square with 511 degrees of freedom has a tail a little heavier than the normal).
@pytest.mark.parametrize("step", [1, 2**8, 2**32, 2**56 + 1])
def test_structured_keys_are_spread_evenly_over_columns_and_signs(step: int) -> None:
    for row in ROWS.places(_keys(50_000, step)):
        assert abs(_chi_square(np.bincount(row, minlength=512))) < 6


def test_without_the_mixer_structured_keys_are_not_spread() -> None:
    """Negative control: the bare multiplier sends steps of 2^56 to a few columns."""
    places = (_keys(50_000, 2**56) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(55)
    assert _chi_square(np.bincount(places.view(np.int64), minlength=512)) > 6


def test_rows_and_signs_are_independent_of_each_other() -> None:
    """Correlations of 20,000 signs, each beyond 6/sqrt(n) with probability 2e-9."""
    signs = ROWS.signs(_keys(20_000))
    halves = 1 - 2 * (ROWS.columns(_keys(20_000)) & 1)
    together = np.concatenate([signs, halves])
    correlations = together @ together.T / 20_000
    assert np.abs(correlations - np.eye(10)).max() < 6 / 20_000**0.5
    # Negative control: a row against itself.
    assert correlations[0, 0] == 1


def test_strings_have_keys_of_their_own() -> None:
    assert string_keys(["a", "b", "ä", ""]).tolist() == STRINGS
    assert string_keys([]).shape == (0,)


_texts = st.lists(st.text(max_size=6) | st.text("\0a", max_size=4), max_size=20)


@given(_texts)
def test_a_key_does_not_depend_on_the_other_strings(values: list[str]) -> None:
    """Different ones have different keys, but for one in 2^55 such lists."""
    keys = string_keys(values).tolist()
    assert keys == [string_keys([value])[0] for value in values]
    assert len(set(keys)) == len(set(values))


def test_blocks_of_strings_do_not_show() -> None:
    values = [str(at) for at in range(20_000)]
    keys = string_keys(values)
    assert keys[9000:9003].tolist() == string_keys(values[9000:9003]).tolist()
    assert len(set(keys.tolist())) == 20_000


def test_keys_of_similar_strings_are_spread_evenly() -> None:
    """As for numbers above: beyond 6 with probability below 1e-6."""
    keys = string_keys([f"patient {at}" for at in range(50_000)])
    for shift in (0, 27, 55):
        bits = (keys >> np.uint64(shift)) & np.uint64(511)
        assert abs(_chi_square(np.bincount(bits.astype(np.int64), minlength=512))) < 6


@pytest.mark.parametrize(
    ("seed", "depth", "width", "words"),
    [
        (-1, 1, 2, "`seed`"),
        (2**64, 1, 2, "`seed`"),
        (0, 0, 2, "`depth`"),
        (0, 65, 2, "`depth`"),
        (0, 1, 0, "`width`"),
        (0, 1, 2**31, "`width`"),
        (0, 1, 48, "power of two, got: 48"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(
    seed: int, depth: int, width: int, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        HashRows(seed, depth, width)
