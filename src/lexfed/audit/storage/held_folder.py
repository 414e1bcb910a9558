# SPDX-License-Identifier: Apache-2.0
"""A folder held open, in which every name is looked up without following a link.

Paths are walked one folder at a time from a descriptor, and a link on the way is
refused: whoever may write into a log's folder could have us read or write elsewhere.
New content goes through one spare file, `part`, which belongs to the single writer: it
is written and synced without a name, then renamed or linked. It is removed before it is
made anew, never cut short: after `link_part` it may still be another name's content.

One writer at a time holds the lock on the file `lock` in the folder. On a network file
system two machines may hold it at once, and both would sign. Those are refused where
the kernel tells us (Linux); elsewhere keep a log on a local disk.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from lexfed.durable import FileLock, sync_folder
from lexfed.errors import AuditError, RunFolderError, system_reason
from lexfed.plain_files import read_handle

PART = "part"
LOCK = "lock"
_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = frozenset(
    {
        *("9p", "afs", "ceph", "cifs", "coda", "lustre", "nfs", "nfs4", "smb3"),
        *("orangefs", "virtiofs", "fuse.glusterfs", "fuse.gcsfuse", "fuse.rclone"),
        *("fuse.s3fs", "fuse.sshfs"),
    }
)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC


def make_folder(path: Path) -> None:
    """Create a folder and its parents; on return the names are on disk."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        # A folder that is there may come from a process that died before its fsync.
        for parent in path.absolute().parents[:2]:
            sync_folder(parent)
    except OSError as error:
        raise unusable("create", path, error) from error


class Folder:
    """A folder held open; everything is addressed by its path below it.

    Guarantees:
        No link inside the folder is followed, for reading or for writing.
        A device, a pipe or a socket is refused without waiting for it.
        After `sync` every name given since the last one is on disk, and so is every
        folder on the way to it.
        No `OSError` leaves it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._synced: set[str] = set()
        self._changed: dict[str, int] = {}
        with self._access("open", ""):
            self.handle = os.open(path, _FOLDER)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the descriptors back; nothing is written or synced by it."""
        handles, self.handle = [*self._changed.values(), self.handle], -1
        self._changed.clear()
        for handle in handles:
            with suppress(OSError):  # nothing more can be done with it
                os.close(handle)

    def read(self, name: str, limit: int) -> bytes | None:
        """Return the content of a file, or None if there is no such file."""
        folder, _, base = name.rpartition("/")
        with self._access("read", name):
            try:
                within = self._enter(folder)
                try:
                    # O_NONBLOCK: a pipe without a writer must not make us wait.
                    flags = os.O_RDONLY | os.O_NONBLOCK | _FILE
                    handle = os.open(base, flags, dir_fd=within)
                finally:
                    os.close(within)
            except FileNotFoundError:
                return None
            try:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise self._strange(name)
                return read_handle(handle, limit, name)
            except OSError as error:
                if error.errno != errno.EFBIG:
                    raise
                path = self.path / name
                raise AuditError(
                    f"`{path}` has more than {limit} bytes, the most it may have"
                ) from error
            finally:
                os.close(handle)

    def listing(self, folder: str) -> dict[str, bool]:
        """Return the names in a folder, in order, and whether each is a folder.

        One that is neither a folder nor a regular file is refused.
        """
        names = {}
        with self._access("list", folder):
            try:
                handle = self._enter(folder)
            except FileNotFoundError:
                return {}
            try:
                with os.scandir(handle) as entries:
                    for entry in sorted(entries, key=lambda entry: entry.name):
                        is_folder = entry.is_dir(follow_symlinks=False)
                        if not is_folder and not entry.is_file(follow_symlinks=False):
                            raise self._strange(f"{folder}/{entry.name}".lstrip("/"))
                        names[entry.name] = is_folder
            finally:
                os.close(handle)
        return names

    def write_part(self, content: bytes) -> None:
        """Write the spare file; on return its bytes are on disk, without a name."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
        with self._access("write", PART):
            try:
                handle = os.open(PART, flags, 0o644, dir_fd=self.handle)
            except FileExistsError:
                os.unlink(PART, dir_fd=self.handle)
                handle = os.open(PART, flags, 0o644, dir_fd=self.handle)
            try:
                rest = memoryview(content)
                while rest:
                    rest = rest[os.write(handle, rest) :]
                os.fsync(handle)
            finally:
                os.close(handle)

    def rename_part(self, name: str) -> None:
        """Give the spare file its name, in place of what had it."""
        with self._access("write", name):
            within, base = self._changing(name)
            os.rename(PART, base, src_dir_fd=self.handle, dst_dir_fd=within)

    def link_part(self, name: str) -> bool:
        """Give the spare file one more name; False if the name is taken."""
        with self._access("write", name):
            within, base = self._changing(name)
            try:
                places = {"src_dir_fd": self.handle, "dst_dir_fd": within}
                os.link(PART, base, **places, follow_symlinks=False)
            except FileExistsError:
                return False
        return True

    def remove(self, name: str) -> None:
        """Remove a file if it is there."""
        with self._access("remove", name):
            within, base = self._changing(name)
            with suppress(FileNotFoundError):
                os.unlink(base, dir_fd=within)

    def remove_folder(self, folder: str) -> None:
        """Remove a folder that holds nothing but files, if it is there."""
        for name in self.listing(folder):
            self.remove(f"{folder}/{name}")
        with self._access("remove", folder):
            if folder in self._changed:
                os.close(self._changed.pop(folder))
            self._synced.discard(f"/{folder}")
            within, base = self._changing(folder)
            with suppress(FileNotFoundError):
                os.rmdir(base, dir_fd=within)

    def sync(self) -> None:
        """Put every name on disk that was given or taken away since the last call."""
        while self._changed:
            folder = next(iter(self._changed))
            with self._access("sync", folder):
                os.fsync(self._changed[folder])
                os.close(self._changed.pop(folder))

    def _changing(self, name: str) -> tuple[int, str]:
        folder, _, base = name.rpartition("/")
        if folder not in self._changed:
            self._changed[folder] = self._enter(folder, make=True)
        return self._changed[folder], base

    def _enter(self, folder: str, *, make: bool = False) -> int:
        handle = os.open(".", _FOLDER, dir_fd=self.handle)
        path = ""
        for name in folder.split("/") if folder else []:
            path += f"/{name}"
            try:
                if make and path not in self._synced:
                    # Also where it exists: whoever made it may not have lived to
                    # sync its name.
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o755, dir_fd=handle)
                    os.fsync(handle)
                    self._synced.add(path)
                inner = os.open(name, _FOLDER, dir_fd=handle)
            finally:
                os.close(handle)
            handle = inner
        return handle

    def _strange(self, name: str) -> AuditError:
        return AuditError(
            f"`{self.path / name}` is a link, a special file or not what belongs there",
            "a log holds plain files; get it anew from where it was made",
        )

    @contextmanager
    def _access(self, doing: str, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR):
                raise self._strange(name) from error
            raise unusable(doing, self.path / name, error) from error


def unusable(doing: str, path: Path, error: OSError) -> RunFolderError:
    """Return the error for a file that the operating system keeps from us."""
    return RunFolderError(
        f"cannot {doing} `{path}`: {system_reason(error)}",
        "free some space or fix the permissions, then start again: what was "
        "acknowledged is on disk",
    )


class WriterLock:
    """The right to write a log.

    Guarantees:
        At most one object holds it for a folder, in all processes of the machine.
        `check` fails once the file is gone or in a process that did not take it.
    """

    def __init__(self, folder: Folder) -> None:
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

    The path is without links; `table` is as Linux's `/proc/self/mountinfo` [proc(5)].
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
