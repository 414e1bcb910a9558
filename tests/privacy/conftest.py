# SPDX-License-Identifier: Apache-2.0
"""Oracles that are not part of the package."""

from collections.abc import Callable, Sequence

import pytest

from lexfed.privacy.accountants.gdp import Step
from lexfed.terms import Neighbours

Reference = Callable[[Sequence[Step], float, Neighbours], float]


@pytest.fixture(scope="session")
def reference() -> Reference:
    """Epsilon by dp-accounting alone, one event per step, on its default grid."""
    import dp_accounting
    from dp_accounting import pld

    relations = {
        "add-remove": dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
        "replace-one": dp_accounting.NeighboringRelation.REPLACE_ONE,
    }

    def epsilon(steps: Sequence[Step], delta: float, neighbours: Neighbours) -> float:
        accountant = pld.PLDAccountant(relations[neighbours])
        for step in steps:
            gaussian = dp_accounting.GaussianDpEvent(float(step.noise_multiplier))
            event = dp_accounting.PoissonSampledDpEvent(step.sampling_rate, gaussian)
            accountant.compose(event, step.count)
        return float(accountant.get_epsilon(delta))

    return epsilon
