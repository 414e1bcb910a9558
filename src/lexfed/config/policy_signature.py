# SPDX-License-Identifier: Apache-2.0
"""Signatures beside a policy file, of those who vouch for it.

The signature of `policy.toml` is `policy.toml.sig`, a DSSE envelope whose payload is
the file, byte for byte, under a payload type of its own: no other signature of the
same key can be taken for one.
"""

from collections.abc import Sequence
from pathlib import Path

from lexfed.errors import AuditError, ConfigError, Problem
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.signing.dsse import SignedEnvelope
from lexfed.signing.keys import Signer, fingerprint, load_public

PAYLOAD_TYPE = "application/vnd.lexfed.budget-policy+toml"
SUFFIX = ".sig"


def signature_path(path: Path) -> Path:
    """Return where the signatures of a policy file lie."""
    return path.with_name(path.name + SUFFIX)


def with_signature(content: bytes, before: bytes | None, signer: Signer) -> bytes:
    """Return the envelope of a policy with one more signature.

    Guarantees:
        Signatures of others over the same bytes are kept; those over others go.

    Raises:
        AuditError: if `before` is no envelope.
    """
    fresh = SignedEnvelope.sign(content, signer, payload_type=PAYLOAD_TYPE)
    others: list[tuple[str, bytes]] = []
    if before is not None:
        old = SignedEnvelope.parse(before)
        if (old.payload, old.payload_type) == (content, PAYLOAD_TYPE):
            others = [p for p in old.signatures if p[0] != signer.fingerprint]
    return SignedEnvelope(
        content, PAYLOAD_TYPE, (*others, *fresh.signatures)
    ).to_bytes()


def check_signature(
    path: Path, content: bytes, keys: Sequence[Path], name: str
) -> bytes:
    """Return the envelope of a policy file once every key has signed the content.

    Raises:
        ConfigError: if a key has not signed, or other bytes were signed.
        RunFolderError: if a key file cannot be used.
    """
    public = {fingerprint(raw): raw for raw in map(load_public, keys)}
    try:
        data = read_plain(signature_path(path), MOST_OF_A_DOCUMENT, links=True)
        envelope = SignedEnvelope.parse(data)
        if envelope.payload_type != PAYLOAD_TYPE:
            raise AuditError("the signature is not one of a budget policy")
        if envelope.payload != content:
            raise AuditError("the file was changed after signing")
        envelope.verify(public, public)
    except OSError as error:
        reason = f"there is no readable `{name}{SUFFIX}`"
        raise ConfigError([_unsigned(name, reason)]) from error
    except AuditError as error:
        raise ConfigError([_unsigned(name, error.message)]) from error
    return data


def _unsigned(name: str, reason: str) -> Problem:
    return Problem(
        "`budget.policy`",
        f"`{name}` is not signed as `budget.policy_keys` asks: {reason}",
        f"`lexfed policy sign {name} --key KEY` signs it; nothing runs under a policy "
        "that nobody vouches for",
    )
