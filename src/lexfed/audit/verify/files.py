# SPDX-License-Identifier: Apache-2.0
"""Are blobs and files the ones whose digests were logged?

A file of the run folder may be missing, because bundles leave some out, but not a blob
that an entry cites, unless a `deletion` entry says that it was erased.
"""

import os
from collections.abc import Iterator, Mapping

from lexfed.audit.entries import (
    BudgetPlan,
    CompletionEntry,
    Deletion,
    Entry,
    Export,
    FeatureTags,
    PolicyEntry,
    RoundEntry,
)
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.log.logged_files import (
    BUNDLE,
    CLAIM,
    MODEL,
    STATE,
    STATEMENT,
    digest_of,
    logged_files,
    speaks_of_this_log,
)
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.counted_words import counted
from lexfed.errors import AuditError

UNLOGGED = (
    "events.jsonl", "sites", "coins", "parties.json", "metrics.csv", "adaptation.csv",
    "result.json", "profile.html", "report.pdf", "dpia.md", "model-card.md",
    "record-of-processing.csv",
)  # fmt: skip
"""Files of runs and reports that the log never has a digest of."""

NOT_YET = (STATE, MODEL, CLAIM, STATEMENT, BUNDLE)
"""Files without a digest in the log before their entry, some of them never without
privacy."""

_CITED: Mapping[type[Entry], tuple[str, ...]] = {
    PolicyEntry: ("config", "policy"),
    FeatureTags: ("tags", "encoding"),
    BudgetPlan: ("plan", "releases", "profiles"),
    CompletionEntry: ("claim",),
}
"""Fields that hold digests of blobs."""


def blobs(evidence: Evidence) -> str | Remark:
    """Everything that entries cite is there, and whatever is there has its digest."""
    cited = dict(_cited(evidence))
    erased = {deletion.entry.digest for deletion in evidence.of(Deletion)}
    present = evidence.blobs.digests()
    gone = cited.keys() & erased - set(present)
    for digest, (what, index) in cited.items():
        if digest in gone:
            continue
        try:
            evidence.blobs.get(digest)
        except AuditError as error:
            raise Unsound(f"`{what}`: {error.message}", index) from error
    for digest in present:
        if digest not in cited:
            evidence.blobs.get(digest)
    text = f"{len(present)} blobs have their digests, none that is cited is missing"
    return Remark(f"{text}; {len(gone)} were erased") if gone else text


def _cited(evidence: Evidence) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield digest, name and place of the blobs that entries rest on."""
    for index, record in enumerate(evidence.records):
        entry = record.entry
        named = {name: getattr(entry, name) for name in _CITED.get(type(entry), ())}
        if isinstance(entry, RoundEntry):
            named["aggregation.evidence"] = entry.aggregation.evidence
            if entry.participation.receipts == "open":
                named["participation.digest"] = entry.participation.digest
        for what, digest in named.items():
            if digest is not None:
                yield digest, (what, index)
    genesis = evidence.genesis
    for what, digest in (("witnesses", genesis.witnesses), ("roster", genesis.roster)):
        if digest is not None:
            yield digest, (what, 0)


def run_files(evidence: Evidence) -> str | Remark:
    """Files of the run folder are the ones that were logged."""
    for policy in evidence.of(PolicyEntry):
        if policy.entry.config != evidence.genesis.config:
            raise Unsound("`config` is not that of entry 0", policy.index)
    present, absent = 0, []
    for logged in logged_files(evidence):
        name = f"`{logged.name}`"
        digest = digest_of(evidence.folder / logged.name)
        if digest is None:
            absent.append(name)
        elif digest not in logged.digests:
            raise Unsound(f"{name} is not the file that was logged", logged.index)
        else:
            present += 1
    text = f"{present} files are the logged ones"
    return Remark(f"{text}; not here: {', '.join(absent)}") if absent else text


def other_files(evidence: Evidence) -> str | Remark:
    """Name the files of a run whose content nothing in the log shows."""
    logged = {each.name for each in logged_files(evidence)}
    present = [
        f"`{name}`"
        for name in (*UNLOGGED, *NOT_YET)
        if name not in logged and os.path.lexists(evidence.folder / name)
    ]
    if present:
        return Remark(f"the log has no digest of {', '.join(present)}")
    return "none that the log has no digest of"


def reports(evidence: Evidence) -> str | Remark:
    """Exports speak of this log, and the report here is one that was logged."""
    exports = evidence.of(Export)
    for export in exports:
        if not speaks_of_this_log(evidence, export):
            raise Unsound("speaks of another state of this log", export.index)
    digest = digest_of(evidence.folder / "report.html")
    if digest is None:
        return Remark(f"{counted(len(exports), 'export')} logged, no report here")
    logged = [export for export in exports if export.entry.digest == digest]
    if not logged and exports:
        raise Unsound(
            "`report.html` is not a report that was logged", exports[-1].index
        )
    if not logged:
        return Remark("`report.html` is here and was never logged")
    return f"`report.html` is the one of entry {logged[-1].index}"
