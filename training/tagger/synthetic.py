# SPDX-License-Identifier: Apache-2.0
"""Tables that nobody has: those of the packs, written in other languages and styles.

A made table takes its columns' categories from a pack's table, so that what stands
side by side is true to life, and fills each with a term of the lexicon in one of its
languages, spelled as old and new systems spell names: `DT_NASC`, `geburtsDatum`,
`patient_dob`, `naissdte`.

Some columns are *blinded*: they are read as if the lexicon did not know them, because
at run time it will not know everything, and the network is there for the rest.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TypeVar

import numpy as np
from training.tagger.corpus import LabelledTable

from lexfed.law.tagger.suggestions import CATEGORIES, DescribedColumn
from lexfed.law.tagger.words.lexicon import LANGUAGES, LexiconEntry, load_lexicon
from lexfed.law.tagger.words.normalisation import TEXT_LIMIT, fold, skeleton, words
from lexfed.law.tagger.words.readings import NOTHING, PhraseReading, TableReading

T = TypeVar("T")
MOST_COLUMNS = 24
LEAST_WEIGHT = 3.0
SHORTEN, PREFIX, SUFFIX = 0.3, 0.3, 0.15
NO_DESCRIPTION, IN_ENGLISH = 0.5, 0.25
PREFIXES = (
    "nu",
    "dt",
    "cod",
    "tp",
    "ds",
    "fl",
    "cd",
    "vl",
    "x",
    "p",
    "kz",
    "lib",
    "id",
)
SUFFIXES = ("cd", "1", "txt", "val", "c", "neu", "new", "orig", "desc")


def made_tables(
    tables: Sequence[LabelledTable], count: int, seed: int
) -> list[LabelledTable]:
    """Return made tables; the same seed gives the same."""
    rng = np.random.default_rng(seed)
    sources = sorted({table.source for table in tables})
    by_source = {
        source: [table for table in tables if table.source == source]
        for source in sources
    }
    return [
        _made(
            _pick(rng, by_source[_pick(rng, sources)]), _pick(rng, LANGUAGES), rng, at
        )
        for at in range(count)
    ]


def blinded(
    table: TableReading, share: float, rng: np.random.Generator
) -> TableReading:
    """Return the table with a share of its names and descriptions read raw."""
    return replace(
        table,
        names=tuple(
            _raw(column.name) if rng.random() < share else name
            for column, name in zip(table.columns, table.names, strict=True)
        ),
        descriptions=tuple(
            _raw(column.description) if rng.random() < share else text
            for column, text in zip(table.columns, table.descriptions, strict=True)
        ),
    )


def _raw(text: str) -> PhraseReading:
    found = words(text, TEXT_LIMIT)
    return replace(
        NOTHING,
        words=found,
        english=found,
        roles=("",) * len(found),
        sources=tuple(range(len(found))),
        unknown=found,
    )


def _made(
    model: LabelledTable, language: str, rng: np.random.Generator, at: int
) -> LabelledTable:
    order = rng.permutation(len(model.columns))[:MOST_COLUMNS]
    columns, labels = [], []
    persons = _terms(language, "role:person")
    prefix = _word(_pick(rng, persons)) if persons and rng.random() < PREFIX else ""
    style = int(rng.integers(6))
    title = model.columns[0].table if rng.random() < 0.5 else ""
    for number in sorted(order.tolist()):
        label = model.labels[number]
        terms = _terms(language, CATEGORIES[label])
        if not terms:
            continue
        entry = _pick(rng, terms)
        columns.append(
            DescribedColumn(
                title,
                _spelled(entry, prefix, style, rng),
                _described(entry, rng),
                model.columns[number].dtype if rng.random() < 0.5 else "",
            )
        )
        labels.append(label)
    source = f"{model.source}~{at}"
    return LabelledTable(source, language, tuple(columns), tuple(labels))


@cache
def _terms(language: str, meaning: str) -> tuple[LexiconEntry, ...]:
    found = {
        entry
        for entries in load_lexicon().terms.values()
        for entry in entries
        if entry.language == language
        and entry.meaning == meaning
        and entry.weight >= LEAST_WEIGHT
    }
    return tuple(sorted(found))


def _word(entry: LexiconEntry) -> str:
    return fold(entry.term).replace(" ", "").replace("-", "")


def _spelled(
    entry: LexiconEntry, prefix: str, style: int, rng: np.random.Generator
) -> str:
    parts = list(words(entry.term))
    if rng.random() < SHORTEN:
        parts = [_shortened(part, rng) for part in parts]
    if prefix and rng.random() < 0.5:
        parts.insert(0, prefix)
    elif rng.random() < PREFIX / 2:
        parts.insert(0, _pick(rng, PREFIXES))
    if rng.random() < SUFFIX:
        parts.append(_pick(rng, SUFFIXES))
    if style == 0:
        return "_".join(parts)
    if style == 1:
        return "_".join(parts).upper()
    if style == 2:
        return parts[0] + "".join(part.capitalize() for part in parts[1:])
    if style == 3:
        return "".join(part.capitalize() for part in parts)
    if style == 4:
        return "".join(parts)
    return "".join(parts).upper()


def _shortened(word: str, rng: np.random.Generator) -> str:
    if len(word) < 6:
        return word
    if rng.random() < 0.5:
        return skeleton(word)
    return word[: int(rng.integers(3, len(word) - 1))]


def _described(entry: LexiconEntry, rng: np.random.Generator) -> str:
    draw = rng.random()
    if draw < NO_DESCRIPTION:
        return ""
    return entry.gloss if draw < NO_DESCRIPTION + IN_ENGLISH else entry.term


def _pick(rng: np.random.Generator, options: Sequence[T]) -> T:
    return options[int(rng.integers(len(options)))]
