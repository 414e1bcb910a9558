# SPDX-License-Identifier: Apache-2.0
"""Periods for which something must be kept, or in which it must be done again."""

from lexfed.audit.rules.answers import CheckAnswer, met, missing
from lexfed.audit.rules.catalogue import Rule
from lexfed.audit.rules.checks.duties.principles import deadline_of
from lexfed.audit.rules.checks.duties.statements import stated
from lexfed.audit.rules.dates import days_between, parts, years_after
from lexfed.audit.rules.documents import answers, find
from lexfed.audit.rules.fact_queries import risky_changes
from lexfed.audit.rules.facts import LogFacts


def kept(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """An artefact is to be kept long enough, counted from the last entry."""
    written = stated(facts, rule)
    if written.outcome == "NOT_EVIDENCED":
        return written
    artefact, features = rule.parameters["artefact"], facts.features
    found = deadline_of(facts, artefact)
    if isinstance(found, str):
        return missing(found, *written.evidence)
    deadline, index = found
    years, months = rule.parameters.get("years", 0), rule.parameters.get("months", 0)
    least = years_after(facts.now, years, months)
    for law, more in rule.parameters.get("sectors", {}).items():
        if features is not None and law in features.entry.jurisdictions:
            least = max(least, years_after(facts.now, more))
    if parts(deadline) < least:
        why = f"`{artefact}` is to be kept until {deadline}, too short a time"
        return missing(why, index, *written.evidence)
    return met("to be kept long enough, as stated", index, *written.evidence)


def risk_assessment(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """An assessment from before the first round, renewed after changes."""
    name, review = rule.parameters["document"], rule.parameters["answer"]
    found = find(facts, name, before=True)
    if found is None:
        return missing(f"not stated before the first round: `audit.documents.{name}`")
    oldest = years_after(found.entry.issued, rule.parameters["years"])
    if parts(facts.ended) > oldest:
        return missing("the assessment is too old", found.index)
    evidence = [found.index]
    for change in risky_changes(facts):
        answer = answers(facts, review, change.index, prompt=False)
        day = facts.now if answer is None else facts.entries[answer].day
        taken = days_between(change.day, day)
        if taken is None or taken > rule.parameters["days"]:
            return missing(
                f"missing: a `document` entry `{review}` about entry {change.index} "
                f"within {rule.parameters['days']} days",
                found.index,
                change.index,
            )
        evidence += [change.index] if answer is None else [change.index, answer]
    return met("an assessment in time, renewed after changes", *evidence)
