# SPDX-License-Identifier: Apache-2.0
"""Raw columns as their declaration means them: missing words, dates, made columns."""

from collections.abc import Collection
from dataclasses import replace
from typing import get_args

import numpy as np

from lexfed.data.file_format import DateOrder
from lexfed.data.made_columns import Moments, bucket_texts, date_part
from lexfed.data.problems import Problems
from lexfed.data.reading.column_values import (
    TRUTH,
    ColumnPlace,
    Spelling,
    texts_of,
    without_words,
    wrong_type,
)
from lexfed.data.reading.frames import Frame, RawColumn, RawKind
from lexfed.data.schema import Column, Schema
from lexfed.data.written_values import written_date

_NO_TIME = np.datetime64("NaT", "us")
_FLAGS = Spelling(tuple(TRUTH))


def raw_column(column: Column, place: ColumnPlace, listed: bool = True) -> RawColumn:
    """Return a declared column of the place's frame: made, if it has to be.

    A missing word is no value of it, unless the column declares that: `listed` is
    False where its values are not known. Dates have been read (`with_dates`).
    """
    frame = place.frame
    raw = frame.columns[column.read_from]
    if column.part == "bucket":
        return _buckets(column, without_words(raw, frame.written), place)
    if column.part is None:
        values = (column.values or ()) if listed else ()
        kept = _FLAGS if column.kind == "flag" else Spelling(values)
        return without_words(raw, frame.written, kept)
    if raw.kind != "date":  # it could not be read, and that is a problem already
        return _nothing(raw)
    kind: RawKind = "number" if column.kind == "number" else "text"
    return RawColumn(kind, date_part(column.part, raw.values), raw.missing)


def _nothing(raw: RawColumn) -> RawColumn:
    count = len(raw.values)
    return RawColumn("text", np.full(count, "", object), np.ones(count, dtype=bool))


def _buckets(column: Column, raw: RawColumn, place: ColumnPlace) -> RawColumn:
    if raw.kind in ("date", "other"):
        wrong_type("category", raw, place)
        return _nothing(raw)
    texts = bucket_texts(column, texts_of(raw))
    return RawColumn("text", np.array(texts, dtype=object), raw.missing)


def with_dates(frame: Frame, schema: Schema, problems: Problems) -> Frame:
    """Return the frame with those columns read as dates that parts are made of.

    A text that is no date is a problem; a column that was read already stays.
    """
    dates = {
        column.read_from
        for column in schema.columns
        if column.read_from != column.name and column.read_from in frame.columns
    }
    if not dates:
        return frame
    read = {
        name: _moments(frame.columns[name], ColumnPlace(frame, name, problems))
        for name in sorted(dates)
    }
    return replace(frame, columns={**frame.columns, **read})


def _moments(raw: RawColumn, place: ColumnPlace) -> RawColumn:
    written = place.frame.written
    raw = without_words(raw, written)
    if raw.kind == "date":
        return raw
    if raw.kind != "text":
        if not raw.missing.all():
            wrong_type("date", raw, place)
        return raw
    texts = raw.values.tolist()
    known = {text: written_date(text, written.dates) for text in set(texts)}
    wrong = np.array([known[text] is None for text in texts], dtype=bool)
    wrong &= ~raw.missing
    if wrong.any():
        present = {
            text for text, gone in zip(texts, raw.missing, strict=True) if not gone
        }
        hint = _other_order(present)
        place.rows("not-a-date", "not a date as the table writes them", wrong, hint)
        return raw
    moments: Moments = np.array(
        [
            _NO_TIME if gone else known[t]
            for t, gone in zip(texts, raw.missing, strict=True)
        ],
        dtype="datetime64[us]",
    )
    return RawColumn("date", moments, raw.missing)


def _other_order(texts: Collection[str]) -> str:
    for order in get_args(DateOrder):
        if all(written_date(text, order) is not None for text in texts):
            return f'state `dates = "{order}"` under `[data]` if that stands first'
    return "write dates as 2024-12-31, or state with `data.dates` what stands first"
