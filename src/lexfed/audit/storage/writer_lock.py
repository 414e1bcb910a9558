# SPDX-License-Identifier: Apache-2.0
"""One writer at a time, by a lock on the file `lock` in the log's folder.

On a network file system two machines may hold it at once, and both would sign. Those
are refused where the kernel tells us (Linux); elsewhere keep a log on a local disk.
"""

import os
import re
from pathlib import Path

from lexfed.audit.storage.held_folder import Folder, unusable
from lexfed.durable import FileLock
from lexfed.errors import RunFolderError

LOCK = "lock"
_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = frozenset(
    {
        *("9p", "afs", "ceph", "cifs", "coda", "lustre", "nfs", "nfs4", "smb3"),
        *("orangefs", "virtiofs", "fuse.glusterfs", "fuse.gcsfuse", "fuse.rclone"),
        *("fuse.s3fs", "fuse.sshfs"),
    }
)


class WriterLock:
    """The right to write a log.

    Guarantees:
        At most one object holds it for a folder, in all processes of the machine.
        `check` fails once the file is gone or in a process that did not take it.
    """

    def __init__(self, folder: Folder) -> None:
        """Take the lock.

        Raises:
            RunFolderError: if another process has it, or it cannot be relied on.
        """
        self._folder = folder
        self._owner = os.getpid()
        self._path = folder.path / LOCK
        kind = network_type(folder.path)
        if kind:
            raise RunFolderError(
                f"`{folder.path}` is on a network file system ({kind}), where two "
                "machines may write at once",
                "keep the log on a local disk and copy it from there",
            )
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(LOCK, flags, 0o644, dir_fd=folder.handle)
        except OSError as error:
            raise unusable("open", self._path, error) from error
        try:
            self._lock = FileLock(handle)
        except BlockingIOError as error:
            raise RunFolderError(
                f"`{self._path}` is held by another process that writes this log",
                "wait until it has ended",
            ) from error
        except OSError as error:
            raise unusable("lock", self._path, error) from error
        try:
            self.check()
        except RunFolderError:
            self.close()
            raise

    def check(self) -> None:
        """Raise `RunFolderError` unless the lock still keeps others out."""
        if os.getpid() != self._owner:
            raise RunFolderError(
                f"`{self._path}` was locked by process {self._owner}, of which this "
                "one is a copy",
                "open the log in the process that writes it",
            )
        try:
            named = os.stat(LOCK, dir_fd=self._folder.handle, follow_symlinks=False)
            held = os.fstat(self._lock.handle)
        except OSError as error:
            raise unusable("check", self._path, error) from error
        if not os.path.samestat(named, held):
            raise RunFolderError(
                f"`{self._path}` was replaced while it was held",
                "leave the file alone; the kernel frees it when its holder ends",
            )

    def close(self) -> None:
        """Give the lock back."""
        self._lock.close()


def network_type(path: Path) -> str | None:
    """Return the type of the file system under `path` if it is a network one."""
    try:
        table = _MOUNTS.read_text(errors="surrogateescape")
    except OSError:
        return None  # not Linux
    kind = mount_type(os.path.realpath(path), table)
    return kind if kind in _NETWORK else None


def mount_type(path: str, table: str) -> str:
    """Return the file system type of the mount that holds an absolute path.

    Args:
        path: without links.
        table: lines as in Linux's `/proc/self/mountinfo` [proc(5)].
    """
    best, kind = "", ""
    for line in table.splitlines():
        fields, _, source = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), fields.split()[4])
        holds = path == point or path.startswith(point.rstrip("/") + "/")
        # Of two mounts on one point the later hides the earlier.
        if holds and len(point) >= len(best):
            best, kind = point, source.split()[0]
    return kind
