# SPDX-License-Identifier: Apache-2.0
"""Networks as a user would bring them, by `module:factory`."""

import torch
from torch import Tensor, nn


def smooth(slots: int, outputs: int) -> nn.Module:
    """Return a network with a closed form that does not start as zero."""
    return nn.Sequential(nn.Linear(slots, 3), nn.Tanh(), nn.Linear(3, outputs))


class Gated(nn.Module):
    """A network without a closed form."""

    def __init__(self, slots: int, outputs: int) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.zeros(slots))
        self.last = nn.Linear(slots, outputs)
        self.idle = nn.Parameter(torch.ones(2))

    def forward(self, inputs: Tensor) -> Tensor:
        """Weigh the slots by a gate."""
        result: Tensor = self.last(inputs * torch.sigmoid(self.gate))
        return result


def gated(slots: int, outputs: int) -> nn.Module:
    """Return a network whose gradients are taken unit by unit."""
    return Gated(slots, outputs)
