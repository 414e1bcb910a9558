# SPDX-License-Identifier: Apache-2.0
"""Are blobs and files the ones whose digests were logged?

A blob that an entry cites must be there, unless a `deletion` entry says that it was
erased. A file of the run folder may be missing, because bundles leave some out; if it
is there, it must be the one that was logged.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from lexfed.audit.entries import (
    BudgetPlan,
    Completed,
    Deletion,
    Export,
    FeatureTags,
    Policy,
    Round,
    RoundAborted,
)
from lexfed.audit.evidence import Evidence
from lexfed.audit.verify.outcome import Remark, Unsound
from lexfed.errors import AuditError, RunFolderError

PROFILE = "profile.json"
"""File of a run folder that holds what the released tables of a profile say."""


def blobs(evidence: Evidence) -> str | Remark:
    """Everything that entries cite is there, and whatever is there has its digest."""
    cited = dict(_cited(evidence))
    erased = {found.entry.digest for found in evidence.of(Deletion)}
    there = evidence.blobs.digests()
    gone = cited.keys() & erased - set(there)
    for digest, (what, index) in cited.items():
        if digest in gone:
            continue
        try:
            evidence.blobs.get(digest)
        except AuditError as error:
            raise Unsound(f"`{what}`: {error.message}", index) from error
    for digest in there:
        if digest not in cited:
            evidence.blobs.get(digest)
    text = f"{len(there)} blobs have their digests, none that is cited is missing"
    return Remark(f"{text}; {len(gone)} were erased") if gone else text


def _cited(evidence: Evidence) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield digest, name and place of the blobs that entries rest on."""
    for index, record in enumerate(evidence.records):
        entry = record.entry
        named: dict[str, str | None] = {}
        if isinstance(entry, Policy):
            named = {"config": entry.config, "policy": entry.policy}
        elif isinstance(entry, FeatureTags):
            named = {"tags": entry.tags, "encoding": entry.encoding}
        elif isinstance(entry, BudgetPlan):
            named = {"plan": entry.plan, "releases": entry.releases}
            named["profiles"] = entry.profiles
        elif isinstance(entry, Round):
            named = {"aggregation.evidence": entry.aggregation.evidence}
            if entry.participation.receipts == "open":
                named["participation.digest"] = entry.participation.digest
        elif isinstance(entry, Completed):
            named = {"claim": entry.claim}
        for what, digest in named.items():
            if digest is not None:
                yield digest, (what, index)
    if evidence.genesis.witnesses is not None:
        yield evidence.genesis.witnesses, ("witnesses", 0)


def run_files(evidence: Evidence) -> str | Remark:
    """Files of the run folder are the ones that were logged."""
    found, absent = 0, []
    for name, digests, index in _logged(evidence):
        here = digest_of(evidence.folder / name)
        if here is None:
            absent.append(f"`{name}`")
        elif here not in digests:
            raise Unsound(f"`{name}` is not the file that was logged", index)
        else:
            found += 1
    text = f"{found} files are the logged ones"
    return Remark(f"{text}; not here: {', '.join(absent)}") if absent else text


def _logged(evidence: Evidence) -> Iterator[tuple[str, tuple[str | None, ...], int]]:
    """Yield name, digests it may have, and the entry that says so."""
    yield "config.toml", (evidence.genesis.config,), 0
    for policy in evidence.of(Policy):
        if policy.entry.config != evidence.genesis.config:
            raise Unsound("`config` is not that of entry 0", policy.index)
    for tags in evidence.of(FeatureTags):
        yield "tags.json", (tags.entry.tags,), tags.index
        yield "encoding.json", (tags.entry.encoding,), tags.index
    for plan in evidence.of(BudgetPlan):
        yield "plan.json", (plan.entry.plan,), plan.index
    completed = evidence.of(Completed)
    for end in completed:
        if end.entry.claim is not None:
            yield "claim.json", (end.entry.claim,), end.index
        if end.entry.model is not None:
            yield "model.safetensors", (end.entry.model,), end.index
    lost = {aborted.entry.round for aborted in evidence.of(RoundAborted)}
    kept = [r for r in evidence.of(Round) if r.entry.round not in lost]
    if kept and kept[-1].entry.state is not None:
        # The entry is on disk before the state that it speaks of.
        pending = () if completed else tuple(r.entry.state for r in kept[-2:-1])
        digests = (kept[-1].entry.state, *pending)
        yield "state.safetensors", digests, kept[-1].index
    told = [found for found in evidence.of(Export) if found.entry.what == "profile"]
    if told or (evidence.folder / PROFILE).exists():
        # Whoever uses a profile reads this file, so it must be the one that was told.
        digests = tuple(found.entry.digest for found in told[:1])
        yield PROFILE, digests, told[0].index if told else 0


def reports(evidence: Evidence) -> str | Remark:
    """Exports speak of this log, and the report here is one that was logged."""
    exports = evidence.of(Export)
    for found in exports:
        size = found.entry.size
        if size > found.index or (
            evidence.view.tree.root(size).hex() != found.entry.root
        ):
            raise Unsound("speaks of another state of this log", found.index)
    here = digest_of(evidence.folder / "report.html")
    if here is None:
        return Remark(f"{len(exports)} exports logged, no report here")
    logged = [found for found in exports if found.entry.digest == here]
    if not logged and exports:
        raise Unsound(
            "`report.html` is not a report that was logged", exports[-1].index
        )
    if not logged:
        return Remark("`report.html` is here and was never logged")
    return f"`report.html` is the one of entry {logged[-1].index}"


def digest_of(path: Path) -> str | None:
    """Return the SHA-256 of a file; None if there is none.

    Raises:
        AuditError: if it is a link or no regular file.
        RunFolderError: if it may not be read.
    """
    try:
        # O_NONBLOCK: a pipe without a writer must not make us wait.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise AuditError(f"`{path}` is not a regular file")
            with open(handle, "rb", closefd=False) as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        finally:
            os.close(handle)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise AuditError(f"`{path}` is a link") from error
        raise RunFolderError(
            f"cannot read `{path}`: {(error.strerror or str(error)).lower()}",
            "fix the permissions, then verify again",
        ) from error
