# SPDX-License-Identifier: Apache-2.0
"""A profile on the terminal: a line for each column, and what sites have in common."""

from collections.abc import Iterator, Sequence

from lexfed.report.markup.escaping import visible
from lexfed.report.profile.wording import (
    NOTES,
    gist,
    interval,
    percent,
    persons,
    value_text,
)
from lexfed.sketch.profile.federation_profile import ColumnProfile, FederationProfile

_WIDEST = 28
"""Longer names are cut."""

_PAIRS = 10
"""So many pairs of sites are shown, those with the most in common first."""


def lines(profile: FederationProfile) -> list[str]:
    """Return what a profile says, every number with its 95 % interval."""
    sites = len(profile.sites)
    where = f" at {sites} sites" if sites > 1 else ""
    head = (
        f"profile of {persons(profile.people)} declared{where}; intervals hold in 95 %"
    )
    return [head, *_columns(profile.columns), *_shared(profile)]


def _columns(columns: Sequence[ColumnProfile]) -> Iterator[str]:
    rows = [("column", "kind", "missing", "range or values")]
    rows += [_row(column) for column in columns]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    for at, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield f"  {'  '.join([*cells, row[3]])}"
        for note in () if at == 0 else columns[at - 1].notes:
            yield f"    {NOTES[note]}"


def _row(column: ColumnProfile) -> tuple[str, str, str, str]:
    missing = "not known"
    if column.missing is not None:
        share = percent(column.missing)
        missing = f"{value_text(share)} % ({interval(share)})"
    found = " (found)" if column.found and (column.range or column.values) else ""
    return _short(column.name), column.kind, missing, gist(column) + found


def _shared(profile: FederationProfile) -> Iterator[str]:
    if not profile.overlaps:
        return
    yield "persons that two sites have in common"
    most = sorted(profile.overlaps, key=lambda pair: -(pair.persons.low or 0.0))
    for pair in most[:_PAIRS]:
        names = f"{_short(pair.left)} and {_short(pair.right)}"
        yield f"  {names}: {value_text(pair.persons)} ({interval(pair.persons)})"
    if len(most) > _PAIRS:
        yield f"  and {len(most) - _PAIRS} more pairs, with less in common"


def _short(name: str) -> str:
    shown = visible(name)
    return shown if len(shown) <= _WIDEST else f"{shown[: _WIDEST - 1]}…"
