# SPDX-License-Identifier: Apache-2.0
"""Plans differ wherever sums would mean something else, and say so before a charge."""

from dataclasses import replace

import numpy as np
import pytest

from lexfed.errors import DataError
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.randomness import SeededSource
from lexfed.sketch.sharing.sum_plan import SharedPlan
from lexfed.sketch.tables.shape import SketchKind, SketchShape
from lexfed.tiers import Tier
from support.secagg import shared_sums as sums
from support.sketch.paying_checks import ledger_for

PLAN = sums.plan()
NOISE = PLAN.masked.plan


def _column(**changes: object) -> SharedPlan:
    columns = (replace(NOISE.columns[0], **changes), NOISE.columns[1])  # type: ignore[arg-type]
    noise = replace(NOISE, columns=columns)
    return replace(PLAN, masked=replace(PLAN.masked, plan=noise))


def test_every_part_of_a_plan_is_in_its_digest() -> None:
    others = [
        SharedPlan(PLAN.masked, sums.other_seed()),
        SharedPlan(
            PLAN.masked, (replace(sums.SHAPES[0], bins="0" * 64), *sums.SHAPES[1:])
        ),
        replace(PLAN, masked=replace(PLAN.masked, cohort=NoiseCohort(4))),
        sums.plan(people=501),
        replace(PLAN, masked=replace(PLAN.masked, plan=replace(NOISE, name="x"))),
        _column(name="x"),
        _column(tier=Tier.PERSONAL),
        _column(tier=None),
        _column(sigma=4.5),
        _column(person=replace(NOISE.columns[0].person, items=2)),
    ]
    digests = {plan.digest for plan in [PLAN, *others]}
    assert len(digests) == 1 + len(others)
    assert sums.plan().digest == PLAN.digest
    assert len(PLAN.digest) == 32


def test_differences_are_named_before_anything_is_spent() -> None:
    PLAN.check_announced(PLAN.announced(), "site b")
    theirs = SharedPlan(PLAN.masked, sums.other_seed())
    with pytest.raises(DataError, match="site b, column `code`: the seed") as refused:
        PLAN.check_announced(theirs.announced(), "site b")
    assert refused.value.hint == "give all sites the same seed"
    with pytest.raises(DataError, match="site b: expected 2 tables"):
        PLAN.check_announced(theirs.announced()[:-1], "site b")


def test_tables_of_another_seed_are_refused_without_a_charge() -> None:
    ledger = ledger_for(PLAN.masked.event())
    for shapes in (sums.other_seed(), sums.SHAPES[:1]):
        tables = sums.tables(0, [*shapes, sums.SHAPES[1]])[: len(shapes)]
        with pytest.raises(DataError):
            PLAN.share(tables, ledger, SeededSource(1))
    assert ledger.events() == ()
    PLAN.share(sums.tables(0), ledger, SeededSource(1))
    assert ledger.events() == (PLAN.masked.event(),)


def test_a_huge_site_is_cut_to_what_the_declared_people_can_reach() -> None:
    small = sums.plan(people=3)
    sent = small.share(
        sums.tables(0), ledger_for(small.masked.event()), SeededSource(1)
    )
    deviation = (2 * max(small.masked.halves())) ** 0.5
    # 8 deviations, as in `wrap_probability`.
    assert np.abs(sent).max() <= 3 + 8 * deviation


def test_shapes_that_are_not_those_of_the_columns_are_refused() -> None:
    unsigned = replace(sums.SHAPES[0], kind=SketchKind.COUNT_MIN)
    bloom = SketchShape(SketchKind.BLOOM, 1, 16, 7, sums.CODES.digest)
    for first in (unsigned, bloom, replace(sums.SHAPES[0], width=32)):
        with pytest.raises(ValueError, match="column `code`"):
            SharedPlan(PLAN.masked, (first, sums.SHAPES[1]))
    with pytest.raises(ValueError, match="one shape for each column"):
        SharedPlan(PLAN.masked, sums.SHAPES[:1])
