# SPDX-License-Identifier: Apache-2.0
"""Certificates: what the rules gave on entries 0 to n, to be signed into the log.

A certificate never says that something is lawful. It says that rule X of the catalogue
with digest H, evaluated on entries 0 to n, gave R. Whoever verifies the log evaluates
the same rules on the same entries and compares.

Certificates do not look at witnesses: cosignatures lie beside the log and change after
an entry is written, so a certificate about them could not be evaluated again.
"""

from collections.abc import Sequence
from dataclasses import replace

from lexfed.audit.entries import Certificate, PolicyEntry
from lexfed.audit.entries.roster import BlobSource
from lexfed.audit.rules.catalogue import catalogue
from lexfed.audit.rules.evaluation import evaluate, score
from lexfed.audit.rules.facts import LoggedEntry, VerifierFindings, facts_of
from lexfed.errors import AuditError


def certify(
    records: Sequence[LoggedEntry],
    content: BlobSource,
    checks: VerifierFindings | None = None,
) -> Certificate:
    """Evaluate the catalogue of this version on the entries of a log.

    Args:
        records: all entries from entry 0, in order.
        content: where blobs that they cite are found.
        checks: what a verifier found out; None for the word of whoever writes the log
            and verified it on opening. The quorum of witnesses is not looked at.

    Guarantees:
        The same records, content and checks give the same certificate.

    Raises:
        AuditError: if there is no entry.
    """
    if not records:
        raise AuditError("a log without entries cannot be certified")
    if checks is None:
        policies = [r.entry for r in records if isinstance(r.entry, PolicyEntry)]
        charged = any(policy.mechanism != "none" for policy in policies)
        checks = VerifierFindings(log=True, budget=True if charged else None)
    seen = replace(checks, quorum=None)
    judgements = evaluate(facts_of(records, content, seen))
    total = score(judgements)
    return Certificate(
        catalogue=catalogue().digest,
        first=0,
        last=len(records) - 1,
        results=tuple(judgement.result for judgement in judgements),
        at_ceiling=total.at_ceiling,
        applicable=total.applicable,
    )
