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

**Groups.** Two readings of blood pressure split their information between them: each
looks half as useful as the pair is. So columns form groups, stated by people or found
in a public table by single linkage of correlations, and every column has the importance
of its group: the largest of its members, and not the mean, because a useless copy added
to a group makes it no less useful. Correlations of private rows would have to be paid
for.

*Group sparsity*: groups whose importance is below a part of the largest are left out.
Their columns are then not read at all, so they cost nothing and are promised nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
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
    releases_per_person,
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

Groups = tuple[frozenset[str], ...]


def importance_by_column(
    encoding: Encoding, values: Floats, noise: Floats
) -> dict[str, float]:
    """Return the length of each column's entries, less what noise adds to it.

    `values` are [slots, outputs]; `noise` is the standard deviation of the noise in
    each entry of a slot.

    Guarantees:
        Never negative; without noise exactly the norm.
    """
    squares = np.square(values).sum(axis=1) - values.shape[1] * np.square(noise)
    return {
        name: float(np.sqrt(max(squares[encoding.slots_of_column(name)].sum(), 0.0)))
        for name in encoding.columns
    }


def relative_importance(values: Mapping[str, float]) -> dict[str, float]:
    """Return importances with mean 1, all 1 or each at least `LEAST` of the largest."""
    largest = max(values.values(), default=0.0)
    if largest == 0.0:
        return dict.fromkeys(values, 1.0)
    kept = {name: max(value, LEAST * largest) for name, value in values.items()}
    mean = sum(kept.values()) / len(kept)
    return {name: value / mean for name, value in kept.items()}


def decayed_importance(
    values: Mapping[str, float], prior: Mapping[str, float], decay: float = DECAY
) -> dict[str, float]:
    """Mix importances with a prior, in which columns not named count 1."""
    return {
        name: decay * prior.get(name, 1.0) + (1.0 - decay) * value
        for name, value in values.items()
    }


def first_step(inputs: Floats, goals: Floats) -> tuple[Floats, Floats]:
    """Return the gradient of a public table at the start of training, and its noise.

    Slots and goals are standardised, so an entry is a correlation; in a table of n rows
    one that is zero in truth varies by 1/sqrt(n). Entries are [slots, outputs], their
    deviation is [slots].
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

    Releases that cost the whole budget or a cap are refused, and so is noise in shares
    that the accountant cannot price.

    Guarantees:
        A run that keeps to the rest costs, together with `spent`, at most the budget:
        for the record and for every capped tier.
        Without sampling and with `gdp` or `pld`, nothing is wasted but what is beyond
        the digits of a stated epsilon.
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
    paid = releases_per_person(spent, budget.sites_per_person)
    if not paid:
        return limit
    target = PrivacyTarget(limit, budget.delta, neighbours, accountant)
    rest = scale_to_budget([Step(1.0)], target, steps_of(paid))
    return down(target.price([Step(rest)]))


def joined_groups(columns: Sequence[str], pairs: Iterable[tuple[str, str]]) -> Groups:
    """Return the groups that pairs of columns make; a column alone is one too.

    Guarantees:
        Every column is in exactly one group.
        Groups are in the order of their first column, whatever that of the pairs.
    """
    group = {name: frozenset([name]) for name in columns}
    for one, other in pairs:
        both = group[one] | group[other]
        for name in both:
            group[name] = both
    return tuple(dict.fromkeys(group[name] for name in columns))


def stated_pairs(groups: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return pairs that make groups as people stated them."""
    return [(names[0], other) for names in groups.values() for other in names[1:]]


def correlated_pairs(
    encoding: Encoding, inputs: Floats, threshold: float
) -> list[tuple[str, str]]:
    """Return the pairs of columns of a public table that correlate.

    A column of several slots counts by its strongest one: two categories are alike if
    one level of either nearly is a level of the other. `inputs` are the encoded slots
    of the table, [rows, slots]; the threshold is an absolute correlation in (0, 1].
    """
    centred = inputs - inputs.mean(axis=0)
    spread = centred.std(axis=0)
    unit = np.where(spread > 0, centred / np.where(spread > 0, spread, 1.0), 0.0)
    strength = np.abs(unit.T @ unit) / max(1, len(inputs))
    pairs = []
    for place, one in enumerate(encoding.columns):
        for other in encoding.columns[place + 1 :]:
            slots = encoding.slots_of_column(one), encoding.slots_of_column(other)
            # A little room: a column correlates with its copy by 1 up to rounding.
            if strength[np.ix_(*slots)].max() >= threshold * (1.0 - 1e-9):
                pairs.append((one, other))
    return pairs


def group_importances(alone: Mapping[str, float], groups: Groups) -> dict[str, float]:
    """Give every column the importance of its group."""
    largest = {
        name: max(alone[one] for one in group) for group in groups for name in group
    }
    return {name: largest[name] for name in alone}


def omitted_columns(
    shared_importance: Mapping[str, float], sparsity: float
) -> tuple[str, ...]:
    """Return the columns whose group's importance is below a part of the largest.

    Guarantees:
        The most important group always stays.
        Columns of one group stay or leave together.
    """
    bar = sparsity * max(shared_importance.values(), default=0.0)
    return tuple(name for name, value in shared_importance.items() if value < bar)
