# SPDX-License-Identifier: Apache-2.0
"""Files of a run folder whose digests are in its log, and nothing else in their place.

Whoever uses a model, an encoding or a profile of a run reads it by `read_logged`, which
refuses a file that was damaged or exchanged since.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lexfed.audit.entries import (
    AbortedRoundEntry,
    BudgetPlan,
    CompletionEntry,
    Export,
    FeatureTags,
    RoundEntry,
)
from lexfed.audit.log.evidence import Evidence, IndexedEntry
from lexfed.errors import AuditError, RunFolderError, system_reason
from lexfed.plain_files import (
    MOST_OF_A_MODEL,
    NOT_PLAIN,
    plain,
    read_plain,
    require_length,
)

CONFIG = "config.toml"
TAGS = "tags.json"
ENCODING = "encoding.json"
PLAN = "plan.json"
CLAIM = "claim.json"
STATEMENT = "privacy-statement.json"
BUNDLE = "evidence.zip"
MODEL = "model.safetensors"
STATE = "state.safetensors"
PROFILE = "profile.json"
"""File of a run folder that holds what the released tables of a profile say."""


@dataclass(frozen=True)
class LoggedFile:
    """A file of a run folder, the SHA-256 it may have, and the entry that names it."""

    name: str
    digests: tuple[str | None, ...]
    index: int


def logged_files(evidence: Evidence) -> Iterator[LoggedFile]:
    """Yield every file that an entry names; of what reports write, those here."""
    yield LoggedFile(CONFIG, (evidence.genesis.config,), 0)
    for tags in evidence.of(FeatureTags):
        yield LoggedFile(TAGS, (tags.entry.tags,), tags.index)
        yield LoggedFile(ENCODING, (tags.entry.encoding,), tags.index)
    for plan in evidence.of(BudgetPlan):
        yield LoggedFile(PLAN, (plan.entry.plan,), plan.index)
    completed = evidence.of(CompletionEntry)
    for end in completed:
        if end.entry.claim is not None:
            yield LoggedFile(CLAIM, (end.entry.claim,), end.index)
        if end.entry.model is not None:
            yield LoggedFile(MODEL, (end.entry.model,), end.index)
    lost = {aborted.entry.round for aborted in evidence.of(AbortedRoundEntry)}
    kept = [r for r in evidence.of(RoundEntry) if r.entry.round not in lost]
    if kept and kept[-1].entry.state is not None:
        # The entry is on disk before the state that it speaks of.
        pending = () if completed else tuple(r.entry.state for r in kept[-2:-1])
        digests = (kept[-1].entry.state, *pending)
        yield LoggedFile(STATE, digests, kept[-1].index)
    exports = evidence.of(Export)
    profiles = [export for export in exports if export.entry.what == "profile"]
    if profiles or (evidence.folder / PROFILE).exists():
        # Whoever uses a profile reads this file, so it must be the released one.
        digests = tuple(export.entry.digest for export in profiles[:1])
        yield LoggedFile(PROFILE, digests, profiles[0].index if profiles else 0)
    stated = [end for end in completed if end.entry.claim is not None]
    if stated and os.path.lexists(evidence.folder / STATEMENT):
        # The claim under another name, byte for byte.
        yield LoggedFile(STATEMENT, (stated[-1].entry.claim,), stated[-1].index)
    bundles = [export for export in exports if export.entry.what == "evidence"]
    if bundles and os.path.lexists(evidence.folder / BUNDLE):
        digests = tuple(bundle.entry.digest for bundle in bundles)
        yield LoggedFile(BUNDLE, digests, bundles[-1].index)


def read_logged(evidence: Evidence, name: str) -> bytes | None:
    """Return a file of a run folder if it is the one that the log names, None if none.

    Guarantees:
        The entry that names it is under the checkpoint that the log's key signed, and
        signed by the coordinator in force.
    """
    logged = [each for each in logged_files(evidence) if each.name == name]
    if not logged:
        return None
    require_signed(evidence, logged[-1].index)
    path = evidence.folder / name
    try:
        content = read_plain(path, MOST_OF_A_MODEL)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from error
    if hashlib.sha256(content).hexdigest() not in logged[-1].digests:
        raise AuditError(
            f"`{path}` is not the file that was logged: it was damaged or exchanged",
            f"see what else is wrong with `lexfed verify {evidence.folder}`",
        )
    return content


def require_signed(evidence: Evidence, index: int) -> None:
    """Check that an entry is signed by whom it must be, and by nobody else."""
    record = evidence.records[index]
    needed = evidence.custody.signers(index)
    signed = {key_id for key_id, _ in record.envelope.signatures}
    for key_id in sorted(signed - needed.keys()):
        raise AuditError(f"signed by key {key_id[:16]}, which nothing names")
    record.envelope.verify(needed, needed)


def digest_of(path: Path) -> str | None:
    """Return the SHA-256 of a file; None if there is none."""
    try:
        with open(path, "rb", opener=plain) as file:
            require_length(file.fileno(), MOST_OF_A_MODEL, path)
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> AuditError | RunFolderError:
    """Return the error for a file that is no plain one, or that is kept from us."""
    reason = system_reason(error)
    if error.errno in NOT_PLAIN:
        return AuditError(f"`{path}`: {reason}")
    return RunFolderError(
        f"cannot read `{path}`: {reason}", "fix the permissions, then try again"
    )


def speaks_of_this_log(evidence: Evidence, export: IndexedEntry[Export]) -> bool:
    """Return True if an export names a state that this very log had before it."""
    entry, tree = export.entry, evidence.view.tree
    return entry.size <= export.index and tree.root(entry.size).hex() == entry.root
