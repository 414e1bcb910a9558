# SPDX-License-Identifier: Apache-2.0
"""Writes the figures of the documents from the extract of the results.

    python -m benchmarks.documents [--check]

`docs/results/tables.jsonl` holds the lines of every measured table, with the hashes of
configuration and code. From it come `docs/results.md`, one page for each table, and
every block between `<!-- results:TABLE -->` and `<!-- /results:TABLE -->` in any
document. `scripts/reproduce` calls this after an evaluation; nothing is measured here.
`--check` writes nothing and names what differs.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from lexfed.evaluate.catalogue import NAMES, table
from lexfed.evaluate.harness.summary import TableLine
from lexfed.evaluate.results.extract import EXTRACT, MeasuredTable, read_extract
from lexfed.evaluate.results.files import pages
from lexfed.evaluate.results.page import fact_cell, gain_cell, heading, lines_table

ROOT = Path(__file__).parents[1]
INDEX = Path("docs") / "results.md"
_BLOCK = re.compile(
    r"<!-- results:(?P<name>[\w-]+) -->\n.*?<!-- /results:(?P=name) -->", re.S
)


def documents(root: Path) -> dict[Path, str]:
    """Return every document with figures as the extract says it should be.

    Raises:
        KeyError: if a block names a table that was not measured.
    """
    tables = [table(name) for name in NAMES]
    found = read_extract((root / INDEX).with_suffix("") / EXTRACT, tables)
    wanted = pages(root / INDEX, tables)
    for path in _marked(root):
        if path not in wanted:
            text = path.read_text("utf-8")
            wanted[path] = _BLOCK.sub(lambda mark: _block(mark["name"], found), text)
    return wanted


def stale(root: Path) -> list[str]:
    """Return the documents that do not say what the extract says."""
    return [
        str(path.relative_to(root))
        for path, text in documents(root).items()
        if not path.exists() or path.read_text("utf-8") != text
    ]


def comparison(measured: MeasuredTable) -> str:
    """Return a table with one column for each method, and gains with intervals.

    The column of the best of several rules says that it was chosen in hindsight.
    """
    facts = [fact for fact in measured.table.across if fact not in ("rows", "method")]
    metric, against = measured.table.shows[0], measured.table.against
    cells: dict[tuple[str, ...], dict[str, TableLine]] = {}
    for line in measured.lines:
        place = tuple(fact_cell(fact, line.facts) for fact in facts)
        cells.setdefault(place, {})[str(line.facts["method"])] = line
    methods = list(dict.fromkeys(m for lines in cells.values() for m in lines))
    gaining = [
        method
        for method in methods
        if any(metric in lines[method].gains for lines in cells.values())
    ]
    head = [*map(heading, facts), *(f"`{method}`" for method in methods)]
    head += [f"`{method}` − `{against}`" for method in gaining]
    rows = [head, ["---"] * len(head)]
    for place, lines in cells.items():
        values = [_mean(lines[method], metric) for method in methods]
        gains = [
            gain_cell(lines[method].gains.get(metric), lines[method].seeds)
            for method in gaining
        ]
        rows.append([*place, *values, *gains])
    return "\n".join(f"|{'|'.join(row)}|" for row in rows)


def _mean(line: TableLine, metric: str) -> str:
    found = line.values.get(metric)
    return "–" if found is None else f"{found.mean:.3f}"


def _block(name: str, found: Mapping[str, MeasuredTable]) -> str:
    measured = found[name]
    said = (
        f"{heading(measured.table.shows[0])}, ± half-width of a 95 % interval; "
        f"configuration `{measured.configuration}`, code `{measured.code}`, measured "
        f"{' to '.join(measured.dates)}."
    )
    shown = comparison(measured) if measured.table.against else lines_table(measured)
    return (
        f"<!-- results:{name} -->\n{shown.rstrip()}\n\n{said}\n<!-- /results:{name} -->"
    )


def _marked(root: Path) -> Iterator[Path]:
    for path in (root / "README.md", *sorted((root / "docs").rglob("*.md"))):
        if "<!-- results:" in path.read_text("utf-8"):
            yield path


def main() -> int:
    """Write the documents, or name those that differ."""
    parser = argparse.ArgumentParser(description="Figures of the documents")
    parser.add_argument("--check", action="store_true", help="write nothing")
    differing = stale(ROOT)
    if not parser.parse_args().check:
        for path, text in documents(ROOT).items():
            path.write_text(text, "utf-8")
        print(f"{len(differing)} written")
        return 0
    print("\n".join(differing))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
