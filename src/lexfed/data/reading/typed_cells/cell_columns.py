# SPDX-License-Identifier: Apache-2.0
"""Cells that have types to columns of one type.

A column with text in it is a column of texts, as a file would have it: its numbers are
written without any mark (`15e-1`), so that they read the same under every format.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Literal
from uuid import UUID

import numpy as np

from lexfed.data.reading.frames import Frame, RawColumn, text_column

HOURS = "hours"
"""The unit of durations."""

_Family = Literal["none", "text", "number", "flag", "date", "time", "duration", "other"]
_FAMILIES: dict[type, _Family] = {
    type(None): "none", str: "text", bool: "flag", int: "number", float: "number",
    Decimal: "number", datetime: "date", date: "date", time: "time",
    timedelta: "duration", UUID: "text", IPv4Address: "text", IPv6Address: "text",
}  # fmt: skip
_EXACT = 2**53
_LONGEST = 2**63


def column_of_cells(given: Iterable[Any]) -> RawColumn:
    """Return a column of cells; None and blank texts are missing."""
    cells = [_stripped(cell) for cell in given]
    missing = np.array([cell is None for cell in cells], dtype=bool)
    families = {_FAMILIES.get(each, "other") for each in set(map(type, cells))}
    families.discard("none")
    if "other" in families:
        return RawColumn("other", np.zeros(len(cells)), missing)
    if families == {"number"} and (numbers := _numbers(cells)) is not None:
        return RawColumn("number", numbers, missing)
    if families == {"duration"}:
        hours = [0.0 if c is None else c.total_seconds() / 3600 for c in cells]
        return RawColumn("number", np.array(hours), missing, HOURS)
    if families == {"flag"}:
        return RawColumn("flag", np.array([bool(c) for c in cells]), missing)
    if families == {"date"}:
        moments = [None if c is None else _moment(c) for c in cells]
        return RawColumn("date", np.array(moments, dtype="datetime64[us]"), missing)
    return text_column(["" if c is None else cell_text(c) for c in cells])


def joined_columns(parts: Sequence[RawColumn]) -> RawColumn:
    """Return columns one below the other, as one column of all their cells."""
    kinds = {(p.kind, p.unit) for p in parts if not p.missing.all()}
    if len(kinds) > 1:
        return column_of_cells(cell for part in parts for cell in _cells(part))
    present = [p for p in parts if not p.missing.all()] or list(parts)
    kind, unit = present[0].kind, present[0].unit
    blank = np.zeros(1, dtype=present[0].values.dtype)
    if kind == "text":
        blank = np.array([""], dtype=object)
    values = np.concatenate(
        [p.values if p.kind == kind else np.repeat(blank, len(p.values)) for p in parts]
    )
    return RawColumn(kind, values, np.concatenate([p.missing for p in parts]), unit)


def joined_frame(frames: Sequence[Frame]) -> Frame:
    """Return frames of the same columns one below the other, under their source."""
    if len(frames) == 1:
        return frames[0]
    first = frames[0]
    columns = {
        name: joined_columns([frame.columns[name] for frame in frames])
        for name in first.columns
    }
    rows = np.arange(1, sum(map(len, frames)) + 1, dtype=np.int64)
    return replace(first, name=first.source, columns=columns, rows=rows)


def cell_text(cell: Any) -> str:
    """Return a cell as a text that reads the same under every format."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, Decimal | float):
        exact = cell if isinstance(cell, Decimal) else Decimal(repr(cell))
        if not exact.is_finite():
            return str(float(cell))
        sign, digits, power = exact.normalize().as_tuple()
        whole = f"{'-' if sign else ''}{''.join(map(str, digits))}"
        plain = isinstance(power, int) and 0 <= power <= len(str(_EXACT)) - len(digits)
        return whole + "0" * int(power) if plain else f"{whole}e{power}"
    if isinstance(cell, datetime):
        text = cell.replace(tzinfo=None).isoformat(" ")
        return text.removesuffix(" 00:00:00")
    if isinstance(cell, timedelta):
        return cell_text(cell.total_seconds() / 3600)
    return str(cell)


def texts_of_cells(raw: RawColumn) -> tuple[str, ...]:
    """Return a column as texts to be looked at; a gap is empty."""
    if raw.kind == "other":
        return ("",) * len(raw.values)
    return tuple("" if cell is None else str(cell) for cell in _cells(raw))


def _stripped(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    return cell.strip() or None


def _numbers(cells: Sequence[Any]) -> np.ndarray[Any, np.dtype[Any]] | None:
    """Return numbers as an array; None if it could not hold them exactly."""
    present = [cell for cell in cells if cell is not None]
    whole = [cell for cell in present if type(cell) is int]
    if len(whole) == len(present) and all(-_LONGEST <= c < _LONGEST for c in whole):
        return np.array([0 if c is None else c for c in cells], dtype=np.int64)
    if any(abs(cell) > _EXACT for cell in whole):
        return None
    return np.array([0.0 if c is None else float(c) for c in cells])


def _moment(cell: date) -> datetime:
    """Return a day or a moment; the clock on the wall counts."""
    if isinstance(cell, datetime):
        return cell.replace(tzinfo=None)
    return datetime(cell.year, cell.month, cell.day)


def _cells(raw: RawColumn) -> list[Any]:
    values = raw.values.astype(object) if raw.kind == "date" else raw.values
    gone = raw.missing.tolist()
    if raw.kind == "other":
        return [None if missing else raw for missing in gone]
    return [
        None if missing else f"{cell_text(value)}%" if raw.unit == "%" else value
        for value, missing in zip(values.tolist(), gone, strict=True)
    ]
