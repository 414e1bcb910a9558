# SPDX-License-Identifier: Apache-2.0
"""Checks of randomised response; each passes on the real code, not on its mutants."""

import math

import mpmath
import numpy as np

from lexfed.randomness import SeededSource
from lexfed.sketch.releases import randomised_response
from lexfed.sketch.releases.noised_sketch import Contribution
from lexfed.sketch.releases.randomised_response import FlipPlan
from lexfed.sketch.tables.counts import BloomFilter
from lexfed.sketch.tables.shape import SketchKind, SketchShape
from lexfed.terms import Neighbours

RELATIONS: tuple[Neighbours, ...] = ("add-remove", "replace-one")
BITS = 200_000


def every_bit_is_flipped_as_often_as_stated() -> None:
    """Rates of 200,000 coins: 6 deviations, exceeded with probability below 1e-8."""
    for budget in (0.5, 2.0, 6.0):
        plan = FlipPlan(Contribution(), budget)
        for value in (False, True):
            bits = np.full(BITS, value)
            found = randomised_response.flip_bits(plan, bits, SeededSource(2)).bits
            slack = 6.0 * math.sqrt(plan.flip * (1 - plan.flip) / BITS)
            assert abs(float(np.mean(found != value)) - plan.flip) < slack


def coins_are_independent() -> None:
    """Correlation of neighbouring coins: 6 deviations are .0135."""
    plan = FlipPlan(Contribution(), 1.0)
    coins = randomised_response.flip_bits(
        plan, np.zeros(BITS, dtype=np.bool_), SeededSource(3)
    ).bits.astype(np.float64)
    assert abs(float(np.corrcoef(coins[1:], coins[:-1])[0, 1])) < 0.0135


def no_outcome_is_likelier_than_stated() -> None:
    """The likeliest ratio, with 50 digits, for real filters of neighbours."""
    shape = SketchShape(SketchKind.BLOOM, 1, 1024, 5, "0" * 64)
    others = np.arange(100, dtype=np.uint64)
    for items, records in ((1, 1), (2, 3)):
        person = Contribution(items=items, records=records)
        own = np.arange(1000, 1000 + items * records, dtype=np.uint64)
        new = np.arange(2000, 2000 + items * records, dtype=np.uint64)
        sets = {
            "without": others,
            "there": np.concatenate([others, own]),
            "replaced": np.concatenate([others, new]),
        }
        filters = {
            name: BloomFilter.build(shape, held).bits for name, held in sets.items()
        }
        for relation, other in zip(RELATIONS, ("without", "replaced"), strict=True):
            apart = int(np.sum(filters["there"] != filters[other]))
            for budget in (0.4, 1.0, 3.7):
                plan = FlipPlan(person, budget * items * records, relation)
                assert apart <= plan.changed
                with mpmath.workdps(50):
                    flip = mpmath.mpf(plan.flip)
                    loss = mpmath.log((1 - flip) / flip)
                    assert apart * loss <= plan.epsilon
                    assert plan.changed * loss <= plan.epsilon <= plan.budget
    # Reached: persons whose bits nobody else has.
    alone = FlipPlan(Contribution(items=3), 1.0, "replace-one")
    filters = {
        name: BloomFilter.build(
            shape, np.arange(start, start + 3, dtype=np.uint64)
        ).bits
        for name, start in (("there", 0), ("replaced", 3))
    }
    assert int(np.sum(filters["there"] != filters["replaced"])) == alone.changed
