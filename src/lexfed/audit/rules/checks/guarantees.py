# SPDX-License-Identifier: Apache-2.0
"""Differential privacy as stated, and protection by design (GDPR Art. 24, 25)."""

from lexfed.audit.entries import (
    BudgetPlan,
    CohortAssumptions,
    CompletionEntry,
    PolicyEntry,
    RoundEntry,
)
from lexfed.audit.entries.masking_record import PROTOCOL
from lexfed.audit.rules.catalogue import (
    CheckAnswer,
    Missing,
    Rule,
    answer,
    met,
    need,
    require,
)
from lexfed.audit.rules.checks.principles import hidden
from lexfed.audit.rules.facts import LogFacts, decided


def guarantee(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Epsilon, delta, unit and relation are stated, and recomputing agrees."""
    facts.protected()
    done, plan = facts.last(CompletionEntry), facts.last(BudgetPlan)
    if done is None or done.entry.claim is None or plan is None:
        raise Missing("the run has no claim yet", *facts.in_force)
    why = "the budgets could not be recomputed as stated"
    require(facts.checks.budget is True, why, done.index)
    why = "the claim is stated in full, and recomputing agrees"
    return met(why, *facts.in_force, plan.index, *facts.span, done.index)


def implementation(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """A known sampler, the system's generator, and a report of tests."""
    policy = facts.protected()
    known = policy.entry.noise in rule.parameters["samplers"]
    require(known, "the sampler is not one of those known", policy.index)
    why = "not stated: `audit.documents.software-tests`"
    tests = need(facts.document("software-tests"), why, policy.index)
    why = "a known sampler, the system's generator, and a report of tests"
    return met(why, *facts.in_force, tests.index)


def trust(facts: LogFacts, _: Rule) -> CheckAnswer:
    """It is stated who is trusted, and the log does not contradict it."""
    policy = facts.protected()
    cohort = policy.entry.cohort
    if policy.entry.trust != "distributed":
        shared = cohort is not None or policy.entry.noise == "skellam-shares"
        why = "sites share the noise, but distributed trust is not stated"
        require(not shared, why, policy.index)
        return met("the trust model is stated", policy.index)
    if cohort is None or not _shared(policy.entry, cohort):
        why = "distributed trust is stated without what its guarantee rests on"
        raise Missing(why, policy.index)
    # As many sites are in a sum as its noise was sized for.
    summed = [at.entry.aggregation.survivors or 0 for at in facts.of(RoundEntry)]
    enough = all(count >= cohort.sites - cohort.dropouts for count in summed)
    why = "distributed trust is stated, but sums were not hidden in every round"
    require(hidden(facts) and enough, why, policy.index, *facts.span)
    why = "the trust model and what it assumes of the sites are stated"
    return met(why, policy.index, *facts.span)


def _shared(policy: PolicyEntry, cohort: CohortAssumptions) -> bool:
    """Return True if noise in shares is priced as proven, and some stays secret."""
    priced = (policy.accountant, policy.sampling) == ("rdp", "none")
    masked = (policy.noise, policy.aggregation) == ("skellam-shares", PROTOCOL)
    return priced and masked and cohort.honest >= 1


def parameters(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Epsilon, delta and unit are stated, and somebody says why they fit."""
    facts.protected()
    why = "not stated: `audit.documents.privacy-parameters`"
    reasons = need(facts.document("privacy-parameters"), why, *facts.in_force)
    return met("parameters and their justification", *facts.in_force, reasons.index)


def combined(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Federated learning is combined with noise and with secure aggregation."""
    masked = bool(facts.of(RoundEntry)) and hidden(facts)
    if masked and not isinstance(facts.protection, str):
        why = "noise and secure aggregation in every round"
        return met(why, *facts.in_force, *facts.span)
    reasons = need(
        facts.document("pets-not-combined"),
        "noise and secure aggregation are not both there, and "
        "`audit.documents.pets-not-combined` does not say why",
        *facts.in_force,
        *facts.span,
    )
    return answer("DOCUMENT_PRESENT", "a document says why not", reasons.index)


def reviewed(facts: LogFacts, _: Rule) -> CheckAnswer:
    """A signed policy, and a review that was due after the last round."""
    policy = need(facts.policy, "no policy was logged before the first round")
    at = decided(facts.intended, "review_due", policy.index)
    due = (at.entry.review_due or "") >= facts.ended
    require(due, "the review was due before the last round", at.index)
    return met("a signed policy, and the next review is due", policy.index, at.index)


def designed(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Budget, unit and mechanism were logged before the first round and stayed."""
    facts.protected()
    reason = facts.unlogged_change
    require(reason is None, reason or "", *facts.in_force)
    require(facts.rounds, "no round is logged yet", *facts.in_force)
    evidence = _reviews(facts, "dpia-review")
    why = "the policy was logged before the first round, no change went unreviewed"
    return met(why, *facts.in_force, *facts.span[:1], *evidence)


def _reviews(facts: LogFacts, document: str) -> list[int]:
    """Return the changes and their reviews; all were reviewed before the next round."""
    gaps, evidence = [], []
    for change in facts.risky_changes:
        review = facts.document_about(document, change.index, prompt=True)
        evidence.append(change.index)
        if review is None:
            gaps.append(f"a `document` entry `{document}` about entry {change.index}")
        else:
            evidence.append(review)
    require(not gaps, f"missing: {', '.join(gaps[:3])}", *evidence)
    return evidence


def reviews(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Every change that may raise a risk was reviewed before the next round."""
    reason = facts.unlogged_change
    require(reason is None, reason or "")
    require(facts.risky_changes, "no round is logged yet")
    evidence = _reviews(facts, rule.parameters["answer"])
    return met("every change was reviewed before the next round", *evidence)


def enforced(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Budgets recomputed from the logged events are kept."""
    facts.protected()
    require(facts.rounds, "no round is logged yet", *facts.in_force)
    why = "the budgets could not be recomputed as stated"
    require(facts.checks.budget is True, why, *facts.span)
    plan, done = facts.last(BudgetPlan), facts.last(CompletionEntry)
    more = [at.index for at in (plan, done) if at is not None]
    why = "budgets recomputed from the logged events are kept"
    return met(why, *facts.in_force, *facts.span, *more)


def tagged(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every column had a tier before the first round, and it stayed."""
    features = facts.tags_at_hand()[0]
    same = all(at.entry.tags == features.entry.tags for at in facts.of(RoundEntry))
    require(same, "a round used other tags than those logged", features.index)
    return met("every column has a tier", features.index, *facts.span)
