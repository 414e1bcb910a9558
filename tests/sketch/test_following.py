# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from lexfed.arrays import Floats
from lexfed.data.letter_pairs import (
    END,
    LEVELS,
    PAIRS,
    SYMBOLS,
    is_ended,
    pairs_of,
)
from lexfed.sketch.queries.refinements import (
    ERROR,
    asked_prefixes,
    ends_after,
    prefixes_after,
    standing_out,
    threshold,
)
from lexfed.sketch.queries.requested_tables import (
    BINS,
    DOUBLES,
    MOST_PREFIXES,
    Domain,
    ReleasedTable,
    RequestedTable,
    double_cells,
)

NOISE = 10.0


def width_of(level: int) -> int:
    return (PAIRS if level == 1 else MOST_PREFIXES * PAIRS) + 2


def told(
    domain: Domain, cells: Floats, asked: Floats | None = None, sites: int = 0
) -> ReleasedTable:
    slots = range(1 + (0 if asked is None else len(asked)) // MOST_PREFIXES)
    table = RequestedTable("age", domain, tuple(slots), cells.shape[-1], sites=sites)
    return ReleasedTable(
        table,
        np.empty(0) if asked is None else asked,
        cells.reshape(table.shape),
        NOISE**2,
    )


def doubles(values: Floats, seed: int = 0) -> ReleasedTable:
    counts = np.bincount(double_cells(values), minlength=DOUBLES + 1)
    noise = np.random.default_rng(seed).normal(0, NOISE, DOUBLES + 1)
    return told("doubles", counts + noise)


def letters(
    words: list[str], level: int, asked: Floats, seed: int = 0
) -> ReleasedTable:
    """The table of a level that sites would count for these words, with noise."""
    cells = np.random.default_rng(seed).normal(0, NOISE, width_of(level))
    prefixes = asked.reshape(-1, level - 1).tolist() if level > 1 else [[]]
    for word in words:
        pairs = pairs_of(word)
        if list(pairs[: level - 1]) in prefixes:
            at = prefixes.index(list(pairs[: level - 1]))
            cells[at * PAIRS + pairs[level - 1]] += 1
        else:
            cells[-2] += 1
    return told("letters", cells, asked)


def test_ends_hold_the_bulk_of_a_column_in_round_bins() -> None:
    ages = np.random.default_rng(1).normal(50, 12, 20_000).clip(18, 95).round()
    ends = ends_after(doubles(ages))
    assert ends is not None
    low, high = ends
    assert low <= 18
    assert 95 <= high <= 200
    width = (high - low) / BINS
    assert width in (1.0, 2.0)
    assert low % width == 0


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([0.0], 0.0, 1.28),
        ([0.0, 1.0], 0.0, 2.56),
        ([-1.0, 0.0], -2.56, 0.0),
        ([-30.0, 30.0], -46.0, 82.0),
        ([1e-7, 2e-7], 5.5e-08, 3.75e-07),
        ([1000.0, 1001.0], 500.0, 1780.0),
        ([-1001.0, -1000.0], -1780.0, -500.0),
        ([1.0, 64.0], 0.0, 128.0),
        ([-64.0, -1.0], -128.0, 0.0),
        ([np.inf, 1.0], 0.0, 2.56e19),
        ([-np.inf, 1.0], -1.88e19, 6.8e18),
    ],
)
def test_ends_of_simple_columns(values: list[float], low: float, high: float) -> None:
    assert ends_after(doubles(np.repeat(values, 5000))) == (low, high)


def test_noise_alone_has_ends_as_rarely_as_stated() -> None:
    # At most 5 % of 400 times, 20; 38 or more have probability 1e-4 at most.
    found = sum(
        ends_after(doubles(np.empty(0), seed)) is not None for seed in range(400)
    )
    assert found < 38
    # Control: with the threshold of a single cell nearly all of them find something.
    single = threshold(1, NOISE**2, ERROR)
    alone = sum(
        bool((doubles(np.empty(0), seed).counts[0, 0, :DOUBLES] > single).any())
        for seed in range(400)
    )
    assert alone > 200


def test_missing_values_have_no_ends() -> None:
    assert ends_after(doubles(np.full(10_000, np.nan))) is None


def test_the_tables_of_sites_are_added() -> None:
    # 30 persons are below the threshold of one table, 42, and 90 above that of three.
    one = np.bincount(double_cells(np.repeat([1.0, 64.0], 30)), minlength=DOUBLES + 1)
    assert ends_after(told("doubles", one.astype(float))) is None
    sites = np.stack([one.astype(float)] * 3)
    assert ends_after(told("doubles", sites, sites=3)) == (0.0, 128.0)


def test_words_are_followed_to_their_ends() -> None:
    words = ["north"] * 500 + ["north east"] * 400 + ["ü"] * 300 + ["rare"] * 3
    asked = np.empty(0)
    found = {}
    for level in range(1, LEVELS + 1):
        table = letters(words, level, asked, seed=level)
        for pairs, count in standing_out(table):
            if is_ended(pairs[-1]):
                found[pairs] = count
        if level < LEVELS:
            asked = prefixes_after(table, level + 1)
            assert len(asked) == MOST_PREFIXES * level
    kept = {pairs_of(word)[: len(word) // 2 + 1] for word in ("north", "north east")}
    assert set(found) == kept | {pairs_of("ü")[:4]}


def test_the_largest_prefixes_are_kept_in_their_order() -> None:
    words = [chr(ord("A") + at // 20) + chr(ord("a") + at % 20) for at in range(40)]
    crowd = [word + "x" for at, word in enumerate(words) for _ in range(200 + 50 * at)]
    kept = prefixes_after(letters(crowd, 1, np.empty(0)), 2)
    expected = [pairs_of(word)[0] for word in reversed(words)][:MOST_PREFIXES]
    assert kept.tolist() == expected


def test_words_that_have_ended_are_not_followed() -> None:
    kept = prefixes_after(letters(["a"] * 500, 1, np.empty(0)), 2)
    assert kept.tolist() == [-1.0] * MOST_PREFIXES
    assert asked_prefixes(letters([], 2, kept)) == []
    assert standing_out(letters(["ab"] * 500, 2, kept)) == []


def test_no_pair_after_an_end_is_followed() -> None:
    cells = np.zeros(width_of(1))
    cells[END * SYMBOLS + 5] = 1000.0
    assert standing_out(told("letters", cells)) == []


def test_noise_alone_has_prefixes_as_rarely_as_stated() -> None:
    # At most ERROR / LEVELS of 200 tables, 1.25; 9 or more have probability 1e-5.
    tables = [letters([], 1, np.empty(0), seed) for seed in range(200)]
    assert sum(bool(standing_out(table)) for table in tables) < 9
    # Control: with the threshold of a single cell every table finds something.
    single = threshold(1, NOISE**2, ERROR)
    assert all((table.counts[0, 0, :PAIRS] > single).any() for table in tables)


def test_tables_of_another_domain_or_level_are_refused() -> None:
    one = doubles(np.empty(0))
    with pytest.raises(ValueError, match="table of letters"):
        prefixes_after(one, 2)
    first = letters([], 1, np.empty(0))
    with pytest.raises(ValueError, match="table of doubles"):
        ends_after(first)
    with pytest.raises(ValueError, match="level 2 next, got: 3"):
        prefixes_after(first, 3)
    with pytest.raises(ValueError, match="32 prefixes of 0 pairs"):
        standing_out(replace(first, asked=np.zeros(32)))
