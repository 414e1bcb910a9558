# SPDX-License-Identifier: Apache-2.0
"""The count of contributions that a clip cut: the sum of one centred bit per unit.

A bit is +1/2 where the unit's contribution was not cut and -1/2 where it was; where it
is not finite it is 0, as the contribution is. So one unit moves the sum by at most 1/2
times its share. The sum is taken in float64, and exact where all shares are 1.
"""

import torch
from torch import Tensor


class CutBits:
    """Adds up the bits of a round."""

    def __init__(self) -> None:
        self.total = torch.zeros(1, dtype=torch.float64)

    def add(
        self, factors: Tensor, shares: Tensor | None, broken: Tensor | None
    ) -> None:
        """Add the bits of some units.

        `factors` are those of clipping, [units]; `shares` the weights of the
        units, None: all 1; `broken` a mask of contributions that are not
        finite, None: none.
        """
        bits = torch.where(factors < 1.0, -0.5, 0.5).double()
        if broken is not None:
            bits = torch.where(broken, 0.0, bits)
        self.total += (bits if shares is None else bits * shares.double()).sum()
