# SPDX-License-Identifier: Apache-2.0
"""Do the rules give again what the certificates say they gave?

A certificate names its catalogue by digest and the entries it is about. The same rules
are evaluated on the same entries, with what verification found out in place of the
writer's word. Rules that are neither this version's nor in the log cannot be evaluated:
that is said, not guessed.
"""

from lexfed.audit.entries import Certificate
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.rules import (
    RuleCatalogue,
    VerifierFindings,
    catalogue,
    evaluate,
    facts_of,
    parse_catalogue,
    score,
)
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.errors import AuditError


def reevaluated(evidence: Evidence, checks: VerifierFindings) -> str | Remark:
    """Every certificate is evaluated again, by the catalogue that entry 0 names."""
    found = evidence.of(Certificate)
    if not found:
        return Remark("none")
    for each in found:
        if each.entry.catalogue != evidence.genesis.catalogue:
            raise Unsound("cites another catalogue than entry 0", each.index)
        if each.entry.first != 0 or each.entry.last >= each.index:
            raise Unsound("is not about the entries from 0 on before it", each.index)
    if not checks.log:
        raise Unsound(
            "the log does not verify, so no rule shows anything", found[0].index
        )
    rules = _rules(evidence)
    if rules is None:
        return Remark(
            f"{len(found)} certificates by the rules {evidence.genesis.catalogue[:16]} "
            f"of another version, not evaluated again"
        )
    for each in found:
        _compare(evidence, each.entry, each.index, checks, rules)
    last = found[-1].entry
    return (
        f"{len(found)} certificates, {len(last.results)} rules each; "
        f"{last.at_ceiling} of {last.applicable} applicable ones at their ceiling"
    )


def _rules(evidence: Evidence) -> RuleCatalogue | None:
    digest = evidence.genesis.catalogue
    if digest == catalogue().digest:
        return catalogue()
    if digest in evidence.blobs.digests():
        return parse_catalogue(evidence.blobs.get(digest))
    return None


def _compare(
    evidence: Evidence,
    certificate: Certificate,
    index: int,
    checks: VerifierFindings,
    rules: RuleCatalogue,
) -> None:
    records = evidence.records[: certificate.last + 1]
    try:
        judgements = evaluate(facts_of(records, evidence.blobs, checks), rules)
    except AuditError as error:
        raise Unsound(error.message, index) from error
    stated = {result.rule: result for result in certificate.results}
    if len(stated) != len(certificate.results) or len(stated) != len(judgements):
        raise Unsound("does not list every rule of its catalogue once", index)
    for judgement in judgements:
        result = stated.get(judgement.rule.id)
        if result is None:
            raise Unsound(f"says nothing of rule `{judgement.rule.id}`", index)
        if result.outcome != judgement.outcome:
            raise Unsound(
                f"rule `{judgement.rule.id}` is stated as {result.outcome}, it gives "
                f"{judgement.outcome}: {judgement.why}",
                index,
            )
        if result.evidence != judgement.evidence:
            raise Unsound(
                f"rule `{judgement.rule.id}` cites other entries than those that "
                "show it",
                index,
            )
    total = score(judgements)
    if (certificate.at_ceiling, certificate.applicable) != (
        total.at_ceiling,
        total.applicable,
    ):
        raise Unsound("its score does not follow from its results", index)
