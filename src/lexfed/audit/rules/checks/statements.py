# SPDX-License-Identifier: Apache-2.0
"""Rules that ask for statements, documents and periods; nothing that software judges.

Which ones is data of the catalogue:

    documents   names; a list inside the list is a choice of which one suffices
    governance  keys of `[audit.governance]` that must be stated
    retention   keys of `[audit.governance.retention]` that must be stated
    before      all of it must be in the log before the first round
    per_site    documents must cover every site
    ends        documents must have an end date
    about       documents must be about that kind of entry
"""

from lexfed.audit.entries import KINDS
from lexfed.audit.rules.catalogue import CheckAnswer, Rule, for_people, met, missing
from lexfed.audit.rules.checks.principles import deadline_of
from lexfed.audit.rules.fact_queries import (
    date_parts,
    days_between,
    document_about,
    documents_for,
    find_document,
    risky_changes,
    years_after,
)
from lexfed.audit.rules.facts import LogFacts


def stated(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Everything that the catalogue names is stated."""
    gaps, evidence = _statements(facts, rule)
    papers = []
    for wanted in rule.parameters.get("documents", ()):
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        found = next(filter(None, (_document(facts, rule, n) for n in names)), ())
        evidence += found
        if not found:
            papers.append(" or ".join(f"`audit.documents.{name}`" for name in names))
    if gaps or papers:
        more = _conditions(rule) if papers else ""
        return missing(f"not stated: {', '.join(gaps + papers)}{more}", *evidence)
    return met("everything that was looked for is stated", *evidence)


def _statements(facts: LogFacts, rule: Rule) -> tuple[list[str], list[int]]:
    before = bool(rule.parameters.get("before"))
    at = facts.intended if before else facts.governance
    gaps: list[str] = []
    for key in rule.parameters.get("governance", ()):
        if at is None or getattr(at.entry, key) is None:
            gaps.append(f"`audit.governance.{key}`")
    for artefact in rule.parameters.get("retention", ()):
        if at is None or artefact not in at.entry.retention:
            gaps.append(f"`audit.governance.retention.{artefact.replace('-', '_')}`")
    asked = "governance" in rule.parameters or "retention" in rule.parameters
    return gaps, [at.index] if at is not None and asked else []


def _document(facts: LogFacts, rule: Rule, name: str) -> tuple[int, ...]:
    before = bool(rule.parameters.get("before"))
    ends = bool(rule.parameters.get("ends"))
    if rule.parameters.get("per_site"):
        return documents_for(facts, name, facts.sites, before=before, ends=ends)
    about = None
    if "about" in rule.parameters:
        subject = facts.last(KINDS[rule.parameters["about"]], facts.first_round)
        if subject is None:
            return ()
        about = subject.index
    found = find_document(facts, name, before=before, ends=ends, about=about)
    return () if found is None else (found.index,)


def _conditions(rule: Rule) -> str:
    """Return the conditions on documents besides their existence, in words."""
    asked = rule.parameters
    parts = []
    if asked.get("before"):
        parts.append("logged before the first round")
    if asked.get("per_site"):
        parts.append("there for every site")
    if asked.get("ends"):
        parts.append("valid to the last round by `expires`")
    if "about" in asked:
        parts.append(f'tied to it by `about = "{asked["about"]}"`')
    return f"; documents count if {', '.join(parts)}" if parts else ""


def judgement(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Only people can judge it; documents that they wrote are cited."""
    names = rule.parameters.get("documents", ())
    found = [find_document(facts, name) for name in names]
    evidence = [at.index for at in found if at is not None]
    return for_people("only people can judge this", *evidence)


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
    if date_parts(deadline) < least:
        why = f"`{artefact}` is to be kept until {deadline}, too short a time"
        return missing(why, index, *written.evidence)
    return met("to be kept long enough, as stated", index, *written.evidence)


def risk_assessment(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """An assessment from before the first round, renewed after changes."""
    name, review = rule.parameters["document"], rule.parameters["answer"]
    found = find_document(facts, name, before=True)
    if found is None:
        return missing(f"not stated before the first round: `audit.documents.{name}`")
    oldest = years_after(found.entry.issued, rule.parameters["years"])
    if date_parts(facts.ended) > oldest:
        return missing("the assessment is too old", found.index)
    evidence = [found.index]
    for change in risky_changes(facts):
        answer = document_about(facts, review, change.index, prompt=False)
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
