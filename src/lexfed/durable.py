# SPDX-License-Identifier: Apache-2.0
"""Files that survive a crash: whole or not there, and on disk before we go on.

`write_atomically` never leaves a half-written file under the final name. `JsonLines`
appends one JSON value per line and returns only after the line is on disk; a last
line without its newline was never acknowledged, is not read, and is cut off when the
next one is appended. `FileLock` keeps other writers out while it is held.
"""

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from lexfed.errors import RunFolderError, system_reason
from lexfed.plain_files import MOST_OF_A_DOCUMENT, plain, read_plain


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part.

    Guarantees:
        On return content and name are on disk.
        On failure the old file, if any, is unchanged. The bytes written so far stay
        in the part file, as evidence that something left the process.
    """
    _write_part(path, content)
    publish_file(path)


def write_privately(path: Path, content: bytes) -> None:
    """Write a file as `write_atomically` does, for its owner alone to read."""
    _write_part(path, content, 0o600)
    publish_file(path)


def stage_file(path: Path, content: bytes) -> None:
    """Put the next content of a file on disk beside it, not yet under its name."""
    _write_part(path, content)
    try:
        sync_folder(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error


def _write_part(path: Path, content: bytes, mode: int | None = None) -> None:
    try:
        with open(part_path(path), "wb", opener=plain) as file:
            if mode is not None:  # before the first byte, and also where it was there
                os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _unwritable(path, error) from error


def publish_file(path: Path) -> None:
    """Give a file the content that was staged; on return the change is on disk."""
    try:
        os.replace(part_path(path), path)
        sync_folder(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error


def part_path(path: Path) -> Path:
    """Return the path at which a file is written before it takes its name."""
    return path.with_name(path.name + ".part")


def _unwritable(path: Path, error: OSError) -> RunFolderError:
    return RunFolderError(
        f"cannot write `{path}`: {system_reason(error)}",
        "free some space or fix the folder's permissions, then continue with "
        "`lexfed run --resume`",
    )


def take_lock(handle: int, *, wait: bool) -> None:
    """Lock an open file or folder for as long as it stays open (flock(2)).

    The kernel gives the lock back when its holder closes the file or dies. It is only
    as good as the file system: on a network one, two machines may hold it at once.

    Raises:
        BlockingIOError: if another process has the lock and `wait` is false.
    """
    fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


class FileLock:
    """The lock of a file or folder, held until it is closed or garbage."""

    def __init__(self, handle: int, *, wait: bool = False) -> None:
        """Take the lock of an open file, which is closed with it, also on failure."""
        self.handle = handle
        try:
            take_lock(handle, wait=wait)
        except BaseException:
            self.close()
            raise

    @classmethod
    def on_folder(cls, folder: Path) -> Self:
        """Wait for the lock of a folder."""
        return cls(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), wait=True)

    def close(self) -> None:
        """Give the lock back."""
        handle, self.handle = self.handle, -1
        with suppress(OSError):  # the kernel has it back all the same
            os.close(handle)

    __del__ = close

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class JsonLines:
    """An append-only file of JSON objects, one per line, synced one by one."""

    def __init__(self, path: Path) -> None:
        """Open or create the file; what is in it stays as it is."""
        self.path = path
        try:
            # Lives as long as the object.
            self._file = open(path, "ab", opener=plain)  # noqa: SIM115
            try:
                rows, self._end = _whole_lines(path)
                sync_folder(path.parent)
            except BaseException:
                self._file.close()
                raise
            self._rows = list(rows)
        except OSError as error:
            raise _unwritable(path, error) from error

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """Everything acknowledged so far, oldest first."""
        return tuple(self._rows)

    def append(self, row: Mapping[str, Any]) -> None:
        """Append one object; on return it is on disk, on failure it is not there."""
        line = json.dumps(row, sort_keys=True, allow_nan=False).encode() + b"\n"
        try:
            if os.fstat(self._file.fileno()).st_size > self._end:
                os.truncate(self._file.fileno(), self._end)
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            self._drop_from(self._end)
            raise _unwritable(self.path, error) from error
        self._end += len(line)
        self._rows.append(dict(row))

    def _drop_from(self, start: int) -> None:
        # Closing would flush the rest of the failed line again: truncate the
        # descriptor itself and reopen.
        descriptor = os.dup(self._file.fileno())
        try:
            self._file.close()
        except OSError:
            pass  # the buffered rest of the failed line; it is cut off below
        finally:
            os.truncate(descriptor, start)
            os.close(descriptor)
        self._file = open(self.path, "ab", opener=plain)  # noqa: SIM115 - see __init__

    def close(self) -> None:
        """Close the file; everything acknowledged is already on disk."""
        self._file.close()


def read_lines(path: Path) -> tuple[dict[str, Any], ...]:
    """Return the acknowledged lines of a file; none if there is no file."""
    try:
        return _whole_lines(path)[0]
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise RunFolderError(f"cannot read `{path}`: {system_reason(error)}") from error


def _whole_lines(path: Path) -> tuple[tuple[dict[str, Any], ...], int]:
    """Return the acknowledged lines, and the offset at which the last one ends."""
    content = read_plain(path, MOST_OF_A_DOCUMENT)
    end = content.rfind(b"\n") + 1
    lines = content[:end].split(b"\n")[:-1]
    return tuple(_parse(path, n, line) for n, line in enumerate(lines, start=1)), end


def _parse(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RunFolderError(f"{path}:{number}: not a JSON line") from error
    if not isinstance(row, dict):
        raise RunFolderError(f"{path}:{number}: expected a JSON object")
    return row
