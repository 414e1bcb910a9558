# SPDX-License-Identifier: Apache-2.0
"""Pins: the last checkpoint we saw of a log, kept away from the log itself.

    <keys>/pins/<first 16 hex digits of SHA256(origin)>.checkpoint

A log folder that was restored from a backup, cut short or replaced by another history
still verifies: its signatures are real. A pin remembers more, for one machine as a
witness does for the public. The writer keeps it beside its keys, so that whoever
restores the log does not restore the pin with it.
"""

from hashlib import sha256
from pathlib import Path

from lexfed.audit.tree.checkpoint import Checkpoint, SignedCheckpoint, open_checkpoint
from lexfed.audit.tree.merkle import Tree
from lexfed.durable import FileLock, write_atomically
from lexfed.errors import AuditError, RunFolderError, system_reason
from lexfed.plain_files import plain
from lexfed.signing.notes import VerifierKey
from lexfed.signing.strict_text import naming

_MOST = 65_536


def pin_path(keys: Path, origin: str) -> Path:
    """Return the path of a log's pin."""
    return keys / "pins" / f"{sha256(origin.encode()).hexdigest()[:16]}.checkpoint"


def read_pin(
    keys: Path, origin: str, *log_keys: VerifierKey
) -> SignedCheckpoint | None:
    """Return the pinned checkpoint of a log, or None if there is none yet."""
    path = pin_path(keys, origin)
    try:
        with open(path, "rb", opener=plain) as file:
            data = file.read(_MOST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(path, error) from error
    with naming(f"pin `{path}`"):
        pin = open_checkpoint(data, *log_keys)
    if pin.checkpoint.origin != origin:
        raise AuditError(
            f"pin `{path}` is of `{pin.checkpoint.origin}`, expected: `{origin}`"
        )
    return pin


def check_pin(pin: Checkpoint, origin: str, tree: Tree) -> None:
    """Check that a log begins with the entries that were pinned.

    Guarantees:
        A log with fewer entries than were pinned is refused.
        A log with another history up to the pinned size is refused.
    """
    if pin.origin != origin:
        raise AuditError(f"the pin is of `{pin.origin}`, the log is `{origin}`")
    if tree.size < pin.size:
        raise AuditError(
            f"log `{origin}` has {tree.size} entries, but {pin.size} were pinned",
            "was it restored from a backup? entries after the backup are missing",
        )
    root = tree.root(pin.size)
    if root != pin.root:
        raise AuditError(
            f"log `{origin}` is not the pinned one: root of its first {pin.size} "
            f"entries: expected {pin.root.hex()}, got: {root.hex()}",
            "two histories were signed; keep both, they are proof of it",
        )


def write_pin(keys: Path, note: bytes, tree: Tree, *log_keys: VerifierKey) -> None:
    """Pin a checkpoint of a log whose entries are at hand.

    Guarantees:
        A pin never moves to fewer entries.
        A pin never moves to another history.
        Signatures on a pin of the same size are kept and joined.
        On return the pin is on disk.
    """
    new = open_checkpoint(note, *log_keys)
    checkpoint, joined = new.checkpoint, new.note
    check_pin(checkpoint, checkpoint.origin, tree)
    folder = keys / "pins"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock.on_folder(folder)
    except OSError as error:
        raise _unusable(folder, error) from error
    with lock:  # between reading the old pin and writing the new one
        old = read_pin(keys, checkpoint.origin, *log_keys)
        if old is not None:
            check_pin(old.checkpoint, checkpoint.origin, tree)
            if checkpoint.size < old.checkpoint.size:
                raise AuditError(
                    f"a pin does not move back: {old.checkpoint.size} entries of "
                    f"`{checkpoint.origin}` are pinned, got: {checkpoint.size}"
                )
            if checkpoint.size == old.checkpoint.size:
                joined = old.note.with_signatures(new.note.signatures)
        write_atomically(pin_path(keys, checkpoint.origin), joined.to_bytes())


def _unusable(path: Path, error: OSError) -> RunFolderError:
    return RunFolderError(
        f"cannot use pin `{path}`: {system_reason(error)}",
        "fix the permissions of the folder with your keys",
    )
