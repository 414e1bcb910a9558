# SPDX-License-Identifier: Apache-2.0
"""The files of an evaluation: CSV files, figures, a page.

    results.csv      every finished job, one row, whatever table it belongs to
    TABLE.csv        the lines of a table, once every one of its jobs has run
    TABLE.svg        its figure, or one for each data set and method
    results.md       all of it as one page

All are written from the journal alone. Pages elsewhere, such as those of the
documentation, are an index and a page for each table, written from an extract
(`extract.py`). A table that is not whole has no file: one from before is removed, so
that nobody takes old lines for new ones.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lexfed.durable import write_atomically
from lexfed.evaluate.harness.summary import Summary, TableLine
from lexfed.evaluate.harness.tables import Result, ResultTable
from lexfed.evaluate.results.extract import (
    EXTRACT,
    MeasuredTable,
    read_extract,
    write_extract,
)
from lexfed.evaluate.results.figures import draw
from lexfed.evaluate.results.page import head, in_short, page, section

ALL = "results.csv"
PAGE = "results.md"


def write_all(
    folder: Path, summaries: Sequence[Summary], measured: Sequence[MeasuredTable]
) -> None:
    """Write every file of an evaluation; `measured` are the same tables, for pages.

    Guarantees:
        A table has files if and only if every one of its jobs has run.
    """
    write_results(folder, summaries)
    for summary in summaries:
        name = summary.table.name
        for old in (folder / f"{name}.csv", *folder.glob(f"{name}*.svg")):
            old.unlink(missing_ok=True)
        if summary.whole:
            lines = [_row(line, summary.table) for line in summary.lines]
            write_atomically(folder / f"{name}.csv", _csv(lines))
            _write_figures(folder, summary)
    write_atomically(folder / PAGE, page(measured, ".").encode())


def write_results(folder: Path, summaries: Sequence[Summary]) -> None:
    """Write every finished job of some tables, each once."""
    results = (result for one in summaries for result in one.results)
    rows = {str(result["key"]): _flat(result) for result in results}
    write_atomically(folder / ALL, _csv(list(rows.values())))


def _write_figures(folder: Path, summary: Summary) -> None:
    for file, content in draw(summary).items():
        write_atomically(folder / file, content)


def write_pages(
    path: Path,
    summaries: Sequence[Summary],
    measured: Sequence[MeasuredTable],
    tables: Sequence[ResultTable],
) -> None:
    """Write the pages elsewhere: an index, and a folder of its name beside it.

    The folder holds the extract, a page for each table and the figures. The index lists
    all `tables`; those that were measured earlier keep their lines and their pages.
    """
    folder = path.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    for summary in summaries:
        _write_figures(folder, summary)
    write_extract(folder / EXTRACT, measured)
    for place, text in pages(path, tables).items():
        write_atomically(place, text.encode())


def pages(index: Path, tables: Sequence[ResultTable]) -> dict[Path, str]:
    """Return the index and the pages of measured tables, as the extract has them."""
    folder = index.with_suffix("")
    known = read_extract(folder / EXTRACT, tables)
    links = {name: f"{folder.name}/{name}.md" for name in known}
    measured = [known[table.name] for table in tables if table.name in known]
    lines = [f"- [{one.table.title}]({links[one.table.name]})" for one in measured]
    lines += [
        f"- {table.title}: not measured yet, {len(table.jobs)} runs "
        f"(`lexfed evaluate --table {table.name}`)"
        for table in tables
        if table.name not in known
    ]
    listed = "\n".join(["## Tables\n", *lines, ""])
    texts = {index: "\n".join([head(measured), listed, in_short(measured, links)])}
    for one in measured:
        text = f"[Results](../{index.name})\n\n{section(one, '', 1)}"
        texts[folder / f"{one.table.name}.md"] = text
    return texts


def _flat(result: Result) -> dict[str, Any]:
    """Return a result as one row; paths and lists by column stay in the journal."""
    return {
        **{name: result[name] for name in ("key", "status", "note")},
        **{
            name: str(value) if isinstance(value, dict) else value
            for name, value in result["job"].items()
        },
        **{
            f"measured_{name}": value
            for name, value in result["values"].items()
            if not isinstance(value, dict | list)
        },
    }


def _row(line: TableLine, table: ResultTable) -> dict[str, Any]:
    row: dict[str, Any] = dict(line.facts)
    for metric in table.shows:
        value, gain = line.values.get(metric), line.gains.get(metric)
        row[f"mean_{metric}"] = None if value is None else value.mean
        row[f"half_{metric}"] = None if value is None else value.half
        if table.against:
            row[f"gain_{metric}"] = None if gain is None else gain.mean
            row[f"gain_half_{metric}"] = None if gain is None else gain.half
    return {**row, "seeds": line.seeds, "notes": "; ".join(line.notes)}


def _csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
