# SPDX-License-Identifier: Apache-2.0
"""Records of a system's life (AI Act Art. 12), on the side of training."""

from lexfed.audit.entries import CompletionEntry, ResumptionEntry
from lexfed.audit.rules.answers import CheckAnswer, met, missing
from lexfed.audit.rules.catalogue import Rule
from lexfed.audit.rules.fact_queries import gap_free, in_force, unlogged_change
from lexfed.audit.rules.facts import LogFacts


def lifetime(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Start, every round, every restart and the end of training are logged."""
    if not facts.rounds or not gap_free(facts):
        return missing("rounds are missing from the log", *facts.span)
    done = facts.last(CompletionEntry)
    if done is None:
        return missing("the end of training is not logged", *facts.span)
    restarts = [at.index for at in facts.of(ResumptionEntry)]
    why = "start, rounds, restarts and end of training are logged"
    return met(why, *facts.start, *facts.span, *restarts, done.index)


def monitored(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every change of policy, tags or purpose has an entry of its own."""
    reason = unlogged_change(facts)
    if reason is not None or not facts.rounds or facts.policy is None:
        return missing(reason or "no round under a policy is logged yet")
    changes = [at.index for at in facts.changes]
    why = "no change of policy, tags or purpose without its entry"
    return met(why, *in_force(facts), *facts.span, *changes)


def biometric(facts: LogFacts, _: Rule) -> CheckAnswer:
    """The fields that remote biometric identification needs are not in this log."""
    at = facts.governance
    if at is None or at.entry.remote_biometric is None:
        return missing(
            "not stated: `audit.governance.remote_biometric` or "
            "`audit.governance.high_risk`"
        )
    return missing("this log has no fields for biometric identification", at.index)
