# SPDX-License-Identifier: Apache-2.0
"""Evidence from the values of columns: recognisers and statistics in one place.

Guarantees:
    No evidence holds a value, whatever the values are.
    A column without values, or with none that is there, gets no evidence.
"""

from collections.abc import Iterator, Sequence

from lexfed.law.tagger.recognise.cell_words import (
    evidence_of_texts,
    evidence_of_vocabularies,
)
from lexfed.law.tagger.recognise.codes import ACCOUNTS, CODES, GENES, GOODS, VEHICLES
from lexfed.law.tagger.recognise.contact import ONLINE, POSTCODES, REACH
from lexfed.law.tagger.recognise.europe import EASTERN, WESTERN
from lexfed.law.tagger.recognise.measurements import (
    evidence_of_measures,
    evidence_of_places,
)
from lexfed.law.tagger.recognise.overseas import AMERICAN, AMERICAN_FIRMS, OTHERS
from lexfed.law.tagger.recognise.people import evidence_of_people
from lexfed.law.tagger.recognise.recogniser import Recogniser, Sample, sample_of
from lexfed.law.tagger.recognise.table_context import (
    evidence_of_clinical_tables,
    evidence_of_keys,
    evidence_of_surrogates,
)
from lexfed.law.tagger.statistics import evidence_of_statistics
from lexfed.law.tagger.suggestions import DescribedColumn, TagEvidence

NATIONAL: tuple[Recogniser, ...] = (*WESTERN, *EASTERN, *AMERICAN, *OTHERS)
RECOGNISERS: tuple[Recogniser, ...] = (
    *NATIONAL, *AMERICAN_FIRMS, *REACH, *POSTCODES, *ONLINE, *ACCOUNTS, *GOODS, *CODES,
    *GENES, *VEHICLES,
)  # fmt: skip
NEAR = 1.0
"""Most log-odds by which a second reading of the same values may be weaker."""


def evidence_of_values(
    columns: Sequence[DescribedColumn],
) -> tuple[tuple[TagEvidence, ...], ...]:
    """Return the evidence of each column's values, in the order of the columns.

    Pairs of coordinates are looked for among the columns of one table.
    """
    samples = [sample_of(column) for column in columns]
    tables: dict[str, list[int]] = {}
    for at, column in enumerate(columns):
        tables.setdefault(column.table, []).append(at)
    found: dict[int, tuple[TagEvidence, ...]] = {}
    for members in tables.values():
        of_table = _of_table([samples[at] for at in members])
        found.update(zip(members, of_table, strict=True))
    return tuple(found[at] for at in range(len(columns)))


def _of_table(samples: Sequence[Sample]) -> list[tuple[TagEvidence, ...]]:
    places = evidence_of_places(samples)
    found = [
        tuple(_of_one(sample, places.get(at))) if sample.values else ()
        for at, sample in enumerate(samples)
    ]
    clinical = evidence_of_clinical_tables(samples, found)
    keys = evidence_of_keys(samples, found)
    return [
        items + keys.get(at, clinical.get(at, ())) for at, items in enumerate(found)
    ]


def _of_one(sample: Sample, place: TagEvidence | None) -> Iterator[TagEvidence]:
    # A name in a list of choices, or in a cell of text, is not the column's subject.
    words = [*evidence_of_vocabularies(sample), *evidence_of_texts(sample)]
    named = [] if words else list(evidence_of_people(sample))
    if place is not None:
        yield place
    yield from words
    yield from named
    yield from evidence_of_measures(sample)
    yield from evidence_of_surrogates(sample)
    yield from evidence_of_recognisers(sample)
    yield from evidence_of_statistics(sample)


def evidence_of_recognisers(sample: Sample) -> list[TagEvidence]:
    """Return the strongest reading of single values, and others nearly as strong."""
    found = [e for r in RECOGNISERS if (e := r.evidence(sample)) is not None]
    found.sort(key=lambda evidence: -evidence.weight)
    best: dict[str | None, TagEvidence] = {}
    for evidence in found:
        if evidence.weight >= found[0].weight - NEAR:
            best.setdefault(evidence.category, evidence)
    return list(best.values())
