# SPDX-License-Identifier: Apache-2.0
"""Lines of whole tables as JSON lines: the source of every figure in a document.

The journal of an evaluation is large and stays where it was made. Its extract is small
enough to be kept beside the documents. Pages are written from it (`files.py`), so that
a figure that is in no extract is in no page, and both can be compared at any time.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexfed.durable import write_atomically
from lexfed.evaluate.harness.machine import software, today
from lexfed.evaluate.harness.summary import MeanEstimate, Summary, TableLine
from lexfed.evaluate.harness.tables import ResultTable, code_digest
from lexfed.evaluate.results.figures import draw

EXTRACT = "tables.jsonl"
_PLACES = 6
"""Decimals that are kept; pages show three at most."""
_KEPT = (
    *("configuration", "code", "software", "machines", "dates", "minutes", "runs"),
    *("figures", "notes"),
)
"""Keys of a table in an extract beside its name and lines, in their order."""


@dataclass(frozen=True)
class MeasuredTable:
    """A table with everything that a page says about it.

    Attributes:
        lines: empty unless every job has run.
        configuration: hash of the questions as they were when it was measured.
        dates: first and last day.
        minutes: of one core, over all runs; None where they are not on record.
        notes: what a reader must know, and the methods that it is about.
    """

    table: ResultTable
    lines: tuple[TableLine, ...]
    configuration: str
    code: str
    software: str
    machines: Sequence[str]
    dates: Sequence[str]
    minutes: float | None
    runs: int
    figures: Sequence[str]
    notes: Mapping[str, Sequence[str]]

    @property
    def whole(self) -> bool:
        """True if every job had run; an incomplete table shows no figure."""
        return bool(self.lines)

    @property
    def current(self) -> bool:
        """True if the catalogue still asks the questions that were measured."""
        return self.configuration == self.table.digest


def measured_table(summary: Summary, machine: str) -> MeasuredTable:
    """Return a table as measured just now, on `machine` where results name none."""
    results = summary.results
    dates = sorted({str(result.get("date", today())) for result in results})
    return MeasuredTable(
        table=summary.table,
        lines=summary.lines,
        configuration=summary.table.digest,
        code=code_digest()[:12],
        software=software(),
        machines=tuple(sorted({str(r.get("machine", machine)) for r in results})),
        dates=tuple(dict.fromkeys((*dates[:1], *dates[-1:]))),
        minutes=sum(result.get("took", 0.0) for result in results) / 60.0,
        runs=summary.done,
        figures=tuple(draw(summary)),
        notes=_notes(summary.lines),
    )


def read_extract(path: Path, tables: Iterable[ResultTable]) -> dict[str, MeasuredTable]:
    """Return the measured ones among some tables, by name; none without a file."""
    if not path.exists():
        return {}
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    known = {str(row["table"]): row for row in rows}
    return {
        one.name: _from_json(known[one.name], one)
        for one in tables
        if one.name in known
    }


def write_extract(path: Path, tables: Sequence[MeasuredTable]) -> None:
    """Add whole tables to an extract, in place of what it had of them.

    Guarantees:
        Tables that are not among them keep their lines and their hashes.
    """
    old = path.read_text("utf-8").splitlines() if path.exists() else []
    rows = {str(json.loads(line)["table"]): line for line in old}
    for one in tables:
        if one.whole:
            rows[one.table.name] = json.dumps(_to_json(one), ensure_ascii=False)
    write_atomically(path, "".join(f"{line}\n" for line in rows.values()).encode())


def _to_json(one: MeasuredTable) -> dict[str, Any]:
    minutes = None if one.minutes is None else round(one.minutes, 1)
    return {
        "table": one.table.name,
        **{name: getattr(one, name) for name in _KEPT},
        "minutes": minutes,
        "lines": [
            {
                "facts": line.facts,
                "values": {name: _plain(v) for name, v in line.values.items()},
                "gains": {name: _plain(v) for name, v in line.gains.items()},
                "seeds": line.seeds,
            }
            for line in one.lines
        ],
    }


def _from_json(row: dict[str, Any], table: ResultTable) -> MeasuredTable:
    lines = tuple(
        TableLine(
            line["facts"],
            {name: MeanEstimate(*v) for name, v in line["values"].items()},
            {name: MeanEstimate(*v) for name, v in line["gains"].items()},
            line["seeds"],
            (),
        )
        for line in row["lines"]
    )
    return MeasuredTable(table, lines, **{name: row[name] for name in _KEPT})


def _plain(mean: MeanEstimate) -> tuple[float, float | None, int]:
    half = None if mean.half is None else round(mean.half, _PLACES)
    return round(mean.mean, _PLACES), half, mean.count


def _notes(lines: Sequence[TableLine]) -> dict[str, tuple[str, ...]]:
    """Return every note once, with the methods that it is about."""
    notes: dict[str, list[str]] = {}
    for one in lines:
        for part in dict.fromkeys(part for note in one.notes for part in _parts(note)):
            notes.setdefault(part, []).append(str(one.facts.get("method", "")))
    return {note: tuple(dict.fromkeys(methods)) for note, methods in notes.items()}


def _parts(note: str) -> list[str]:
    """Return the pieces of a note; a refusal stays whole."""
    return [note] if note.startswith("refused") else note.split("; ")
