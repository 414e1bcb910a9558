# SPDX-License-Identifier: Apache-2.0
"""From people to noised tables: what real tables move by is what is charged."""

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.randomness import SeededSource
from lexfed.sketch.releases.noised_sketch import (
    Contribution,
    GaussianColumn,
    NoisePlan,
    person_moves,
    release_sketch,
)
from lexfed.sketch.sharing.sum_plan import MaskedPlan, noised_share, opened_sketch
from lexfed.sketch.tables.counts import CountMin, CountSketch, CountTable, ExactCounts
from lexfed.sketch.tables.domains import bounded_items
from lexfed.sketch.tables.range_tree import RangeTree, TreeShape
from lexfed.sketch.tables.shape import HashRows, ItemKeys, SketchKind, SketchShape
from lexfed.terms import Neighbours
from lexfed.tiers import Tier
from support.secagg.secure_sums import Epoch, names, setting
from support.sketch.paying_checks import ledger_for

Integers = NDArray[np.int64]

KINDS: tuple[type[CountTable], ...] = (CountMin, CountSketch, ExactCounts)
DOMAIN = "0" * 64
MOST = 4
RELATIONS: tuple[Neighbours, ...] = ("add-remove", "replace-one")


def _shape(kind: type[CountTable]) -> SketchShape:
    if kind is ExactCounts:
        return SketchShape(SketchKind.EXACT, 1, 64, 0, DOMAIN)
    return SketchShape(kind.kind, 2, 4, 11, DOMAIN)


def _person(shape: SketchShape) -> Contribution:
    return Contribution(shape.depth, MOST, signed=shape.kind is SketchKind.COUNT_SKETCH)


def _built(kind: type[CountTable], items: ItemKeys, persons: Integers) -> Integers:
    return kind.build(_shape(kind), bounded_items(persons, items, MOST)).cells


@pytest.mark.parametrize("kind", KINDS)
def test_no_person_moves_a_real_table_further(kind: type[CountTable]) -> None:
    shape = _shape(kind)
    joins, replaces = (person_moves([_person(shape)], name) for name in RELATIONS)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        persons = rng.integers(0, 6, 40)
        # Few different items, so that some persons have one item many times.
        items = rng.integers(0, 1 + seed % 8, 40).astype(np.uint64)
        here = _built(kind, items, persons)
        gone = _built(kind, items[persons != 0], persons[persons != 0])
        other = np.where(persons == 0, (items + 17) % np.uint64(64), items)
        new = _built(kind, other.astype(np.uint64), persons)
        for moved, bound in ((here - gone, joins), (here - new, replaces)):
            assert np.abs(moved).sum() <= bound.l1
            assert np.linalg.norm(moved) <= bound.l2


def test_without_a_bound_on_persons_a_table_moves_further() -> None:
    """Negative control: what is charged holds for bounded persons only."""
    items = np.zeros(MOST + 1, dtype=np.uint64)
    loose = CountMin.build(_shape(CountMin), items).cells
    person = _person(_shape(CountMin))
    assert np.linalg.norm(loose) > person_moves([person], "add-remove").l2


def test_public_seeds_let_items_be_found_that_reach_the_bounds() -> None:
    """Two items in the same cells with opposite signs: twice the norm, not 1.41."""
    shape = _shape(CountSketch)
    keys = np.arange(200, dtype=np.uint64)
    single = [CountSketch.build(shape, keys[at : at + 1]).cells for at in range(200)]
    worst = max(
        float(np.linalg.norm(one - two))
        for one, two in itertools.combinations(single, 2)
    )
    person = Contribution(shape.depth, signed=True)
    assert math.isclose(worst, person_moves([person], "replace-one").l2)
    assert worst > 1.4 * math.sqrt(2 * shape.depth)


def test_a_range_tree_is_paid_for_level_by_level() -> None:
    shape = TreeShape(DOMAIN, 2**14, 16, HashRows(3, 5, 64))
    levels = [
        Contribution(level.depth, signed=level.kind is SketchKind.COUNT_SKETCH)
        for level in shape.levels
    ]
    assert [level.depth for level in shape.levels] == [1, 1, 1, 5]
    joins, replaces = (person_moves(levels, name) for name in RELATIONS)
    values = np.random.default_rng(1).integers(0, 2**14, 50).astype(np.uint64)
    trees = [RangeTree.build(shape, values[at : at + 1]) for at in range(50)]
    for one, two in itertools.pairwise(trees):
        alone = np.concatenate([table.cells.ravel() for table in one.levels])
        other = np.concatenate([table.cells.ravel() for table in two.levels])
        assert math.isclose(float(np.linalg.norm(alone)), joins.l2)
        assert np.linalg.norm(alone - other) <= replaces.l2
    plan = NoisePlan(
        "ages",
        tuple(
            GaussianColumn(f"level {at}", Tier.PERSONAL, person, level.width, 10.0)
            for at, (person, level) in enumerate(zip(levels, shape.levels, strict=True))
        ),
        people=100,
    )
    assert math.isclose(1.0 / plan.event().noise_multiplier, joins.l2 / 10.0)
    tree = RangeTree.build(shape, values)
    tables = [table.cells for table in tree.levels]
    sketch = release_sketch(plan, tables, ledger_for(plan.event()), SeededSource(1))
    for exact, noised in zip(tables, sketch.tables, strict=True):
        # 8 deviations: below 1e-10 for all cells together.
        assert np.abs(noised.cells - exact).max() < 8 * math.sqrt(noised.variance)


@dataclass
class _Shares(Epoch):
    """Sites that mask their noised tables instead of made-up vectors."""

    shares: dict[str, Integers] = field(default_factory=dict)

    def vector(self, name: str, round_number: int) -> Integers:  # noqa: ARG002
        return self.shares[name]


def test_shares_go_through_masks_and_open_to_the_plain_sum() -> None:
    shape = _shape(CountSketch)
    column = GaussianColumn("codes", Tier.SPECIAL, _person(shape), shape.width, 20.0)
    masked = MaskedPlan(
        NoisePlan("codes", (column,), people=60), NoiseCohort(3, dropouts=1)
    )
    event = masked.event()
    rng = np.random.default_rng(2)
    exact, shares = {}, {}
    for site, name in enumerate(names(3)):
        items = rng.integers(0, 50, 20).astype(np.uint64)
        exact[name] = _built(CountSketch, items, np.arange(20))
        shares[name] = noised_share(
            masked, [exact[name]], ledger_for(event), SeededSource(site)
        )
    agreed = setting(
        3, least=masked.cohort.least, bits=masked.ring(), length=column.cells
    )
    for alive in (names(3), names(3)[:2]):
        epoch = _Shares(agreed, shares=shares)
        total = epoch.round(epoch.set_up(), alive)
        assert (total == sum(shares[name] for name in alive)).all()
        (table,) = opened_sketch(masked, total, len(alive), private=False).tables
        truth = np.sum([exact[name] for name in alive], axis=0)
        assert np.abs(table.cells - truth).max() < 8 * math.sqrt(table.variance)
