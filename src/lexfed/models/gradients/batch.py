# SPDX-License-Identifier: Apache-2.0
"""One round's records, arranged by unit, as clipped sums are taken over them.

A *unit* is the subject of the guarantee (a person with up to `records` rows). Its rows
are averaged by their weights and clipped once, so a batch keeps them together: every
tensor starts with [units, records]. Rows that pad a unit weigh zero.

Units of several sites may share one batch, one site after the other; `sites` has the
number of units of each. Sums are then still taken site by site, because the rounding
error that one person can move is the one of that person's own site, or pair of sites
(`layer_sum.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lexfed.errors import DataError, Problem


@dataclass(frozen=True)
class Batch:
    """The records of one round at one site, or at several sites one after the other.

    The type of `inputs` decides the arithmetic: float32 gradients where the inputs are
    float32 and a unit has one record, float64 otherwise. It is a public choice, made
    before any batch is drawn: switching on the size of a drawn batch would let one
    person's presence move the rounding of everybody else's gradient.

    Attributes:
        inputs: Encoded slots, [units, records, slots], float32 or float64.
        targets: Label per record, [units, records]; a class number for softmax.
        offset: Logits of the finished lower towers, [units, records, outputs].
        weights: Weight of a record in its unit, [units, records]; 0 pads.
        sites: Units of each site, in order.
    """

    inputs: Tensor
    targets: Tensor
    offset: Tensor
    weights: Tensor
    sites: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Check the shapes and give `sites` its default, one site."""
        shape = tuple(self.inputs.shape[:2])
        problems = [
            Problem("batch", f"`{name}` has shape {tuple(value.shape)}, not {wanted}")
            for name, value, wanted in (
                ("inputs", self.inputs, (*shape, "slots")),
                ("targets", self.targets, shape),
                ("offset", self.offset, (*shape, "outputs")),
                ("weights", self.weights, shape),
            )
            if value.dim() != len(wanted) or tuple(value.shape[:2]) != shape
        ]
        if self.inputs.dtype not in (torch.float32, torch.float64):
            problems.append(Problem("batch", "`inputs` must be float32 or float64"))
        if not self.sites:
            object.__setattr__(self, "sites", (self.inputs.shape[0],))
        if sum(self.sites) != self.inputs.shape[0] or min(self.sites) < 0:
            problems.append(Problem("batch", "`sites` must sum to the number of units"))
        if problems:
            raise DataError(problems)

    @property
    def units(self) -> int:
        """Number of units of all sites."""
        return self.inputs.shape[0]

    @property
    def records(self) -> int:
        """Rows kept per unit, padding included."""
        return self.inputs.shape[1]

    @property
    def slots(self) -> int:
        """Width of the encoded input."""
        return self.inputs.shape[2]


def join(batches: Sequence[Batch]) -> Batch:
    """Put the batches of several sites behind each other.

    Units with fewer records than the longest are padded with rows of weight zero.
    """
    if not batches:
        raise DataError([Problem("batch", "there is no site in this round")])
    if len(batches) == 1:
        return batches[0]
    records = max(batch.records for batch in batches)
    return Batch(
        inputs=torch.cat([_pad(batch.inputs, records) for batch in batches]),
        targets=torch.cat([_pad(batch.targets, records) for batch in batches]),
        offset=torch.cat([_pad(batch.offset, records) for batch in batches]),
        weights=torch.cat([_pad(batch.weights, records) for batch in batches]),
        sites=tuple(units for batch in batches for units in batch.sites),
    )


def _pad(values: Tensor, records: int) -> Tensor:
    missing = records - values.shape[1]
    if missing == 0:
        return values
    shape = (values.shape[0], missing, *values.shape[2:])
    return torch.cat([values, values.new_zeros(shape)], dim=1)
