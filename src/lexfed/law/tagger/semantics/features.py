# SPDX-License-Identifier: Apache-2.0
"""Columns as the semantic network sees them: one row of numbers for each.

A row is made of blocks, in this order:

    name         the embedding of the column's name, in English
    text         the embedding of name and description together
    siblings     the mean of `text` over the other columns of the table
    said         evidence of lexicon and grammar about the name, by category
    described    the same of the description
    around       the mean of `said + described` over the other columns
    concepts     the concepts in the name, in the description, in the table's name
    role         the role of the table: the subject of its rows
    type         the kind of values, if the schema says so
    kind         no description; share of unknown words; a language but English

Training and run time both call `feature_rows`, so they cannot drift apart. Packs take
no part: the network learns from them, and must not be told the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lexfed.arrays import Singles
from lexfed.law.tagger.metadata.labelling_rules import dtype_kind
from lexfed.law.tagger.metadata.name_evidence import evidence_of_name, is_code, nouns_of
from lexfed.law.tagger.metadata.table_roles import (
    evidence_sums,
    strong_sums,
    table_view,
)
from lexfed.law.tagger.semantics.embeddings import Embedding
from lexfed.law.tagger.suggestions import CATEGORIES
from lexfed.law.tagger.words.lexicon import concepts_of
from lexfed.law.tagger.words.readings import PhraseReading, TableReading

TYPES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("time", ("time",)),
    ("date", ("date", "datum", "fecha")),
    ("flag", ("bool", "bit", "logical")),
    ("whole", ("int", "long", "serial")),
    ("real", ("float", "num", "dec", "double", "real", "money")),
    ("text", ("text", "clob", "memo")),
    ("string", ("char", "str", "uuid", "cat", "factor", "object")),
)
"""Kinds of values, and what their names hold; the first that fits is taken."""
_NUMBER_OF = {category: at for at, category in enumerate(CATEGORIES)}
_FULL = 5.0
"""The weight of a term that decides alone; evidence is counted in units of it."""
_MOST = 2.0
_KINDS = 3


@dataclass(frozen=True)
class FeatureLayout:
    """The meaning of a feature matrix's columns; stored with a network.

    `width` is that of the embedding; concepts that it was not trained with are not
    seen.
    """

    width: int
    concepts: tuple[str, ...]
    roles: tuple[str, ...]

    def widths(self) -> dict[str, int]:
        """Return the width of each block, in their order."""
        categories = len(CATEGORIES)
        return {
            "name": self.width, "text": self.width, "siblings": self.width,
            "said": categories, "described": categories, "around": categories,
            "concepts": 3 * len(self.concepts), "role": len(self.roles),
            "type": len(TYPES), "kind": _KINDS,
        }  # fmt: skip


def feature_rows(
    tables: Sequence[TableReading], embedding: Embedding, layout: FeatureLayout
) -> Singles:
    """Return one row for each column, table after table.

    Guarantees:
        A column's row depends on its own table only.
        The order of the other columns of a table does not change a column's row.
    """
    width = sum(layout.widths().values())
    rows = [_rows(table, embedding, layout) for table in tables]
    return np.vstack(rows) if rows else np.zeros((0, width), np.float32)


def _rows(table: TableReading, embedding: Embedding, layout: FeatureLayout) -> Singles:
    nouns = nouns_of(table.title)
    read = list(zip(table.columns, table.names, table.descriptions, strict=True))
    own = [
        evidence_of_name(name, text, nouns, is_code(column.name))
        for column, name, text in read
    ]
    said, described = (
        _by_category(
            [evidence_sums([i for i in items if i.kind == kind]) for items in own]
        )
        for kind in ("name", "description")
    )
    view = table_view(table.title, list(map(strong_sums, own)))
    role = _marked([view.role], layout.roles)
    text = embedding.matrix([(*name.english, *text.english) for _, name, text in read])
    of_title = _concepts(table.title, layout)
    blocks = {
        "name": embedding.matrix([name.english for name in table.names]),
        "text": text,
        "siblings": _others(text),
        "said": said,
        "described": described,
        "around": _others(said + described),
        "concepts": np.array(
            [
                [*_concepts(name, layout), *_concepts(text, layout), *of_title]
                for _, name, text in read
            ],
            np.float32,
        ),
        "role": np.tile(role, (len(read), 1)),
        "type": np.array([_type(column.dtype) for column in table.columns]),
        "kind": np.array([_kind(name, text, table) for _, name, text in read]),
    }
    return np.hstack([blocks[name] for name in layout.widths()])


def _by_category(sums: Sequence[Mapping[str, float]]) -> Singles:
    out = np.zeros((len(sums), len(CATEGORIES)), np.float32)
    for at, one in enumerate(sums):
        for category, weight in one.items():
            out[at, _NUMBER_OF[category]] = weight / _FULL
    return np.clip(out, -_MOST, _MOST)


def _others(rows: Singles) -> Singles:
    """Return for each row the mean of the other rows; zero if it is alone."""
    if len(rows) < 2:
        return np.zeros_like(rows)
    # In double precision, so that the order of the rows is lost in the rounding.
    total = rows.sum(axis=0, dtype=np.float64)
    return np.asarray((total - rows) / (len(rows) - 1), np.float32)


def _concepts(reading: PhraseReading, layout: FeatureLayout) -> Singles:
    found = frozenset[str]().union(*concepts_of(reading.english, reading.roles))
    return _marked(found, layout.concepts)


def _marked(found: Sequence[str] | frozenset[str], known: Sequence[str]) -> Singles:
    return np.array([one in found for one in known], np.float32)


def _type(dtype: str) -> Singles:
    kind = dtype_kind(dtype[:40], TYPES)
    return np.array([kind == one for one, _ in TYPES], np.float32)


def _kind(name: PhraseReading, text: PhraseReading, table: TableReading) -> Singles:
    unknown = len(name.unknown) / max(1, len(name.words))
    return np.array([not text.words, unknown, table.languages[0] != "en"], np.float32)
