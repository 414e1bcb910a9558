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
from lexfed.audit.rules.catalogue import CheckAnswer, Rule, met, missing, written
from lexfed.audit.rules.checks.principles import hidden
from lexfed.audit.rules.fact_queries import (
    document_about,
    find_document,
    in_force,
    protection,
    risky_changes,
    unlogged_change,
)
from lexfed.audit.rules.facts import DatedEntry, LogFacts


def guarantee(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Epsilon, delta, unit and relation are stated, and recomputing agrees."""
    policy = protection(facts)
    if isinstance(policy, str):
        return missing(policy, *in_force(facts))
    done, plan = facts.last(CompletionEntry), facts.last(BudgetPlan)
    if done is None or done.entry.claim is None or plan is None:
        return missing("the run has no claim yet", *in_force(facts))
    if facts.checks.budget is not True:
        return missing("the budgets could not be recomputed as stated", done.index)
    why = "the claim is stated in full, and recomputing agrees"
    return met(why, *in_force(facts), plan.index, *facts.span, done.index)


def implementation(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """A known sampler, the system's generator, and a report of tests."""
    policy = protection(facts)
    if isinstance(policy, str):
        return missing(policy, *in_force(facts))
    if policy.entry.noise not in rule.parameters["samplers"]:
        return missing("the sampler is not one of those known", policy.index)
    tests = find_document(facts, "software-tests")
    if tests is None:
        return missing("not stated: `audit.documents.software-tests`", policy.index)
    why = "a known sampler, the system's generator, and a report of tests"
    return met(why, *in_force(facts), tests.index)


def trust(facts: LogFacts, _: Rule) -> CheckAnswer:
    """It is stated who is trusted, and the log does not contradict it."""
    policy = protection(facts)
    if isinstance(policy, str):
        return missing(policy, *in_force(facts))
    cohort = policy.entry.cohort
    if policy.entry.trust != "distributed":
        if cohort is not None or policy.entry.noise == "skellam-shares":
            why = "sites share the noise, but distributed trust is not stated"
            return missing(why, policy.index)
        return met("the trust model is stated", policy.index)
    if cohort is None or not _shared(policy.entry, cohort):
        why = "distributed trust is stated without what its guarantee rests on"
        return missing(why, policy.index)
    if not hidden(facts) or not all(_enough(at, cohort) for at in facts.of(RoundEntry)):
        why = "distributed trust is stated, but sums were not hidden in every round"
        return missing(why, policy.index, *facts.span)
    why = "the trust model and what it assumes of the sites are stated"
    return met(why, policy.index, *facts.span)


def _shared(policy: PolicyEntry, cohort: CohortAssumptions) -> bool:
    """Return True if noise in shares is priced as proven, and some stays secret."""
    priced = (policy.accountant, policy.sampling) == ("rdp", "none")
    masked = (policy.noise, policy.aggregation) == ("skellam-shares", PROTOCOL)
    return priced and masked and cohort.honest >= 1


def _enough(at: DatedEntry[RoundEntry], cohort: CohortAssumptions) -> bool:
    """Return True if as many sites are in a sum as its noise was sized for."""
    survivors = at.entry.aggregation.survivors or 0
    return survivors >= cohort.sites - cohort.dropouts


def parameters(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Epsilon, delta and unit are stated, and somebody says why they fit."""
    policy = protection(facts)
    if isinstance(policy, str):
        return missing(policy, *in_force(facts))
    reasons = find_document(facts, "privacy-parameters")
    if reasons is None:
        why = "not stated: `audit.documents.privacy-parameters`"
        return missing(why, *in_force(facts))
    return met("parameters and their justification", *in_force(facts), reasons.index)


def combined(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Federated learning is combined with noise and with secure aggregation."""
    masked = bool(facts.of(RoundEntry)) and hidden(facts)
    if masked and not isinstance(protection(facts), str):
        why = "noise and secure aggregation in every round"
        return met(why, *in_force(facts), *facts.span)
    reasons = find_document(facts, "pets-not-combined")
    if reasons is not None:
        return written("a document says why not", reasons.index)
    return missing(
        "noise and secure aggregation are not both there, and "
        "`audit.documents.pets-not-combined` does not say why",
        *in_force(facts),
        *facts.span,
    )


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
        review = document_about(facts, document, change.index, prompt=True)
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
