# SPDX-License-Identifier: Apache-2.0
"""The functions that look for evidence, by the names that the catalogue uses.

A check takes the facts of a log and its rule, and returns a `CheckAnswer`: the
most that it found, with the entries that prove it. `duties` holds what people
and organisations owe, `safeguards` what protects the data and the model.

The name of a function in `CHECKS` is a word of `catalogue.toml`: rename neither
alone. A new check needs the function, its place in the table below, and a rule
that names it.
"""

from collections.abc import Callable, Mapping

from lexfed.audit.rules.answers import CheckAnswer
from lexfed.audit.rules.catalogue import Rule
from lexfed.audit.rules.checks.duties import (
    impact_assessment,
    parties,
    periods,
    persons,
    principles,
    records,
    special_categories,
    statements,
)
from lexfed.audit.rules.checks.safeguards import (
    attacks,
    column_tags,
    design,
    guarantees,
    security,
)
from lexfed.audit.rules.facts import LogFacts

RuleCheck = Callable[[LogFacts, Rule], CheckAnswer]

_FUNCTIONS: tuple[RuleCheck, ...] = (
    impact_assessment.assessment, impact_assessment.description,
    impact_assessment.measures,
    attacks.attacked, attacks.retested,
    design.designed, design.enforced, design.reviewed, design.reviews, design.tagged,
    guarantees.combined, guarantees.guarantee, guarantees.implementation,
    guarantees.parameters, guarantees.trust,
    column_tags.articles, column_tags.attributes, column_tags.dates,
    column_tags.identifiers, column_tags.places,
    parties.contracts, parties.roles, parties.transfers,
    periods.kept, periods.risk_assessment,
    persons.breaches, persons.consent, persons.withdrawals,
    principles.accountable, principles.confidential, principles.minimised,
    principles.purpose, principles.retained,
    records.bias, records.biometric, records.exported, records.inventory,
    records.lifetime, records.monitored, records.record,
    security.codes, security.encrypted, security.free_of_text, security.intact,
    security.pseudonyms, security.resilient, security.restored,
    special_categories.exceptions, special_categories.offences,
    statements.judgement, statements.stated,
)  # fmt: skip

CHECKS: Mapping[str, RuleCheck] = {check.__name__: check for check in _FUNCTIONS}
