# SPDX-License-Identifier: Apache-2.0
"""Bytes of a file, unpacked if its name says that it is packed, and bounded.

A small archive may hold a huge file. What unpacks to more than `MOST_PACKED` bytes, and
to more than `MOST_RATIO` times the archive, is refused while it is read.
"""

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from lexfed.data.file_format import TEXT_SUFFIXES
from lexfed.plain_files import plain_or_link

MOST_PACKED = 1 << 26
"""Bytes that any archive may unpack to."""
MOST_RATIO = 200
"""Beyond them, the most bytes for each byte of the archive; tables reach some 50."""


class DamagedArchive(Exception):
    """An archive that cannot be unpacked, with the reason in words."""


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a plain file for reading, as the bytes that its name promises.

    Raises:
        DamagedArchive: also while it is read.
        OSError: if it cannot be opened, or is no plain file.
    """
    with open(path, "rb", opener=plain_or_link) as file:
        suffix = path.suffix.lower()
        try:
            if suffix == ".gz":
                with gzip.open(file) as inner:
                    yield _bounded(inner, path)
            elif suffix == ".zip":
                with zipfile.ZipFile(file) as archive, _only(archive) as inner:
                    yield _bounded(inner, path)
            else:
                yield file
        except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
            raise DamagedArchive("is damaged or ends early") from error
        except (NotImplementedError, RuntimeError) as error:
            # A method of packing that Python has not, or a password.
            raise DamagedArchive("is packed in a way that cannot be read") from error


def _only(archive: zipfile.ZipFile) -> IO[bytes]:
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith("__MACOSX/")
    ]
    if len(members) != 1:
        raise DamagedArchive(f"has {len(members)} files, expected one")
    if not members[0].filename.lower().endswith(TEXT_SUFFIXES):
        raise DamagedArchive(f"has no file that ends in {', '.join(TEXT_SUFFIXES)}")
    return archive.open(members[0])


class _Counted(io.RawIOBase):
    def __init__(self, inner: Any, most: int) -> None:
        self._inner, self._left = inner, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content: bytes = self._inner.read(len(buffer))
        self._left -= len(content)
        if self._left < 0:
            raise DamagedArchive("unpacks to far more than a table would")
        buffer[: len(content)] = content
        return len(content)


def _bounded(inner: Any, path: Path) -> IO[bytes]:
    most = max(MOST_PACKED, MOST_RATIO * path.stat().st_size)
    return io.BufferedReader(_Counted(inner, most), 1 << 16)
