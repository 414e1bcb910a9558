# SPDX-License-Identifier: Apache-2.0
"""Rights of persons, and duties towards them: consent, objection, breaches.

Who took part in a round is not in the log, so the log cannot show that somebody was
left out: a site confirms it in a document about the withdrawal.
"""

from datetime import timedelta

from lexfed.audit.entries import Incident, Withdrawal
from lexfed.audit.rules.answers import CheckAnswer, met, missing
from lexfed.audit.rules.catalogue import Rule
from lexfed.audit.rules.dates import time_between
from lexfed.audit.rules.documents import answers, find
from lexfed.audit.rules.facts import DatedEntry, LogFacts


def _open(
    facts: LogFacts, rule: Rule, found: list[DatedEntry[Withdrawal]]
) -> tuple[list[str], list[int]]:
    """Return the withdrawals without an answer, and the entries that show the rest."""
    gaps, evidence = [], []
    for at in found:
        for name in rule.parameters["answers"]:
            answer = answers(facts, name, at.index, prompt=name == "exclusion")
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
    registry = find(facts, "consent-registry", before=True)
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
