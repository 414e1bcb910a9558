# SPDX-License-Identifier: Apache-2.0
"""Files of a joining: new ones are claimed before anything is paid for them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from lexfed.cli import talk
from lexfed.errors import DataError, Problem, RunFolderError, system_reason
from lexfed.plain_files import plain_or_link

OPEN, SECRET = 0o666, 0o600
"""Permissions of a file: for those whom the user's mask allows, or the owner only."""


@contextmanager
def new_file(path: Path, mode: int = OPEN) -> Iterator[BinaryIO]:
    """Make a file that is not there yet, for somebody to fill.

    Guarantees:
        What cannot be written is refused before anything happens inside.
        If anything fails inside, the file is gone again; else it is on disk.

    Raises:
        RunFolderError: if it is there already, or cannot be written.
    """
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError as error:
        raise RunFolderError(
            f"`{path}` exists already", "remove it, or write to another file"
        ) from error
    except OSError as error:
        raise RunFolderError(
            f"cannot write `{path}`: {system_reason(error)}",
            "write to another file or folder",
        ) from error
    try:
        with open(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    talk.say(f"wrote {path}")


def read_bytes(path: Path, most: int) -> bytes:
    """Read a file from somebody else, and no more than it may have.

    Raises:
        DataError: if it cannot be read, or is longer.
    """
    try:
        with open(path, "rb", opener=plain_or_link) as file:
            data = file.read(most + 1)
    except OSError as error:
        what = (error.strerror or "cannot be read").lower()
        raise DataError([Problem(str(path), what, "check its name")]) from error
    if len(data) > most:
        what = "the file is longer than any such file may be"
        raise DataError([Problem(str(path), what, "take it again from who made it")])
    return data
