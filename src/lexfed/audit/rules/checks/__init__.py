# SPDX-License-Identifier: Apache-2.0
"""The functions that look for evidence, by the names that the catalogue uses.

A check takes the facts of a log and its rule, and returns a `CheckAnswer`: the
most that it found, with the entries that prove it. Start with `statements`,
which serves more rules than any other. Not knowing is never evidence: a fact
that nobody stated is reported as missing.

The name of a function in `CHECKS` is a word of `catalogue.toml`: rename neither
alone.
"""

from collections.abc import Callable, Mapping

from lexfed.audit.rules.catalogue import CheckAnswer, Rule
from lexfed.audit.rules.checks import (
    column_tags,
    guarantees,
    people,
    principles,
    records,
    security,
    statements,
)
from lexfed.audit.rules.facts import LogFacts

RuleCheck = Callable[[LogFacts, Rule], CheckAnswer]

_FUNCTIONS: tuple[RuleCheck, ...] = (
    column_tags.articles, column_tags.attributes, column_tags.dates,
    column_tags.exceptions, column_tags.identifiers, column_tags.offences,
    column_tags.places,
    guarantees.combined, guarantees.designed, guarantees.enforced,
    guarantees.guarantee, guarantees.implementation, guarantees.parameters,
    guarantees.reviewed, guarantees.reviews, guarantees.tagged, guarantees.trust,
    people.breaches, people.consent, people.contracts, people.roles,
    people.transfers, people.withdrawals,
    principles.accountable, principles.assessment, principles.confidential,
    principles.description, principles.measures, principles.minimised,
    principles.purpose, principles.retained,
    records.bias, records.biometric, records.exported, records.inventory,
    records.lifetime, records.monitored, records.record,
    security.attacked, security.codes, security.encrypted, security.free_of_text,
    security.intact, security.pseudonyms, security.resilient, security.restored,
    security.retested,
    statements.judgement, statements.kept, statements.risk_assessment,
    statements.stated,
)  # fmt: skip

CHECKS: Mapping[str, RuleCheck] = {check.__name__: check for check in _FUNCTIONS}
