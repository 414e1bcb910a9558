# SPDX-License-Identifier: Apache-2.0
"""Text files of unknown origin: their encoding, and whether they are text at all."""

import gzip
import zlib
from contextlib import nullcontext
from pathlib import Path

from lexfed.errors import DataError, Problem, system_reason
from lexfed.plain_files import plain_or_link

MAX_BYTES = 256 * 1024 * 1024
"""Most bytes of a schema; data files are read only as far as their sample."""

_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


def read_text(path: Path, limit: int = MAX_BYTES, whole: bool = True) -> str:
    """Return the text of a file.

    UTF-8 and UTF-16 with a mark are recognised; other bytes are read as Windows-1252,
    in which every name stays readable enough to be tagged.

    At most `limit` bytes are read. A longer file is an error if it has to be `whole`,
    and is cut at its last line end otherwise.

    Raises:
        DataError: if it cannot be read, is not text, or is too long.
    """
    try:
        # Only so much is unpacked as is read: a small file may hold a large one.
        with (
            open(path, "rb", opener=plain_or_link) as file,
            gzip.open(file) if path.suffix == ".gz" else nullcontext(file) as text,
        ):
            content = text.read(limit + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _not_text(path) from error
    except OSError as error:
        reason = system_reason(error)
        raise DataError([Problem(f"`{path}`", f"cannot be read: {reason}")]) from error
    if len(content) > limit:
        if whole:
            raise DataError([Problem(f"`{path}`", f"more than {limit} bytes")])
        content = content[: content.rfind(b"\n", 0, limit) + 1]
    encoding = next((e for mark, e in _MARKS.items() if content.startswith(mark)), "")
    if not encoding:
        if b"\x00" in content:
            raise _not_text(path)
        encoding = "utf-8" if _is_utf8(content) else "cp1252"
    try:
        return content.decode(encoding, "strict" if encoding != "cp1252" else "replace")
    except UnicodeDecodeError as error:
        raise _not_text(path) from error


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _not_text(path: Path) -> DataError:
    return DataError(
        [
            Problem(
                f"`{path}`",
                "is not a text file",
                "give a CSV or SQL file in UTF-8, or a `.parquet` file",
            )
        ]
    )
