# SPDX-License-Identifier: Apache-2.0
"""Verifying a run folder: every claim that its log makes, one line each.

The order is the order of trust: first the bytes, then who signed them, then what they
say. If the bytes do not verify, what they say is not looked at. The rules of a
certificate are evaluated again, with what verification found out in place of the
writer's word.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from lexfed.audit.entries import Certificate
from lexfed.audit.log.evidence import Evidence, IndexedEntry, read_evidence
from lexfed.audit.rules import (
    RuleCatalogue,
    VerifierFindings,
    catalogue,
    evaluate,
    facts_of,
    parse_catalogue,
    score,
    shown_rules,
)
from lexfed.audit.tree.trust_policy import parse_policy
from lexfed.audit.verify import (
    budgets,
    claim,
    entry_order,
    files,
    masked_sums,
    outside_evidence,
    participation,
)
from lexfed.audit.verify.verdict import (
    Check,
    Judge,
    Remark,
    RunVerdict,
    Status,
    Unsound,
    decide,
)
from lexfed.counted_words import counted
from lexfed.errors import AuditError


def verify_run(
    folder: Path,
    policy: bytes | None = None,
    pin: bytes | None = None,
    skew: int = outside_evidence.SKEW_S,
    authorities: Path | None = None,
) -> RunVerdict:
    """Verify the log of a run and everything that it says.

    Args:
        folder: the run folder, or an unpacked evidence bundle.
        policy: the reader's trust file (tlog-policy); None to believe the log's key.
        pin: a checkpoint of this log that the reader kept.
        skew: seconds by which clocks may differ.
        authorities: certificates (PEM) of time-stamp authorities the reader trusts.

    Guarantees:
        Whatever the folder holds, the result is a verdict or an error of this package.
        Nothing is written, and nothing is asked over a network.
        The same folder gives the same verdict on every machine.
    """
    trust = None if policy is None else parse_policy(policy)
    try:
        evidence = read_evidence(folder, None if trust is None else trust.logs)
    except AuditError as error:
        failed = Check("log", Status.FAIL, error.message)
        rest = "not checked: the log is not sound"
        return RunVerdict((failed, Check("everything else", Status.NOTE, rest)))
    times = partial(outside_evidence.times, policy=trust, skew=skew, roots=authorities)
    judges: tuple[tuple[str, Judge], ...] = (
        ("log", _log),
        ("log key", outside_evidence.log_key),
        ("witnesses", partial(outside_evidence.witnesses, policy=trust)),
        ("pin", partial(outside_evidence.pin, note=pin)),
        ("times", times),
        *CLAIMS,
    )
    done = {claimed: decide(claimed, judge, evidence) for claimed, judge in judges}
    rules = partial(_certificates, checks=_findings(done))
    done["certificates"] = decide("certificates", rules, evidence)
    latest = evidence.view.signed.checkpoint
    checks = tuple(done.values())
    return RunVerdict(checks, latest.origin, latest.size, latest.root.hex())


CLAIMS: tuple[tuple[str, Judge], ...] = (
    ("entry signatures", entry_order.entry_signatures),
    ("separate keys", entry_order.separate_keys),
    ("bindings", entry_order.bindings),
    ("genesis", entry_order.one_genesis),
    ("references", entry_order.references),
    ("decided first", entry_order.decided_first),
    ("rounds", entry_order.gap_free),
    ("blobs", files.blobs),
    ("feature tags", claim.feature_tags),
    ("budget plan", budgets.budget_plan),
    ("round events", budgets.events),
    ("budgets spent", budgets.spent),
    ("claim", claim.claim),
    ("participants", participation.participants),
    ("secure aggregation", masked_sums.aggregation),
    ("files", files.run_files),
    ("other files", files.other_files),
    ("report", files.reports),
)
"""The checks of the entries themselves, in the order of the lines."""


def _log(evidence: Evidence) -> str:
    checkpoint = evidence.view.signed.checkpoint
    stage = evidence.view.stage
    waiting = ""
    if stage is not None:
        waiting = f"; a writer left {counted(len(stage.entries), 'unfinished entry')}"
    return (
        f"{counted(checkpoint.size, 'entry')}, root {checkpoint.root.hex()}, every "
        f"byte under the signed checkpoint{waiting}"
    )


def _findings(done: Mapping[str, Check]) -> VerifierFindings:
    """Return the findings that rules need of a verifier."""
    whole = ("entry signatures", "bindings", "genesis", "references")
    charged = ("budget plan", "round events", "budgets spent")
    within_budget = all(done[name].status is not Status.FAIL for name in charged)
    private = not done["budget plan"].detail.startswith(budgets.NOT_PRIVATE)
    masked = done["secure aggregation"].status
    return VerifierFindings(
        log=all(done[name].status is Status.OK for name in whole),
        budget=within_budget if private else None,
        sums=None if masked is Status.NOTE else masked is Status.OK,
    )


def _certificates(evidence: Evidence, checks: VerifierFindings) -> str | Remark:
    """Every certificate is evaluated again, by the catalogue that entry 0 names."""
    certificates = evidence.of(Certificate)
    if not certificates:
        return Remark("none")
    for each in certificates:
        if each.entry.catalogue != evidence.genesis.catalogue:
            raise Unsound("cites another catalogue than entry 0", each.index)
        if each.entry.first != 0 or each.entry.last >= each.index:
            raise Unsound("is not about the entries from 0 on before it", each.index)
    if not checks.log:
        raise Unsound(
            "the log does not verify, so no rule shows anything", certificates[0].index
        )
    digest, rules = evidence.genesis.catalogue, None
    if digest == catalogue().digest:
        rules = catalogue()
    elif digest in evidence.blobs.digests():
        rules = parse_catalogue(evidence.blobs.get(digest))
    if rules is None:
        return Remark(
            f"{counted(len(certificates), 'certificate')} by the rules {digest[:16]} "
            "of another version, not evaluated again"
        )
    for each in certificates:
        _compare(evidence, each, checks, rules)
    last = certificates[-1].entry
    return (
        f"{counted(len(certificates), 'certificate')}, {len(last.results)} rules each; "
        "shown: "
        f"{shown_rules(last.results, rules)}"
    )


def _compare(
    evidence: Evidence,
    logged: IndexedEntry[Certificate],
    checks: VerifierFindings,
    rules: RuleCatalogue,
) -> None:
    certificate, index = logged.entry, logged.index
    records = evidence.records[: certificate.last + 1]
    try:
        judgements = evaluate(facts_of(records, evidence.blobs, checks), rules)
    except AuditError as error:
        raise Unsound(error.message, index) from error
    stated = {result.rule: result for result in certificate.results}
    if len(stated) != len(certificate.results) or len(stated) != len(judgements):
        raise Unsound("does not list every rule of its catalogue once", index)
    for judgement in judgements:
        rule = f"rule `{judgement.rule.id}`"
        result = stated.get(judgement.rule.id)
        if result is None:
            raise Unsound(f"says nothing of {rule}", index)
        if result.outcome != judgement.outcome:
            raise Unsound(
                f"{rule} is stated as {result.outcome}, it gives "
                f"{judgement.outcome}: {judgement.why}",
                index,
            )
        if result.evidence != judgement.evidence:
            raise Unsound(f"{rule} cites other entries than those that show it", index)
    total = score(judgements)
    counts = (total.at_ceiling, total.applicable)
    if (certificate.at_ceiling, certificate.applicable) != counts:
        raise Unsound("its score does not follow from its results", index)
