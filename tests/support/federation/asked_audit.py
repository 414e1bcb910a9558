# SPDX-License-Identifier: Apache-2.0
"""Attacks on a run's tables of keys, from the units of sites to what is told.

Like `support.sketch.pipeline_audit`, but through a programme: sites count, an engine
sums (with masks where noise comes in shares), the coordinator is charged, and the
learner tells. Canaries have two rows each, which together count one.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.data.people.unit_blocks import UnitBlock
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.progress import tables_so_far
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.privacy.run_ledger import Ledger
from lexfed.sketch.estimates.noised_cells import NoisedCells, counts
from lexfed.sketch.queries.requested_tables import ReleasedTable, RequestedTable
from lexfed.sketch.tables.shape import HashRows
from support.federation.masked_worlds import ask, federation
from support.federation.sketch_worlds import raw_block, sketch_world
from support.federation.worlds import BUDGET, World, engine_of, seeded
from support.sketch.pipeline_audit import Audited, audited, lower_mu

Floats = NDArray[np.float64]
Told = Callable[[World, int], tuple[tuple[ReleasedTable, ...], Ledger]]

KEYS = RequestedTable("", "keys", (), 2**16, 3, seed=5)
ROWS = HashRows(KEYS.seed, KEYS.depth, KEYS.width)
CUT = 0.5
"""Half of what a person counts."""


@cache
def canaries() -> NDArray[np.int64]:
    """Return keys of persons of which no two share a cell in any row."""
    tried = np.random.default_rng(8).integers(0, 2**62, 16_000)
    alone = np.ones(len(tried), dtype=np.bool_)
    for row in ROWS.columns(tried.view(np.uint64)):
        alone &= np.bincount(row, minlength=KEYS.width)[row] == 1
    return tried[alone]


def worlds(turns: int = 1, **choices: Any) -> tuple[World, World]:
    """Return a federation without the canaries and one with them, at the first site.

    Args:
        turns: how often the same table is asked for.
        **choices: of the programme.
    """
    extra = len(canaries())
    of = sketch_world(
        *((KEYS,) for _ in range(turns)),
        sizes=(extra, 40),
        places=2,
        budget=replace(BUDGET, epsilon=8.0, caps={}),
        **choices,
    )
    few = raw_block(40, 2, np.random.default_rng(3), 10**7)
    first = of.sites[0]
    without = replace(first, train=few)
    there = replace(first, train=_together(few, canaries()))
    return (
        replace(of, sites=(without, *of.sites[1:])),
        replace(of, sites=(there, *of.sites[1:])),
    )


def _together(few: UnitBlock, keys: NDArray[np.int64]) -> UnitBlock:
    assert few.keys is not None
    more = len(keys)
    shape = (more, *few.inputs.shape[1:])
    return replace(
        few,
        inputs=np.append(few.inputs, np.ones(shape), 0),
        targets=np.append(few.targets, np.ones((more, 2)), 0),
        weights=np.append(few.weights, np.full((more, 2), 0.5), 0),
        persons=np.append(few.persons, 10**8 + np.arange(more)),
        keys=np.append(few.keys, keys),
    )


def in_one_process(of: World, seed: int) -> tuple[tuple[ReleasedTable, ...], Ledger]:
    """Sum at a coordinator, which adds the noise."""
    ledger, learner = of.ledger(), Learner(of.programme)
    assert ledger is not None
    coordinator = Coordinator(
        of.programme, learner, ledger, seeded(seed), learner.start()
    )
    engine = engine_of(of, "inprocess", seeded(seed))
    while (asked := coordinator.next()) is not None:
        answers = engine.ask(asked.query, asked.participants)
        coordinator.receive(asked.query, answers)
    return tables_so_far(of.programme, coordinator.progress.memory), ledger


def under_masks(of: World, seed: int) -> tuple[tuple[ReleasedTable, ...], Ledger]:
    """Sum with masks, with noise in shares; return the ledger of the first site."""
    fed = federation(of, seed)
    asked, reply = ask(fed)
    fed.coordinator.receive(asked.query, [reply])
    told = tables_so_far(of.programme, fed.coordinator.progress.memory)
    return told, fed.ledgers[of.sites[0].name]


def _answers(told: tuple[ReleasedTable, ...], known: Floats) -> Floats:
    """Return the mean answer of all tables for each canary, less what is known."""
    found = [
        [each.value for each in counts(_cells(t), ROWS, canaries().view(np.uint64))]
        for t in told
    ]
    return np.asarray(np.mean(found, axis=0) - known)


def _cells(told: ReleasedTable) -> NoisedCells:
    return NoisedCells(told.counts[0], told.variance, signed=True)


def _known(of: World) -> Floats:
    cells = np.zeros((KEYS.depth, KEYS.width))
    for site in of.sites:
        assert site.train.keys is not None
        keys = site.train.keys.view(np.uint64)
        for row, columns, signs in zip(
            cells, ROWS.columns(keys), ROWS.signs(keys), strict=True
        ):
            np.add.at(row, columns, signs)
    exact = NoisedCells(cells, 0.0, signed=True)
    found = counts(exact, ROWS, canaries().view(np.uint64))
    return np.array([each.value for each in found])


def audit(told_by: Told, turns: int = 1, **choices: Any) -> Audited:
    """Run a programme on neighbouring inputs, and attack what is told."""
    without, there = worlds(turns, **choices)
    known = _known(without)
    outs, ledger = told_by(without, 1)
    ins, _ = told_by(there, 2)
    found = lower_mu(_answers(outs, known), _answers(ins, known), CUT)
    return audited(found, ledger)
