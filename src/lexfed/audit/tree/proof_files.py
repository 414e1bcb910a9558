# SPDX-License-Identifier: Apache-2.0
r"""Proofs as files: everything an auditor needs beside the entry and a trust file.

Inclusion, `*.tlog-proof` [tlog-proof]:

    c2sp.org/tlog-proof@v1\n
    extra <base64>\n             optional, signed by nobody
    index <number of the entry>\n
    <base64 of a hash>\n         sibling of the leaf first, up to the child of the root
    ...
    \n
    <checkpoint>

Consistency; there is no standard file, so it is the request that witnesses take
[tlog-witness]:

    old <size>\n
    <base64 of a hash>\n
    ...
    \n
    <checkpoint>
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lexfed.audit.tree.checkpoint import Checkpoint, SignedCheckpoint, open_checkpoint
from lexfed.audit.tree.merkle import leaf_hash, verify_consistency, verify_inclusion
from lexfed.audit.tree.trust_policy import TrustedCheckpoint, TrustPolicy
from lexfed.errors import AuditError
from lexfed.signing.notes import VerifierKey, parse_note
from lexfed.signing.strict_text import (
    decode_base64,
    decode_hash,
    encode_base64,
    parse_decimal,
)

HEADER = "c2sp.org/tlog-proof@v1"
MAX_HASHES = 63
"""The longest proof in a tree of fewer than 2^63 entries."""
MAX_EXTRA = 48_000
"""Its base64 stays below the 64 KiB that other programs read as one line."""


@dataclass(frozen=True)
class InclusionProof:
    """That an entry is in the log that signed the checkpoint."""

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: bytes
    extra: bytes = b""
    """Anything beside the proof; nothing authenticates it."""

    def to_bytes(self) -> bytes:
        """Return the content of a `.tlog-proof` file."""
        if len(self.extra) > MAX_EXTRA:
            raise AuditError(f"proof: extra data has more than {MAX_EXTRA} bytes")
        extra = [f"extra {encode_base64(self.extra)}"] if self.extra else []
        lines = [HEADER, *extra, f"index {self.index}"]
        return _join(lines, self.hashes, self.checkpoint)

    @classmethod
    def parse(cls, data: bytes) -> "InclusionProof":
        """Read a `.tlog-proof` file; the proof in it is not checked.

        Guarantees:
            `InclusionProof.parse(data).to_bytes() == data`.
        """
        lines, checkpoint = _split(data)
        if lines.pop(0) != HEADER:
            raise AuditError(f"proof: the first line is not `{HEADER}`")
        extra = b""
        if lines and lines[0].startswith("extra "):
            text = lines.pop(0).removeprefix("extra ")
            extra = decode_base64(text, "proof, extra data")
            if not 1 <= len(extra) <= MAX_EXTRA:
                raise AuditError(
                    f"proof: expected 1 to {MAX_EXTRA} bytes of extra data"
                )
        index = _number(lines, "index", "proof")
        return cls(index, _hashes(lines, "proof"), checkpoint, extra)

    def verify(
        self, entry: bytes, policy: TrustPolicy, *log_keys: VerifierKey
    ) -> TrustedCheckpoint:
        """Check that the bytes of an entry are in a log the policy trusts."""
        trusted = policy.check(self.checkpoint, *log_keys)
        if not trusted.quorum_met:
            raise AuditError(f"proof of entry {self.index}: {trusted.reason}")
        head, leaf = trusted.signed.checkpoint, leaf_hash(entry)
        verify_inclusion(leaf, self.index, head.size, self.hashes, head.root)
        return trusted


@dataclass(frozen=True)
class ConsistencyProof:
    """That the log only grew since it had `old_size` entries."""

    old_size: int
    hashes: tuple[bytes, ...]
    checkpoint: bytes

    def to_bytes(self) -> bytes:
        """Return the file, which is also the body of a request to a witness."""
        return _join([f"old {self.old_size}"], self.hashes, self.checkpoint)

    @classmethod
    def parse(cls, data: bytes) -> "ConsistencyProof":
        """Read a consistency file; same promises as `InclusionProof.parse`."""
        lines, checkpoint = _split(data)
        old_size = _number(lines, "old", "consistency proof")
        return cls(old_size, _hashes(lines, "consistency proof"), checkpoint)

    def verify(self, old: Checkpoint, *log_keys: VerifierKey) -> SignedCheckpoint:
        """Check that the signed checkpoint extends an old one; return the new."""
        signed = open_checkpoint(self.checkpoint, *log_keys)
        new = signed.checkpoint
        if new.origin != old.origin:
            raise AuditError(
                f"consistency proof is for `{new.origin}`, expected `{old.origin}`"
            )
        if self.old_size != old.size:
            raise AuditError(
                f"consistency proof starts from {self.old_size} entries, "
                f"expected: {old.size}"
            )
        if old.size > 0:
            verify_consistency(old.size, old.root, new.size, new.root, self.hashes)
        elif self.hashes:  # every log extends the empty one; there is nothing to show
            raise AuditError("consistency proof from the empty log must be empty")
        return signed


def _join(lines: Sequence[str], hashes: Sequence[bytes], checkpoint: bytes) -> bytes:
    text = [*lines, *map(encode_base64, hashes), "", ""]
    return "\n".join(text).encode() + checkpoint


def _split(data: bytes) -> tuple[list[str], bytes]:
    head, blank, checkpoint = data.partition(b"\n\n")
    if not blank:
        raise AuditError("proof has no blank line before its checkpoint")
    try:
        lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError as error:
        raise AuditError(f"proof is not ASCII at byte {error.start}") from error
    parse_note(checkpoint)
    return lines, checkpoint


def _number(lines: list[str], keyword: str, where: str) -> int:
    word, _, text = (lines.pop(0) if lines else "").partition(" ")
    if word != keyword:
        raise AuditError(f"{where}: expected a line `{keyword} <number>`")
    return parse_decimal(text, f"{where}, `{keyword}`")


def _hashes(lines: list[str], where: str) -> tuple[bytes, ...]:
    if len(lines) > MAX_HASHES:
        raise AuditError(f"{where} has {len(lines)} hashes, more than {MAX_HASHES}")
    return tuple(
        decode_hash(line, f"{where}, hash {number}")
        for number, line in enumerate(lines)
    )
