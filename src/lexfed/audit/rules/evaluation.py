# SPDX-License-Identifier: Apache-2.0
"""Evaluate rules on facts, and never claim more than a rule allows.

EVIDENCED              the log itself shows it
PARTIAL                the log shows a technical part of it
DOCUMENT_PRESENT       a signed document exists; nobody judges it
NOT_EVIDENCED          something is missing; `why` says what
NOT_MACHINE_CHECKABLE  only people can judge it
NOT_APPLICABLE         somebody stated a fact by which it does not apply
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lexfed.audit.entries.lifecycle import RuleOutcome, RuleResult
from lexfed.audit.rules.answers import CheckAnswer, missing
from lexfed.audit.rules.catalogue import Rule, RuleCatalogue, RuleCeiling, catalogue
from lexfed.audit.rules.checks import CHECKS
from lexfed.audit.rules.conditions import CONDITIONS
from lexfed.audit.rules.facts import LogFacts
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
"""What the score is, to be printed beside it."""


@dataclass(frozen=True)
class Judgement:
    """What one rule gave.

    Attributes:
        rule: the rule.
        outcome: never above its ceiling.
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
        """Whether nothing more could be claimed."""
        return self.outcome == AT_CEILING[self.rule.ceiling]

    @property
    def counts(self) -> bool:
        """Whether it counts in the score: it applies, and software can check it."""
        return self.outcome not in ("NOT_APPLICABLE", "NOT_MACHINE_CHECKABLE")

    @property
    def result(self) -> RuleResult:
        """The result as certificates hold it."""
        return RuleResult(
            rule=self.rule.id, outcome=self.outcome, evidence=self.evidence
        )


@dataclass(frozen=True)
class Score:
    """How many rules that count are at their ceiling."""

    at_ceiling: int
    applicable: int

    @property
    def share(self) -> float | None:
        """Between 0 and 1; None if no rule counts."""
        return self.at_ceiling / self.applicable if self.applicable else None


def evaluate(
    facts: LogFacts, rules: RuleCatalogue | None = None
) -> tuple[Judgement, ...]:
    """Evaluate every rule.

    Args:
        facts: of the log.
        rules: the catalogue; that of this version if None.

    Guarantees:
        No outcome is above the ceiling of its rule.
        On a log that does not verify no rule claims anything.
        A rule is left out only where a condition of the catalogue says so.
        The same facts give the same judgements.

    Raises:
        AuditError: if the catalogue names a check or condition that does not exist, or
            gives one parameters that it cannot use.
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
    return CHECKS[rule.check](facts, rule)


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
    """Return how many of the rules that count are at their ceiling."""
    counted = [judgement for judgement in judgements if judgement.counts]
    return Score(sum(judgement.at_ceiling for judgement in counted), len(counted))
