# SPDX-License-Identifier: Apache-2.0
r"""Signed notes: text with signature lines under it [signed-note].

    note      = text "\n" signature...       UTF-8; the text ends with "\n"; no control
                                             character but "\n"
    signature = U+2014 " " name " " base64(key id || value) "\n"
    key id    = SHA256(name || "\n" || algorithm || public key)[:4]
    vkey      = name "+" hex(key id) "+" base64(algorithm || public key)

    algorithm 01   Ed25519 over the text                               log keys
    algorithm 04   Ed25519 over time and text, see `tree.checkpoint`   witnesses
    algorithm 06   ML-DSA-44, likewise                                 witnesses

The last blank line separates text and signatures. A name is not empty and holds
neither white space nor "+". Base64 has one spelling: bits beyond the last byte are zero
[RFC 4648, 3.5]. golang.org/x/mod ignores those bits; a note whose bytes can be changed
without notice is no evidence, so we do not.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from lexfed.errors import AuditError
from lexfed.signing.strict_text import decode_base64, encode_base64

ED25519 = 0x01
ED25519_COSIGNER = 0x04
MLDSA44_COSIGNER = 0x06
MAX_SIGNATURES = 100
"""As many as golang.org/x/mod reads; the specification asks for at least 16."""

_PUBLIC_SIZE = {ED25519: 32, ED25519_COSIGNER: 32, MLDSA44_COSIGNER: 1312}
_DASH = "\u2014 "
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f+\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


def check_name(name: str) -> str:
    """Return a key name, or raise `AuditError` if it is not one [signed-note]."""
    if not name or _NOT_IN_NAMES.search(name) or any(map(str.isspace, name)):
        raise AuditError(
            f"not a key name: {name[:100]!a}",
            "a name has no spaces and no `+`, such as `audit.example.org/run-1`",
        )
    return name


@dataclass(frozen=True)
class VerifierKey:
    """A public key with the name it signs under."""

    name: str
    algorithm: int
    public: bytes

    def __post_init__(self) -> None:
        check_name(self.name)
        size = _PUBLIC_SIZE.get(self.algorithm)
        if size is None:
            raise AuditError(f"key `{self.name}` has an unknown signature algorithm")
        if len(self.public) != size:
            raise AuditError(
                f"key `{self.name}`: expected a public key of {size} bytes, "
                f"got: {len(self.public)}"
            )

    @property
    def key_id(self) -> bytes:
        """The four bytes that name the key beside its name."""
        name = self.name.encode()
        return sha256(name + b"\n" + bytes([self.algorithm]) + self.public).digest()[:4]

    @property
    def vkey(self) -> str:
        """The key as one line of text."""
        encoded = encode_base64(bytes([self.algorithm]) + self.public)
        return f"{self.name}+{self.key_id.hex()}+{encoded}"

    @classmethod
    def parse(cls, vkey: str) -> "VerifierKey":
        """Read a key from its line of text; `AuditError` unless it is exactly one."""
        name, _, rest = vkey.partition("+")
        key_id, _, encoded = rest.partition("+")
        where = f"verifier key {vkey[:60]!a}"
        material = decode_base64(encoded, where)
        if not material:
            raise AuditError(f"{where} has no public key")
        key = cls(name, material[0], material[1:])
        if key.key_id.hex() != key_id:
            raise AuditError(
                f"{where}: expected key id {key.key_id.hex()} for this name and key",
                "copy the whole line, as its owner published it",
            )
        return key


@dataclass(frozen=True)
class NoteSignature:
    """One signature line: who, which of their keys, and the bytes."""

    name: str
    key_id: bytes
    value: bytes

    def __post_init__(self) -> None:
        check_name(self.name)
        if len(self.key_id) != 4 or not self.value:
            raise AuditError(f"signature of {self.name[:100]!a} is too short")

    @property
    def line(self) -> str:
        """The line of a note, with its newline."""
        return f"{_DASH}{self.name} {encode_base64(self.key_id + self.value)}\n"

    @classmethod
    def parse(cls, line: str) -> "NoteSignature":
        """Read a signature line, with or without its newline."""
        text = line.removesuffix("\n")
        if not text.startswith(_DASH):
            raise AuditError("signature line does not start with an em dash (U+2014)")
        name, _, encoded = text.removeprefix(_DASH).partition(" ")
        raw = decode_base64(encoded, f"signature of {name[:100]!a}")
        return cls(name, raw[:4], raw[4:])

    def is_by(self, key: VerifierKey) -> bool:
        """Return True if the line names this key; says nothing about the bytes."""
        return self.name == key.name and self.key_id == key.key_id


@dataclass(frozen=True)
class SignedNote:
    """A text and the signatures under it, none of them checked yet."""

    body: bytes
    signatures: tuple[NoteSignature, ...]

    def to_bytes(self) -> bytes:
        """Return the note as it is stored and sent."""
        lines = "".join(signature.line for signature in self.signatures)
        return self.body + b"\n" + lines.encode()

    def signed_by(self, key: VerifierKey) -> tuple[NoteSignature, ...]:
        """Return the signatures that name a key, checked or not."""
        return tuple(each for each in self.signatures if each.is_by(key))

    def with_signatures(self, signatures: Sequence[NoteSignature]) -> "SignedNote":
        """Return the note with more signatures; one of the same key is replaced."""
        fresh = {(each.name, each.key_id): each for each in signatures}
        kept = [e for e in self.signatures if (e.name, e.key_id) not in fresh]
        every = (*kept, *fresh.values())
        _check_count(len(every))
        return SignedNote(self.body, every)


def parse_note(data: bytes) -> SignedNote:
    """Read a note.

    Guarantees:
        `parse_note(data).to_bytes() == data`: a note has one spelling.
        At most 100 signatures are read.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise AuditError(f"note is not UTF-8 at byte {error.start}") from error
    control = _CONTROL.search(text)
    if control:
        raise AuditError(
            f"note has the control character {control.group()!a} "
            f"at character {control.start()}",
            "a note has lines that end with a single newline (LF)",
        )
    split = text.rfind("\n\n")
    if split < 0:
        raise AuditError("note has no blank line before its signatures")
    body, lines = text[: split + 1], text[split + 2 :]
    if not lines.endswith("\n"):
        raise AuditError("note does not end with a signature line and its newline")
    _check_count(lines.count("\n"))
    signatures = tuple(NoteSignature.parse(line) for line in lines.split("\n")[:-1])
    return SignedNote(body.encode(), signatures)


def _check_count(count: int) -> None:
    if count > MAX_SIGNATURES:
        raise AuditError(f"note has {count} signatures, more than {MAX_SIGNATURES}")


def verify_ed25519(public: bytes, message: bytes, value: bytes) -> bool:
    """Return True if `value` is the Ed25519 signature of `message` [RFC 8032]."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(value, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def verify(note: SignedNote, keys: Sequence[VerifierKey]) -> tuple[NoteSignature, ...]:
    """Check the signatures of known Ed25519 keys and return them, one for each key.

    Guarantees:
        A wrong signature of a known key refuses the note, whatever else it carries.
        Signatures of unknown keys are ignored, also under a known name or key id.
        Of several signatures of one key the first counts, as golang's note.Open has it.
    """
    checked: list[NoteSignature] = []
    for key in keys:
        if key.algorithm != ED25519:
            raise AuditError(
                f"key `{key.name}` is a cosigner's, not one that signs notes"
            )
        for signature in note.signed_by(key)[:1]:
            if not verify_ed25519(key.public, note.body, signature.value):
                raise AuditError(
                    f"signature of `{key.name}` (key {key.key_id.hex()}) is wrong",
                    "the text or the signature was changed after signing",
                )
            checked.append(signature)
    if not checked:
        names = ", ".join(f"`{key.name}` ({key.key_id.hex()})" for key in keys)
        raise AuditError(f"note is not signed by {names or 'any known key'}")
    return tuple(checked)
