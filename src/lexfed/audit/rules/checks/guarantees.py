# SPDX-License-Identifier: Apache-2.0
"""What is said about differential privacy: the guarantee, its basis, who is trusted."""

from lexfed.audit.entries import BudgetPlan, Completed, Round
from lexfed.audit.rules.answer import Answer, met, missing, written
from lexfed.audit.rules.catalogue import Rule
from lexfed.audit.rules.checks.principles import aggregated
from lexfed.audit.rules.documents import find
from lexfed.audit.rules.facts import Facts
from lexfed.audit.rules.state import in_force, protection


def guarantee(facts: Facts, _: Rule) -> Answer:
    """Epsilon, delta, unit and relation are stated, and recomputing agrees."""
    policy = protection(facts)
    if isinstance(policy, str):
        return missing(policy, *in_force(facts))
    done, plan = facts.last(Completed), facts.last(BudgetPlan)
    if done is None or done.entry.claim is None or plan is None:
        return missing("the run has no claim yet", *in_force(facts))
    if facts.checks.budget is not True:
        return missing("the budgets could not be recomputed as stated", done.index)
    why = "the claim is stated in full, and recomputing agrees"
    return met(why, *in_force(facts), plan.index, *facts.span, done.index)


def implementation(facts: Facts, rule: Rule) -> Answer:
    """A known sampler, the system's generator, and a report of tests."""
    policy = protection(facts)
    if isinstance(policy, str):
        return missing(policy, *in_force(facts))
    if policy.entry.noise not in rule.parameters["samplers"]:
        return missing("the sampler is not one of those known", policy.index)
    tests = find(facts, "software-tests")
    if tests is None:
        return missing("not stated: `audit.documents.software-tests`", policy.index)
    why = "a known sampler, the system's generator, and a report of tests"
    return met(why, *in_force(facts), tests.index)


def trust(facts: Facts, _: Rule) -> Answer:
    """It is stated who is trusted, and the log does not contradict it."""
    policy = protection(facts)
    if isinstance(policy, str):
        return missing(policy, *in_force(facts))
    rounds = facts.of(Round)
    if policy.entry.trust == "distributed" and not all(map(aggregated, rounds)):
        why = "distributed trust is stated, but sums were not hidden in every round"
        return missing(why, policy.index, *facts.span)
    return met("the trust model is stated", policy.index)


def parameters(facts: Facts, _: Rule) -> Answer:
    """Epsilon, delta and unit are stated, and somebody says why they fit."""
    policy = protection(facts)
    if isinstance(policy, str):
        return missing(policy, *in_force(facts))
    reasons = find(facts, "privacy-parameters")
    if reasons is None:
        why = "not stated: `audit.documents.privacy-parameters`"
        return missing(why, *in_force(facts))
    return met("parameters and their justification", *in_force(facts), reasons.index)


def combined(facts: Facts, _: Rule) -> Answer:
    """Federated learning is combined with noise and with secure aggregation."""
    rounds = facts.of(Round)
    hidden = bool(rounds) and all(map(aggregated, rounds))
    if hidden and not isinstance(protection(facts), str):
        why = "noise and secure aggregation in every round"
        return met(why, *in_force(facts), *facts.span)
    reasons = find(facts, "pets-not-combined")
    if reasons is not None:
        return written("a document says why not", reasons.index)
    return missing(
        "noise and secure aggregation are not both there, and "
        "`audit.documents.pets-not-combined` does not say why",
        *in_force(facts),
        *facts.span,
    )
