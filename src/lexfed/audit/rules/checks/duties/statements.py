# SPDX-License-Identifier: Apache-2.0
"""Rules that ask for statements and documents, and nothing that software could judge.

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
from lexfed.audit.rules.answers import CheckAnswer, for_people, met, missing
from lexfed.audit.rules.catalogue import Rule
from lexfed.audit.rules.documents import find, find_for_sites
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
        return find_for_sites(facts, name, before=before, ends=ends)
    about = None
    if "about" in rule.parameters:
        subject = facts.last(KINDS[rule.parameters["about"]], facts.first_round)
        if subject is None:
            return ()
        about = subject.index
    found = find(facts, name, before=before, ends=ends, about=about)
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
    found = [find(facts, name) for name in names]
    evidence = [at.index for at in found if at is not None]
    return for_people("only people can judge this", *evidence)
