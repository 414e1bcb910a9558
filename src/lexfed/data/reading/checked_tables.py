# SPDX-License-Identifier: Apache-2.0
"""From files or frames to one checked table, or to everything that is wrong."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from lexfed.data.encoding import Encoding
from lexfed.data.file_format import PLAIN
from lexfed.data.problems import Problems, refuse
from lexfed.data.reading.column_values import without_words
from lexfed.data.reading.conversion import convert_column, key_texts, plain_column
from lexfed.data.reading.frames import Frame
from lexfed.data.reading.raw_columns import with_dates
from lexfed.data.reading.table_sources import TableSource, files_of, read_source
from lexfed.data.schema import Schema
from lexfed.data.table import ColumnValues, Table


def read_files(
    sources: Sequence[TableSource],
    schema: Schema,
    *,
    strict: bool = False,
    target: bool = True,
    columns: Collection[str] | None = None,
) -> Table:
    """Read delimited and Parquet files, or data frames, under one schema.

    `strict` refuses values outside their declaration instead of bending them. To
    predict, no `target` is read; features that `columns` leaves out are not read
    either.

    Raises:
        DataError: with every problem of every file.
    """
    problems = Problems()
    wanted = _wanted(schema, target=target, columns=columns)
    frames = raw_frames(sources, schema, wanted, problems)
    return _table(frames, schema, wanted, problems, strict=strict)


def raw_frames(
    sources: Sequence[TableSource],
    schema: Schema,
    wanted: Collection[str],
    problems: Problems,
) -> list[Frame]:
    """Read what columns are read from, in files as the schema says they are written.

    `wanted` are columns of the schema and its keys; errors are noted in `problems`.
    """
    seen = set()
    files = [f for each in sources if isinstance(each, Path) for f in files_of(each)]
    for file in files:
        if file.resolve() in seen:
            what = "the same file is listed twice"
            problems.add("file-twice", what, file=str(file))
        seen.add(file.resolve())
    raw, written = _read_from(schema, wanted), schema.written
    frames = [
        frame
        for source in sources
        for frame in read_source(source, raw, problems, written)
    ]
    return [with_dates(frame, schema, problems) for frame in frames]


def _read_from(schema: Schema, names: Collection[str]) -> list[str]:
    declared = {column.name: column.read_from for column in schema.columns}
    return list(dict.fromkeys(declared.get(name, name) for name in names))


def plain_frame(
    frame: Frame, schema: Schema, names: Collection[str], problems: Problems
) -> Frame:
    """Return columns and keys of a raw frame as a table of plain format has them."""
    columns = {
        name: without_words(frame.columns[name], frame.written)
        if name in schema.keys
        else plain_column(schema.by_name(name), frame, problems)
        for name in names
    }
    return replace(frame, columns=columns, written=PLAIN)


def read_inputs(
    sources: Sequence[TableSource], encoding: Encoding, *, strict: bool = False
) -> Table:
    """Read only what an encoding needs, to predict: no target and no keys."""
    schema = replace(encoding.schema, person=None, site=None)
    return read_files(
        sources, schema, strict=strict, target=False, columns=encoding.columns
    )


def read_frames(
    frames: Sequence[Frame],
    schema: Schema,
    *,
    strict: bool = False,
    target: bool = True,
    columns: Collection[str] | None = None,
) -> Table:
    """Check frames under one schema; see `read_files`."""
    problems = Problems()
    wanted = _wanted(schema, target=target, columns=columns)
    for frame in frames:
        for name in _read_from(schema, wanted):
            if name not in frame.columns:
                what, file = "is not there", frame.name
                problems.add("column-missing", what, file=file, column=name)
    frames = [with_dates(frame, schema, problems) for frame in frames]
    return _table(frames, schema, wanted, problems, strict=strict)


def _wanted(
    schema: Schema, *, target: bool, columns: Collection[str] | None
) -> list[str]:
    """Return the columns to read: text other than the keys is left where it is."""
    features = [column.name for column in schema.features()]
    for name in columns or ():
        schema.by_name(name)
    chosen = [name for name in features if columns is None or name in columns]
    keys = [key for key in (schema.person, schema.site) if key is not None]
    return [*keys, *chosen, *([schema.target] if target else [])]


def _table(
    frames: Sequence[Frame],
    schema: Schema,
    wanted: Sequence[str],
    problems: Problems,
    *,
    strict: bool,
) -> Table:
    columns: dict[str, ColumnValues] = {}
    clamped: dict[str, int] = {}
    undeclared: dict[str, int] = {}
    for name in wanted:
        if name in schema.keys:
            continue
        column, target = schema.by_name(name), name == schema.target
        readings = [
            convert_column(column, frame, problems, strict=strict, target=target)
            for frame in frames
            if column.read_from in frame.columns
        ]
        units = {reading.unit for reading in readings if reading.unit is not None}
        if len(units) > 1:
            named = " and ".join(unit or "no unit" for unit in sorted(units))
            what, hint = (
                f"is in different units: {named}",
                "write one unit in all files",
            )
            problems.add("mixed-units", what, column=name, hint=hint)
        if readings:
            columns[name] = np.concatenate([r.values for r in readings])
        if count := sum(reading.clamped for reading in readings):
            clamped[name] = count
        if count := sum(reading.undeclared for reading in readings):
            undeclared[name] = count
    persons = _keys(schema.person, frames, problems)
    sites = _keys(schema.site, frames, problems)
    problems.raise_if_any()
    if not frames:
        raise refuse("no-source", "there is nothing to read")
    lengths = [len(frame) for frame in frames]
    rows = np.concatenate([frame.rows for frame in frames])
    file_codes = np.repeat(np.arange(len(frames), dtype=np.int64), lengths)
    files = tuple(frame.name for frame in frames)
    sources = tuple(dict.fromkeys(frame.source for frame in frames))
    source_codes = np.repeat([sources.index(frame.source) for frame in frames], lengths)
    if persons is None:
        # Without a key each row is a person; its place in its file is its key.
        persons = [f"{f}:{r}" for f, r in zip(file_codes, rows, strict=True)]
    codes: dict[str, int] = {}  # numbered in the order of first appearance
    numbered = [codes.setdefault(key, len(codes)) for key in persons]
    site_names, site_codes = (
        (sources, source_codes)
        if sites is None
        else np.unique(np.array(sites, dtype=str), return_inverse=True)
    )
    return Table(
        schema=schema, columns=columns, persons=np.array(numbered, dtype=np.int64),
        person_keys=tuple(codes), sites=np.asarray(site_codes, dtype=np.int64),
        site_names=tuple(str(name) for name in site_names),
        rows=rows, file_codes=file_codes, files=files, clamped=clamped,
        undeclared=undeclared,
        ignored=tuple(sorted({n for frame in frames for n in frame.ignored})),
        file_sources=tuple(frame.source for frame in frames),
    )  # fmt: skip


def _keys(
    key: str | None, frames: Sequence[Frame], problems: Problems
) -> list[str] | None:
    if key is None:
        return None
    keys = [key_texts(key, f, problems) for f in frames if key in f.columns]
    return [text for texts in keys for text in texts]
