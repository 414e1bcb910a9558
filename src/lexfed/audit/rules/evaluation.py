# SPDX-License-Identifier: Apache-2.0
"""Evaluate rules on facts, and never claim more than a rule allows.

A rule is left out only where somebody stated the fact that its condition needs. Not
knowing is never a reason to leave a rule out: then its check runs, and says what is
missing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from lexfed.audit.entries import Certificate, Incident, PolicyEntry, Withdrawal
from lexfed.audit.entries.lifecycle import RuleOutcome, RuleResult
from lexfed.audit.entries.opening import BlobSource
from lexfed.audit.rules.catalogue import (
    CheckAnswer,
    Missing,
    Rule,
    RuleCatalogue,
    RuleCeiling,
    answer,
    catalogue,
    left_out,
)
from lexfed.audit.rules.checks import CHECKS
from lexfed.audit.rules.checks.column_tags import cites_offences
from lexfed.audit.rules.checks.people import outside
from lexfed.audit.rules.facts import (
    LogFacts,
    LoggedEntry,
    VerifierFindings,
    all_articles_known,
    facts_of,
)
from lexfed.errors import AuditError

AT_CEILING: Mapping[RuleCeiling, RuleOutcome] = {
    "full": "EVIDENCED",
    "partial": "PARTIAL",
    "presence": "DOCUMENT_PRESENT",
    "none": "NOT_MACHINE_CHECKABLE",
    "not-applicable": "NOT_APPLICABLE",
}
"""The most that a rule of each ceiling may say."""

_CLAIMS: tuple[RuleOutcome, ...] = (
    "NOT_EVIDENCED", "DOCUMENT_PRESENT", "PARTIAL", "EVIDENCED",
)  # fmt: skip
_MOST_CITED = 100

SCORE_MEANS = (
    "A rule is shown where the log holds as much evidence as software may ever claim "
    "about it. Rules that need statements or documents wait for people, and are no "
    "failure of a run. The counts measure how much is shown, not whether anything is "
    "lawful."
)
"""Explanation of the counts of shown rules, to be printed beside them."""

CANNOT: tuple[str, ...] = (
    "That noise of the stated scale was really drawn, or values really clipped, on the "
    "machines of the coordinator and the sites: one noisy number does not reveal its "
    "variance. Receipts signed by sites, noise from several parties, attested "
    "hardware, reproducible builds and attack tests make it likelier, not certain.",
    "That a lawful basis, an exception or an argument of necessity is right, that an "
    "epsilon is low enough for its context, or that a model is anonymous: people judge "
    "these case by case.",
    "That tags and data sheets are true, and that no run, copy or release took place "
    "outside of what writes this log.",
    "That notices were understood, consent was freely given, contracts are adequate, a "
    "data protection officer was independent, or the views of data subjects mattered.",
    "How well an organisation guards its machines, what its staff can reach, what is "
    "left in backups and at sites, and whether something was really deleted: a logged "
    "deletion is a statement.",
    "That nobody actually knows how to re-identify somebody (HIPAA), that an expert is "
    "competent, or that data are representative and free of bias.",
    "That secure aggregation holds against more colluding parties than its threshold "
    "assumes.",
    "Who a person behind a key is: a signature points to a key, and custody of the key "
    "is a matter of identity and access controls.",
)
"""Limits of every log, for every report; never shortened, so as not to claim more."""


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
        reasons = facts.document("dpia-not-needed", before=True)
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
    if facts.risky_changes or facts.unlogged_change or not facts.rounds:
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


@dataclass(frozen=True)
class Judgement:
    """The outcome of one rule, with its evidence and its reason.

    Attributes:
        outcome: never above the ceiling of the rule.
        evidence: indices of the entries that prove it; many are cited by the first
            and the last of them.
    """

    rule: Rule
    outcome: RuleOutcome
    evidence: tuple[int, ...]
    why: str

    @property
    def at_ceiling(self) -> bool:
        """True if nothing more could be claimed."""
        return self.outcome == AT_CEILING[self.rule.ceiling]

    @property
    def counts(self) -> bool:
        """True if it counts in the score: it applies, and software can check it."""
        return self.outcome not in ("NOT_APPLICABLE", "NOT_MACHINE_CHECKABLE")

    @property
    def result(self) -> RuleResult:
        """The result as certificates hold it."""
        return RuleResult(
            rule=self.rule.id, outcome=self.outcome, evidence=self.evidence
        )


@dataclass(frozen=True)
class Score:
    """Rules that count, and how many of them are at their ceiling."""

    at_ceiling: int
    applicable: int

    @property
    def share(self) -> float | None:
        """Between 0 and 1; None if no rule counts."""
        return self.at_ceiling / self.applicable if self.applicable else None


def evaluate(
    facts: LogFacts, rules: RuleCatalogue | None = None
) -> tuple[Judgement, ...]:
    """Evaluate every rule of a catalogue: that of this version if None.

    A catalogue with checks or conditions that this version does not have, or cannot
    use with its parameters, raises `AuditError`.

    Guarantees:
        No outcome is above the ceiling of its rule.
        On a log that does not verify no rule claims anything.
        A rule is left out only where a condition of the catalogue says so.
        The same facts give the same judgements.
    """
    used = catalogue() if rules is None else rules
    return tuple(_judged(facts, rule) for rule in used.rules)


def _judged(facts: LogFacts, rule: Rule) -> Judgement:
    try:
        found = _answer(facts, rule)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AuditError(
            f"catalogue: rule `{rule.id}` cannot be evaluated by this version",
            "use the catalogue of the version that wrote the log",
        ) from error
    outcome, cited = capped(found.outcome, rule.ceiling), found.evidence
    if len(cited) > _MOST_CITED:
        cited = cited[: _MOST_CITED // 2] + cited[-_MOST_CITED // 2 :]
    return Judgement(rule, outcome, cited, found.why)


def _answer(facts: LogFacts, rule: Rule) -> CheckAnswer:
    if not facts.checks.log:
        return answer("NOT_EVIDENCED", "the log does not verify")
    for name in rule.applies:
        left_out = CONDITIONS[name](facts)
        if left_out is not None:
            return left_out
    try:
        return CHECKS[rule.check](facts, rule)
    except Missing as gap:
        return gap.answer


def capped(outcome: RuleOutcome, ceiling: RuleCeiling) -> RuleOutcome:
    """Return the outcome, lowered to what the ceiling allows.

    >>> capped("EVIDENCED", "presence"), capped("NOT_EVIDENCED", "full")
    ('DOCUMENT_PRESENT', 'NOT_EVIDENCED')
    """
    if outcome == "NOT_APPLICABLE":
        return outcome
    if ceiling == "none":
        return "NOT_MACHINE_CHECKABLE"
    if outcome == "NOT_MACHINE_CHECKABLE" or ceiling == "not-applicable":
        return "NOT_EVIDENCED"
    most = AT_CEILING[ceiling]
    return min(outcome, most, key=_CLAIMS.index)


def score(judgements: tuple[Judgement, ...]) -> Score:
    """Return the number of rules that count, and of those at their ceiling."""
    counted = [judgement for judgement in judgements if judgement.counts]
    return Score(sum(judgement.at_ceiling for judgement in counted), len(counted))


def certify(
    records: Sequence[LoggedEntry],
    content: BlobSource,
    checks: VerifierFindings | None = None,
) -> Certificate:
    """Return the certificate of this version's catalogue on all entries of a log.

    Certificates do not look at witnesses: cosignatures lie beside the log and change
    after an entry is written, so one about them could not be evaluated again. Without
    `checks` of a verifier those of the log's writer count, who verified it on opening.

    Guarantees:
        The same records, content and checks give the same certificate.
    """
    if not records:
        raise AuditError("a log without entries cannot be certified")
    if checks is None:
        policies = [r.entry for r in records if isinstance(r.entry, PolicyEntry)]
        charged = any(policy.mechanism != "none" for policy in policies)
        checks = VerifierFindings(log=True, budget=True if charged else None)
    seen = replace(checks, quorum=None)
    judgements = evaluate(facts_of(records, content, seen))
    total = score(judgements)
    return Certificate(
        catalogue=catalogue().digest,
        first=0,
        last=len(records) - 1,
        results=tuple(judgement.result for judgement in judgements),
        at_ceiling=total.at_ceiling,
        applicable=total.applicable,
    )
