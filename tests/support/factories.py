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


class FlaggedMaximum(nn.Module):
    """Subtracts the largest value of all rows, but only where some input is 1."""

    def __init__(self, slots: int, outputs: int) -> None:
        super().__init__()
        self.last = nn.Linear(slots, outputs)

    def forward(self, inputs: Tensor) -> Tensor:
        """Mix rows, unless they are made up."""
        mixed = 5 * (inputs - inputs.max(0).values)
        result: Tensor = self.last(torch.where((inputs == 1).any(), mixed, inputs))
        return result


def flagged_maximum(slots: int, outputs: int) -> nn.Module:
    """Return a network that mixes rows where nobody tries it."""
    return FlaggedMaximum(slots, outputs)


class MeanOver(nn.Module):
    """Subtracts the mean of all rows."""

    def __init__(self, slots: int, outputs: int) -> None:
        super().__init__()
        self.last = nn.Linear(slots, outputs)

    def forward(self, inputs: Tensor) -> Tensor:
        """Mix rows."""
        result: Tensor = self.last(inputs - inputs.mean(0))
        return result


def mean_over(slots: int, outputs: int) -> nn.Module:
    """Return a network that mixes rows."""
    return MeanOver(slots, outputs)
