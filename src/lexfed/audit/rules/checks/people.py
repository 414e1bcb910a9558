# SPDX-License-Identifier: Apache-2.0
"""Roles, contracts and countries of the parties; rights of people and duties to them.

Who took part in a round is not in the log, so the log cannot show that somebody was
left out: a site confirms it in a document about the withdrawal.
"""

from datetime import timedelta

from lexfed.audit.entries import Incident, Party, Withdrawal
from lexfed.audit.rules.catalogue import CheckAnswer, Rule, met, missing
from lexfed.audit.rules.fact_queries import (
    document_about,
    documents_for,
    find_document,
    time_between,
)
from lexfed.audit.rules.facts import DatedEntry, LogFacts
from lexfed.audit.vocabulary import EEA

_CONTRACT = "not stated for every site: `audit.parties.NAME.contract`"


def roles(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Everybody has a role, and a contract unless they alone are controller."""
    parties = facts.parties
    if not parties or any(party.legal_role is None for party in parties):
        return missing(
            "not stated for every site: `audit.parties.NAME.role`", *facts.start
        )
    bound = [party for party in parties if party.legal_role != "controller"]
    if any(party.contract is None for party in bound):
        return missing(_CONTRACT, *facts.start)
    return met(
        "everybody has a role and, where one is needed, a contract", *facts.start
    )


def contracts(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every processor, taken as business associate, has a contract."""
    parties = facts.parties
    if not parties or any(party.legal_role is None for party in parties):
        return missing(
            "not stated for every site: `audit.parties.NAME.role`", *facts.start
        )
    bound = [party for party in parties if party.legal_role == "processor"]
    if any(party.contract is None for party in bound):
        return missing(_CONTRACT, *facts.start)
    return met("every business associate has an agreement", *facts.start)


def outside(facts: LogFacts) -> tuple[Party, ...]:
    """Return the parties that are not known to be in the European Economic Area."""
    return tuple(party for party in facts.parties if party.country not in EEA)


def transfers(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every party outside the European Economic Area has a tool for transfers."""
    abroad = outside(facts)
    if not facts.parties or any(party.country is None for party in abroad):
        return missing(
            "not stated for every site: `audit.parties.NAME.country`", *facts.start
        )
    if any(party.transfer_tool is None for party in abroad):
        why = "not stated for every site outside: `audit.parties.NAME.transfer_tool`"
        return missing(why, *facts.start)
    if all(party.transfer_tool == "adequacy" for party in abroad):
        return met("an adequacy decision is named for every transfer", *facts.start)
    need = [party for party in abroad if party.transfer_tool != "adequacy"]
    found = documents_for(facts, "transfer-safeguards", need)
    if not found:
        return missing(
            "not stated: `audit.documents.transfer-safeguards`", *facts.start
        )
    return met("a tool is named for every transfer", *facts.start, *found)


def _open(
    facts: LogFacts, rule: Rule, found: list[DatedEntry[Withdrawal]]
) -> tuple[list[str], list[int]]:
    """Return the withdrawals without an answer, and the entries that show the rest."""
    gaps, evidence = [], []
    for at in found:
        for name in rule.parameters["answers"]:
            answer = document_about(facts, name, at.index, prompt=name == "exclusion")
            if answer is None:
                gaps.append(f"a `document` entry `{name}` about entry {at.index}")
            else:
                evidence += [at.index, answer]
    return gaps, evidence


def withdrawals(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Every withdrawal was answered before the next round."""
    grounds = rule.parameters["grounds"]
    found = [at for at in facts.of(Withdrawal) if at.entry.ground in grounds]
    if not found:
        return missing(
            "none is logged, and nobody states in `audit.governance.none_known` that "
            "none is known"
        )
    gaps, evidence = _open(facts, rule, found)
    if gaps:
        return missing(f"missing: {', '.join(gaps[:3])}", *evidence)
    return met("every logged withdrawal was answered in time", *evidence)


def consent(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Consents are kept somewhere, and withdrawals were answered."""
    at = facts.intended
    if at is None or at.entry.legal_basis is None:
        return missing("not stated: `audit.governance.legal_basis`")
    registry = find_document(facts, "consent-registry", before=True)
    if registry is None:
        return missing("not stated: `audit.documents.consent-registry`", at.index)
    found = [w for w in facts.of(Withdrawal) if w.entry.ground == "consent"]
    gaps, evidence = _open(facts, rule, found)
    if gaps:
        return missing(f"missing: {', '.join(gaps[:3])}", *evidence)
    why = "there is a registry, and every logged withdrawal was answered"
    return met(why, at.index, registry.index, *evidence)


def breaches(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Every incident was notified in time, or there is a reason."""
    found = facts.of(Incident)
    if not found:
        return missing(
            "none is logged, and nobody states in `audit.governance.none_known` that "
            "none is known"
        )
    limit = timedelta(hours=rule.parameters["hours"])
    late = [at.index for at in found if not _notified(at.entry, limit)]
    if late:
        return missing("notified too late or never, and without a reason", *late)
    why = "notified in time or with a reason"
    return met(why, *(at.index for at in found))


def _notified(incident: Incident, limit: timedelta) -> bool:
    if incident.notified_at is None:
        return incident.delay_reason is not None
    taken = time_between(incident.aware_at, incident.notified_at)
    if taken is None or taken < timedelta(0):
        return False
    return taken <= limit or incident.delay_reason is not None
