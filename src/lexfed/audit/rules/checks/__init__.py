# SPDX-License-Identifier: Apache-2.0
"""Small functions that look for evidence, by the names that the catalogue uses."""

from collections.abc import Callable, Mapping

from lexfed.audit.rules.answer import Answer
from lexfed.audit.rules.catalogue import Rule
from lexfed.audit.rules.checks import (
    assessment,
    attacks,
    design,
    guarantees,
    health,
    lifetime,
    parties,
    periods,
    persons,
    principles,
    records,
    security,
    special,
    stated,
)
from lexfed.audit.rules.facts import Facts

Check = Callable[[Facts, Rule], Answer]

_FUNCTIONS: tuple[Check, ...] = (
    assessment.assessment, assessment.description, assessment.measures,
    attacks.attacked, attacks.retested,
    design.designed, design.enforced, design.reviewed, design.reviews, design.tagged,
    guarantees.combined, guarantees.guarantee, guarantees.implementation,
    guarantees.parameters, guarantees.trust,
    health.articles, health.attributes, health.dates, health.identifiers,
    health.places,
    lifetime.biometric, lifetime.lifetime, lifetime.monitored,
    parties.contracts, parties.roles, parties.transfers,
    periods.kept, periods.risk_assessment,
    persons.breaches, persons.consent, persons.withdrawals,
    principles.accountable, principles.confidential, principles.minimised,
    principles.purpose, principles.retained,
    records.bias, records.exported, records.inventory, records.record,
    security.codes, security.encrypted, security.free_of_text, security.intact,
    security.pseudonyms, security.resilient, security.restored,
    special.exceptions, special.offences,
    stated.judgement, stated.stated,
)  # fmt: skip

CHECKS: Mapping[str, Check] = {check.__name__: check for check in _FUNCTIONS}
