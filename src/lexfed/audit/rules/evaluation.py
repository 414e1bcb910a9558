# SPDX-License-Identifier: Apache-2.0
"""Evaluate rules on facts, and never claim more than a rule allows.

EVIDENCED              the log itself shows it
PARTIAL                the log shows a technical part of it
DOCUMENT_PRESENT       a signed document exists; nobody judges it
NOT_EVIDENCED          something is missing; `why` says what
NOT_MACHINE_CHECKABLE  only people can judge it
NOT_APPLICABLE         somebody stated a fact by which it does not apply
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lexfed.audit.entries import Certificate, PolicyEntry
from lexfed.audit.entries.lifecycle import RuleOutcome, RuleResult
from lexfed.audit.entries.opening import BlobSource
from lexfed.audit.rules.catalogue import (
    CheckAnswer,
    Missing,
    Rule,
    RuleCatalogue,
    RuleCeiling,
    catalogue,
    missing,
)
from lexfed.audit.rules.checks import CHECKS
from lexfed.audit.rules.conditions import CONDITIONS
from lexfed.audit.rules.facts import LogFacts, LoggedEntry, VerifierFindings, facts_of
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
    "The transparency score is the share of rules for which the log holds as much "
    "evidence as software may claim, among the rules that apply and that software can "
    "check at all. It measures how much is shown, not whether anything is lawful."
)
"""Explanation of the score, to be printed beside it."""

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


@dataclass(frozen=True)
class Judgement:
    """The outcome of one rule, with its evidence and its reason.

    Attributes:
        outcome: never above the ceiling of the rule.
        evidence: indices of the entries that prove it; many are cited by the first
            and the last of them.
        why: in words: what was found, or what is missing.
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
        answer = _answer(facts, rule)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AuditError(
            f"catalogue: rule `{rule.id}` cannot be evaluated by this version",
            "use the catalogue of the version that wrote the log",
        ) from error
    outcome = capped(answer.outcome, rule.ceiling)
    return Judgement(rule, outcome, _cited(answer.evidence), answer.why)


def _answer(facts: LogFacts, rule: Rule) -> CheckAnswer:
    if not facts.checks.log:
        return missing("the log does not verify")
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


def _cited(evidence: tuple[int, ...]) -> tuple[int, ...]:
    if len(evidence) <= _MOST_CITED:
        return evidence
    half = _MOST_CITED // 2
    return evidence[:half] + evidence[-half:]


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

    A certificate never says that something is lawful. It says that rule X of the
    catalogue with digest H, evaluated on entries 0 to n, gave R. Whoever verifies the
    log evaluates the same rules on the same entries and compares.

    Certificates do not look at witnesses: cosignatures lie beside the log and change
    after an entry is written, so one about them could not be evaluated again.

    Without `checks` of a verifier those of the log's writer count, who verified it on
    opening.

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
