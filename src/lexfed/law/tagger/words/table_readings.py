# SPDX-License-Identifier: Apache-2.0
"""Whole tables, read: names, descriptions and the language they are written in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lexfed.law.tagger.suggestions import DescribedColumn
from lexfed.law.tagger.words.languages import languages_read, votes
from lexfed.law.tagger.words.normalisation import TEXT_LIMIT
from lexfed.law.tagger.words.phrases import PhraseReading, read_phrase

_RUN = 3


@dataclass(frozen=True)
class TableReading:
    """A table as it is read, before anything is made of it.

    Attributes:
        columns: its columns.
        places: where each of them stands among the columns given.
        title: its name, read.
        names: the names of its columns, read.
        descriptions: their descriptions, read.
        languages: the languages its names are in, the likeliest first.
    """

    columns: tuple[DescribedColumn, ...]
    places: tuple[int, ...]
    title: PhraseReading
    names: tuple[PhraseReading, ...]
    descriptions: tuple[PhraseReading, ...]
    languages: tuple[str, ...]


def read_tables(columns: Sequence[DescribedColumn]) -> list[TableReading]:
    """Return the tables of columns, in the order in which they first occur."""
    whole = votes({text for one in columns for text in (one.name, one.table)})
    return [
        _read_table(places, [columns[at] for at in places], whole)
        for places in _tables(columns)
    ]


def _tables(columns: Sequence[DescribedColumn]) -> list[list[int]]:
    """Return where the columns of each table stand.

    A list may hold the schemas of several sources, and two of them a table of the
    same name: a name that comes back after other tables, with a few columns at each
    place, is another table.
    """
    runs: list[list[int]] = []
    for at, column in enumerate(columns):
        if at and columns[at - 1].table == column.table:
            runs[-1].append(at)
        else:
            runs.append([at])
    by_name: dict[str, list[list[int]]] = {}
    for run in runs:
        by_name.setdefault(columns[run[0]].table, []).append(run)
    found: list[list[int]] = []
    for same in by_name.values():
        apart = min(map(len, same)) >= _RUN
        found += same if apart else [[at for run in same for at in run]]
    return sorted(found)


def _read_table(
    places: Sequence[int],
    columns: Sequence[DescribedColumn],
    whole: Mapping[str, float],
) -> TableReading:
    # The other tables have one vote together: they help a table of few words, and
    # cannot outvote one that speaks for itself.
    table = columns[0].table
    total = sum(whole.values()) or 1.0
    own = votes([table, *(column.name for column in columns)])
    languages = languages_read({k: v + whole[k] / total for k, v in own.items()})
    texts = languages_read(votes((c.description for c in columns), TEXT_LIMIT))
    spoken = tuple(dict.fromkeys((*texts, *languages)))
    return TableReading(
        tuple(columns),
        tuple(places),
        read_phrase(table, languages),
        tuple(read_phrase(column.name, languages) for column in columns),
        tuple(
            read_phrase(column.description, spoken, TEXT_LIMIT) for column in columns
        ),
        languages,
    )
