# SPDX-License-Identifier: Apache-2.0
"""The impact assessment (GDPR Art. 35): there in time, about this run, kept to."""

from collections.abc import Callable, Mapping

from lexfed.audit.entries import RoundEntry
from lexfed.audit.rules.answers import CheckAnswer, met, missing
from lexfed.audit.rules.catalogue import Rule
from lexfed.audit.rules.checks.duties.principles import hidden
from lexfed.audit.rules.documents import find
from lexfed.audit.rules.fact_queries import protection
from lexfed.audit.rules.facts import LogFacts


def assessment(facts: LogFacts, _: Rule) -> CheckAnswer:
    """The assessment was in the log before the first round."""
    found = find(facts, "dpia", before=True)
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
    found = find(facts, "dpia-description", before=True)
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
    found, at = find(facts, "dpia-measures", before=True), facts.intended
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
