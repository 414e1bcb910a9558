# SPDX-License-Identifier: Apache-2.0
"""Columns that say much the same share one importance, and leave together.

Two readings of blood pressure split what they know between them: each looks half as
useful as the pair is. So columns form groups, stated by people or found in a public
table, and every column has the importance of its group: the largest of its members. The
largest and not the mean, because a useless copy added to a group makes it no less
useful.

Groups are found by single linkage: two columns are in one group if a chain of columns
joins them whose neighbours correlate at least as much as a threshold. Only a public
table may be asked; correlations of private rows would have to be paid for.

*Group sparsity*: groups whose importance is below a part of the largest are left out.
Their columns are then not read at all, so they cost nothing and are promised nothing.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from lexfed.arrays import Floats
from lexfed.data.encoding import Encoding

Groups = tuple[frozenset[str], ...]


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
    one level of either nearly is a level of the other.

    Args:
        encoding: slots of every column.
        inputs: encoded slots of a public table, [rows, slots].
        threshold: least absolute correlation, in (0, 1].
    """
    centred = inputs - inputs.mean(axis=0)
    spread = centred.std(axis=0)
    unit = np.where(spread > 0, centred / np.where(spread > 0, spread, 1.0), 0.0)
    strength = np.abs(unit.T @ unit) / max(1, len(inputs))
    pairs = []
    for place, one in enumerate(encoding.columns):
        for other in encoding.columns[place + 1 :]:
            own, others = encoding.slots_of_column(one), encoding.slots_of_column(other)
            # A little room: a column correlates with its copy by 1 up to rounding.
            if strength[np.ix_(own, others)].max() >= threshold * (1.0 - 1e-9):
                pairs.append((one, other))
    return pairs


def group_importances(found: Mapping[str, float], groups: Groups) -> dict[str, float]:
    """Give every column the importance of its group."""
    largest = {
        name: max(found[one] for one in group) for group in groups for name in group
    }
    return {name: largest[name] for name in found}


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
