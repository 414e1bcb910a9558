# SPDX-License-Identifier: Apache-2.0
"""Roles, contracts and countries of the parties; rights of people and duties to them.

Who took part in a round is not in the log, so the log cannot show that somebody was
left out: a site confirms it in a document about the withdrawal.
"""

from collections.abc import Sequence
from datetime import timedelta

from lexfed.audit.entries import Incident, Party, Withdrawal
from lexfed.audit.rules.catalogue import CheckAnswer, Rule, met, need, require
from lexfed.audit.rules.facts import DatedEntry, LogFacts, decided, time_between
from lexfed.audit.vocabulary import EEA

_NONE_KNOWN = (
    "none is logged, and nobody states in `audit.governance.none_known` that "
    "none is known"
)


def _require_roles(facts: LogFacts, *bound: str) -> None:
    """Require a role of every party, and a contract of those in some roles."""
    parties = facts.parties
    stated = parties and all(party.legal_role is not None for party in parties)
    why = "not stated for every site: `audit.parties.NAME.role`"
    require(stated, why, *facts.start)
    contracts = [party.contract for party in parties if party.legal_role in bound]
    why = "not stated for every site: `audit.parties.NAME.contract`"
    require(None not in contracts, why, *facts.start)


def roles(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Everybody has a role, and a contract unless they alone are controller."""
    _require_roles(facts, "joint-controller", "processor")
    why = "everybody has a role and, where one is needed, a contract"
    return met(why, *facts.start)


def contracts(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every processor, taken as business associate, has a contract."""
    _require_roles(facts, "processor")
    return met("every business associate has an agreement", *facts.start)


def outside(facts: LogFacts) -> tuple[Party, ...]:
    """Return the parties that are not known to be in the European Economic Area."""
    return tuple(party for party in facts.parties if party.country not in EEA)


def transfers(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every party outside the European Economic Area has a tool for transfers."""
    abroad = outside(facts)
    stated = facts.parties and all(party.country is not None for party in abroad)
    why = "not stated for every site: `audit.parties.NAME.country`"
    require(stated, why, *facts.start)
    why = "not stated for every site outside: `audit.parties.NAME.transfer_tool`"
    require(all(party.transfer_tool for party in abroad), why, *facts.start)
    others = [party for party in abroad if party.transfer_tool != "adequacy"]
    if not others:
        return met("an adequacy decision is named for every transfer", *facts.start)
    documents = facts.documents_for("transfer-safeguards", others)
    why = "not stated: `audit.documents.transfer-safeguards`"
    require(documents, why, *facts.start)
    return met("a tool is named for every transfer", *facts.start, *documents)


def _answers(
    facts: LogFacts, rule: Rule, logged: Sequence[DatedEntry[Withdrawal]]
) -> list[int]:
    """Return the withdrawals and the documents that answer them; all are answered."""
    gaps, evidence = [], []
    for at in logged:
        for name in rule.parameters["answers"]:
            answer = facts.document_about(name, at.index, prompt=name == "exclusion")
            if answer is None:
                gaps.append(f"a `document` entry `{name}` about entry {at.index}")
            else:
                evidence += [at.index, answer]
    require(not gaps, f"missing: {', '.join(gaps[:3])}", *evidence)
    return evidence


def withdrawals(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Every withdrawal was answered before the next round."""
    grounds = rule.parameters["grounds"]
    logged = [at for at in facts.of(Withdrawal) if at.entry.ground in grounds]
    require(logged, _NONE_KNOWN)
    evidence = _answers(facts, rule, logged)
    return met("every logged withdrawal was answered in time", *evidence)


def consent(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Consents are kept somewhere, and withdrawals were answered."""
    at = decided(facts.intended, "legal_basis")
    registry = facts.document("consent-registry", before=True)
    why = "not stated: `audit.documents.consent-registry`"
    kept = need(registry, why, at.index)
    logged = [w for w in facts.of(Withdrawal) if w.entry.ground == "consent"]
    evidence = _answers(facts, rule, logged)
    why = "there is a registry, and every logged withdrawal was answered"
    return met(why, at.index, kept.index, *evidence)


def breaches(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Every incident was notified in time, or there is a reason."""
    logged = facts.of(Incident)
    require(logged, _NONE_KNOWN)
    limit = timedelta(hours=rule.parameters["hours"])
    late = [at.index for at in logged if not _notified(at.entry, limit)]
    require(not late, "notified too late or never, and without a reason", *late)
    return met("notified in time or with a reason", *(at.index for at in logged))


def _notified(incident: Incident, limit: timedelta) -> bool:
    if incident.notified_at is None:
        return incident.delay_reason is not None
    taken = time_between(incident.aware_at, incident.notified_at)
    if taken is None or taken < timedelta(0):
        return False
    return taken <= limit or incident.delay_reason is not None
