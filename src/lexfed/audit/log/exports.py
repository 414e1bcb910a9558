# SPDX-License-Identifier: Apache-2.0
"""Saying in the log what was handed out, where the keys are at hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal

from lexfed.audit.entries import Export
from lexfed.audit.log.access import open_for_appending
from lexfed.audit.log.evidence import Evidence
from lexfed.errors import LexfedError


@dataclass(frozen=True)
class LoggedExport:
    """The entry that says what was handed out.

    Attributes:
        index: of the entry.
        unwitnessed: why a witness did not cosign it, by the name of the witness.
    """

    index: int
    unwitnessed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class UnloggedExport:
    """An export that is not in the log, with the reason: no keys, or another writer."""

    reason: str


def log_export(
    evidence: Evidence,
    what: Literal["report", "evidence", "profile"],
    content: bytes,
    keys: Path | None,
) -> LoggedExport | UnloggedExport:
    """Append the digest of something that was made from the log as it was read.

    `keys` is the folder of the keys; None for where the run left them.
    """
    digest = sha256(content).hexdigest()
    view = evidence.view
    entry = Export(
        what=what, digest=digest, size=view.size, root=view.tree.root().hex()
    )
    try:
        log = open_for_appending(evidence.folder, keys)
        try:
            record = log.append(entry, f"export/{what}/{digest[:32]}")
        finally:
            log.close()
    except LexfedError as error:
        return UnloggedExport(error.message)
    return LoggedExport(record.index, log.witnessing.failed)


def is_logged(evidence: Evidence, what: str, content: bytes) -> bool:
    """Return True if the log already has an export of these very bytes."""
    digest = sha256(content).hexdigest()
    exports = (found.entry for found in evidence.of(Export))
    return any((one.what, one.digest) == (what, digest) for one in exports)


def exports_are_sound(evidence: Evidence) -> bool:
    """Return True if every export speaks of an earlier state of this very log."""
    tree = evidence.view.tree
    return all(
        found.entry.size <= found.index
        and tree.root(found.entry.size).hex() == found.entry.root
        for found in evidence.of(Export)
    )
