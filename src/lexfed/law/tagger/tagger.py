# SPDX-License-Identifier: Apache-2.0
"""Columns in, suggestions out: whole tables at once, because siblings matter."""

from collections.abc import Iterator, Sequence

from lexfed.errors import DataError, Problem
from lexfed.law.tagger.column import Column, Suggestion
from lexfed.law.tagger.fuse import answer, probabilities
from lexfed.law.tagger.inherit import from_table
from lexfed.law.tagger.metadata import is_code, nouns_of, own_evidence
from lexfed.law.tagger.packs import Packs, load_packs
from lexfed.law.tagger.precedent import from_packs, recognise
from lexfed.law.tagger.roles import STRONG, added, summed, view
from lexfed.law.tagger.settings import Settings
from lexfed.law.tagger.tables import ReadTable, read_tables

_DEFAULTS = Settings()


def tag_columns(
    columns: Sequence[Column], settings: Settings = _DEFAULTS
) -> tuple[Suggestion, ...]:
    """Return a suggestion for every column, in their order.

    Args:
        columns: the columns of one or more tables; siblings explain each other.
        settings: shares, thresholds and packs to leave out.

    Raises:
        DataError: naming every column without a name.
    """
    problems = [
        Problem(f"column {number} of table `{column.table[:60]}`", "has no name")
        for number, column in enumerate(columns, 1)
        if not column.name.strip()
    ]
    if problems:
        raise DataError(problems)
    packs = load_packs(settings.without)
    found: dict[int, Suggestion] = {}
    for table in read_tables(columns):
        found.update(zip(table.places, _tag(table, packs, settings), strict=True))
    return tuple(found[at] for at in range(len(columns)))


def _tag(table: ReadTable, packs: Packs, settings: Settings) -> Iterator[Suggestion]:
    matches = recognise(table.columns, packs)
    nouns = nouns_of(table.title)
    read = list(zip(table.columns, table.names, table.descriptions, strict=True))
    own = [
        [
            *own_evidence(name, description, nouns, is_code(column.name)),
            *from_packs(column, matches, packs),
        ]
        for column, name, description in read
    ]
    sums = [summed(items) for items in own]
    sure = [
        {category: weight for category, weight in one.items() if weight >= STRONG}
        for one in sums
    ]
    seen = view(table.title, sure)
    for (column, name, description), items, one in zip(read, own, sums, strict=True):
        inherited = list(from_table(name, description, column.dtype, one, seen))
        scores = added(one, inherited)
        chances = probabilities(scores)
        strength = max(scores.values(), default=0.0)
        result = answer(chances, strength, seen.dominant, settings)
        ordered = sorted([*items, *inherited], key=lambda item: -abs(item.weight))
        yield Suggestion(
            column, result.tier, result.category, round(result.score, 4),
            result.review, tuple(ordered), table.languages[0],
        )  # fmt: skip
