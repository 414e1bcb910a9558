# SPDX-License-Identifier: Apache-2.0
"""Whether towers get networks beside their linear parts, by public facts alone."""

import math
from collections.abc import Iterable

SHARE = 0.3
"""Part of a tower's square that its network takes; the linear part has the rest."""

ROUNDS = 40

LEAST_KAPPA = 20.0
"""Networks are trained where every tower reaches this: a network in one tower alone
makes that tower too loud for the others."""


def kappa(parameters: int, units: float, mu: float) -> float:
    """Return the bound of a network's signal over the norm of its noise.

    `units` is public. `mu` is the whole tower's budget, as replace-one Gaussian privacy
    of the noise that reaches the model.
    """
    return units * mu * math.sqrt(SHARE / parameters) / 2.0


def networks_pay(kappas: Iterable[float]) -> bool:
    """Return True if the towers get networks, from the `kappa` of all of them."""
    return min(kappas) >= LEAST_KAPPA
