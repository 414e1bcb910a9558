# SPDX-License-Identifier: Apache-2.0
"""What the values of a single column are taken for."""

from collections.abc import Sequence

from lexfed.law.tagger.suggestions import DescribedColumn
from lexfed.law.tagger.value_evidence import evidence_of_values

CLINICAL_TEXTS = (
    "the patient reports pain in the chest and shortness of breath since monday",
    "no fever, cough for three days, chest x ray without findings, home",
    "admitted after a fall with a fracture of the left hip, surgery planned",
    "diabetes and hypertension under treatment, dose of insulin raised today",
)
"""Sentences of notes about patients."""


def strongest(
    values: Sequence[str], name: str = "x", description: str = ""
) -> str | None:
    """Return the category that the values of a single column speak for most."""
    column = DescribedColumn("t", name, description, values=tuple(values))
    found = [e for e in evidence_of_values([column])[0] if e.kind == "values"]
    best = max(found, key=lambda e: e.weight, default=None)
    return best.category if best and best.weight > 0 else None
