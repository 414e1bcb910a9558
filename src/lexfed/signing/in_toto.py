# SPDX-License-Identifier: Apache-2.0
"""in-toto statements: what is said (predicate) about which bytes (subject).

    {"_type":"https://in-toto.io/Statement/v1",
     "predicate":{...},
     "predicateType":"<URI>",
     "subject":[{"digest":{"sha256":"<64 hex digits>"},"name":"<name>"}]}

Stored as RFC 8785 bytes. The form is closed: a key that is not listed here is refused,
so nothing can be said in a place no verifier looks at.
"""

import re
from dataclasses import dataclass
from typing import Any

from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError
from lexfed.signing import strict_json
from lexfed.terms import DIGEST

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
MAX_SUBJECTS = 1000

_DIGEST = re.compile(DIGEST)
_URI = re.compile(r"[a-z][a-z0-9+.-]*:[!-~]{1,200}")


@dataclass(frozen=True)
class InTotoStatement:
    """Named digests and what is stated about them."""

    subject: tuple[tuple[str, str], ...]
    """Name and SHA-256, in hexadecimal, of each."""
    predicate_type: str
    predicate: dict[str, Any]

    def __post_init__(self) -> None:
        if not 1 <= len(self.subject) <= MAX_SUBJECTS:
            raise AuditError(
                f"expected 1 to {MAX_SUBJECTS} subjects, got: {len(self.subject)}"
            )
        for number, (name, digest) in enumerate(self.subject):
            if not name or not _DIGEST.fullmatch(digest):
                raise AuditError(f"statement: subject {number} has no name or SHA-256")
        if not _URI.fullmatch(self.predicate_type):
            raise AuditError(
                f"statement: predicate type is no URI: {self.predicate_type[:60]!a}"
            )

    def to_bytes(self) -> bytes:
        """Return the RFC 8785 bytes.

        Raises:
            AuditError: if the predicate holds anything but strict JSON.
        """
        value = {
            "_type": STATEMENT_TYPE,
            "predicate": self.predicate,
            "predicateType": self.predicate_type,
            "subject": [
                {"digest": {"sha256": digest}, "name": name}
                for name, digest in self.subject
            ],
        }
        try:
            data = canonical_bytes(value)
        except (ValueError, TypeError, RecursionError) as error:
            raise AuditError(f"statement is not JSON: {error}") from error
        strict_json.loads(data)  # what we cannot read back must not be signed
        return data

    @classmethod
    def parse(cls, data: bytes) -> "InTotoStatement":
        """Read a statement.

        Guarantees:
            `Statement.parse(data).to_bytes() == data`: other spellings are refused.

        Raises:
            AuditError: if the bytes are not a statement of exactly this form.
        """
        value = strict_json.loads(data)
        _closed(value, {"_type", "predicate", "predicateType", "subject"}, "statement")
        if value["_type"] != STATEMENT_TYPE:
            raise AuditError(f"statement: `_type` is not `{STATEMENT_TYPE}`")
        if not isinstance(value["predicateType"], str):
            raise AuditError("statement: `predicateType` is not text")
        if not isinstance(value["predicate"], dict):
            raise AuditError("statement: `predicate` is not an object")
        if not isinstance(value["subject"], list):
            raise AuditError("statement: `subject` is not a list")
        subject = tuple(
            _subject(item, f"statement, subject {number}")
            for number, item in enumerate(value["subject"])
        )
        if not strict_json.is_canonical(data, value):
            raise AuditError("statement is not in canonical form (RFC 8785)")
        return cls(subject, value["predicateType"], value["predicate"])


def _subject(item: Any, where: str) -> tuple[str, str]:
    _closed(item, {"digest", "name"}, where)
    _closed(item["digest"], {"sha256"}, f"{where}, `digest`")
    name, digest = item["name"], item["digest"]["sha256"]
    if not isinstance(name, str) or not isinstance(digest, str):
        raise AuditError(f"{where}: name or digest is not text")
    return name, digest


def _closed(value: Any, names: set[str], where: str) -> None:
    if not isinstance(value, dict) or set(value) != names:
        raise AuditError(
            f"{where}: expected exactly the keys {', '.join(sorted(names))}"
        )
