# SPDX-License-Identifier: Apache-2.0
"""The catalogue of obligations as executable rules, and certificates about them.

    judgements = evaluate(facts_of(records, blobs, Checks(log=True, budget=True)))

`catalogue.toml` holds the rules, `facts` what a log says, `conditions` when a rule does
not apply, `checks/` what is looked for, `evaluate` the outcome, capped at the ceiling.
"""

from lexfed.audit.rules.cannot import CANNOT
from lexfed.audit.rules.catalogue import (
    Catalogue,
    Rule,
    catalogue,
    catalogue_bytes,
    catalogue_digest,
    parse_catalogue,
)
from lexfed.audit.rules.certify import certify
from lexfed.audit.rules.evaluate import (
    AT_CEILING,
    SCORE_MEANS,
    Judgement,
    Score,
    evaluate,
    score,
)
from lexfed.audit.rules.facts import Checks, Facts, facts_of

__all__ = [
    "AT_CEILING",
    "CANNOT",
    "SCORE_MEANS",
    "Catalogue",
    "Checks",
    "Facts",
    "Judgement",
    "Rule",
    "Score",
    "catalogue",
    "catalogue_bytes",
    "catalogue_digest",
    "certify",
    "evaluate",
    "facts_of",
    "parse_catalogue",
    "score",
]
