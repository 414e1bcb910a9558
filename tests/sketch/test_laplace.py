# SPDX-License-Identifier: Apache-2.0
"""Sketches with Laplace noise: the pure epsilon, its charge, and what estimates get."""

import math

import numpy as np
import pytest

from lexfed.errors import DataError, Refused
from lexfed.privacy.pure_epsilon import gaussian_of
from lexfed.randomness import SecureSource, SeededSource
from lexfed.sketch.estimates.intervals import Estimate
from lexfed.sketch.estimates.noised_cells import (
    NoisedCells,
    inner_product,
    second_moment,
)
from lexfed.sketch.releases.laplace import (
    LaplaceColumn,
    LaplacePlan,
    add_noise,
    release_laplace,
)
from lexfed.sketch.releases.noised_sketch import Contribution
from lexfed.sketch.tables.counts import CountMin, CountSketch, CountTable
from lexfed.sketch.tables.shape import SketchKind, SketchShape
from lexfed.tiers import Tier
from support.sketch import laplace_checks as checks
from support.sketch.paying_checks import Watched, ledger_for


def test_no_outcome_is_likelier_than_stated() -> None:
    checks.no_outcome_is_likelier_than_stated()


def test_noise_has_the_stated_variance_in_every_cell() -> None:
    checks.noise_has_the_stated_variance_in_every_cell()


def test_two_tables_cost_the_sum_and_a_replacement_twice() -> None:
    plan = LaplacePlan(
        "both",
        (
            LaplaceColumn("a", Tier.PERSONAL, Contribution(5, items=2), 8, 20.0),
            LaplaceColumn("b", None, Contribution(), 1, 4.0),
        ),
    )
    assert plan.epsilon("add-remove") == pytest.approx(0.75)
    assert plan.epsilon("add-remove") >= 0.75
    assert plan.epsilon("replace-one") == pytest.approx(1.5)
    event = plan.event()
    assert 1 / event.noise_multiplier >= gaussian_of(0.75)
    assert (event.reads, event.samples) == (Tier.PERSONAL, 41)


def test_who_is_there_reads_no_tier() -> None:
    plan = LaplacePlan("people", (LaplaceColumn("n", None, Contribution(), 1, 4.0),))
    assert plan.event().reads is None


def test_the_ledger_is_charged_before_noise_is_drawn() -> None:
    plan, table = checks.PLAN, np.zeros((1, checks.CELLS), dtype=np.int64)
    ledger = ledger_for(plan.event())
    sketch = release_laplace(plan, [table], ledger, SeededSource(1))
    assert ledger.events() == (plan.event(),) == (sketch.event,)
    assert not sketch.private
    assert not table.any()
    assert (sketch.tables[0].cells == np.rint(sketch.tables[0].cells)).all()
    source = Watched()
    with pytest.raises(Refused):
        release_laplace(plan, [table], ledger, source)
    assert source.asked == 0
    assert release_laplace(
        plan, [table], ledger_for(plan.event()), SecureSource()
    ).private


def test_nothing_is_charged_for_tables_that_do_not_fit() -> None:
    ledger = ledger_for(checks.PLAN.event())
    huge = np.zeros((1, checks.CELLS), dtype=np.int64)
    huge[0, 3] = -(2**52) - 1
    for tables, words in (
        ([], "0 tables, and 1 are planned"),
        ([np.zeros((2, 2), dtype=np.int64)], "is planned"),
        ([huge], "larger than any honest one"),
    ):
        with pytest.raises(DataError, match=words):
            release_laplace(checks.PLAN, tables, ledger, SeededSource(1))
    assert ledger.events() == ()


def test_plans_that_protect_nobody_are_refused() -> None:
    column = LaplaceColumn("a", None, Contribution(), 4, 2.0)
    with pytest.raises(ValueError, match="names to differ"):
        LaplacePlan("twice", (column, column))
    with pytest.raises(ValueError, match="epsilon"):
        LaplacePlan("nothing", ())
    with pytest.raises(ValueError, match="scale"):
        LaplaceColumn("a", None, Contribution(), 4, 0.001)
    with pytest.raises(ValueError, match="width"):
        LaplaceColumn("a", None, Contribution(), 0, 1.0)


def _covered(
    kind: type[CountTable], kurtosis: float | None, trials: int = 400
) -> float:
    """Share of second moments whose interval holds the truth; small set, much noise."""
    own = np.arange(300, dtype=np.uint64)
    column = LaplaceColumn("set", None, Contribution(3), 256, 12.0)
    plan, held = LaplacePlan("set", (column,)), 0
    for seed in range(trials):
        shape = SketchShape(kind.kind, 3, 256, seed, "0" * 64)
        exact = kind.build(shape, own).cells
        (noised,) = add_noise(plan, [exact], SeededSource(seed))
        cells = NoisedCells(
            noised.cells,
            noised.variance,
            kind is CountSketch,
            column.kurtosis if kurtosis is None else kurtosis,
        )
        found = second_moment(cells)
        held += found.low <= 300 <= found.high
    return held / trials


@pytest.mark.parametrize("kind", [CountMin, CountSketch])
def test_second_moments_are_covered_under_laplace_noise(kind: type[CountTable]) -> None:
    """95 % of 400 trials, 5 deviations: false with probability below 1e-6."""
    slack = 5 * math.sqrt(0.95 * 0.05 / 400)
    assert abs(_covered(kind, None) - 0.95) < slack


def test_the_variance_of_gaussian_noise_would_be_too_small() -> None:
    """Negative control: with kurtosis 3 the intervals are too narrow."""
    assert _covered(CountMin, 3.0) < 0.95 - 5 * math.sqrt(0.95 * 0.05 / 400)


def _overlap(seed: int) -> Estimate:
    shape = SketchShape(SketchKind.COUNT_SKETCH, 5, 128, seed, "0" * 64)
    column = LaplaceColumn("keys", None, Contribution(5, signed=True), 128, 5.0)
    plan = LaplacePlan("keys", (column,))
    tables = []
    for site, start in enumerate((0, 600)):
        keys = np.arange(start, start + 1000, dtype=np.uint64)
        exact = CountSketch.build(shape, keys).cells
        (noised,) = add_noise(plan, [exact], SeededSource(seed, f"site {site}"))
        tables.append(NoisedCells(noised.cells, noised.variance, signed=True))
    return inner_product(*tables)


def test_overlaps_are_covered_under_laplace_noise() -> None:
    """Trials as above; the mean within 6 deviations of the truth."""
    found = [_overlap(seed) for seed in range(400)]
    held = sum(each.low <= 400 <= each.high for each in found) / 400
    assert abs(held - 0.95) < 5 * math.sqrt(0.95 * 0.05 / 400)
    values = [each.value for each in found]
    assert abs(np.mean(values) - 400) < 6 * np.std(values) / 20
