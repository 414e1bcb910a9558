# SPDX-License-Identifier: Apache-2.0
"""Comparing two sketches: coverage, bias, folding, and what cannot be compared."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np
import pytest

from lexfed.errors import DataError
from lexfed.privacy.accountants import gdp
from lexfed.privacy.noise.gaussian import delta_sampler
from lexfed.randomness import SeededSource
from lexfed.sketch.joining.comparison import PeopleOverlap, combined_price, compare
from lexfed.sketch.joining.keys import PersonKeys, people_of
from lexfed.sketch.joining.offered_sketch import OfferedSketch, exact_tables, offer
from lexfed.sketch.joining.terms import JoiningTerms

TRIALS = 600
SLACK = 5 * math.sqrt(0.95 * 0.05 / TRIALS)
"""Five deviations of a share of 95 %: false with probability below 1e-6 each."""


@dataclass(frozen=True)
class Case:
    """Two sets and what each pays."""

    left: int
    right: int
    both: int
    budgets: tuple[tuple[float, float | None], tuple[float, float | None]]
    size: int

    def truth(self) -> dict[str, float]:
        either = self.left + self.right - self.both
        return {
            "left": self.left,
            "right": self.right,
            "both": self.both,
            "either": either,
            "jaccard": self.both / either,
            "left_share": self.both / self.left,
            "right_share": self.both / self.right,
        }

    def people(self) -> tuple[PersonKeys, PersonKeys]:
        start = self.left - self.both
        return (
            people_of(f"p{n}" for n in range(self.left)),
            people_of(f"p{n}" for n in range(start, start + self.right)),
        )

    def found(self) -> Iterator[PeopleOverlap]:
        people = self.people()
        for seed in range(TRIALS):
            left, right = (self.side(seed, at, people[at]) for at in (0, 1))
            yield compare(left, right)

    def side(self, seed: int, at: int, people: PersonKeys) -> OfferedSketch:
        terms = JoiningTerms(self.size, seed, *self.budgets[at])
        tables = exact_tables(terms, people)
        return offer(terms, tables, SeededSource(seed, f"side {at}"))


PURE, GAUSSIAN = (1.0, None), (3.0, 1e-6)
CASES = [
    Case(400, 300, 120, (PURE, PURE), 400),
    Case(600, 500, 200, (GAUSSIAN, GAUSSIAN), 600),
    Case(500, 300, 100, (GAUSSIAN, PURE), 600),  # two widths: one is folded
    Case(200, 60, 20, ((5.0, None), (5.0, None)), 200),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_intervals_cover_and_values_are_right_in_mean(case: Case) -> None:
    found, truth = list(case.found()), case.truth()
    for field in fields(PeopleOverlap):
        each = [getattr(overlap, field.name) for overlap in found]
        true = truth[field.name]
        held = np.mean([e.low <= true <= e.high for e in each])
        # Whole numbers: an interval of such noise may hold a little more.
        assert 0.95 - SLACK < held < 0.97 + SLACK, field.name
    values = np.array([overlap.both.value for overlap in found])
    variances = np.array([overlap.both.variance for overlap in found])
    error = values.std() / math.sqrt(TRIALS)
    assert abs(values.mean() - case.both) < 6 * error + 0.02 * case.both
    # A variance of 600 values is known to 6 %: five deviations are 30 %.
    assert 0.7 < values.var() / variances.mean() < 1.3


@pytest.mark.slow
@pytest.mark.parametrize("both", [0, 300])
def test_nobody_and_everybody_shared_are_covered_too(both: int) -> None:
    found = list(Case(400, 300, both, (PURE, PURE), 400).found())
    held = np.mean([o.both.low <= both <= o.both.high for o in found])
    assert held > 0.95 - SLACK
    assert all(0 <= o.both.value <= 400 for o in found)
    assert all(0 <= o.jaccard.low <= o.jaccard.high <= 1 for o in found)


def test_a_forgotten_noise_would_be_noticed() -> None:
    """Negative control: sketches with four times the stated noise are not covered."""
    case = CASES[0]
    held = 0
    people = case.people()
    for seed in range(150):
        sides = []
        for at in (0, 1):
            sketch = case.side(seed, at, people[at])
            loud = np.random.default_rng([seed, at]).normal(
                0, 4 * sketch.noise.table, len(sketch.cells)
            )
            sides.append(replace(sketch, cells=sketch.cells + loud))
        overlap = compare(sides[0], sides[1])
        held += overlap.both.low <= case.both <= overlap.both.high
    assert held / 150 < 0.9


def _sketch(seed: int = 1, name: str = "a", epsilon: float = 1.0) -> OfferedSketch:
    terms = JoiningTerms(400, seed, epsilon)
    people = people_of(f"p{n}" for n in range(300))
    return offer(terms, exact_tables(terms, people), SeededSource(3, name))


def test_a_folded_table_is_the_table_that_was_built_so() -> None:
    wide, narrow = JoiningTerms(400, 1, 4.0), JoiningTerms(400, 1, 1.0)
    assert wide.width > narrow.width
    people = people_of(f"p{n}" for n in range(300))
    cells = exact_tables(wide, people)[0][0]
    while len(cells) > narrow.width:
        cells = cells[0::2] + cells[1::2]
    assert (cells == exact_tables(narrow, people)[0][0]).all()
    assert compare(_sketch(epsilon=4.0), _sketch(name="b")).both.value > 0


def test_other_seeds_and_one_sketch_twice_are_refused() -> None:
    with pytest.raises(DataError, match="the seed of the hashes differs: 2, not 1"):
        compare(_sketch(), _sketch(2, "b"), "theirs")
    with pytest.raises(DataError, match="the same sketch twice"):
        compare(_sketch(), _sketch())


@pytest.mark.parametrize("side", ["left", "right"])
def test_sizes_that_noise_hides_are_refused(side: str) -> None:
    sides = {"left": _sketch(), "right": _sketch(name="b")}
    sides[side] = replace(sides[side], people=3.0)
    with pytest.raises(DataError, match=f"people on the {side} cannot be told"):
        compare(sides["left"], sides["right"])


def test_what_a_person_in_both_pays() -> None:
    pure = _sketch()
    assert combined_price(pure, _sketch(name="b", epsilon=2.0)) == (3.0, 0.0)
    terms = JoiningTerms(3000, 1, 1.0, 1e-6)
    people = people_of(f"p{n}" for n in range(300))
    loud = offer(terms, exact_tables(terms, people), SeededSource(1))
    epsilon, delta = combined_price(loud, loud)
    mu = math.sqrt(2) / loud.event.noise_multiplier
    samplers = delta_sampler(2 * loud.event.samples, 2.0)
    assert samplers > 0.0
    assert (epsilon, delta) == (gdp.epsilon_from(mu, 2e-6 - samplers), 2e-6)
    assert epsilon < 2.0
    # A pure sketch has the delta of its sampler, however small beside the other's.
    epsilon, delta = combined_price(loud, pure)
    assert epsilon == 2.0
    sampler = Fraction(delta_sampler(pure.event.samples, 1.0))
    assert Fraction(1e-6) + sampler <= Fraction(delta) <= Fraction(1e-6 * (1 + 1e-15))
    assert combined_price(pure, loud) == (epsilon, delta)
