# SPDX-License-Identifier: Apache-2.0
r"""The stage: what a writer is about to append, on disk before anything else changes.

    lexfed stage v1\n
    <origin>\n
    <size before>\n
    <base64 of the root before>\n
    <number of new entries>\n
    <base64 of the SHA-256 of what follows the signature>\n
    \n
    U+2014 <origin> <base64(key id || Ed25519 signature of the lines above)>\n
    u16 length (big-endian) || entry, for every new entry

After a crash the stage says how to finish. It is signed, or whoever may write into the
folder could have us sign entries of theirs. The first line has spaces, so it is no
origin, and no reader takes a stage for a checkpoint.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from lexfed.audit.tree.merkle import Tree
from lexfed.audit.tree.tiles import MAX_ENTRY, decode_bundle
from lexfed.errors import AuditError
from lexfed.signing.base64_text import decode_hash, encode_base64, parse_decimal
from lexfed.signing.keys import Signer
from lexfed.signing.notes import (
    NoteSignature,
    SignedNote,
    VerifierKey,
    parse_note,
    verify,
)

MAX_STAGE = 2**28
"""Bytes of the longest stage; one append must fit."""

_TITLE = "lexfed stage v1"


@dataclass(frozen=True)
class StagedAppend:
    """New entries, and the tree they continue."""

    origin: str
    old_size: int
    old_root: bytes
    entries: tuple[bytes, ...]

    @property
    def new_size(self) -> int:
        """The size of the log with the new entries."""
        return self.old_size + len(self.entries)

    def to_bytes(self, signer: Signer) -> bytes:
        """Return the signed file.

        Raises:
            AuditError: if an entry is too long, or all are together.
        """
        for number, entry in enumerate(self.entries, start=self.old_size):
            if len(entry) > MAX_ENTRY:
                raise AuditError(
                    f"entry {number} has {len(entry)} bytes, more than {MAX_ENTRY}",
                    "put large content into a blob and log its digest",
                )
        tail = b"".join(len(each).to_bytes(2, "big") + each for each in self.entries)
        lines = (
            _TITLE,
            self.origin,
            str(self.old_size),
            encode_base64(self.old_root),
            str(len(self.entries)),
            encode_base64(sha256(tail).digest()),
        )
        body = "".join(f"{line}\n" for line in lines).encode()
        key_id = signer.verifier.key_id
        signature = NoteSignature(signer.name, key_id, signer.sign(body))
        data = SignedNote(body, (signature,)).to_bytes() + tail
        if len(data) > MAX_STAGE:
            raise AuditError(
                f"{len(self.entries)} entries have {len(data)} bytes, more than "
                f"{MAX_STAGE} in one append",
                "append them in several steps",
            )
        return data

    def check(self, tree: Tree, entries: Sequence[bytes]) -> None:
        """Raise `AuditError` unless the stage belongs to a log as it is now."""
        if self.old_size > tree.size:
            raise AuditError(
                f"`stage` continues a log of {self.old_size} entries, but only "
                f"{tree.size} are here",
                "was an old copy of the log restored? continue from the newest one",
            )
        if self.old_root != tree.root(self.old_size):
            raise AuditError(
                f"`stage` continues another log of {self.old_size} entries than this"
            )
        here = entries[self.old_size : self.new_size]
        if list(here) != list(self.entries[: len(here)]):
            raise AuditError(
                f"`stage` has other entries after {self.old_size} than the log"
            )
        if len(here) not in (0, len(self.entries)):
            raise AuditError(
                f"`stage` ends at entry {self.new_size - 1}, the log within it at "
                f"{tree.size - 1}"
            )


def open_stage(data: bytes, log_keys: Sequence[VerifierKey]) -> StagedAppend:
    """Read a stage that one of the log's keys has signed.

    Guarantees:
        Nothing is returned unless the signature covers every byte of it.

    Raises:
        AuditError: if it is malformed or not signed by a given key.
    """
    end = data.find(b"\n", data.find(b"\n\n") + 2) + 1
    try:
        note = parse_note(data[:end])
        signatures = verify(note, log_keys)
    except AuditError as error:
        raise AuditError(f"`stage`: {error.message}", error.hint) from error
    title, origin, size, root, count, digest = _lines(note.body)
    if title != _TITLE or any(each.name != origin for each in signatures):
        raise AuditError(f"`stage` is not the stage of the log `{origin[:100]}`")
    if decode_hash(digest, "`stage`, line 6") != sha256(data[end:]).digest():
        raise AuditError("`stage` has other entries than those that were signed")
    return StagedAppend(
        origin,
        parse_decimal(size, "`stage`, line 3"),
        decode_hash(root, "`stage`, line 4"),
        tuple(decode_bundle(data[end:], parse_decimal(count, "`stage`, line 5"))),
    )


def _lines(body: bytes) -> list[str]:
    lines = body.decode().split("\n")[:-1]
    if len(lines) != 6:
        raise AuditError(f"`stage` has {len(lines)} lines of text, not 6")
    return lines
