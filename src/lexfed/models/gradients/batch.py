# SPDX-License-Identifier: Apache-2.0
"""One round's records, arranged by unit, as clipped sums are taken over them.

A *unit* is the subject of the guarantee (a person with up to `records` rows). Its rows
are averaged by their weights and clipped once, so a batch keeps them together: every
tensor starts with [units, records].

Units of several sites may share one batch, one site after the other. Sums are then
still taken site by site, because the rounding error that one person can move is the one
of that person's own site, or pair of sites (`layer_sum.py`).
"""

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
        """Check the shapes; by default there is one site."""
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
