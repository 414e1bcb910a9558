# SPDX-License-Identifier: Apache-2.0
"""Evidence from the values of columns: recognisers and statistics in one place.

Guarantees:
    No evidence holds a value, whatever the values are.
    A column without values, or with none that is there, gets no evidence.
"""

from collections.abc import Iterator, Sequence
from math import exp, log, pi

import numpy as np

from lexfed.law.tagger.proxies import FEW, NUMBER
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
from lexfed.law.tagger.suggestions import DescribedColumn, TagEvidence, evidence_for

NATIONAL: tuple[Recogniser, ...] = (*WESTERN, *EASTERN, *AMERICAN, *OTHERS)
"""Numbers that authorities give to people."""
RECOGNISERS: tuple[Recogniser, ...] = (
    *NATIONAL, *AMERICAN_FIRMS, *REACH, *POSTCODES, *ONLINE, *ACCOUNTS, *GOODS, *CODES,
    *GENES, *VEHICLES,
)  # fmt: skip
"""All recognisers of single values."""
_MOST = 128
"""Most numbers for a density estimate, whose kernel takes the square of it."""
_CONFIRMS = 0.3
_GAUSS = 0.5 * log(2.0 * pi * 2.718281828459045)
NEAR = 1.0
"""Most log-odds by which a second reading of the same values may be weaker."""


def evidence_of_values(
    columns: Sequence[DescribedColumn],
) -> tuple[tuple[TagEvidence, ...], ...]:
    """Return the evidence of each column's values, in the order of the columns.

    Columns may be of several tables; pairs of coordinates are looked for among the
    neighbours of a table.
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


def evidence_of_statistics(sample: Sample) -> Iterator[TagEvidence]:
    """Yield confirmations by figures, in words; their weight decides nothing.

    The figures are computed from people's data and stay on this machine. High
    uniqueness alone says nothing: row numbers and measurements have it too.
    """
    fractions = sum("." in value for value in sample.values) / len(sample.values)
    unique = len(sample.distinct) / len(sample.values)
    lengths = {len(value) for value in sample.distinct}
    numbers = numbers_of(sample)
    if numbers is not None and fractions > 0.3:
        if len(sample.distinct) > FEW and kernel_entropy(numbers) > 0.2:
            text = "the values are measured numbers"
            for category in ("health", "financial", "environment"):
                yield evidence_for("statistics", category, _CONFIRMS, text)
    elif unique > 0.98 and len(lengths) <= 2 and len(sample.values) > 20:
        text = "nearly every value is different and of the same length, as keys are"
        for category in ("person_key", "technical"):
            yield evidence_for("statistics", category, _CONFIRMS, text)


def numbers_of(sample: Sample) -> Sequence[float] | None:
    """Return the values as numbers if all of them are, or None."""
    if not sample.values or not all(map(NUMBER.fullmatch, sample.distinct)):
        return None
    return [float(value) for value in sample.values]


def kernel_entropy(numbers: Sequence[float]) -> float:
    """Return the spread exp(2 (h - h_normal)) of numbers: 1 if normal, near 0 clumped.

    A Gaussian kernel with Silverman's bandwidth on standardised numbers; h is minus
    the mean log density at the numbers themselves, each of which counts for its own
    density, so that one far from all others stays finite. The normal distribution
    has the largest h of its variance, so the ratio is at most 1 but for chance, which
    is cut off.
    """
    step = max(1, -(-len(numbers) // _MOST))
    x = np.asarray(numbers[::step], dtype=np.float64)
    x = x[np.isfinite(x)]
    scale = float(np.abs(x).max()) if x.size else 0.0
    if x.size < 5 or scale == 0.0:
        return 0.0
    x = x / scale  # so that no square overflows
    deviation = float(x.std())
    if deviation < 1e-12:
        return 0.0
    x = (x - x.mean()) / deviation
    width = 1.06 * x.size**-0.2
    kernel = np.exp(-0.5 * ((x[:, None] - x[None, :]) / width) ** 2)
    density = kernel.sum(axis=1) / (x.size * width * np.sqrt(2.0 * pi))
    h = -float(np.log(density).mean())
    return min(1.0, exp(2.0 * min(0.0, h - _GAUSS)))
