# SPDX-License-Identifier: Apache-2.0
"""Checks of what sketches pay: each passes on the real code and fails on its mutants.

**Neighbours.** A person who reaches the bound puts all occurrences into one cell of
every row. In a table of zeros, every column is a trial without that person; in a table
full of that person, a trial with. The noise of cells is independent, so the trials
are. The sum over a column's rows is the best statistic; at half the shift, a mechanism
with parameter mu errs with probability Phi(-mu/2) both ways. Error rates measured in
N trials are below the true ones by more than sqrt(ln(1/b)/(2N)) with probability at
most b (Hoeffding), so what `least_mu` returns exceeds the true mu with probability at
most 2 b, here 2e-6.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.errors import Refused, SecAggError
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import Ledger, Limits
from lexfed.randomness import RandomSource, SeededSource
from lexfed.sketch.releases import noised_sketch
from lexfed.sketch.releases.noised_sketch import (
    Contribution,
    GaussianColumn,
    NoisedSketch,
    NoisePlan,
    person_moves,
)
from lexfed.sketch.sharing import sum_plan
from lexfed.sketch.sharing.sum_plan import MaskedPlan
from lexfed.tiers import Tier

Integers = NDArray[np.int64]

TRIALS = 20_000
CONFIDENCE = 1e-6
PERSON = Contribution(depth=3, items=5, records=4)
SIGMA = 20.0 * math.sqrt(3.0)  # mu = 1
PLAN = NoisePlan(
    "profile",
    (GaussianColumn("age", Tier.PERSONAL, PERSON, TRIALS, SIGMA),),
    people=1000,
)
MASKED = MaskedPlan(PLAN, NoiseCohort(sites=3, dropouts=1))


@dataclass
class Watched:
    """A seeded source that notes when it is asked."""

    inner: RandomSource = field(default_factory=lambda: SeededSource(7))
    asked: int = 0
    private: bool = False

    def words(self, count: int) -> NDArray[np.uint64]:
        self.asked += 1
        return self.inner.words(count)


def ledger_for(event: Release, times: int = 1) -> Ledger:
    """Return a ledger that admits the event so often."""
    return Ledger.planned(Limits(1000.0, 1e-6), [(event, times)], "rdp")


def zeros(plan: NoisePlan) -> list[Integers]:
    return [np.zeros(column.shape, dtype=np.int64) for column in plan.columns]


def persons(plan: NoisePlan) -> list[Integers]:
    """Return tables with one worst person in each column."""
    return [np.full(column.shape, 20, dtype=np.int64) for column in plan.columns]


def least_mu(without: NoisedSketch, there: NoisedSketch, shift: float) -> float:
    """Return a lower bound on the parameter of the mechanism, see above."""
    sums = [sketch.tables[0].cells.sum(axis=0) for sketch in (without, there)]
    slack = math.sqrt(math.log(1.0 / CONFIDENCE) / (2.0 * len(sums[0])))
    taken_for_there = float(np.mean(sums[0] > shift / 2.0)) + slack
    overlooked = float(np.mean(sums[1] <= shift / 2.0)) + slack
    normal = NormalDist()
    return -normal.inv_cdf(taken_for_there) - normal.inv_cdf(overlooked)


def masked_sum(tables: list[Integers], seed: str, present: int) -> NoisedSketch:
    """Noise at `present` sites, all data at the first, and add up."""
    parts = [
        sum_plan.noised_share(
            MASKED,
            tables if site == 0 else zeros(PLAN),
            ledger_for(MASKED.event()),
            SeededSource(site, seed),
        )
        for site in range(present)
    ]
    return sum_plan.opened_sketch(MASKED, np.sum(parts, axis=0), present, private=False)


def a_release_tells_no_more_than_its_event() -> None:
    without, there = (
        noised_sketch.release_sketch(
            PLAN, tables, ledger_for(PLAN.event()), SeededSource(seed)
        )
        for seed, tables in enumerate((zeros(PLAN), persons(PLAN)))
    )
    # 3 rows of 20 occurrences: what the person adds, known without any formula.
    found = least_mu(without, there, shift=60.0)
    assert 0.8 < found <= 1.0 / there.event.noise_multiplier


def a_masked_sum_tells_no_more_than_its_event() -> None:
    """With one of three sites missing: the least noise that is allowed."""
    without = masked_sum(zeros(PLAN), "without", 2)
    there = masked_sum(persons(PLAN), "there", 2)
    found = least_mu(without, there, shift=60.0)
    assert 0.8 < found <= 1.0 / there.event.noise_multiplier


def stated_variances_are_those_of_the_noise() -> None:
    """60,000 cells: the sample variance has a deviation of .58 %; 6 are 3.5 %, so that
    a correct variance fails with a probability below 1e-8."""
    sketches = [
        noised_sketch.release_sketch(
            PLAN, zeros(PLAN), ledger_for(PLAN.event()), SeededSource(3)
        ),
        masked_sum(zeros(PLAN), "variance", 2),
        masked_sum(zeros(PLAN), "variance", 3),
    ]
    for sketch in sketches:
        (table,) = sketch.tables
        measured = float(np.mean(table.cells**2))
        assert abs(measured / table.variance - 1.0) < 0.035
        (group,) = sketch.event.groups
        assert table.variance >= group.sigma**2


def cells_have_noise_of_their_own() -> None:
    """Correlations of 20,000 cells: 6 deviations are .043, exceeded with 2e-9 each."""
    ledger = ledger_for(PLAN.event(), 2)
    source = SeededSource(4)
    pair = [
        noised_sketch.release_sketch(PLAN, zeros(PLAN), ledger, source)
        for _ in range(2)
    ]
    rows = [row for sketch in pair for row in sketch.tables[0].cells]
    found = np.corrcoef(np.array(rows)) - np.eye(len(rows))
    assert float(np.abs(found).max()) < 0.043
    (cells,) = (table.cells for table in pair[0].tables)
    assert abs(float(np.corrcoef(cells[0, 1:], cells[0, :-1])[0, 1])) < 0.043


def nothing_is_drawn_before_it_is_paid() -> None:
    event = PLAN.event()
    shares = MASKED.event()
    for kind in ("release", "share"):
        source = Watched()
        ledger = ledger_for(event if kind == "release" else shares)
        for paid in (True, False):
            before = source.asked
            try:
                if kind == "release":
                    noised_sketch.release_sketch(PLAN, zeros(PLAN), ledger, source)
                else:
                    sum_plan.noised_share(MASKED, zeros(PLAN), ledger, source)
            except Refused:
                assert not paid
                assert source.asked == before
            else:
                assert paid
        assert len(ledger.events()) == 1


def an_event_reads_its_most_sensitive_column() -> None:
    person = Contribution()
    plan = NoisePlan(
        "profile",
        (
            GaussianColumn("town", Tier.NON_PERSONAL, person, 4, 2.0),
            GaussianColumn("diagnosis", Tier.SPECIAL, person, 4, 2.0),
            GaussianColumn("age", Tier.PERSONAL, person, 8, 4.0),
        ),
        people=10,
    )
    event = plan.event()
    assert event.reads is Tier.SPECIAL
    assert event.samples == 16
    assert MaskedPlan(plan, NoiseCohort(3)).event().samples == 4 * 3 * 16
    # Squares of clip/sigma add up: a quarter, a quarter and a sixteenth.
    assert math.isclose(event.noise_multiplier, 1.0 / math.sqrt(9.0 / 16.0))


def few_sites_open_nothing() -> None:
    total = np.zeros(3 * TRIALS, dtype=np.int64)
    sum_plan.opened_sketch(MASKED, total, 2, private=False)
    with pytest.raises(SecAggError, match="1 sites are in the sum"):
        sum_plan.opened_sketch(MASKED, total, 1, private=False)


def replacing_signs_moves_twice_and_roots_are_not_rounded_down() -> None:
    for depth in range(1, 60):
        for signed in (False, True):
            table = Contribution(depth=depth, items=3, signed=signed)
            # The same cells with other signs, or other cells.
            square = depth * (6**2 if signed else 2 * 3**2)
            found = Fraction(person_moves([table], "replace-one").l2) ** 2
            assert square <= found <= square * (1 + Fraction(1, 2**50))
            assert person_moves([table], "replace-one").l1 == 6 * depth
