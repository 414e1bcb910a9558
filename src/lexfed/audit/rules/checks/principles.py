# SPDX-License-Identifier: Apache-2.0
"""Principles of processing (GDPR Art. 5), and the impact assessment (Art. 35)."""

from collections.abc import Callable, Mapping

from lexfed.audit.entries import Certificate, CompletionEntry, Deletion, RoundEntry
from lexfed.audit.entries.masking_record import PROTOCOL
from lexfed.audit.rules.catalogue import CheckAnswer, Rule, met, missing
from lexfed.audit.rules.fact_queries import find_document, gap_free, protection
from lexfed.audit.rules.facts import DatedEntry, LogFacts


def purpose(facts: LogFacts, _: Rule) -> CheckAnswer:
    """The purpose is one of those allowed at every site, or was assessed."""
    at = facts.intended
    if at is None or at.entry.purpose is None or at.entry.allowed_purposes is None:
        return missing(
            "not stated before the first round: `audit.governance.purpose` and "
            "`audit.governance.allowed_purposes`"
        )
    if at.entry.purpose in at.entry.allowed_purposes:
        return met("the purpose is one of those allowed at every site", at.index)
    assessed = find_document(facts, "compatibility-assessment", before=True)
    if assessed is None:
        return missing(
            "the purpose is none of those allowed, and there is no "
            "`audit.documents.compatibility-assessment`",
            at.index,
        )
    return met("a further purpose, with an assessment", at.index, assessed.index)


def minimised(facts: LogFacts, _: Rule) -> CheckAnswer:
    """The columns in the model are those that were approved, each with its reason."""
    at, features = facts.intended, facts.features
    if features is None or facts.tagged is None:
        return missing("the tags of the columns are not at hand")
    if at is None or at.entry.approved_inputs is None:
        return missing("not stated: `audit.governance.approved_inputs`", features.index)
    if at.entry.approved_inputs != features.entry.inputs:
        return missing(
            "the columns that enter the model are not those of "
            "`audit.governance.approved_inputs`",
            at.index,
            features.index,
        )
    return met(
        "the model reads the approved columns, each with tier and reason",
        at.index,
        features.index,
    )


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
    found = deadline_of(facts, artefact)
    if isinstance(found, str):
        return found, []
    deadline, index = found
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
    if problems:
        return missing("; ".join(problems), *evidence)
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


def confidential(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Single sites' sums stay hidden, and witnesses saw the log."""
    problems = []
    if not facts.of(RoundEntry) or not hidden(facts):
        problems.append("not every round was aggregated securely")
    if facts.checks.quorum is not True:
        problems.append(
            "no quorum of witnesses was seen (`audit.policy`, `audit.witnesses`; "
            "checked by `lexfed verify --policy`, not by certificates)"
        )
    if problems:
        return missing("; ".join(problems), *facts.span)
    return met("sums were hidden, and the quorum of witnesses is met", *facts.span)


def accountable(facts: LogFacts, _: Rule) -> CheckAnswer:
    """No round is missing, and certificates cite what exists."""
    certificates = facts.of(Certificate)
    if not facts.rounds:
        return missing("no round is logged yet")
    done = facts.last(CompletionEntry)
    if not gap_free(facts):
        return missing("the numbers of rounds have gaps or repeat", *facts.span)
    if done is not None and done.entry.rounds != facts.rounds[-1].entry.round:
        return missing("the run says it had another number of rounds", done.index)
    for at in certificates:
        entry = at.entry
        cited = [index for result in entry.results for index in result.evidence]
        known = range(entry.first, entry.last + 1)
        if entry.last >= at.index or any(index not in known for index in cited):
            return missing("a certificate cites entries that it cannot know", at.index)
    evidence = [at.index for at in certificates]
    why = "the log verifies and no round is missing"
    return met(why, *facts.start, *facts.span, *evidence)


def assessment(facts: LogFacts, _: Rule) -> CheckAnswer:
    """The assessment was in the log before the first round."""
    found = find_document(facts, "dpia", before=True)
    if found is None:
        return missing(
            "not stated before the first round: `audit.documents.dpia`; where none is "
            "needed, `audit.governance.dpia_triggers = []` and, with special data, "
            "`audit.documents.dpia-not-needed`"
        )
    at = facts.intended
    return met(
        "an impact assessment was there before the first round",
        found.index,
        *([] if at is None else [at.index]),
    )


def description(facts: LogFacts, _: Rule) -> CheckAnswer:
    """The assessment describes the processing, with the columns that are read."""
    found = find_document(facts, "dpia-description", before=True)
    at, features = facts.intended, facts.features
    if found is None:
        return missing(
            "not stated before the first round: `audit.documents.dpia-description`"
        )
    if at is None or at.entry.approved_inputs is None or features is None:
        return missing("not stated: `audit.governance.approved_inputs`", found.index)
    if at.entry.approved_inputs != features.entry.inputs:
        return missing(
            "the columns that enter the model are not those of "
            "`audit.governance.approved_inputs`",
            found.index,
            at.index,
            features.index,
        )
    why = "described, with the columns that the model reads"
    return met(why, found.index, at.index, features.index)


def _noised(facts: LogFacts) -> bool:
    events = [at.entry.event for at in facts.of(RoundEntry)]
    unprotected = isinstance(protection(facts), str)
    return not unprotected and all(event is not None for event in events)


def _limited(facts: LogFacts) -> bool:
    return all("record" in at.entry.budgets for at in facts.of(RoundEntry))


def _receipts(facts: LogFacts) -> bool:
    return all(at.entry.participation.receipts != "none" for at in facts.of(RoundEntry))


def _local(facts: LogFacts) -> bool:
    policy = facts.policy
    return _noised(facts) and policy is not None and policy.entry.trust == "local"


def _sampled(facts: LogFacts) -> bool:
    policy = facts.policy
    return policy is not None and policy.entry.sampling == "poisson"


def _witnessed(facts: LogFacts) -> bool:
    genesis = facts.genesis
    return genesis is not None and genesis.entry.witnesses is not None


TRACES: Mapping[str, Callable[[LogFacts], bool]] = {
    "noise": _noised,
    "clipping": _noised,
    "budget": _limited,
    "local-noise": _local,
    "secret-sampling": _sampled,
    "secure-aggregation": hidden,
    "receipts": _receipts,
    "witnesses": _witnessed,
}
"""Traces of each measure in the log; events carry noise and clip bounds together."""


def measures(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every measure that the assessment names is seen in the log."""
    found, at = find_document(facts, "dpia-measures", before=True), facts.intended
    if found is None:
        return missing(
            "not stated before the first round: `audit.documents.dpia-measures`"
        )
    if at is None or not at.entry.measures:
        return missing("not stated: `audit.governance.measures`", found.index)
    if not facts.of(RoundEntry):
        return missing("no round is logged yet", found.index, at.index)
    unseen = [name for name in at.entry.measures if not TRACES[name](facts)]
    if unseen:
        names = ", ".join(f"`{name}`" for name in unseen)
        return missing(f"not seen in every round: {names}", found.index, at.index)
    why = "every measure of the assessment is seen in the log"
    return met(why, found.index, at.index, *facts.span)
