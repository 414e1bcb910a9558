# SPDX-License-Identifier: Apache-2.0
"""What a network beside a linear part is given: records of norm about 1.

Centre and scale are released values of the linear part, so they cost nothing more. A
record's inputs depend on that record alone.
"""

import numpy as np
import torch
from torch import Tensor

from lexfed.arrays import Floats
from lexfed.models.towers.facts import presence
from lexfed.models.towers.shape import TowerShape

LONGEST = 2.0
"""Longer records are scaled to this norm: one odd value must not drive the network."""


def network_inputs(
    shape: TowerShape, slots: Tensor, centre: Floats, scale: Floats
) -> Tensor:
    """Return a tower's slots centred, scaled and cut to norm 2; missing values are 0.

    Args:
        shape: the tower.
        slots: encoded values of its slots, `[..., slots]`.
        centre: of each slot.
        scale: factor of each centred slot.
    """
    # Contiguous: the norm of a row is then summed in one order, whoever else is there.
    rows = np.ascontiguousarray(slots.numpy(), dtype=np.float64)
    scaled = (rows - presence(shape, rows) * centre) * scale
    norm = np.linalg.norm(scaled, axis=-1, keepdims=True)
    return torch.from_numpy(scaled / np.maximum(norm / LONGEST, 1.0)).to(slots.dtype)
