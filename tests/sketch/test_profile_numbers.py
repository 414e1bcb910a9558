# SPDX-License-Identifier: Apache-2.0
"""Quantiles, ranges, histograms. Error probabilities: 1e-5 for 95 % in 600 trials."""

import numpy as np
import pytest

from lexfed.arrays import Floats
from lexfed.sketch.profile.answers import ProfiledNumber, ProfiledQuantile
from lexfed.sketch.profile.cell_spread import Spread
from lexfed.sketch.profile.number_summaries import (
    SHARES,
    CellScale,
    histogram,
    quantiles,
    range_of,
)
from support.sketch.profile_tables import Federation, exactly

TRIALS = 600


def ages(persons: int = 5000) -> Floats:
    return np.random.default_rng(1).normal(52, 14, persons).clip(18, 95).round()


def incomes(persons: int = 5000) -> Floats:
    return np.random.default_rng(2).lognormal(7, 2, persons)


def amounts(persons: int = 5000) -> Floats:
    """Mostly zero, otherwise of either sign."""
    rng = np.random.default_rng(3)
    paid = rng.lognormal(4, 1, persons) * rng.choice([-1, 1], persons)
    return np.where(rng.random(persons) < 0.6, 0.0, paid)


COLUMNS = {"ages": ages(), "incomes": incomes(), "amounts": amounts()}


def scales(values: Floats, noise: float, seed: int) -> list[CellScale]:
    tables = Federation(noise, seed).number("x", values)
    return [CellScale.of(table, exactly(len(values))) for table in reversed(tables)]


@pytest.mark.parametrize("name", COLUMNS)
def test_intervals_of_quantiles_cover_in_95_percent_at_least(name: str) -> None:
    values = COLUMNS[name]
    truths = np.quantile(values, SHARES, method="inverted_cdf")
    covered = np.zeros(len(SHARES))
    far = 0.0
    for seed in range(TRIALS):
        for at, found in enumerate(quantiles(scales(values, 20.0, seed))):
            low, high = found.at.low, found.at.high
            covered[at] += (low is None or low <= truths[at]) and (
                high is None or truths[at] <= high
            )
        far += low is not None and low > truths[2]
    assert (covered / TRIALS > 0.91).all(), covered / TRIALS
    # Control: the intervals of the highest quantile mostly leave out the middle.
    assert far / TRIALS > 0.9


def test_quantiles_without_noise_to_speak_of_are_near() -> None:
    for values in COLUMNS.values():
        wanted = np.quantile(values, SHARES)
        found = [each.at.value for each in quantiles(scales(values, 0.01, 1))]
        # Half an octave at most, or a bin around zero.
        assert found == pytest.approx(wanted, rel=0.45, abs=12)


def test_half_octaves_make_quantiles_of_skewed_numbers_finer() -> None:
    both = scales(incomes(), 5.0, 1)
    middle = quantiles(both)[2].at
    alone = quantiles(both[:1])[2].at
    assert middle.low is not None
    assert middle.high is not None
    assert alone.low is not None
    assert alone.high is not None
    assert middle.high - middle.low < 0.3 * (alone.high - alone.low)


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        (ages(20_000), (15, 20), (86, 98)),
        (np.zeros(20_000), (0, 0), (0.005, 0.05)),
        (np.repeat([0.0, 1.0], 10_000), (0, 0), (1, 1.05)),
        (np.repeat([-7.0, 7.0], 10_000), (-7.6, -6.8), (6.8, 7.6)),
    ],
)
def test_ranges_hold_nearly_all_values_in_round_numbers(
    values: Floats, low: tuple[float, float], high: tuple[float, float]
) -> None:
    both = scales(values, 5.0, 1)
    found = range_of(quantiles(both), both[0])
    assert low[0] <= found[0] <= low[1]
    assert high[0] <= found[1] <= high[1]
    assert np.mean((values >= found[0]) & (values <= found[1])) > 0.98
    assert all(len(f"{end:.12g}".lstrip("-0.").replace(".", "")) <= 3 for end in found)


def bins(values: Floats, ends: tuple[float, float]) -> CellScale:
    return CellScale.of(Federation(1.0).bins("x", [values], ends), exactly(len(values)))


def test_a_range_stays_between_the_ends_that_were_asked() -> None:
    told = [
        ProfiledQuantile(share, ProfiledNumber(value, None, None))
        for share, value in ((0.005, -1e9), (0.995, 1e9))
    ]
    assert range_of(told, bins(ages(), (0.0, 128.0))) == (0.0, 130.0)


def test_a_range_goes_hardly_further_than_occupied_cells() -> None:
    wide = [
        ProfiledQuantile(0.005, ProfiledNumber(40.0, None, 45.0)),
        ProfiledQuantile(0.995, ProfiledNumber(60.0, 55.0, None)),
    ]
    low, high = range_of(wide, bins(np.repeat([30.0, 70.0], 500), (0.0, 128.0)))
    # 5 persons of 1000 are hidden in a cell: an eighth of the way to the ends.
    assert 24 <= low <= 30
    assert 70 <= high <= 80
    # Where the intervals are narrow, it goes no further than these.
    narrow = [
        ProfiledQuantile(0.005, ProfiledNumber(40.0, 39.0, 45.0)),
        ProfiledQuantile(0.995, ProfiledNumber(60.0, 55.0, 61.0)),
    ]
    assert range_of(narrow, bins(np.repeat([30.0, 70.0], 500), (0.0, 128.0))) == (
        39,
        61,
    )


def test_noise_that_hides_the_ends_makes_a_range_wider() -> None:
    values = ages(10_000)
    for noise in (20.0, 60.0):
        held = []
        for seed in range(50):
            both = scales(values, noise, seed)
            low, high = range_of(quantiles(both), both[0])
            held.append(np.mean((values >= low) & (values <= high)))
        assert np.quantile(held, 0.1) > 0.98
    # Control: the quantiles alone leave out more than that under this noise.
    told = [quantiles(scales(values, 60.0, seed)) for seed in range(50)]
    cut = [
        np.mean((values >= q[0].at.value) & (values <= q[-1].at.value)) for q in told
    ]
    assert np.quantile(cut, 0.1) < 0.95


def test_the_range_of_one_number_is_no_point() -> None:
    told = [
        ProfiledQuantile(share, ProfiledNumber(20.0, 20.0, 20.0))
        for share in (0.005, 0.995)
    ]
    assert range_of(told, bins(np.full(500, 20.0), (0.0, 100.0))) == (20.0, 20.05)


def test_a_histogram_has_everybody_once() -> None:
    values = np.append(ages(), [np.nan] * 500)
    table = Federation(0.001).bins("x", [values], (20.0, 84.0))
    bars = histogram(CellScale.of(table, exactly(len(values))), None)
    assert not bars.by_size
    assert len(bars.counts) == 64
    total = sum(bars.counts) + bars.below.value + bars.above.value
    assert total == pytest.approx(5000, abs=1)
    assert bars.below.value == pytest.approx((values < 20).sum(), abs=0.1)
    assert bars.above.value == pytest.approx((values > 84).sum(), abs=0.1)


def test_crowded_bins_are_shown_by_size() -> None:
    bins, sizes = scales(np.exp2(np.arange(4000) / 200), 3.0, 1)
    assert not histogram(bins, None).by_size
    shown = histogram(bins, sizes)
    assert shown.by_size
    assert len(shown.counts) == 40
    assert shown.edges[0] == 1.0
    assert shown.counts == pytest.approx([100.0] * 40, abs=15)


def test_sizes_too_small_to_be_seen_are_one_bar_around_zero() -> None:
    bins, sizes = scales(amounts(20_000), 5.0, 1)
    shown = histogram(bins, sizes)
    assert shown.by_size
    largest = int(np.argmax(shown.counts))
    assert shown.edges[largest] < 0 < shown.edges[largest + 1]
    assert shown.counts[largest] == pytest.approx(12_000, rel=0.05)
    assert shown.reaches[largest] > max(
        reach for at, reach in enumerate(shown.reaches) if at != largest
    )


def test_a_single_value_is_shown_by_bins() -> None:
    bins, sizes = scales(np.ones(5000), 5.0, 1)
    assert not histogram(bins, sizes).by_size
    nothing = Federation(5.0).doubles("x", np.empty(0))
    assert not histogram(bins, CellScale.of(nothing, exactly(5000))).by_size


def test_nobody_has_no_quantiles() -> None:
    table = Federation(20.0).bins("x", [np.full(100, np.nan)], (0.0, 1.0))
    assert quantiles([CellScale.of(table, exactly(100))]) == ()


def scale_of(counts: list[float], low: float, high: float) -> CellScale:
    """Cells below, between and above two ends, and one for missing values."""
    spread = Spread(np.array(counts), 1e-6, sum(counts))
    return CellScale(spread, np.array([-np.inf, low, high, np.inf]))


def test_tables_that_contradict_each_other_leave_the_first() -> None:
    scales = [scale_of([0.0, 100.0, 0.0, 0.0], at, at + 1) for at in (2.0, 5.0)]
    median = quantiles(scales)[2].at
    assert (median.low, median.high) == (2.0, 3.0)
    assert 2.0 <= median.value <= 3.0


def test_values_below_all_bins_have_the_lowest_edge_and_no_end() -> None:
    [median] = quantiles([scale_of([100.0, 0.0, 0.0, 0.0], 2.0, 3.0)])[2:3]
    assert (median.at.low, median.at.value, median.at.high) == (None, 2.0, 2.0)
