# SPDX-License-Identifier: Apache-2.0
"""The budget policy that a run was held to, in one line."""

from lexfed.audit.entries import PolicyEntry
from lexfed.errors import AuditError
from lexfed.report.facts.dossier import Dossier
from lexfed.report.wording.rounding import count
from lexfed.signing.dsse import SignedEnvelope
from lexfed.toml_text import parse_toml


def policy_line(dossier: Dossier) -> str | None:
    """Return name, title, signatures and hash of the policy; None where none is logged.

    Signatures are counted, not checked: whose keys count is not in the log's power to
    say. They were checked before the run if `budget.policy_keys` asked for them.
    """
    policy = dossier.entry(PolicyEntry)
    if policy is None or policy.policy is None:
        return None
    name = dossier.table("budget").get("policy", "default")
    told = f"{name}, SHA-256 {policy.policy[:16]}…"
    try:
        content = dossier.evidence.blobs.get(policy.policy)
        signed = ""
        if content.startswith(b"{"):
            envelope = SignedEnvelope.parse(content)
            content = envelope.payload
            signed = f", with {count(len(envelope.signatures), 'signature')}"
        title = parse_toml(content.decode()).get("title", "")
    except (AuditError, ValueError):  # erased, or not what it should be
        return told
    return f"{told}{signed}: {title}"
