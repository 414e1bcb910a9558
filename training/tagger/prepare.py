# SPDX-License-Identifier: Apache-2.0
"""Labelled tables as rows for the teacher and for the student.

Both see the same evidence of lexicon, grammar and table. In place of the static
embeddings the teacher sees what MiniLM makes of whole names and descriptions. The
student also sees every table a second time with part of it blinded, and is asked
for what the teacher says of it with open eyes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from training.tagger.corpus import LabelledTable
from training.tagger.minilm import Teacher
from training.tagger.synthetic import blinded

from lexfed.law.tagger.semantics.embeddings import Embedding
from lexfed.law.tagger.semantics.features import FeatureLayout, feature_rows
from lexfed.law.tagger.words.readings import TableReading, read_tables

Rows = NDArray[np.float32]


@dataclass(frozen=True)
class Prepared:
    """Rows of columns, one for each column and in the same order everywhere.

    Attributes:
        seeing: what the student sees.
        blind: the same with part of the words unknown to the lexicon.
        encoded: what the teacher sees in place of embeddings.
        labels: numbers of the categories.
        families: groups of sources.
        languages: of the names, as the sources say.
        described: whether there is a description.
    """

    seeing: Rows
    blind: Rows
    encoded: Rows
    labels: NDArray[np.int64]
    families: NDArray[np.str_]
    languages: NDArray[np.str_]
    described: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.labels)

    def taken(self, chosen: NDArray[np.bool_]) -> "Prepared":
        """Return the chosen columns."""
        return Prepared(
            self.seeing[chosen], self.blind[chosen], self.encoded[chosen],
            self.labels[chosen], self.families[chosen], self.languages[chosen],
            self.described[chosen],
        )  # fmt: skip


def prepare(
    tables: Sequence[LabelledTable],
    embedding: Embedding,
    layout: FeatureLayout,
    teacher: Teacher,
    blind: float,
    seed: int,
) -> Prepared:
    """Return the rows of tables; the tables of a source are read together.

    Args:
        tables: labelled tables, those of a source one after another.
        embedding: the static embedding.
        layout: of the features.
        teacher: the sentence encoder.
        blind: share of names and descriptions that are blinded.
        seed: of the choice of what is blinded.
    """
    read: list[TableReading] = []
    labels: list[int] = []
    families: list[str] = []
    languages: list[str] = []
    for source in dict.fromkeys(table.source for table in tables):
        mine = [table for table in tables if table.source == source]
        known = [label for table in mine for label in table.labels]
        for one in read_tables([c for table in mine for c in table.columns]):
            read.append(one)
            labels += [known[place] for place in one.places]
            families += [mine[0].family] * len(one.places)
            languages += [mine[0].language] * len(one.places)
    rng = np.random.default_rng(seed)
    return Prepared(
        feature_rows(read, embedding, layout),
        feature_rows([blinded(one, blind, rng) for one in read], embedding, layout),
        _encoded(read, teacher),
        np.array(labels, np.int64),
        np.array(families),
        np.array(languages),
        np.array([bool(text.words) for one in read for text in one.descriptions]),
    )


def teacher_rows(prepared: Prepared, layout: FeatureLayout) -> Rows:
    """Return what the teacher sees: its own vectors, and the evidence."""
    static = sum(layout.widths()[name] for name in ("name", "text", "siblings"))
    return np.hstack([prepared.encoded, prepared.seeing[:, static:]])


def _encoded(tables: Sequence[TableReading], teacher: Teacher) -> Rows:
    names = [" ".join(name.english) for table in tables for name in table.names]
    texts = [
        " ".join((*name.english, *text.english))
        for table in tables
        for name, text in zip(table.names, table.descriptions, strict=True)
    ]
    different = sorted({*names, *texts})
    number = {text: at for at, text in enumerate(different)}
    vectors = teacher.encode(different)
    of_texts = vectors[[number[text] for text in texts]]
    around = np.zeros_like(of_texts)
    start = 0
    for table in tables:
        stop = start + len(table.columns)
        mine = of_texts[start:stop]
        around[start:stop] = (mine.sum(axis=0) - mine) / max(1, stop - start - 1)
        start = stop
    return np.hstack([vectors[[number[name] for name in names]], of_texts, around])
