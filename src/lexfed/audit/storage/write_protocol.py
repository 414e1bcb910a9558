# SPDX-License-Identifier: Apache-2.0
"""The order in which an append reaches the disk; each step is on disk before the next.

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
report success the second time, so the writer gives up and the next one starts from
what is on disk.
"""

from collections.abc import Callable, Iterable

from lexfed.audit.storage.held_folder import Folder
from lexfed.audit.storage.layout import CHECKPOINT, COSIGNED, SIGNED, STAGE
from lexfed.audit.tree.checkpoint import Checkpoint
from lexfed.errors import AuditError
from lexfed.signing.notes import parse_note

MAX_NOTE = 1_000_000
"""Bytes of the longest note that golang.org/x/mod reads."""


def commit(
    folder: Folder,
    stage: bytes,
    files: Iterable[tuple[str, bytes]],
    sign: Callable[[], bytes],
) -> bytes:
    """Take steps 1 to 7 and return the checkpoint that was published.

    Args:
        folder: the log, of which the caller is the only writer.
        stage: content of the stage.
        files: path and content of bundles and tiles, in the order of steps 2 and 3.
        sign: gives the signed checkpoint; called when everything else is on disk.
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
    """Take steps 5 and 6.

    Raises:
        AuditError: if another root was signed for this size before.
    """
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
    folder.write_part(checkpoint)
    folder.rename_part(f"{COSIGNED}/{size}")
    folder.write_part(checkpoint)
    folder.rename_part(CHECKPOINT)
    folder.sync()
