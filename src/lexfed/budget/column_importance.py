# SPDX-License-Identifier: Apache-2.0
"""Expected importance of columns, without looking where nobody paid.

`allocation = "multiplier"` weighs tiers by the importance of their columns. Importances
come from what is public or was paid for, and from nothing else:

    prior     numbers that people state
    public    a public table with the same columns: the first-step gradient of each slot
    weights   a model that was released before
    paid      one noised release per tier, charged to the same budget

Each is a vector of slots by outputs whose entries say how strongly a slot moves with
the target, and the importance of a column is the norm of its entries. Noise makes norms
larger: E |signal + noise|² = |signal|² + sum of variances, so that much is taken off.

**Paid importances.** A run that spent mu_i (Gaussian, of everything that concerns a
record) on importances has sqrt(mu² - mu_i²) left of a budget mu, because squares add up
over releases [DRS22, Cor. 3.3]; for a tier likewise, with the releases that read it.
`remaining_budget` solves the same for every accountant, on the safe side, where the
accountant can price what was spent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from lexfed.arrays import Floats
from lexfed.budget.noise_plan import Budget
from lexfed.data.encoding import Encoding
from lexfed.privacy.accountants.calibration import PrivacyTarget, scale_to_budget
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.scopes import (
    CountedRelease,
    down,
    release_per_person,
    require_renyi,
    steps_of,
    tier_releases,
)
from lexfed.terms import Accountant, Neighbours

LEAST = 0.01
"""Part of the largest importance that every column keeps: noise can hide a signal, and
an importance of zero would give a tier nothing at all."""

DECAY = 0.5
"""Part of the prior that stays when a released model speaks: one noisy model does not
decide alone."""


def importance_by_column(
    encoding: Encoding, values: Floats, noise: Floats
) -> dict[str, float]:
    """Return the length of each column's entries, less what noise adds to it.

    Args:
        encoding: slots of every column.
        values: [slots, outputs].
        noise: standard deviation of the noise in each entry of a slot, [slots].

    Guarantees:
        Never negative; without noise exactly the norm.
    """
    squares = np.square(values).sum(axis=1) - values.shape[1] * np.square(noise)
    return {
        name: float(np.sqrt(max(squares[encoding.slots_of_column(name)].sum(), 0.0)))
        for name in encoding.columns
    }


def relative_importance(found: Mapping[str, float]) -> dict[str, float]:
    """Return importances with mean 1, each at least `LEAST` of the largest.

    Columns that nothing is known about are all alike.
    """
    largest = max(found.values(), default=0.0)
    if largest == 0.0:
        return dict.fromkeys(found, 1.0)
    kept = {name: max(value, LEAST * largest) for name, value in found.items()}
    mean = sum(kept.values()) / len(kept)
    return {name: value / mean for name, value in kept.items()}


def decayed_importance(
    found: Mapping[str, float], prior: Mapping[str, float], decay: float = DECAY
) -> dict[str, float]:
    """Mix importances with a prior, in which columns not named count 1."""
    return {
        name: decay * prior.get(name, 1.0) + (1.0 - decay) * value
        for name, value in found.items()
    }


def first_step(inputs: Floats, goals: Floats) -> tuple[Floats, Floats]:
    """Return the gradient of a public table at the start of training, and its noise.

    Slots and goals are standardised, so an entry is a correlation; in a table of n rows
    one that is zero in truth varies by 1/sqrt(n).

    Args:
        inputs: encoded slots, [rows, slots].
        goals: targets of learning, [rows, outputs].

    Returns:
        Entries [slots, outputs] and their deviation [slots].
    """
    rows = len(inputs)
    values = _standardised(inputs).T @ _standardised(goals) / rows
    return values, np.full(inputs.shape[1], 1.0 / np.sqrt(rows))


def _standardised(values: Floats) -> Floats:
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    # A column that is the same in all rows says nothing.
    steady = spread <= 1e-12 * np.maximum(1.0, np.abs(values).max(axis=0, initial=0.0))
    return np.asarray(np.where(steady, 0.0, centred / np.where(steady, 1.0, spread)))


def remaining_budget(
    budget: Budget, spent: Sequence[CountedRelease], accountant: Accountant
) -> Budget:
    """Return the rest of a budget after releases on the same data.

    Guarantees:
        A run that keeps to the rest costs, together with `spent`, at most the budget:
        for the record and for every capped tier.
        Without sampling and with `gdp` or `pld`, nothing is wasted but what is beyond
        the digits of a stated epsilon.

    Raises:
        Refused: if the releases cost the whole budget, or a cap.
        ClaimError: if one has noise in shares, which the accountant cannot price.
    """
    require_renyi(spent, accountant)
    caps = {
        tier: _left(budget, cap, tier_releases(spent, tier), "replace-one", accountant)
        for tier, cap in budget.caps.items()
    }
    record = _left(budget, budget.epsilon, spent, budget.neighbours, accountant)
    return replace(budget, epsilon=record, caps=caps)


def _left(
    budget: Budget,
    limit: float,
    spent: Sequence[CountedRelease],
    neighbours: Neighbours,
    accountant: Accountant,
) -> float:
    paid = [
        (release_per_person(one, budget.sites_per_person), count)
        for one, count in spent
    ]
    if not paid:
        return limit
    target = PrivacyTarget(limit, budget.delta, neighbours, accountant)
    rest = scale_to_budget([Step(1.0)], target, steps_of(paid))
    return down(target.price([Step(rest)]))
