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
from lexfed.audit.rules.catalogue import (
    CheckAnswer,
    Missing,
    Rule,
    answer,
    met,
    need,
    require,
)
from lexfed.audit.rules.checks.principles import deadline_of
from lexfed.audit.rules.facts import LogFacts, date_parts, days_between, years_after


def stated(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Everything that the catalogue names is stated."""
    gaps, evidence = _statements(facts, rule)
    papers = []
    for choice in rule.parameters.get("documents", ()):
        names = [choice] if isinstance(choice, str) else list(choice)
        indices = next(filter(None, (_document(facts, rule, n) for n in names)), ())
        evidence += indices
        if not indices:
            papers.append(" or ".join(f"`audit.documents.{name}`" for name in names))
    more = _conditions(rule) if papers else ""
    why = f"not stated: {', '.join(gaps + papers)}{more}"
    require(not gaps and not papers, why, *evidence)
    return met("everything that was looked for is stated", *evidence)


def _statements(facts: LogFacts, rule: Rule) -> tuple[list[str], list[int]]:
    at = facts.intended if rule.parameters.get("before") else facts.governance
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
        return facts.documents_for(name, facts.sites, before=before, ends=ends)
    about = None
    if "about" in rule.parameters:
        subject = facts.last(KINDS[rule.parameters["about"]], facts.first_round)
        if subject is None:
            return ()
        about = subject.index
    logged = facts.document(name, before=before, ends=ends, about=about)
    return () if logged is None else (logged.index,)


def _conditions(rule: Rule) -> str:
    """Return the conditions on documents besides their existence, in words."""
    asked = rule.parameters
    words = {
        "before": "logged before the first round",
        "per_site": "there for every site",
        "ends": "valid to the last round by `expires`",
        "about": f'tied to it by `about = "{asked.get("about")}"`',
    }
    parts = [text for name, text in words.items() if asked.get(name)]
    return f"; documents count if {', '.join(parts)}" if parts else ""


def judgement(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """Only people can judge it; documents that they wrote are cited."""
    documents = map(facts.document, rule.parameters.get("documents", ()))
    evidence = [at.index for at in documents if at is not None]
    return answer("NOT_MACHINE_CHECKABLE", "only people can judge this", *evidence)


def kept(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """An artefact is to be kept long enough, counted from the last entry."""
    documented = stated(facts, rule).evidence
    artefact, features = rule.parameters["artefact"], facts.features
    period = deadline_of(facts, artefact)
    if isinstance(period, str):
        raise Missing(period, *documented)
    deadline, index = period
    years, months = rule.parameters.get("years", 0), rule.parameters.get("months", 0)
    least = years_after(facts.now, years, months)
    for law, more in rule.parameters.get("sectors", {}).items():
        if features is not None and law in features.entry.jurisdictions:
            least = max(least, years_after(facts.now, more))
    why = f"`{artefact}` is to be kept until {deadline}, too short a time"
    require(date_parts(deadline) >= least, why, index, *documented)
    return met("to be kept long enough, as stated", index, *documented)


def risk_assessment(facts: LogFacts, rule: Rule) -> CheckAnswer:
    """An assessment from before the first round, renewed after changes."""
    name, review = rule.parameters["document"], rule.parameters["answer"]
    why = f"not stated before the first round: `audit.documents.{name}`"
    first = need(facts.document(name, before=True), why)
    oldest = years_after(first.entry.issued, rule.parameters["years"])
    require(date_parts(facts.ended) <= oldest, "the assessment is too old", first.index)
    evidence = [first.index]
    for change in facts.risky_changes:
        answer = facts.document_about(review, change.index, prompt=False)
        day = facts.now if answer is None else facts.entries[answer].day
        taken = days_between(change.day, day)
        require(
            taken is not None and taken <= rule.parameters["days"],
            f"missing: a `document` entry `{review}` about entry {change.index} "
            f"within {rule.parameters['days']} days",
            first.index,
            change.index,
        )
        evidence += [change.index] if answer is None else [change.index, answer]
    return met("an assessment in time, renewed after changes", *evidence)
