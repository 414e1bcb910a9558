# SPDX-License-Identifier: Apache-2.0
"""Protection by design and by default (GDPR Art. 24, 25): decided before, kept to."""

from lexfed.audit.entries import BudgetPlan, CompletionEntry, RoundEntry
from lexfed.audit.rules.answers import CheckAnswer, met, missing
from lexfed.audit.rules.catalogue import Rule
from lexfed.audit.rules.documents import answers
from lexfed.audit.rules.fact_queries import (
    in_force,
    protection,
    risky_changes,
    unlogged_change,
)
from lexfed.audit.rules.facts import LogFacts


def reviewed(facts: LogFacts, _: Rule) -> CheckAnswer:
    """A signed policy, and a review that was due after the last round."""
    policy, at = facts.policy, facts.intended
    if policy is None:
        return missing("no policy was logged before the first round")
    if at is None or at.entry.review_due is None:
        return missing("not stated: `audit.governance.review_due`", policy.index)
    if at.entry.review_due < facts.ended:
        return missing("the review was due before the last round", at.index)
    return met("a signed policy, and the next review is due", policy.index, at.index)


def designed(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Budget, unit and mechanism were logged before the first round and stayed."""
    policy, reason = protection(facts), unlogged_change(facts)
    if isinstance(policy, str):
        return missing(policy, *in_force(facts))
    if reason is not None:
        return missing(reason, *in_force(facts))
    if not facts.rounds:
        return missing("no round is logged yet", *in_force(facts))
    gaps, evidence = unreviewed(facts, "dpia-review")
    if gaps:
        return missing(f"missing: {', '.join(gaps[:3])}", *evidence)
    why = "the policy was logged before the first round, no change went unreviewed"
    return met(why, *in_force(facts), *facts.span[:1], *evidence)


def unreviewed(facts: LogFacts, document: str) -> tuple[list[str], list[int]]:
    """Return the changes that nobody reviewed before the next round, and the rest."""
    gaps, evidence = [], []
    for change in risky_changes(facts):
        review = answers(facts, document, change.index, prompt=True)
        evidence.append(change.index)
        if review is None:
            gaps.append(f"a `document` entry `{document}` about entry {change.index}")
        else:
            evidence.append(review)
    return gaps, evidence


def reviews(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Every change that may raise a risk was reviewed before the next round."""
    reason = unlogged_change(facts)
    if reason is not None:
        return missing(reason)
    if not risky_changes(facts):
        return missing("no round is logged yet")
    gaps, evidence = unreviewed(facts, rule.parameters["answer"])
    if gaps:
        return missing(f"missing: {', '.join(gaps[:3])}", *evidence)
    return met("every change was reviewed before the next round", *evidence)


def enforced(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Budgets recomputed from the logged events are kept."""
    policy = protection(facts)
    if isinstance(policy, str):
        return missing(policy, *in_force(facts))
    if not facts.rounds:
        return missing("no round is logged yet", *in_force(facts))
    if facts.checks.budget is not True:
        return missing("the budgets could not be recomputed as stated", *facts.span)
    plan, done = facts.last(BudgetPlan), facts.last(CompletionEntry)
    more = [at.index for at in (plan, done) if at is not None]
    why = "budgets recomputed from the logged events are kept"
    return met(why, *in_force(facts), *facts.span, *more)


def tagged(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every column had a tier before the first round, and it stayed."""
    features = facts.features
    if features is None or facts.tagged is None:
        return missing("the tags of the columns are not at hand")
    if any(at.entry.tags != features.entry.tags for at in facts.of(RoundEntry)):
        return missing("a round used other tags than those logged", features.index)
    return met("every column has a tier", features.index, *facts.span)
