# SPDX-License-Identifier: Apache-2.0
"""Which log a report speaks about: enough to find it again and to compare copies."""

from dataclasses import dataclass
from importlib import metadata

from lexfed.audit.base64_text import encode_base64
from lexfed.audit.entries import Genesis
from lexfed.report.dossier import Dossier

VERIFIER = f"lexfed {metadata.version('lexfed')}"

SPLIT_VIEW = (
    "No witness vouches for this log: that its operator showed another history to "
    "somebody else (a split view) cannot be excluded."
)


@dataclass(frozen=True)
class Line:
    """One line of the identity; `code` where it is to be compared letter by letter."""

    name: str
    value: str
    code: bool = False
    entry: int | None = None


def identity(dossier: Dossier) -> tuple[Line, ...]:
    """Return origin, size, root, keys, witnesses, pin and verifier."""
    checkpoint = dossier.evidence.view.signed.checkpoint
    key = dossier.evidence.custody.log_key
    return (
        Line("Log", checkpoint.origin, code=True),
        Line("Entries", str(checkpoint.size)),
        Line("Root, hexadecimal", checkpoint.root.hex(), code=True),
        Line("Root, in the checkpoint", encode_base64(checkpoint.root), code=True),
        Line("Key of the log", key.vkey, code=True, entry=dossier.index(Genesis)),
        Line("Witnesses", _witnesses(dossier)),
        Line("Pinned checkpoint", dossier.check("pin").detail),
        Line("Verified with", VERIFIER),
    )


def _witnesses(dossier: Dossier) -> str:
    """Say what witnesses vouch for: the log before it knows of this page."""
    detail = dossier.check("witnesses").detail
    if dossier.evidence.genesis.witnesses is None:
        return detail
    size = dossier.evidence.view.size
    return f"of the first {size} entries, before the one on this page: {detail}"
