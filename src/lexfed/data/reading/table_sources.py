# SPDX-License-Identifier: Apache-2.0
"""Sources of rows: a file, several files by a pattern, a data frame, a database table.

    patients.csv      a file by the ending of its name
    visits-*.csv      the files of a folder that match, one below the other, by name
    sql:patients      a table or view of a database

Files of a pattern are one table: each has the same columns, in any order.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from lexfed.data.file_format import FileFormat
from lexfed.data.problems import Problems
from lexfed.data.reading.frames import Frame
from lexfed.data.reading.memory_tables import MemoryTable
from lexfed.data.reading.table_files import read_file
from lexfed.data.reading.typed_cells.database_address import (
    DEFAULT_DATABASE,
    WrongAddress,
    is_database_source,
    require_no_url,
    require_table_name,
)
from lexfed.data.reading.typed_cells.database_tables import DatabaseTable
from lexfed.errors import ConfigError, Problem

TableSource = Path | MemoryTable | DatabaseTable
"""Where rows are. A path may be a pattern."""

_WILD = frozenset("*?[")
_MOST_NAMED = 5


def table_source(
    stated: str | Path, base: Path | None = None, database: str = DEFAULT_DATABASE
) -> Path | DatabaseTable:
    """Return the source that a text names; its paths are relative to `base`.

    `ConfigError` tells that it is a URL, or no name of a table.
    """
    try:
        require_no_url(str(stated))
        if is_database_source(str(stated)):
            require_table_name(str(stated))
    except WrongAddress as error:
        raise ConfigError([Problem("", str(error), error.hint)]) from None
    if is_database_source(str(stated)):
        return DatabaseTable(str(stated), database, base or Path())
    return Path(stated) if base is None else base / stated


def files_of(path: Path) -> list[Path]:
    """Return the files of a path: itself, or those that match it, by their names.

    Hidden files match nothing. Where nothing matches the result is empty.
    """
    if not _WILD & set(path.name) or path.exists():
        return [path]
    if not path.parent.is_dir():
        return []
    return sorted(
        each
        for each in path.parent.iterdir()
        if fnmatchcase(each.name, path.name) and not each.name.startswith(".")
    )


def read_source(
    source: TableSource,
    wanted: Collection[str] | None,
    problems: Problems,
    written: FileFormat,
) -> list[Frame]:
    """Return the wanted columns (all that have a name for None) of every file.

    Every problem is noted in `problems`; a file without a usable header is left out.
    """
    if isinstance(source, MemoryTable):
        return [replace(source.read(wanted, problems), written=written)]
    if isinstance(source, DatabaseTable):
        found = source.read(wanted, problems, written)
        return [] if found is None else [found]
    files = files_of(source)
    if not files:
        hint = "`*` and `?` stand for letters of a file's name, not of its folder"
        what = "no file has such a name"
        problems.add("file-not-found", what, file=str(source), hint=hint)
    frames = [read_file(file, wanted, problems, written) for file in files]
    read = [frame for frame in frames if frame is not None]
    if files != [source]:
        _require_same_columns(read, problems)
        read = [replace(frame, part_of=str(source)) for frame in read]
    return read


def _require_same_columns(frames: Sequence[Frame], problems: Problems) -> None:
    if not frames:
        return
    first, *others = frames
    expected = {*first.columns, *first.ignored}
    for frame in others:
        names = {*frame.columns, *frame.ignored}
        for word, differing in (
            ("lacks", sorted(expected - names)),
            ("adds", sorted(names - expected)),
        ):
            if differing:
                more = len(differing) - _MOST_NAMED
                shown = ", ".join(f"`{name}`" for name in differing[:_MOST_NAMED])
                shown += f" and {more} more" if more > 0 else ""
                what = f"{word} {shown}, unlike `{Path(first.name).name}`"
                hint = "files of one pattern are one table; match those alone that are"
                problems.add("columns-differ", what, file=frame.name, hint=hint)
