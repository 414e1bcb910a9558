# SPDX-License-Identifier: Apache-2.0
"""The record of processing activities (GDPR Art. 30), as a table and as CSV.

People's statements come from the log; beside them stand facts that the log knows by
itself. A group without either is a blank with the name of the person to fill it.
"""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass

from lexfed.audit.entries import (
    FeatureTags,
    Genesis,
    Governance,
    PolicyEntry,
    RecordOfProcessing,
)
from lexfed.errors import AuditError
from lexfed.report.dossier import Dossier
from lexfed.report.markup.escaping import csv_cell
from lexfed.report.wording.plain_words import MECHANISMS, UNITS, trust
from lexfed.report.wording.rounding import count, delta, round_up

CONTROLLER = {
    "controller": ("30(1)(a)", "controller, joint controllers, representative, DPO"),
    "purposes": ("30(1)(b)", "purposes of the processing"),
    "categories": ("30(1)(c)", "categories of data subjects and of personal data"),
    "recipients": ("30(1)(d)", "categories of recipients, also in third countries"),
    "transfers": ("30(1)(e)", "transfers to third countries and their safeguards"),
    "erasure": ("30(1)(f)", "time limits for erasure"),
    "security": ("30(1)(g)", "technical and organisational security measures"),
}  # fmt: skip
PROCESSOR = {
    "parties": ("30(2)(a)", "processors, their controllers, representative, DPO"),
    "processing": ("30(2)(b)", "categories of processing for each controller"),
    "transfers": ("30(2)(c)", "transfers to third countries and their safeguards"),
    "security": ("30(2)(d)", "technical and organisational security measures"),
}  # fmt: skip
HEADER = ("article", "asks for", "state", "stated", "known from the log", "entry")


@dataclass(frozen=True)
class ProcessingGroup:
    """One group of a record: the article that demands it, its demand, and the answer.

    The state is `stated`, `not applicable` or `missing`; the text is the statement, the
    reason why none applies, or a blank; `known` are facts of the log itself.
    """

    article: str
    asks: str
    state: str
    text: str
    known: str
    entry: int | None


def processing(dossier: Dossier) -> tuple[ProcessingGroup, ...]:
    """Return the controller's record, then the processor's where there is one."""
    known = _known(dossier)
    rows = _groups(dossier, "controller", CONTROLLER, known)
    processor = _groups(dossier, "processor", PROCESSOR, known)
    return (*rows, *(row for row in processor if row.entry is not None))


def _groups(
    dossier: Dossier,
    role: str,
    asked: Mapping[str, tuple[str, str]],
    known: Mapping[str, str],
) -> list[ProcessingGroup]:
    at: int | None = None
    states: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}
    for each in dossier.of(RecordOfProcessing):
        if each.entry.role == role:
            at, texts = each.index, _texts(dossier, each.entry.text)
            states = {str(k): str(v) for k, v in each.entry.groups.items()}
    rows = []
    for name, (article, asks) in asked.items():
        state = states.get(name, "missing").replace("-", " ")
        blank = f"[to be completed: {role}]"
        text = blank if state == "missing" else texts.get(name, "")
        rows.append(
            ProcessingGroup(article, asks, state, text, known.get(name, ""), at)
        )
    return rows


def processing_csv(dossier: Dossier) -> bytes:
    """Return the record as CSV [RFC 4180] that no spreadsheet takes for formulas."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(HEADER)
    for row in processing(dossier):
        entry = "" if row.entry is None else str(row.entry)
        cells = (row.article, row.asks, row.state, row.text, row.known, entry)
        writer.writerow([csv_cell(cell) for cell in cells])
    # Spreadsheets take a file without this mark for an older encoding.
    return b"\xef\xbb\xbf" + text.getvalue().encode()


def _texts(dossier: Dossier, digest: str) -> Mapping[str, str]:
    """Return the text of each group, and the reasons why some do not apply."""
    try:
        plain = json.loads(dossier.evidence.blobs.get(digest))
    except (AuditError, ValueError, RecursionError):
        return {}
    if not isinstance(plain, dict):
        return {}
    reasons = plain.get("not_applicable")
    texts = {**(reasons if isinstance(reasons, dict) else {}), **plain}
    return {name: text for name, text in texts.items() if isinstance(text, str)}


def _known(dossier: Dossier) -> dict[str, str]:
    known: dict[str, str] = {}
    governance, policy = dossier.entry(Governance), dossier.entry(PolicyEntry)
    genesis, tags = dossier.entry(Genesis), dossier.entry(FeatureTags)
    if dossier.controller:
        known["controller"] = f"controller in the configuration: {dossier.controller}"
    if governance is not None and governance.purpose is not None:
        known["purposes"] = f"purpose code: {governance.purpose}"
    if tags is not None and dossier.tagged is not None:
        tagged = dossier.tagged.tags.values()
        named = sorted({tag.category for tag in tagged if tag.category})
        known["categories"] = f"categories of the tags: {', '.join(named)}"
    if genesis is not None:
        known["recipients"] = (
            f"{count(len(dossier.parties), 'party', 'parties')} in the log"
        )
        countries = sorted(
            {party.country for party in dossier.parties if party.country}
        )
        if countries:
            known["transfers"] = f"countries of parties: {', '.join(countries)}"
    if governance is not None and governance.retention:
        known["erasure"] = ", ".join(
            f"{what} until {day}" for what, day in governance.retention.items()
        )
    if policy is not None:
        known["security"] = _security(policy)
    return known


def _security(policy: PolicyEntry) -> str:
    if policy.epsilon is None or policy.delta is None:
        return "no noise; signed log"
    return (
        f"differential privacy (ε, δ) = ({round_up(policy.epsilon)}, "
        f"{delta(policy.delta)}) per {UNITS[policy.unit]} under {policy.neighbours} by "
        f"{policy.accountant.upper()}, trust: {trust(policy.trust, policy.cohort)}; "
        f"{MECHANISMS[policy.mechanism]}; aggregation {policy.aggregation}; "
        f"transport {policy.transport}; signed log"
    )
