# SPDX-License-Identifier: Apache-2.0
"""Records: of processing (GDPR Art. 30), and of a training run (AI Act Art. 12)."""

from lexfed.audit.entries import (
    CompletionEntry,
    Export,
    RecordOfProcessing,
    ResumptionEntry,
)
from lexfed.audit.entries.lifecycle import CONTROLLER_GROUPS, PROCESSOR_GROUPS
from lexfed.audit.rules.catalogue import CheckAnswer, Missing, Rule, met, need, require
from lexfed.audit.rules.checks.principles import kept_or_deleted
from lexfed.audit.rules.facts import DatedEntry, LogFacts, categories, decided, tags_in
from lexfed.tiers import Tier

_TABLES = {"controller": "record", "processor": "processor_record"}


def _last(facts: LogFacts, role: str) -> DatedEntry[RecordOfProcessing] | None:
    records = [at for at in facts.of(RecordOfProcessing) if at.entry.role == role]
    return records[-1] if records else None


def _record(facts: LogFacts, role: str) -> DatedEntry[RecordOfProcessing]:
    """Return the record of a role, which must be stated."""
    return need(_last(facts, role), f"not stated: `[audit.{_TABLES[role]}]`")


def _require_groups(at: DatedEntry[RecordOfProcessing]) -> None:
    """Require that every group of a record is stated or said not to apply."""
    role, stated = at.entry.role, at.entry.groups
    gaps = [
        f"`audit.{_TABLES[role]}.{group}`"
        for group in (CONTROLLER_GROUPS if role == "controller" else PROCESSOR_GROUPS)
        if stated.get(group, "missing") == "missing"
    ]
    require(not gaps, f"not stated: {', '.join(gaps)}", at.index)


def record(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Every group is stated or said not to apply; categories are those of the tags."""
    role = rule.parameters["role"]
    at = _record(facts, role)
    _require_groups(at)
    if role == "processor":
        return met("every group is stated or said not to apply", at.index)
    features, tagged = facts.tags_at_hand(at.index)
    tiers = (Tier.PERSONAL, Tier.SPECIAL, Tier.IDENTIFIER)
    used = set(categories(tags_in(tagged, *tiers)))
    differing = sorted(used ^ set(at.entry.categories or ()))
    names = ", ".join(f"`{name}`" for name in differing)
    why = "`audit.record.data_categories` and the tags of the columns differ in "
    require(not names, why + names, at.index, features.index)
    why = "every group is stated or said not to apply; categories are those of the tags"
    return met(why, at.index, features.index)


def exported(facts: LogFacts, _: Rule) -> CheckAnswer:
    """A record exists, and what was handed out is in the log by its hash."""
    at = _record(facts, "controller")
    handed = [e for e in facts.of(Export) if e.entry.what in ("report", "evidence")]
    require(handed, "no report was logged yet: run `lexfed report`", at.index)
    return met("a record and the hash of a report", at.index, handed[-1].index)


def inventory(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Record, tags and policy together map what is processed and how."""
    at, features, policy = _record(facts, "controller"), facts.features, facts.policy
    _require_groups(at)
    if features is None or policy is None or facts.tagged is None:
        raise Missing("tags or policy are not at hand", at.index)
    why = "record, tags and policy are logged"
    return met(why, at.index, features.index, policy.index)


def bias(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Special data against bias: a reason, an access list, and an end."""
    at = decided(facts.governance, "bias_correction")
    reasons, access = _last(facts, "controller"), facts.document("access-list")
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
    require(not gaps, "; ".join(gaps), at.index, *evidence)
    return met("a reason, an access list and an end are stated", at.index, *evidence)


def lifetime(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Start, every round, every restart and the end of training are logged."""
    whole = facts.rounds and facts.gap_free
    require(whole, "rounds are missing from the log", *facts.span)
    why = "the end of training is not logged"
    done = need(facts.last(CompletionEntry), why, *facts.span)
    restarts = [at.index for at in facts.of(ResumptionEntry)]
    why = "start, rounds, restarts and end of training are logged"
    return met(why, *facts.start, *facts.span, *restarts, done.index)


def monitored(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every change of policy, tags or purpose has an entry of its own."""
    reason = facts.unlogged_change
    if reason is not None or not facts.rounds or facts.policy is None:
        raise Missing(reason or "no round under a policy is logged yet")
    changes = [at.index for at in facts.changes]
    why = "no change of policy, tags or purpose without its entry"
    return met(why, *facts.in_force, *facts.span, *changes)


def biometric(facts: LogFacts, _: Rule) -> CheckAnswer:
    """The fields that remote biometric identification needs are not in this log."""
    at = facts.governance
    if at is None or at.entry.remote_biometric is None:
        raise Missing(
            "not stated: `audit.governance.remote_biometric` or "
            "`audit.governance.high_risk`"
        )
    raise Missing("this log has no fields for biometric identification", at.index)
