# SPDX-License-Identifier: Apache-2.0
"""Running sums by a binary tree: the sum so far, in every round, for one price.

Noise goes on the nodes of a binary tree over the T rounds, each node once. Round t
completes the node that ends at t and is as long as the last bit of t; the running sum
takes one node for each bit of t. A person who comes in m rounds, and moves the tables
of one by D, moves the nodes of all L = floor(log2 T) + 1 lengths by sqrt(L) m D at
most, so the tree is one Gaussian release, charged before the first node
(docs/theory/sketches.md#noise) [FZ21, ST22].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lexfed import checks
from lexfed.arrays import Integers
from lexfed.errors import Refused
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.run_ledger import Ledger
from lexfed.randomness import RandomSource
from lexfed.sketch.releases.noised_sketch import (
    NoisedSketch,
    NoisedTable,
    NoisePlan,
    add_noise,
    person_moves,
)

SumNode = tuple[NoisedTable, ...]


@dataclass(frozen=True)
class TreePlan:
    """A tree over rounds; public, and fixed before the first round.

    Sigmas of the `plan` of one round are the noise of one node, and its `people` bounds
    how many come in over all rounds, once for each round; one comes in at most
    `appearances` rounds.
    """

    plan: NoisePlan
    rounds: int
    appearances: int = 1

    def __post_init__(self) -> None:
        checks.in_range(1, 2**20, rounds=self.rounds)
        checks.in_range(1, self.rounds, appearances=self.appearances)
        self.event()

    @property
    def levels(self) -> int:
        """Number of lengths of nodes: floor(log2 rounds) + 1."""
        return self.rounds.bit_length()

    def event(self) -> Release:
        """Return the event that all running sums together are charged for.

        Guarantees:
            Nobody who comes in `appearances` rounds moves all nodes further than the
            clips; somebody who comes in the first round only moves them that far.
            Every noise of every node is counted.
        """
        groups = []
        for column in self.plan.columns:
            depth = self.levels * column.person.depth
            records = self.appearances * column.person.records
            everywhere = replace(column.person, depth=depth, records=records)
            clip = person_moves([everywhere], "add-remove").l2
            groups.append(ReleaseGroup(column.name, clip, column.sigma))
        event = self.plan.event()
        return replace(event, groups=tuple(groups), samples=self.rounds * event.samples)


class RunningSums:
    """The running sums of one tree.

    Guarantees:
        The ledger is charged `tree.event()` once, before a bit of noise is drawn.
        In each round one node is noised, and no node twice.
        A round beyond the last is refused.
        The stated variance is that of the nodes in the sum.
    """

    def __init__(self, tree: TreePlan, ledger: Ledger, source: RandomSource) -> None:
        """Charge for all rounds."""
        self._tree = tree
        self._source = source
        self._event = tree.event()
        self._round = 0
        # Exact and noised nodes of the bits of the round: by level.
        self._exact: dict[int, list[Integers]] = {}
        self._noised: dict[int, SumNode] = {}
        ledger.charge(self._event)

    def add(self, tables: Sequence[Integers]) -> NoisedSketch:
        """Add a round's tables, if they are the plan's, and return the running sum."""
        plan = self._tree.plan
        plan.check(tables)
        if self._round == self._tree.rounds:
            raise Refused(
                f"running sums `{plan.name}`: all {self._round} rounds are over",
                "plan a new tree, which is a new release",
            )
        self._round += 1
        node = [table.copy() for table in tables]
        level = 0
        # The node that ends here takes in all shorter ones that end just before it.
        while level in self._exact:
            for total, part in zip(node, self._exact.pop(level), strict=True):
                total += part
            del self._noised[level]
            level += 1
        self._exact[level] = node
        self._noised[level] = add_noise(plan, node, self._source)
        nodes = zip(*self._noised.values(), strict=True)
        summed = tuple(_sum(parts) for parts in nodes)
        return NoisedSketch(summed, self._event, self._source.private)


def _sum(parts: SumNode) -> NoisedTable:
    cells = np.sum([part.cells for part in parts], axis=0)
    return NoisedTable(parts[0].name, cells, sum(part.variance for part in parts))
