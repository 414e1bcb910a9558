# SPDX-License-Identifier: Apache-2.0
"""Files to frames by the ending of their name, reading only the columns asked for."""

from collections.abc import Collection
from functools import partial
from pathlib import Path

from lexfed.data.file_format import (
    EXCEL_SUFFIXES,
    PARQUET_SUFFIXES,
    PLAIN,
    SUFFIXES,
    FileFormat,
)
from lexfed.data.problems import Problems
from lexfed.data.reading.delimited_files import read_delimited
from lexfed.data.reading.frames import Frame
from lexfed.data.reading.packed_files import DamagedArchive
from lexfed.data.reading.parquet_files import read_parquet
from lexfed.data.reading.typed_cells.excel_files import read_excel
from lexfed.plain_files import plain_or_link

_OTHER_KINDS = dict.fromkeys(
    (".xls", ".xlsb", ".xlsm", ".ods"), "save it as `.xlsx` or CSV"
) | dict.fromkeys(
    (".db", ".sqlite", ".sqlite3"),
    "name a table, `sql:TABLE`, and the file as its database, `sqlite:///FILE`",
)


def is_parquet(path: Path) -> bool:
    """Return True if the file's name says Parquet."""
    return path.suffix.lower() in PARQUET_SUFFIXES


def read_file(
    path: Path,
    wanted: Collection[str] | None,
    problems: Problems,
    written: FileFormat = PLAIN,
) -> Frame | None:
    """Return the wanted columns of a file (all that have a name for None).

    Every problem is noted in `problems`; without a usable header the result is None.
    """
    note = partial(problems.add, file=str(path))
    if not str(path).lower().endswith(SUFFIXES):
        hint = _OTHER_KINDS.get(path.suffix.lower(), "")
        what = f"unknown kind of file, known: {', '.join(SUFFIXES)}"
        note("file-kind", what, hint=hint)
        return None
    if path.is_dir():
        note("file-folder", "is a folder, not a file")
        return None
    try:
        # Libraries open it by its name, and would wait for a pipe.
        open(path, "rb", opener=plain_or_link).close()
        if is_parquet(path):
            return read_parquet(path, wanted, problems, written)
        if path.suffix.lower() in EXCEL_SUFFIXES:
            return read_excel(path, wanted, problems, written)
        return read_delimited(path, wanted, problems, written)
    except FileNotFoundError:
        note("file-not-found", "file not found")
    except DamagedArchive as error:
        hint = "copy it again, or unpack it; a part of a file is never read"
        note("file-packed", f"the archive {error}", hint=hint)
    except OSError as error:
        note("file-unreadable", (error.strerror or "cannot be read").lower())
    return None
