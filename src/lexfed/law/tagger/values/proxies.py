# SPDX-License-Identifier: Apache-2.0
"""Proxies: columns that give away a sensitive one although they are something else.

A postcode tells something of ethnic origin, a medicine of a disease. A column that is
no sensitive one itself is reported with the sensitive columns of its table with which
it hangs together, if the strength is at least `LEAST` and above what chance reaches in
1 of 100,000 independent pairs (`association`).

Proxies are a separate output. They never change a tier: if they did, every column of a
medical table would become health data by its correlation with age.

Guarantees:
    Identifiers are never reported: a key determines everything.
    No column changes its tier or its category.
"""

from collections.abc import Sequence

from lexfed.law.tagger.suggestions import DescribedColumn, Proxy, Suggestion
from lexfed.law.tagger.values.association import (
    FEWEST_ROWS,
    VariableStack,
    associations,
    variable_of,
)

LEAST = 0.3
"""Strength from which on a column is reported as a proxy."""
MOST_PROXIES = 3
"""Reported of each column, the strongest first."""


def proxies_of(
    columns: Sequence[DescribedColumn], suggestions: Sequence[Suggestion]
) -> tuple[tuple[Proxy, ...], ...]:
    """Return, for each column, the sensitive columns of its table that it gives away.

    Args:
        columns: the columns, with values where there are any. Values in the same place
            belong to the same row; columns of fewer values than others are left out.
        suggestions: of the tagger, one for each of them.
    """
    tables: dict[tuple[str, int], list[int]] = {}
    for at, column in enumerate(columns):
        if column.values and suggestions[at].tier != "identifier":
            key = (column.table, len(column.values))
            tables.setdefault(key, []).append(at)
    found: dict[int, list[Proxy]] = {}
    for members in tables.values():
        sensitive = [at for at in members if suggestions[at].tier == "special"]
        others = [at for at in members if suggestions[at].tier != "special"]
        _of_table(columns, suggestions, sensitive, others, found)
    return tuple(
        tuple(sorted(found.get(at, ()), key=lambda p: -p.strength)[:MOST_PROXIES])
        for at in range(len(columns))
    )


def _of_table(
    columns: Sequence[DescribedColumn],
    suggestions: Sequence[Suggestion],
    sensitive: Sequence[int],
    others: Sequence[int],
    found: dict[int, list[Proxy]],
) -> None:
    pairs = [(at, variable_of(columns[at].values or ())) for at in others]
    known = [(at, variable) for at, variable in pairs if variable is not None]
    if not known or not sensitive:
        return
    many = VariableStack([variable for _, variable in known])
    for to in sensitive:
        target = variable_of(columns[to].values or ())
        if target is None:
            continue
        for one in associations(target, many, LEAST):
            if one.rows < FEWEST_ROWS or one.strength < one.chance:
                continue
            strength = round(one.strength, 2)
            category = suggestions[to].category
            proxy = Proxy(columns[to].name, category, one.measure, strength)
            found.setdefault(known[one.at][0], []).append(proxy)
