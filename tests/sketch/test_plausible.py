# SPDX-License-Identifier: Apache-2.0
"""Sums of honest sites pass, and crude lies are found after opening.

A right sum fails with probability 1e-6 at most; all here together below 1e-3.
"""

from dataclasses import replace

import numpy as np
import pytest

from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.sketch.releases.noised_sketch import Contribution, GaussianColumn, NoisePlan
from lexfed.sketch.sharing import sum_plan
from lexfed.sketch.sharing.sum_plan import MaskedPlan, SharedPlan, implausibilities
from lexfed.sketch.tables.shape import SketchKind, SketchShape
from lexfed.tiers import Tier
from support.secagg import shared_sums as sums

PLAN = sums.plan()
WIDTH = 32


def counted() -> SharedPlan:
    """A Count-Min sketch of three rows, so that rows can contradict each other."""
    column = GaussianColumn("code", Tier.SPECIAL, Contribution(depth=3), WIDTH, 2.0)
    shape = SketchShape(SketchKind.COUNT_MIN, 3, WIDTH, 7, sums.CODES.digest)
    masked = MaskedPlan(NoisePlan("codes", (column,), 500), NoiseCohort(3))
    return SharedPlan(masked, (shape,))


def test_sums_of_honest_sites_are_plausible() -> None:
    for seed in range(100):
        total = sums.truth(sums.shares(PLAN, f"honest {seed}"))
        assert implausibilities(PLAN, PLAN.opened(total, 3, private=False)) == ()


def test_the_room_for_noise_is_used_but_not_wasted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Negative control: with hardly any room, nearly every honest sum alarms.

    Room that noise exceeds with probability e^-1 by Bernstein is 1.5 deviations, and
    none of 96 cells is below it with probability .93^96 < .001 for each of 20.
    """
    found = 0
    plan = counted()
    tests = 3 * 3 * WIDTH + 3 * 5
    monkeypatch.setattr(sum_plan, "FALSE_ALARM", tests / np.e)
    deviation = (
        plan.opened(np.zeros(3 * WIDTH, int), 3, False).tables[0].variance ** 0.5
    )
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(0, deviation, 3 * WIDTH)
        total = np.rint(noise).astype(np.int64)
        found += bool(implausibilities(plan, plan.opened(total, 3, private=False)))
    assert found > 15


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        ((slice(0, 1), 600), "beyond what all declared people"),
        ((slice(0, 3 * WIDTH), 40), "more or fewer items"),
        ((slice(0, 1), -200), "below zero"),
        ((slice(0, WIDTH), 8), "rows count different numbers"),
    ],
)
def test_lies_are_found(cells: tuple[slice, int], what: str) -> None:
    plan = counted()
    total = np.zeros(3 * WIDTH, dtype=np.int64)
    assert implausibilities(plan, plan.opened(total, 3, private=False)) == ()
    total[cells[0]] += cells[1]
    problems = implausibilities(plan, plan.opened(total, 3, private=False))
    assert any(what in problem.what for problem in problems)
    assert all("`codes`, column `code`" in problem.where for problem in problems)


def test_signed_tables_may_be_below_zero_but_not_huge() -> None:
    sketch = PLAN.opened(np.zeros(PLAN.length, dtype=np.int64), 3, private=False)
    signed = sketch.tables[0]
    for size, problems in ((-400.0, 0), (-700.0, 1)):
        table = replace(signed, cells=signed.cells + size)
        changed = replace(sketch, tables=(table, *sketch.tables[1:]))
        assert len(implausibilities(PLAN, changed)) == problems
