# SPDX-License-Identifier: Apache-2.0
"""Records: of processing (GDPR Art. 30), and of a training run (AI Act Art. 12)."""

from lexfed.audit.entries import (
    CompletionEntry,
    Export,
    RecordOfProcessing,
    ResumptionEntry,
)
from lexfed.audit.entries.lifecycle import CONTROLLER_GROUPS, PROCESSOR_GROUPS
from lexfed.audit.rules.catalogue import CheckAnswer, Rule, met, missing
from lexfed.audit.rules.checks.principles import kept_or_deleted
from lexfed.audit.rules.fact_queries import (
    categories,
    find_document,
    gap_free,
    in_force,
    tags_in,
    unlogged_change,
)
from lexfed.audit.rules.facts import DatedEntry, LogFacts
from lexfed.tiers import Tier

_TABLES = {"controller": "record", "processor": "processor_record"}


def _record(facts: LogFacts, role: str) -> DatedEntry[RecordOfProcessing] | None:
    found = [at for at in facts.of(RecordOfProcessing) if at.entry.role == role]
    return found[-1] if found else None


def _gaps(at: DatedEntry[RecordOfProcessing]) -> list[str]:
    role = at.entry.role
    groups = CONTROLLER_GROUPS if role == "controller" else PROCESSOR_GROUPS
    return [
        f"`audit.{_TABLES[role]}.{group}`"
        for group in groups
        if at.entry.groups.get(group, "missing") == "missing"
    ]


def record(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Every group is stated or said not to apply; categories are those of the tags."""
    role = rule.parameters["role"]
    at = _record(facts, role)
    if at is None:
        return missing(f"not stated: `[audit.{_TABLES[role]}]`")
    gaps = _gaps(at)
    if gaps:
        return missing(f"not stated: {', '.join(gaps)}", at.index)
    if role == "processor":
        return met("every group is stated or said not to apply", at.index)
    features = facts.features
    if features is None or facts.tagged is None:
        return missing("the tags of the columns are not at hand", at.index)
    tiers = (Tier.PERSONAL, Tier.SPECIAL, Tier.IDENTIFIER)
    used = set(categories(tags_in(facts.tagged, *tiers)))
    listed = set(at.entry.categories or ())
    if used != listed:
        names = ", ".join(f"`{name}`" for name in sorted(used ^ listed))
        return missing(
            "`audit.record.data_categories` and the tags of the columns differ in "
            f"{names}",
            at.index,
            features.index,
        )
    why = "every group is stated or said not to apply; categories are those of the tags"
    return met(why, at.index, features.index)


def exported(facts: LogFacts, _: Rule) -> CheckAnswer:
    """A record exists, and what was handed out is in the log by its hash."""
    at = _record(facts, "controller")
    if at is None:
        return missing("not stated: `[audit.record]`")
    handed = [e for e in facts.of(Export) if e.entry.what in ("report", "evidence")]
    if not handed:
        return missing("no report was logged yet: run `lexfed report`", at.index)
    return met("a record and the hash of a report", at.index, handed[-1].index)


def inventory(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Record, tags and policy together map what is processed and how."""
    at, features, policy = _record(facts, "controller"), facts.features, facts.policy
    if at is None:
        return missing("not stated: `[audit.record]`")
    gaps = _gaps(at)
    if gaps:
        return missing(f"not stated: {', '.join(gaps)}", at.index)
    if features is None or policy is None or facts.tagged is None:
        return missing("tags or policy are not at hand", at.index)
    why = "record, tags and policy are logged"
    return met(why, at.index, features.index, policy.index)


def bias(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Special data against bias: a reason, an access list, and an end."""
    at = facts.governance
    if at is None or at.entry.bias_correction is None:
        return missing("not stated: `audit.governance.bias_correction`")
    reasons, access = _record(facts, "controller"), find_document(facts, "access-list")
    problem, evidence = kept_or_deleted(facts, "bias-data")
    gaps = [] if problem is None else [problem]
    if reasons is None or not reasons.entry.bias_reason:
        gaps.append("not stated: `audit.record.bias_correction`")
    else:
        evidence.append(reasons.index)
    if access is None:
        gaps.append("not stated: `audit.documents.access-list`")
    else:
        evidence.append(access.index)
    if gaps:
        return missing("; ".join(gaps), at.index, *evidence)
    return met("a reason, an access list and an end are stated", at.index, *evidence)


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
