# SPDX-License-Identifier: Apache-2.0
"""The catalogue of obligations as executable rules, and certificates about them.

`catalogue.toml` holds the rules, `catalogue` reads them, `facts` answers what they
ask of a log; `checks` looks for the evidence, `evaluation` knows where a rule does
not apply, caps each answer at the rule's ceiling and makes the certificate, and
`shown_rules` counts apart what software can show and what waits for people.

The digest of `catalogue.toml` is in entry 0 of every log: editing the file,
even its spaces, makes another catalogue, and certificates are evaluated again
only by their own. Outcomes depend on entries and findings, never on a clock. A
certificate says what a rule gave, never that something is lawful.
"""

from lexfed.audit.rules.catalogue import (
    Rule,
    RuleCatalogue,
    catalogue,
    catalogue_bytes,
    parse_catalogue,
)
from lexfed.audit.rules.evaluation import (
    AT_CEILING,
    CANNOT,
    SCORE_MEANS,
    Judgement,
    Score,
    certify,
    evaluate,
    score,
)
from lexfed.audit.rules.facts import LogFacts, VerifierFindings, facts_of
from lexfed.audit.rules.shown_rules import ShownRules, shown_rules

__all__ = [
    "AT_CEILING", "CANNOT", "SCORE_MEANS", "Judgement", "LogFacts", "Rule",
    "RuleCatalogue", "Score", "ShownRules", "VerifierFindings", "catalogue",
    "catalogue_bytes", "certify", "evaluate", "facts_of", "parse_catalogue", "score",
    "shown_rules",
]  # fmt: skip
