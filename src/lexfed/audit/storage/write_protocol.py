# SPDX-License-Identifier: Apache-2.0
r"""The files of a log, and the order in which an append writes them.

    checkpoint                    signed note: origin, size, root
    tile/entries/<N>[.p/<W>]      the entries, see `tiles`; partial, the newest only
    tile/<L>/<N>[.p/<W>]          the hashes over them
    signed/<size>                 every checkpoint that was signed, without cosignatures
    cosigned/<size>               those that witnesses cosigned, with their signatures
    stage, part                   an append that a writer has not finished
    lock                          for the writer; empty
    blobs/, timestamps/           see `blobs` and `witness.time_stamps`

Anything else is refused, or two logs could be in one folder; but not folders without
files: a writer may die after making one.

An append takes these steps, each of them on disk before the next:

    1. stage                        what is about to be appended
    2. tile/entries/...             bundles of entries
    3. tile/<level>/...             tiles of hashes, lowest level first
    4. (sign the checkpoint)        only now: a signature covers what cannot be lost
    5. signed/<size>                by link(2), which never replaces: no size is ever
                                    signed with two roots
    6. checkpoint                   by rename(2): readers see the old or the new one
    7. stage removed                not synced: a stage that comes back is done again
    8. partial tiles removed        that a full one has replaced [tlog-tiles]
    9. acknowledge

A crash before step 1 is complete leaves the log as it was. From then on everything is
repeated from the stage: every step has the same result when it is done twice. Nothing
is tried again after a failed fsync: the kernel may have dropped the data and would
report success the second time.

    stage = lexfed stage v1\n
            <origin>\n
            <size before>\n
            <base64 of the root before>\n
            <number of new entries>\n
            <base64 of the SHA-256 of what follows the signature>\n
            \n
            U+2014 <origin> <base64(key id || Ed25519 signature of the lines above)>\n
            u16 length (big-endian) || entry, for every new entry

The stage is signed, or whoever may write into the folder could have us sign entries of
theirs. Its first line has spaces, so it is no origin, and no reader takes a stage for a
checkpoint.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from lexfed.audit.storage.held_folder import LOCK, PART, Folder
from lexfed.audit.tree.checkpoint import Checkpoint
from lexfed.audit.tree.merkle import Tree
from lexfed.audit.tree.tiles import MAX_ENTRY, TileName, decode_bundle, parse_path
from lexfed.errors import AuditError
from lexfed.signing.keys import Signer
from lexfed.signing.notes import SignedNote, VerifierKey, parse_note, verify
from lexfed.signing.strict_text import decode_hash, encode_base64, naming, parse_decimal

CHECKPOINT = "checkpoint"
SIGNED = "signed"
COSIGNED = "cosigned"
STAGE = "stage"
TILE = "tile"
BLOBS = "blobs"
TIMESTAMPS = "timestamps"

MAX_NOTE = 1_000_000
"""Bytes of the longest note that golang.org/x/mod reads."""
MAX_STAGE = 2**28
"""Bytes of the longest stage; one append must fit."""

_FILES = frozenset({CHECKPOINT, LOCK, PART, STAGE})
_FOLDERS = frozenset({TILE, SIGNED, COSIGNED, BLOBS, TIMESTAMPS})
_MAX_DEPTH = 10
"""Folders below `tile` on the longest path: the level, seven groups, `.p`, and one."""
_STAGE_TITLE = "lexfed stage v1"


@dataclass(frozen=True)
class LogFiles:
    """The names of the files of a log; their content is not looked at."""

    tiles: dict[str, TileName]
    signed: tuple[int, ...]
    cosigned: tuple[int, ...]


def list_log(folder: Folder) -> LogFiles:
    """Return the files of a log; a link or a name that no log has is refused."""
    for name, is_folder in folder.listing("").items():
        if name not in (_FOLDERS if is_folder else _FILES):
            raise _unexpected(folder, name)
    for name, is_folder in folder.listing(BLOBS).items():
        if name != "sha256" or not is_folder:
            raise _unexpected(folder, f"{BLOBS}/{name}")
    tiles = {}
    for path in _files(folder, TILE, 0):
        try:
            tiles[path] = parse_path(path)
        except AuditError as error:
            raise _unexpected(folder, path) from error
    return LogFiles(tiles, _sizes(folder, SIGNED), _sizes(folder, COSIGNED))


def _sizes(folder: Folder, within: str) -> tuple[int, ...]:
    sizes = []
    for name, is_folder in folder.listing(within).items():
        if is_folder:
            raise _unexpected(folder, f"{within}/{name}")
        sizes.append(parse_decimal(name, f"`{folder.path / within}`"))
    return tuple(sorted(sizes))


def _files(folder: Folder, within: str, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        raise _unexpected(folder, within)
    for name, is_folder in folder.listing(within).items():
        path = f"{within}/{name}"
        if is_folder:
            yield from _files(folder, path, depth + 1)
        else:
            yield path


def _unexpected(folder: Folder, name: str) -> AuditError:
    return AuditError(
        f"`{folder.path}` holds {name[-100:]!a}, which is no part of a log",
        "keep other files elsewhere",
    )


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
        """Return the signed file; entries that do not fit are refused."""
        for number, entry in enumerate(self.entries, start=self.old_size):
            if len(entry) > MAX_ENTRY:
                raise AuditError(
                    f"entry {number} has {len(entry)} bytes, more than {MAX_ENTRY}",
                    "put large content into a blob and log its digest",
                )
        tail = b"".join(len(each).to_bytes(2, "big") + each for each in self.entries)
        lines = (
            _STAGE_TITLE,
            self.origin,
            str(self.old_size),
            encode_base64(self.old_root),
            str(len(self.entries)),
            encode_base64(sha256(tail).digest()),
        )
        body = "".join(f"{line}\n" for line in lines).encode()
        data = SignedNote(body, (signer.note_signature(body),)).to_bytes() + tail
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
        present = entries[self.old_size : self.new_size]
        if list(present) != list(self.entries[: len(present)]):
            raise AuditError(
                f"`stage` has other entries after {self.old_size} than the log"
            )
        if len(present) not in (0, len(self.entries)):
            raise AuditError(
                f"`stage` ends at entry {self.new_size - 1}, the log within it at "
                f"{tree.size - 1}"
            )


def end_of_stage_head(data: bytes) -> int:
    """Return where the entries of a stage begin: after the line of its signature."""
    return data.find(b"\n", data.find(b"\n\n") + 2) + 1


def open_stage(data: bytes, log_keys: Sequence[VerifierKey]) -> StagedAppend:
    """Read a stage that one of the log's keys has signed.

    Guarantees:
        Nothing is returned unless the signature covers every byte of it.
    """
    end = end_of_stage_head(data)
    with naming("`stage`"):
        note = parse_note(data[:end])
        signatures = verify(note, log_keys)
    lines = note.body.decode().split("\n")[:-1]
    if len(lines) != 6:
        raise AuditError(f"`stage` has {len(lines)} lines of text, not 6")
    title, origin, size, root, count, digest = lines
    if title != _STAGE_TITLE or any(each.name != origin for each in signatures):
        raise AuditError(f"`stage` is not the stage of the log `{origin[:100]}`")
    if decode_hash(digest, "`stage`, line 6") != sha256(data[end:]).digest():
        raise AuditError("`stage` has other entries than those that were signed")
    return StagedAppend(
        origin,
        parse_decimal(size, "`stage`, line 3"),
        decode_hash(root, "`stage`, line 4"),
        tuple(decode_bundle(data[end:], parse_decimal(count, "`stage`, line 5"))),
    )


def commit(
    folder: Folder,
    stage: bytes,
    files: Iterable[tuple[str, bytes]],
    sign: Callable[[], bytes],
) -> bytes:
    """Take steps 1 to 7 as the only writer; return the checkpoint that was published.

    Bundles and tiles come in the order of steps 2 and 3. `sign` gives the signed
    checkpoint; it is called when everything else is on disk.
    """
    folder.write_part(stage)
    folder.rename_part(STAGE)
    folder.sync()
    for path, content in files:
        folder.write_part(content)
        folder.rename_part(path)
    folder.sync()
    checkpoint = sign()
    publish(folder, checkpoint)
    folder.remove(STAGE)
    return checkpoint


def publish(folder: Folder, checkpoint: bytes) -> None:
    """Take steps 5 and 6; another root signed for this size before is an error."""
    body = parse_note(checkpoint).body
    size = Checkpoint.parse(body).size
    name = f"{SIGNED}/{size}"
    folder.write_part(checkpoint)
    if not folder.link_part(name):
        before = folder.read(name, MAX_NOTE)
        if before is None or parse_note(before).body != body:
            raise AuditError(
                f"`{folder.path / name}`: another root was signed for {size} entries",
                "two histories of one log exist; find out who wrote the other one",
            )
    folder.sync()
    folder.rename_part(CHECKPOINT)
    folder.sync()


def replace(folder: Folder, checkpoint: bytes) -> None:
    """Put a checkpoint with more signatures in place of the one that is there.

    A copy stays in `cosigned`: when the log has grown, the times in it still bound
    when the entries before were written.
    """
    size = Checkpoint.parse(parse_note(checkpoint).body).size
    for name in (f"{COSIGNED}/{size}", CHECKPOINT):
        folder.write_part(checkpoint)
        folder.rename_part(name)
    folder.sync()
