# SPDX-License-Identifier: Apache-2.0
"""How much a unit of a class of records counts at a site that counts less itself."""

from torch import Tensor

from lexfed.federation.programme.stage import Stage


def unit_factors(stage: Stage, shares: Tensor, weights: Tensor) -> Tensor:
    """Return what each unit's clipped contribution is multiplied by.

    A unit of share s at a site of weight w is charged for s w C. Grid and float sums
    add a part r of C that does not shrink with the share (`Stage.rounding`): the site's
    factor f leaves it room in w C, and s f - (1 - s) r leaves it room in s w C.

    Args:
        stage: what is summed.
        shares: scale of each unit's class.
        weights: factor of the site, or of each unit's site.
    """
    return (shares * weights - (1.0 - shares) * stage.rounding).clamp_min(0.0)
