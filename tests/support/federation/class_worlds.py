# SPDX-License-Identifier: Apache-2.0
"""Small federations with classes of records, and checks of what classes promise.

A unit is a member if one of its rows has a large value in the first slot of the class's
column, or none at all: the slots say what `lexfed.data.conditions` reads off a table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from lexfed.arrays import Bools
from lexfed.budget.record_classes import RecordClass
from lexfed.data.conditions import RowCondition
from lexfed.data.encoding import Encoding
from lexfed.data.people import unit_blocks
from lexfed.data.people.unit_blocks import UnitBlock
from lexfed.federation.planning import training_programme
from lexfed.federation.programme.sequence import Programme
from lexfed.federation.site.unit_batch import UnitBatch
from support.federation import checks
from support.federation.worlds import Floats, World, play, with_slots, world


@dataclass(frozen=True)
class Rule:
    """A class of the units with a large value of a column."""

    column: str
    epsilon: float = 2.0
    above: float = 0.5

    def members(self, block: UnitBlock, code: Encoding) -> Bools:
        """Return which units have a row that may be large."""
        own = code.slots_of_column(self.column)
        large = block.inputs[..., own[0]] > self.above
        if len(own) == 2 and code.slots[own[1]].kind == "missing":
            large |= block.inputs[..., own[1]] > 0
        return np.asarray((large & (block.weights > 0)).any(axis=1))


def classed(rules: Sequence[Rule], **options: Any) -> World:
    """Return a small world with these classes."""
    base = world(**options)
    classes = tuple(
        RecordClass(
            rule.column,
            RowCondition(f"{rule.column} > {rule.above}", ()),
            rule.epsilon,
            base.encoding.tiers[rule.column],
        )
        for rule in rules
    )
    facts = replace(base.facts, classes=classes)
    programme = training_programme.plan_training(facts, base.budget, base.choices)
    return with_members(replace(base, facts=facts, programme=programme), rules)


def with_members(of: World, rules: Sequence[Rule]) -> World:
    """Return the world with the memberships that its values give."""

    def known(block: UnitBlock) -> UnitBlock:
        members = [rule.members(block, of.encoding) for rule in rules]
        return replace(block, members=np.stack(members, axis=1))

    sites = tuple(
        replace(site, train=known(site.train), test=known(site.test))
        for site in of.sites
    )
    return replace(of, sites=sites)


def edited(
    of: World, rules: Sequence[Rule], column: str, change: Callable[[Floats], Floats]
) -> World:
    """Return the world with other values of a column, and who is a member then."""
    slots = [int(place) for place in of.encoding.slots_of_column(column)]
    return with_members(with_slots(of, slots, change), rules)


def with_scales(of: World, scale: float) -> World:
    """Return the world with another scale for every class."""
    classes = tuple(replace(one, scale=scale) for one in of.programme.classes)
    programme: Programme = replace(of.programme, classes=classes)
    return replace(of, programme=programme)


def check_class_sensitivity(of: World, seed: int = 0, persons: int = 4) -> None:
    """A member moves a sum by at most its class's scale times the clip."""
    generator = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        queries = {query.stage: query for query in play(of).queries}
    scales = of.programme.class_scales
    for query in queries.values():
        site = of.sites[0]
        block = site.test if query.kind == "metrics" else site.train
        cohort = UnitBatch.of([block], of.programme.precision, scales)
        assert block.members is not None
        own = np.where(block.members, scales, 1.0).min(axis=1)
        if query.kind != "metrics":
            assert 0 < (own < 1).sum() < len(own)
        whole = checks.sum_of(of, query, cohort)
        for gone in generator.permutation(len(cohort))[:persons]:
            for other in _neighbours(cohort, int(gone), generator):
                clips = float(own[gone]) * (1 if len(other) < len(cohort) else 2)
                moved = whole - checks.sum_of(of, query, other)
                checks.within(of, query, moved, clips)


def _neighbours(
    cohort: UnitBatch, gone: int, generator: np.random.Generator
) -> list[UnitBatch]:
    """Return the cohort without a unit, and with other values for it.

    Large values, so that the contribution is clipped: where the scale was applied
    before the clip, it would be lost again.
    """
    kept = np.ones(len(cohort), dtype=bool)
    kept[gone] = False
    others = [cohort.take(kept)]
    for size in (0.3, 1.0, 50.0):
        inputs = cohort.inputs.clone()
        values = generator.uniform(-size, size, inputs.shape[-1])
        inputs[gone] = torch.from_numpy(values).to(inputs.dtype)
        targets = cohort.targets.clone()
        targets[gone] = 1.0 - targets[gone].clamp(0.0, 1.0)
        others += [replace(cohort, inputs=inputs), replace(cohort, targets=targets)]
    return others


def reads_of(of: World) -> dict[str, str | None]:
    """Return what each release of the programme says that it reads."""
    return {
        release.name: None if release.reads is None else release.reads.label
        for release, _ in of.programme.charges()
    }


def check_reads_cover_membership() -> None:
    """Where other ages, and so other members, move a sum, its release says it reads."""
    rules = [Rule("age", 1.0)]
    of = classed(rules, sizes=(20, 15))
    other = edited(of, rules, "age", lambda values: 1.0 - values)
    before, after = play(of), play(other)
    for query, one, two in zip(
        before.queries, before.totals, after.totals, strict=True
    ):
        assert query.release is not None
        reads = query.release.reads
        if reads is None or reads < of.encoding.tiers["age"]:
            assert np.array_equal(one, two), f"{query.kind} knows who is a member"


def check_members_have_smaller_sums() -> None:
    """The scale survives the clip, in the rule's sums and in gradients."""
    rules = [Rule("age", 1.0)]
    check_class_sensitivity(classed(rules, sizes=(20, 15)))
    options: dict[str, Any] = {"model": "mlp:6", "rounds": 2, "default_clip": 0.01}
    check_class_sensitivity(classed(rules, sizes=(20, 15), **options))


def check_one_row_makes_a_member() -> None:
    """A person is in a class if one of their rows is."""
    rows = np.array([[True], [False], [False]])
    people = np.array([4, 4, 5])
    own = unit_blocks.PersonRows(np.zeros((3, 1)), np.zeros(3), people, rows)
    made = unit_blocks.group_units(own, 2)
    assert made.members is not None
    assert made.members.tolist() == [[True], [False]]
