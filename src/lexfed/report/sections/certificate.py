# SPDX-License-Identifier: Apache-2.0
"""The latest certificate as tables: outcomes of the rules, and missing evidence.

Outcomes are those that were logged. The words beside them (`why`) come from evaluating
the same rules on the same entries again; where that cannot be done, as with a catalogue
of another version, they are left out.
"""

from dataclasses import dataclass
from itertools import groupby

from lexfed.audit.entries import Certificate, RuleResult
from lexfed.audit.rules import (
    AT_CEILING,
    SCORE_MEANS,
    Rule,
    RuleCatalogue,
    ShownRules,
    VerifierFindings,
    catalogue,
    evaluate,
    facts_of,
    parse_catalogue,
    shown_rules,
)
from lexfed.audit.rules.shown_rules import SOFTWARE_ALONE
from lexfed.audit.verify import Status
from lexfed.errors import AuditError, LexfedError
from lexfed.report.dossier import Dossier
from lexfed.report.wording.plain_words import OUTCOMES

LAWS = {
    "gdpr": "GDPR, Regulation (EU) 2016/679",
    "edpb": "EDPB, opinions and guidelines",
    "cnil": "CNIL, guidance on AI",
    "ico": "ICO, guidance on privacy-enhancing technologies",
    "hipaa": "HIPAA, 45 CFR 164",
    "ccpa": "CCPA/CPRA, California",
    "aiact": "AI Act, Regulation (EU) 2024/1689",
    "nist": "NIST SP 800-226 and Privacy Framework",
    "iso": "ISO/IEC 27559",
}


@dataclass(frozen=True)
class RuleRow:
    """One rule: its obligation, the most that may be claimed, its outcome."""

    rule: str
    law: str
    reference: str
    obligation: str
    ceiling: str
    outcome: str
    at_ceiling: bool
    counts: bool
    evidence: tuple[int, ...]
    why: str


@dataclass(frozen=True)
class LawGroup:
    """The rules of one law, and how many of them are shown, in words."""

    name: str
    shown: str
    rows: tuple[RuleRow, ...]


@dataclass(frozen=True)
class CertificateView:
    """A certificate, the index of its entry, and its rules by law.

    `shown` counts rules by who can show them; None without their catalogue.
    """

    entry: int
    logged: Certificate
    groups: tuple[LawGroup, ...]
    shown: ShownRules | None
    score_means = SCORE_MEANS

    def missing(self, *, software: bool) -> int:
        """Return the number of rules without evidence, of software or of people."""
        lacking = OUTCOMES["NOT_EVIDENCED"]
        return sum(
            row.outcome == lacking and (row.rule in SOFTWARE_ALONE) == software
            for group in self.groups
            for row in group.rows
        )


def certificate(dossier: Dossier) -> CertificateView | None:
    """Return the latest certificate of a log; None if it has none."""
    entry, at = dossier.entry(Certificate), dossier.index(Certificate)
    if entry is None or at is None:
        return None
    rules = _catalogue(dossier, entry.catalogue)
    whys = {} if rules is None else _whys(dossier, entry, rules)
    known = {} if rules is None else {rule.id: rule for rule in rules.rules}
    rows = [_row(r, known.get(r.rule), whys.get(r.rule, "")) for r in entry.results]
    results = {result.rule: result for result in entry.results}
    groups = []
    for law, members in groupby(rows, key=lambda row: row.law):
        listed = tuple(members)
        own = [results[row.rule] for row in listed]
        shown = "" if rules is None else _in_short(shown_rules(own, rules))
        groups.append(LawGroup(LAWS.get(law, law), shown, listed))
    counts = None if rules is None else shown_rules(entry.results, rules)
    return CertificateView(at, entry, tuple(groups), counts)


def _in_short(shown: ShownRules) -> str:
    """Return the counts of one law as the heading of its rows has room for them."""
    parts = [
        f"{who} {done} of {most}"
        for who, done, most in (
            ("software", shown.software, shown.most_of_software),
            ("people", shown.people, shown.most_of_people),
        )
        if most
    ]
    return f"shown: {', '.join(parts)}" if parts else "no rule applies"


def _catalogue(dossier: Dossier, digest: str) -> RuleCatalogue | None:
    """Return the catalogue that a certificate cites: ours, or the one in the log."""
    if digest == catalogue().digest:
        return catalogue()
    try:
        return parse_catalogue(dossier.evidence.blobs.get(digest))
    except AuditError:
        return None


def _whys(dossier: Dossier, entry: Certificate, rules: RuleCatalogue) -> dict[str, str]:
    """Return the finding of each rule whose outcome is again the logged one."""
    records = dossier.records[: entry.last + 1]
    budget = dossier.check("budgets spent").status
    checks = VerifierFindings(
        log=dossier.check("log").status is Status.OK,
        budget=None if budget is Status.NOTE else budget is Status.OK,
    )
    logged = {result.rule: result for result in entry.results}
    try:
        findings = evaluate(facts_of(records, dossier.evidence.blobs, checks), rules)
    except LexfedError:
        return {}
    same = [each for each in findings if logged.get(each.rule.id) == each.result]
    return {each.rule.id: each.why for each in same}


def _row(result: RuleResult, rule: Rule | None, why: str) -> RuleRow:
    return RuleRow(
        rule=result.rule,
        law=result.rule.partition(".")[0] if rule is None else rule.law,
        reference="" if rule is None else rule.reference,
        obligation="not in a catalogue at hand" if rule is None else rule.obligation,
        ceiling="" if rule is None else rule.ceiling.replace("-", " "),
        outcome=OUTCOMES[result.outcome],
        at_ceiling=rule is not None and result.outcome == AT_CEILING[rule.ceiling],
        counts=result.outcome not in ("NOT_APPLICABLE", "NOT_MACHINE_CHECKABLE"),
        evidence=result.evidence,
        why=why,
    )
