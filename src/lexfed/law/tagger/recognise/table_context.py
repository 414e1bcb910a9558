# SPDX-License-Identifier: Apache-2.0
"""Evidence from the other columns of a table: keys of its people, clinical answers.

Long random keys and hashes are keys of something. Under the name of a person or of a
person's case they are keys of people; else they may be anyone's, and are given half
each way. Where the table has names or national numbers of people and no key comes
twice, a column of keys is the key of those people, even if it is only called `id`
(rule R3).

In a table of clinical values a column that is measured or answered for each row tells
something of a patient, whatever short name it has (rule R4), but for keys and marks
that are the same in every row.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lexfed.law.tagger.recognise.recogniser import Recogniser, Sample, cues, regex
from lexfed.law.tagger.suggestions import TagEvidence, evidence_for

FEWEST = 20
"""Rows from which on it says something that no key comes twice."""
WEIGHT = 2.0
_KEY = re.compile(r"[A-Za-z]{0,4}[-_]?\d{3,}|[0-9a-fA-F-]{8,64}", re.ASCII)
_SURE = 3.5
_ABOUT_PEOPLE = cues(
    "patient person member customer client user employee provider practitioner subject "
    "participant student teacher physician doctor clinician insured beneficiary voter "
    "encounter admission visit stay episode claim case policy contract loan account "
    "kunde patientin versicherte mitarbeiter fall vertrag konto cliente paciente "
    "usuario usuaria empleado empleada alumno aluno utilisateur salarie assure dossier "
    "sejour klant medewerker gebruiker utente paziente dipendente assistito"
)
SURROGATES = (
    Recogniser("universally unique identifiers",
               regex(r"\{?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}?"),
               "person_key", 1.0, chance=0.001, context=_ABOUT_PEOPLE),
    Recogniser("hexadecimal hashes",
               regex(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9A-F]{32}|"
                     r"[0-9A-F]{40}|[0-9A-F]{64}"),
               "person_key", 1.0, chance=0.001, context=_ABOUT_PEOPLE),
)  # fmt: skip
_NAMED = 3.5


def evidence_of_surrogates(sample: Sample) -> Iterator[TagEvidence]:
    """Yield the evidence of random keys: of people if the name says so, else both."""
    for recogniser in SURROGATES:
        found = recogniser.evidence(sample)
        if found is None:
            continue
        if sample.mentions(_ABOUT_PEOPLE):
            text = f"{found.text}: keys of people or of their cases (rule R3)"
            yield replace(found, weight=_NAMED, text=text)
            continue
        text = f"{found.text}: keys of a person or of something else (rule R3)"
        yield replace(found, text=text)
        yield replace(found, tier="non_personal", category="technical", text=text)


def evidence_of_keys(
    samples: Sequence[Sample], found: Sequence[Sequence[TagEvidence]]
) -> dict[int, tuple[TagEvidence, ...]]:
    """Return evidence for the columns of a table that are keys of its people.

    `found` is the evidence of each column's own values.
    """
    evidence = (item for items in found for item in items)
    if not any(
        item.category == "direct_identifier" and item.weight >= _SURE
        for item in evidence
    ):
        return {}
    text = (
        "no key comes twice, in a table that names a person in each row: keys of these "
        "people (rule R3)"
    )
    both = _rather("person_key", WEIGHT, text)
    return {at: both for at, sample in enumerate(samples) if is_key(sample)}


def _rather(category: str, weight: float, text: str) -> tuple[TagEvidence, ...]:
    """Return evidence for a category, and as much against a technical column."""
    against = evidence_for("values", "technical", -weight, text)
    return evidence_for("values", category, weight, text), against


def is_key(sample: Sample) -> bool:
    """Return True if a column has a different key in each row, and none is missing."""
    if not FEWEST <= sample.total == len(sample.distinct):
        return False
    return sample.share(lambda v: _KEY.fullmatch(v) is not None)[0] == 1.0


FEWEST_CLINICAL = 2
"""Columns with clinical values that make a table clinical."""
CLINICAL_SHARE = 0.05
"""And the share of the columns they have to be."""
BESIDE_CLINICAL = 2.0
_GRADES = 10
_MEASURED = re.compile(r"-\d+(?:\.\d+)?|\d*\.\d+", re.ASCII)
_FLAGS = tuple(map(cues, (
    "0 1", "true false", "t f", "yes no", "y n", "ja nein", "oui non", "si no",
    "sim nao", "ja nee",
)))  # fmt: skip


def evidence_of_clinical_tables(
    samples: Sequence[Sample], found: Sequence[Sequence[TagEvidence]]
) -> dict[int, tuple[TagEvidence, ...]]:
    """Return the evidence that columns inherit from the clinical values beside them.

    `found` is the evidence of each column's own values.
    """
    clinical = [at for at, items in enumerate(found) if _strongest(items) == "health"]
    if len(clinical) < max(FEWEST_CLINICAL, CLINICAL_SHARE * len(samples)):
        return {}
    text = (
        "the table holds clinical values, and this column is measured or answered for "
        "each row (rule R4)"
    )
    both = _rather("health", BESIDE_CLINICAL, text)
    return {
        at: both
        for at, sample in enumerate(samples)
        if not _strongest(found[at]) and is_content(sample)
    }


def is_content(sample: Sample) -> bool:
    """Return True if a column is an answer, a grade or a measurement, and no key.

    A grade is one of a few small whole numbers; of a measurement one value in ten at
    least is a broken or a negative number.
    """
    grade = 2 <= len(sample.distinct) <= _GRADES and all(
        len(value) <= 2 and value.isdecimal() for value in sample.distinct
    )
    if is_flag(sample) or grade:
        return True
    return sample.share(lambda v: _MEASURED.fullmatch(v) is not None)[0] >= 0.1


def is_flag(sample: Sample) -> bool:
    """Return True if a column answers a question by yes or no, and both occur."""
    return len(sample.folded) == 2 and frozenset(sample.folded) in _FLAGS


def _strongest(items: Sequence[TagEvidence]) -> str | None:
    sure = [item for item in items if item.kind == "values" and item.weight >= 1.0]
    return max(sure, key=lambda item: item.weight).category if sure else None
