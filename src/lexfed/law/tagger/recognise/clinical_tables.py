# SPDX-License-Identifier: Apache-2.0
"""Tables whose values are clinical, as evidence about their other columns.

In such a table a column that is measured or answered for each row tells something of a
patient, whatever short name it has (rule R4). Housekeeping is different: keys, which
never are negative or broken numbers, and marks that are the same in every row.
"""

import re
from collections.abc import Sequence

from lexfed.law.tagger.recognise.recogniser import Sample
from lexfed.law.tagger.suggestions import TagEvidence

FEWEST = 2
"""Columns with clinical values that make a table clinical."""
SHARE = 0.05
"""And the share of the columns they have to be."""
WEIGHT = 2.0
_GRADES = 10
_MEASURED = re.compile(r"-\d+(?:\.\d+)?|\d*\.\d+", re.ASCII)
_FLAGS = (
    frozenset({"0", "1"}), frozenset({"true", "false"}), frozenset({"t", "f"}),
    frozenset({"yes", "no"}), frozenset({"y", "n"}), frozenset({"ja", "nein"}),
    frozenset({"oui", "non"}), frozenset({"si", "no"}), frozenset({"sim", "nao"}),
    frozenset({"ja", "nee"}),
)  # fmt: skip


def evidence_of_clinical_tables(
    samples: Sequence[Sample], found: Sequence[Sequence[TagEvidence]]
) -> dict[int, tuple[TagEvidence, ...]]:
    """Return the evidence that columns inherit from the clinical values beside them.

    `found` is the evidence of each column's own values.
    """
    clinical = [at for at, items in enumerate(found) if _strongest(items) == "health"]
    if len(clinical) < max(FEWEST, SHARE * len(samples)):
        return {}
    text = (
        "the table holds clinical values, and this column is measured or answered for "
        "each row (rule R4)"
    )
    both = (
        TagEvidence("values", "special", "health", WEIGHT, text),
        TagEvidence("values", "non_personal", "technical", -WEIGHT, text),
    )
    return {
        at: both
        for at, sample in enumerate(samples)
        if not _strongest(found[at]) and is_content(sample)
    }


def is_content(sample: Sample) -> bool:
    """Return True if a column is an answer, a grade or a measurement, and no key."""
    return is_flag(sample) or is_grade(sample) or is_measured(sample)


def is_flag(sample: Sample) -> bool:
    """Return True if a column answers a question by yes or no, and both occur."""
    return len(sample.folded) == 2 and frozenset(sample.folded) in _FLAGS


def is_grade(sample: Sample) -> bool:
    """Return True if a column has a few small whole numbers, as grades and scales."""
    return 2 <= len(sample.distinct) <= _GRADES and all(
        len(value) <= 2 and value.isdecimal() for value in sample.distinct
    )


def is_measured(sample: Sample) -> bool:
    """Return True if one value in ten at least is a broken or a negative number."""
    return sample.share(lambda v: _MEASURED.fullmatch(v) is not None)[0] >= 0.1


def _strongest(items: Sequence[TagEvidence]) -> str | None:
    sure = [item for item in items if item.kind == "values" and item.weight >= 1.0]
    return max(sure, key=lambda item: item.weight).category if sure else None
