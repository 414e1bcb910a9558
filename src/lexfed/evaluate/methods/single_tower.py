# SPDX-License-Identifier: Apache-2.0
"""One tower that reads every column, and its clipped sums: what baselines descend on.

Architectures, losses and clipped sums are the product's; only who adds which noise
when is a baseline's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from lexfed.arrays import Bools, Floats
from lexfed.data.people.unit_blocks import UnitBlock
from lexfed.evaluate.comparison.case import Case, model_of
from lexfed.evaluate.comparison.split_rows import SplitRows
from lexfed.evaluate.datasets import Dataset
from lexfed.federation.planning.programme_draft import tower_shapes
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.models.gradients.batch import Batch
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.losses import Loss
from lexfed.models.towers.cascade import Tower
from lexfed.run.intake.public_facts import LOSSES

CLIP = 1.0
"""Norm that a unit's gradient is clipped to, as in the product's plain descent."""


@dataclass(frozen=True)
class OneTower:
    """A tower and its loss; parameters are a flat vector.

    Attributes:
        tower: with its first weights.
        loss: of the task.
    """

    tower: Tower
    loss: Loss

    @classmethod
    def of(cls, dataset: Dataset, case: Case, rows: SplitRows) -> "OneTower":
        """Return the untrained tower of a cell."""
        encoding = rows.population.encoding
        model = model_of(dataset, case)
        shape = tower_shapes(encoding, "uniform", model, 1, case.seed)[0]
        return cls(Tower.untrained(shape), Loss(LOSSES[encoding.schema.task]))

    @property
    def start(self) -> Floats:
        """The first weights."""
        return self.tower.parameters

    def clipped_gradients(self, parameters: Floats, units: Batch) -> Floats:
        """Return the sum over units of gradients clipped to `CLIP`."""
        module = replace(self.tower, parameters=parameters).module()
        return clipped_sum(module, self.loss, units, [CLIP]).numpy()

    def predict(self, parameters: Floats, slots: Floats) -> Floats:
        """Return the probability, or the number, of every row."""
        trained = replace(self.tower, parameters=parameters)
        logits = trained.logits(torch.from_numpy(slots))
        return np.asarray(self.loss.predict(logits).numpy()[:, 0])


def unit_batch(blocks: Sequence[UnitBlock]) -> Batch:
    """Return the units of some sites as one batch."""
    cohort = UnitBatch.of(blocks)
    offset = torch.zeros(*cohort.targets.shape, 1, dtype=torch.float64)
    return Batch(cohort.inputs, cohort.targets, offset, cohort.weights, cohort.sites)


def some_units(batch: Batch, chosen: Bools) -> Batch:
    """Return the chosen units of a batch, as those of one site."""
    kept = torch.from_numpy(np.flatnonzero(chosen))
    return Batch(
        batch.inputs[kept], batch.targets[kept], batch.offset[kept], batch.weights[kept]
    )
