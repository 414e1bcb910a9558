# SPDX-License-Identifier: Apache-2.0
"""The identity of a report's log: enough to find it again and to compare copies."""

from dataclasses import dataclass
from importlib import metadata

from lexfed.audit.entries import Genesis
from lexfed.report.facts.dossier import Dossier
from lexfed.signing.strict_text import encode_base64

VERIFIER = f"lexfed {metadata.version('lexfed')}"

SPLIT_VIEW = (
    "No witness vouches for this log: that its operator showed another history to "
    "somebody else (a split view) cannot be excluded."
)


@dataclass(frozen=True)
class IdentityLine:
    """One line of the identity; `code` where it is to be compared letter by letter."""

    name: str
    value: str
    code: bool = False
    entry: int | None = None


def identity(dossier: Dossier) -> tuple[IdentityLine, ...]:
    """Return origin, size, root, keys, witnesses, pin and verifier."""
    checkpoint = dossier.evidence.view.signed.checkpoint
    key = dossier.evidence.custody.log_key
    return (
        IdentityLine("Log", checkpoint.origin, code=True),
        IdentityLine("Entries", str(checkpoint.size)),
        IdentityLine("Root, hexadecimal", checkpoint.root.hex(), code=True),
        IdentityLine(
            "Root, in the checkpoint", encode_base64(checkpoint.root), code=True
        ),
        IdentityLine(
            "Key of the log", key.vkey, code=True, entry=dossier.index(Genesis)
        ),
        IdentityLine("Witnesses", _witnesses(dossier)),
        IdentityLine("Pinned checkpoint", dossier.check("pin").detail),
        IdentityLine("Verified with", VERIFIER),
    )


def _witnesses(dossier: Dossier) -> str:
    """Return the line about witnesses, who vouch for the log before this page."""
    detail = dossier.check("witnesses").detail
    if dossier.evidence.genesis.witnesses is None:
        return detail
    size = dossier.evidence.view.size
    return f"of the first {size} entries, before the one on this page: {detail}"
