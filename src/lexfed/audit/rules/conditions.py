# SPDX-License-Identifier: Apache-2.0
"""Conditions that leave a rule out, only where somebody stated the fact they need.

A condition returns that the rule is left out, or None. Not knowing is never a reason to
leave a rule out: then its check runs, and says what is missing.
"""

from collections.abc import Callable, Mapping

from lexfed.audit.entries import Incident, Withdrawal
from lexfed.audit.rules.catalogue import CheckAnswer, left_out
from lexfed.audit.rules.checks.column_tags import cites_offences
from lexfed.audit.rules.checks.people import outside
from lexfed.audit.rules.fact_queries import (
    all_articles_known,
    find_document,
    risky_changes,
    unlogged_change,
)
from lexfed.audit.rules.facts import LogFacts

RuleCondition = Callable[[LogFacts], CheckAnswer | None]


def _jurisdiction(name: str) -> RuleCondition:
    def named(facts: LogFacts) -> CheckAnswer | None:
        at = facts.features
        if at is None or name in at.entry.jurisdictions:
            return None
        return left_out(f"`law.jurisdictions` does not name `{name}`", at.index)

    return named


def _stated(key: str, values: tuple[object, ...], why: str) -> RuleCondition:
    def holds(facts: LogFacts) -> CheckAnswer | None:
        at = facts.governance
        if at is None or getattr(at.entry, key) not in values:
            return None
        return left_out(why, at.index)

    return holds


def special_data(facts: LogFacts) -> CheckAnswer | None:
    """Without special columns nothing is asked of them."""
    at = facts.features
    if at is None or at.entry.columns.get("special", 0) > 0:
        return None
    return left_out("no column is tagged as special", at.index)


def assessment_needed(facts: LogFacts) -> CheckAnswer | None:
    """No trigger is stated and, with special data, a document says why none holds."""
    at, features = facts.intended, facts.features
    if at is None or at.entry.dpia_triggers != () or features is None:
        return None
    evidence = [at.index, features.index]
    if features.entry.columns.get("special", 0) > 0:
        reasons = find_document(facts, "dpia-not-needed", before=True)
        if reasons is None:
            return None
        evidence.append(reasons.index)
    return left_out("stated: no impact assessment is needed", *evidence)


def consent(facts: LogFacts) -> CheckAnswer | None:
    """Neither the basis nor an exception is consent."""
    at = facts.governance
    if at is None or at.entry.legal_basis in (None, "6.1.a"):
        return None
    if any(basis.exception == "9.2.a" for basis in at.entry.special.values()):
        return None
    return left_out("stated: the processing does not rest on consent", at.index)


def offences(facts: LogFacts) -> CheckAnswer | None:
    """Stated to be absent, or not found where articles were assigned to all."""
    at, features = facts.governance, facts.features
    if cites_offences(facts):
        return None
    if at is not None and at.entry.offence_data is not None:
        if at.entry.offence_data:
            return None
        return left_out("stated: no data on convictions or offences", at.index)
    if features is None or facts.tagged is None or not all_articles_known(facts.tagged):
        return None
    return left_out("no column's tag names Art. 10", features.index)


def processors(facts: LogFacts) -> CheckAnswer | None:
    """Everybody's role is stated, and nobody is a processor."""
    roles = [party.legal_role for party in facts.parties]
    if not roles or any(role in (None, "processor") for role in roles):
        return None
    return left_out("stated: no site is a processor", *facts.start)


def third_countries(facts: LogFacts) -> CheckAnswer | None:
    """Everybody's country is stated, and is in the European Economic Area."""
    if not facts.parties or outside(facts):
        return None
    return left_out("stated: every site is in the EEA", *facts.start)


def changes(facts: LogFacts) -> CheckAnswer | None:
    """The log holds no change that could raise a risk, and hides none."""
    if risky_changes(facts) or unlogged_change(facts) or not facts.rounds:
        return None
    why = "policy, tags and purpose stayed as logged before the first round"
    return left_out(why, *facts.span)


def incidents(facts: LogFacts) -> CheckAnswer | None:
    """None is logged, and the controller states to know of none."""
    at = facts.governance
    if facts.of(Incident) or at is None or "incidents" not in at.entry.none_known:
        return None
    return left_out("stated: no breach is known", at.index)


def _none_known(what: str, grounds: tuple[str, ...]) -> RuleCondition:
    def none(facts: LogFacts) -> CheckAnswer | None:
        at = facts.governance
        logged = [w for w in facts.of(Withdrawal) if w.entry.ground in grounds]
        if logged or at is None or what not in at.entry.none_known:
            return None
        return left_out("stated: none is known", at.index)

    return none


CONDITIONS: Mapping[str, RuleCondition] = {
    "gdpr": _jurisdiction("gdpr"),
    "hipaa": _jurisdiction("hipaa"),
    "ccpa": _jurisdiction("ccpa"),
    "special-data": special_data,
    "assessment-needed": assessment_needed,
    "consent": consent,
    "offences": offences,
    "processors": processors,
    "third-countries": third_countries,
    "changes": changes,
    "incidents": incidents,
    "withdrawals": _none_known("withdrawals", ("consent", "objection", "erasure")),
    "limits": _none_known("limits", ("limit",)),
    "high-residual-risk": _stated(
        "residual_risk", ("low", "medium"), "stated: the residual risk is not high"
    ),
    "anonymity-claimed": _stated(
        "model_status", ("personal",), "stated: the model counts as personal data"
    ),
    "safe-harbor": _stated(
        "deidentification", ("expert", "none"), "stated: Safe Harbor is not used"
    ),
    "expert": _stated(
        "deidentification",
        ("safe-harbor", "none"),
        "stated: expert determination is not used",
    ),
    "deidentified": _stated(
        "deidentification", ("none",), "stated: data are not called de-identified"
    ),
    "high-risk": _stated(
        "high_risk", (False,), "stated: not a high-risk system under the AI Act"
    ),
    "remote-biometric": _stated(
        "remote_biometric", (False,), "stated: no remote biometric identification"
    ),
    "bias-correction": _stated(
        "bias_correction", (False,), "stated: no special data are used against bias"
    ),
}
