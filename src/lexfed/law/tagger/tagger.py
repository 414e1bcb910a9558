# SPDX-License-Identifier: Apache-2.0
"""Columns in, suggestions out: whole tables at once, because siblings matter.

Guarantees:
    There is one suggestion for each column, in the order of the columns.
    The order of the columns of a table does not change what is suggested.
    No suggestion holds a value in its evidence.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lexfed.errors import DataError, Problem
from lexfed.law.tagger.column import Column, Evidence, Suggestion
from lexfed.law.tagger.fuse import answer, chances_of, dominant_tier, floored
from lexfed.law.tagger.inherit import from_table
from lexfed.law.tagger.metadata import is_code, nouns_of, own_evidence
from lexfed.law.tagger.packs import Packs, load_packs
from lexfed.law.tagger.precedent import from_packs, recognise
from lexfed.law.tagger.roles import STRONG, added, both, summed, view
from lexfed.law.tagger.semantics import by_network, evidence_of_network
from lexfed.law.tagger.settings import Settings
from lexfed.law.tagger.tables import ReadTable, read_tables

_DEFAULTS = Settings()
_MOST_PROBLEMS = 20


def tag_columns(
    columns: Sequence[Column], settings: Settings = _DEFAULTS
) -> tuple[Suggestion, ...]:
    """Return a suggestion for every column, in their order.

    Args:
        columns: the columns of one or more tables; siblings explain each other.
        settings: shares, thresholds and packs to leave out.

    Raises:
        DataError: naming columns without a name.
    """
    problems = [
        Problem(f"column {number}", "has no name", "every column needs a name")
        for number, column in enumerate(columns, 1)
        if not column.name.strip()
    ]
    if problems:
        raise DataError(problems[:_MOST_PROBLEMS])
    packs = load_packs(settings.without)
    tables = read_tables(columns)
    seen, meant = _from_values(columns), by_network(tables, settings)
    found: dict[int, Suggestion] = {}
    for table in tables:
        values = [seen[at] for at in table.places]
        network = [meant.get(at) for at in table.places]
        answers = _tag(table, values, network, packs, settings)
        found.update(zip(table.places, answers, strict=True))
    return _with_proxies(columns, [found[at] for at in range(len(columns))])


def _tag(
    table: ReadTable,
    values: Sequence[Sequence[Evidence]],
    network: Sequence[Mapping[str, float] | None],
    packs: Packs,
    settings: Settings,
) -> Iterator[Suggestion]:
    matches = recognise(table.columns, packs)
    nouns = nouns_of(table.title)
    read = list(zip(table.columns, table.names, table.descriptions, strict=True))
    own = [
        [
            *own_evidence(name, description, nouns, is_code(column.name), table.title),
            *from_packs(column, matches, packs),
        ]
        for column, name, description in read
    ]
    sure = [
        {c: w for c, w in summed([*items, *seen]).items() if w >= STRONG}
        for items, seen in zip(own, values, strict=True)
    ]
    about = view(table.title, sure)
    weighed = []
    for at, (column, name, description) in enumerate(read):
        sums = summed(own[at])
        inherited = list(from_table(name, description, column.dtype, sums, about))
        odds = both(added(sums, inherited), summed(values[at]))
        told = [item for item in (*own[at], *inherited) if item.outright]
        facts = summed([*values[at], *told])
        chances = chances_of(odds, facts, network[at], settings)
        # The table alone says nothing of a name that nobody can read.
        readable = bool(name.hits or description.hits)
        by_itself = odds if readable else both(sums, summed(values[at]))
        found = answer(chances, max(by_itself.values(), default=0.0), settings)
        evidence = [*own[at], *values[at], *inherited]
        if (meant := network[at]) is not None:
            evidence.append(evidence_of_network(meant, readable))
        weighed.append((found, chances, evidence))
    dominant = dominant_tier(found for found, _, _ in weighed)
    for column, (found, chances, evidence) in zip(table.columns, weighed, strict=True):
        result = floored(found, chances, dominant, settings)
        yield Suggestion(
            column, result.tier, result.category, round(result.score, 4),
            result.review, tuple(sorted(evidence, key=_order)), table.languages[0],
        )  # fmt: skip


def _order(item: Evidence) -> tuple[float, str]:
    return -abs(item.weight), item.text


def _from_values(columns: Sequence[Column]) -> Sequence[Sequence[Evidence]]:
    """Return what the values say; recognisers are loaded only if there are any."""
    if not any(column.values for column in columns):
        return [()] * len(columns)
    from lexfed.law.tagger.values import evidence_of_values

    return evidence_of_values(columns)


def _with_proxies(
    columns: Sequence[Column], suggestions: Sequence[Suggestion]
) -> tuple[Suggestion, ...]:
    if not any(column.values for column in columns):
        return tuple(suggestions)
    from lexfed.law.tagger.values import proxies_of

    pairs = zip(suggestions, proxies_of(columns, suggestions), strict=True)
    return tuple(replace(one, proxies=proxies) for one, proxies in pairs)
