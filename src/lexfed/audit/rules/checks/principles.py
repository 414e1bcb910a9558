# SPDX-License-Identifier: Apache-2.0
"""Principles of processing (GDPR Art. 5), and the impact assessment (Art. 35)."""

from lexfed.audit.entries import (
    Certificate,
    CompletionEntry,
    Deletion,
    FeatureTags,
    RoundEntry,
)
from lexfed.audit.entries.masking_record import PROTOCOL
from lexfed.audit.rules.catalogue import CheckAnswer, Missing, Rule, met, need, require
from lexfed.audit.rules.facts import DatedEntry, LogFacts, decided

_BEFORE = "not stated before the first round: "
_NO_QUORUM = (
    "no quorum of witnesses was seen (`audit.policy`, `audit.witnesses`; "
    "checked by `lexfed verify --policy`, not by certificates)"
)


def purpose(facts: LogFacts, _: Rule) -> CheckAnswer:
    """The purpose is one of those allowed at every site, or was assessed."""
    at = facts.intended
    if at is None or at.entry.purpose is None or at.entry.allowed_purposes is None:
        raise Missing(
            f"{_BEFORE}`audit.governance.purpose` and "
            "`audit.governance.allowed_purposes`"
        )
    if at.entry.purpose in at.entry.allowed_purposes:
        return met("the purpose is one of those allowed at every site", at.index)
    assessed = need(
        facts.document("compatibility-assessment", before=True),
        "the purpose is none of those allowed, and there is no "
        "`audit.documents.compatibility-assessment`",
        at.index,
    )
    return met("a further purpose, with an assessment", at.index, assessed.index)


def _approved_inputs(
    facts: LogFacts, features: DatedEntry[FeatureTags], *evidence: int
) -> int:
    """Return the index of the approval of the columns that enter the model."""
    at = decided(facts.intended, "approved_inputs", *evidence)
    require(
        at.entry.approved_inputs == features.entry.inputs,
        "the columns that enter the model are not those of "
        "`audit.governance.approved_inputs`",
        *evidence,
        at.index,
        features.index,
    )
    return at.index


def minimised(facts: LogFacts, _: Rule) -> CheckAnswer:
    """The columns in the model are those that were approved, each with its reason."""
    features = facts.tags_at_hand()[0]
    approval = _approved_inputs(facts, features, features.index)
    why = "the model reads the approved columns, each with tier and reason"
    return met(why, approval, features.index)


def deadline_of(facts: LogFacts, artefact: str) -> tuple[str, int] | str:
    """Return until when an artefact is kept and who says so, or what is missing."""
    at = facts.governance
    if at is not None:
        for name, deadline in at.entry.retention.items():
            if name == artefact:
                return deadline, at.index
    return f"not stated: `audit.governance.retention.{artefact.replace('-', '_')}`"


def kept_or_deleted(facts: LogFacts, artefact: str) -> tuple[str | None, list[int]]:
    """Return the fault in keeping an artefact, if any, and the entries that show it."""
    stated = deadline_of(facts, artefact)
    if isinstance(stated, str):
        return stated, []
    deadline, index = stated
    gone = [d.index for d in facts.of(Deletion) if d.entry.artefact == artefact]
    if gone:
        return None, [index, gone[-1]]
    if facts.now > deadline:
        return f"`{artefact}` was to be deleted by {deadline}", [index]
    return None, [index]


def retained(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Every artefact has a deadline that is not over, or was deleted."""
    results = [kept_or_deleted(facts, name) for name in rule.parameters["artefacts"]]
    evidence = [index for _, indices in results for index in indices]
    problems = [problem for problem, _ in results if problem is not None]
    require(not problems, "; ".join(problems), *evidence)
    return met("every deadline is in the future, or a deletion is logged", *evidence)


def aggregated(at: DatedEntry[RoundEntry]) -> bool:
    """Return True if a round hid single sites' sums, with enough survivors.

    Masked sums have records; without one nobody could look who agreed to what.
    """
    how = at.entry.aggregation
    if how.protocol == "none" or how.threshold is None or how.survivors is None:
        return False
    recorded = how.protocol != PROTOCOL or how.evidence is not None
    return recorded and how.survivors >= how.threshold


def hidden(facts: LogFacts) -> bool:
    """Return True if every round hid single sites' sums, and no verifier disagrees."""
    return facts.checks.sums is not False and all(map(aggregated, facts.of(RoundEntry)))


def quorum_gaps(facts: LogFacts) -> list[str]:
    """Return what is missing where no quorum of witnesses was seen."""
    return [] if facts.checks.quorum is True else [_NO_QUORUM]


def confidential(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Single sites' sums stay hidden, and witnesses saw the log."""
    problems = []
    if not facts.of(RoundEntry) or not hidden(facts):
        problems.append("not every round was aggregated securely")
    problems += quorum_gaps(facts)
    require(not problems, "; ".join(problems), *facts.span)
    return met("sums were hidden, and the quorum of witnesses is met", *facts.span)


def accountable(facts: LogFacts, _: Rule) -> CheckAnswer:
    """No round is missing, and certificates cite what exists."""
    require(facts.rounds, "no round is logged yet")
    require(facts.gap_free, "the numbers of rounds have gaps or repeat", *facts.span)
    done = facts.last(CompletionEntry)
    if done is not None:
        whole = done.entry.rounds == facts.rounds[-1].entry.round
        require(whole, "the run says it had another number of rounds", done.index)
    certificates = facts.of(Certificate)
    for at in certificates:
        entry = at.entry
        cited = {index for result in entry.results for index in result.evidence}
        span = range(entry.first, entry.last + 1)
        known = entry.last < at.index and all(index in span for index in cited)
        require(known, "a certificate cites entries that it cannot know", at.index)
    evidence = [at.index for at in certificates]
    why = "the log verifies and no round is missing"
    return met(why, *facts.start, *facts.span, *evidence)


def assessment(facts: LogFacts, _: Rule) -> CheckAnswer:
    """The assessment was in the log before the first round."""
    logged = need(
        facts.document("dpia", before=True),
        f"{_BEFORE}`audit.documents.dpia`; where none is "
        "needed, `audit.governance.dpia_triggers = []` and, with special data, "
        "`audit.documents.dpia-not-needed`",
    )
    stated = [] if facts.intended is None else [facts.intended.index]
    why = "an impact assessment was there before the first round"
    return met(why, logged.index, *stated)


def description(facts: LogFacts, _: Rule) -> CheckAnswer:
    """The assessment describes the processing, with the columns that are read."""
    logged = facts.document("dpia-description", before=True)
    described = need(logged, f"{_BEFORE}`audit.documents.dpia-description`").index
    unapproved = "not stated: `audit.governance.approved_inputs`"
    features = need(facts.features, unapproved, described)
    approval = _approved_inputs(facts, features, described)
    why = "described, with the columns that the model reads"
    return met(why, described, approval, features.index)


def _traces(facts: LogFacts) -> dict[str, bool]:
    """Return which measures left a trace; events carry noise and clips together."""
    rounds = [at.entry for at in facts.of(RoundEntry)]
    policy, genesis = facts.policy, facts.genesis
    noised = not isinstance(facts.protection, str)
    noised = noised and all(each.event is not None for each in rounds)
    return {
        "noise": noised,
        "clipping": noised,
        "budget": all("record" in each.budgets for each in rounds),
        "local-noise": noised and policy is not None and policy.entry.trust == "local",
        "secret-sampling": policy is not None and policy.entry.sampling == "poisson",
        "secure-aggregation": hidden(facts),
        "receipts": all(each.participation.receipts != "none" for each in rounds),
        "witnesses": genesis is not None and genesis.entry.witnesses is not None,
    }


def measures(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every measure that the assessment names is seen in the log."""
    logged = facts.document("dpia-measures", before=True)
    index = need(logged, f"{_BEFORE}`audit.documents.dpia-measures`").index
    at = facts.intended
    if at is None or not at.entry.measures:
        raise Missing("not stated: `audit.governance.measures`", index)
    require(facts.of(RoundEntry), "no round is logged yet", index, at.index)
    seen = _traces(facts)
    unseen = [f"`{name}`" for name in at.entry.measures if not seen[name]]
    why = f"not seen in every round: {', '.join(unseen)}"
    require(not unseen, why, index, at.index)
    why = "every measure of the assessment is seen in the log"
    return met(why, index, at.index, *facts.span)
