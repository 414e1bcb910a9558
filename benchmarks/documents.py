# SPDX-License-Identifier: Apache-2.0
"""Writes the figures of the documents from the extract of the results.

    python -m benchmarks.documents [--check]

`docs/results/tables.jsonl` holds the lines of every measured table, with the hashes of
configuration and code. From it come `docs/results.md`, one page for each table, and
every block between `<!-- results:TABLE -->` and `<!-- /results:TABLE -->` in any
document. `scripts/reproduce` calls this after an evaluation; nothing is measured here.
`--check` writes nothing and names what differs.

`docs/results/demo-evaluation.jsonl` holds the results of the demo's own evaluation, and
from it comes the block `evaluate:output` of the guide. To measure it again:

    lexfed evaluate DEMO.toml --seeds 10 --out FOLDER --jobs 1
    python -m benchmarks.documents --demo FOLDER

where DEMO.toml is the demo's configuration (`lexfed.config.demo_config`).

`docs/results/benchmarks.jsonl` holds what some benchmarks printed, with the hash of the
code, and from it come the blocks `benchmark:NAME`. To measure one again:

    python -m benchmarks.audit > FILE
    python -m benchmarks.documents --benchmark audit FILE
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from lexfed.canonical import digest
from lexfed.config import demo_config, loads
from lexfed.evaluate.catalogue import NAMES, table
from lexfed.evaluate.harness.machine import machine, today
from lexfed.evaluate.harness.summary import TableLine, summarise
from lexfed.evaluate.harness.tables import code_digest
from lexfed.evaluate.own.csv_copy import own_table
from lexfed.evaluate.own.findings import findings
from lexfed.evaluate.own.policies import with_policies
from lexfed.evaluate.own.questions import questions
from lexfed.evaluate.results.extract import EXTRACT, MeasuredTable, read_extract
from lexfed.evaluate.results.files import pages
from lexfed.evaluate.results.page import fact_cell, gain_cell, heading, lines_table
from lexfed.evaluate.suite import RESULTS
from lexfed.run import load_population, price

ROOT = Path(__file__).parents[1]
INDEX = Path("docs") / "results.md"
DEMO = Path("docs") / "results" / "demo-evaluation.jsonl"
GUIDE = Path("docs") / "guide" / "evaluation.md"
MEASURED = Path("docs") / "internals" / "benchmarks.md"
BENCHMARKS = Path("docs") / "results" / "benchmarks.jsonl"
SEEDS = 10
_ANSWERS = re.compile(r"<!-- evaluate:output -->\n.*?<!-- /evaluate:output -->", re.S)
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
    if (root / BENCHMARKS).exists():
        path = root / MEASURED
        text = path.read_text("utf-8")
        for line in (root / BENCHMARKS).read_text("utf-8").splitlines():
            row = json.loads(line)
            shown = _SENTENCES[row["benchmark"]](row["values"])
            measured = (
                f"Code `{row['code']}`, measured {row['date']}, on {row['machine']}."
            )
            opened, closed = (
                f"<!-- {end}benchmark:{row['benchmark']} -->" for end in ("", "/")
            )
            before, _, rest = text.partition(opened)
            block = f"{opened}\n{shown}\n\n{measured}\n{closed}"
            text = f"{before}{block}{rest.partition(closed)[2]}"
        wanted[path] = text
    guide = root / GUIDE
    if guide.exists():
        text = wanted.get(guide) or guide.read_text("utf-8")
        answers = _answers((root / DEMO).read_text("utf-8"))
        wanted[guide] = _ANSWERS.sub(lambda _: answers, text)
    return wanted


def stale(root: Path) -> list[str]:
    """Return the documents that do not say what the extract says."""
    return [
        str(path.relative_to(root))
        for path, text in documents(root).items()
        if not path.exists() or path.read_text("utf-8") != text
    ]


def _training(values: Mapping[str, float]) -> str:
    """Return the ratios of `benchmarks.training`: CPU time of a private round."""
    lines = {
        "times faster than a plain, non-private PyTorch loop over sites": "plain",
        "times faster than the same loop with Opacus' per-record gradients": "opacus",
        "private over not private, same engine": "none",
        "100 groups over one": "groups",
        "logistic regression: times faster than the plain loop": "logistic",
    }
    rows = [
        f"| {name} | {values[f'{key}_12']:.3g} | {values[f'{key}_120']:.3g} |"
        for name, key in lines.items()
    ]
    return "\n".join(
        [
            "Whole rounds of the simulation engine (coins, clipped sums, grid, noise, "
            "update) of an MLP 256-128-64 on 50,000 × 100 rows, about 64 records per "
            "site and round, one thread, least of 15 interleaved repetitions:\n",
            "| | 12 sites | 120 sites |",
            "|---|---|---|",
            *rows,
            f"\nPeak memory {values['peak_mb']:.0f} MB.",
        ]
    )


def _audit(values: Mapping[str, float]) -> str:
    """Return the speed of the log, as `benchmarks.audit` has it."""
    return (
        f"{values['appends_per_s']:,} entries/s into the tree in memory, "
        f"{values['proofs_per_s']:,} proofs/s, {values['commits_per_s']:.0f} durable "
        f"commits/s ({values['fsyncs_per_commit']} fsyncs each; the disk did "
        f"{values['fsyncs_per_s']:,} fsyncs/s). A log of 70,000 entries is verified to "
        f"the last byte in {values['verify_tree_s']} s, with the signature of every "
        f"entry in {values['verify_signatures_s']} s."
    )


_SENTENCES: Mapping[str, Callable[[Mapping[str, float]], str]] = {
    "training": _training,
    "audit": _audit,
}


def keep_benchmark(name: str, printed: Path, code: str, date: str) -> None:
    """Keep the line that a benchmark printed, in place of an earlier one."""
    path = ROOT / BENCHMARKS
    old = path.read_text("utf-8").splitlines() if path.exists() else []
    rows = {row["benchmark"]: row for row in map(json.loads, old)}
    values = json.loads(printed.read_text("utf-8").splitlines()[-1])
    values.pop("benchmark", None)
    rows[name] = {
        "benchmark": name,
        "code": code,
        "date": date,
        "machine": machine(),
        "values": values,
    }
    lines = (json.dumps(row, ensure_ascii=False) for row in rows.values())
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


@cache
def _answers(results: str) -> str:
    """Return the block with the answers that follow from the demo's results.

    Raises:
        ValueError: if they are of another configuration, or a result is missing.
    """
    head, *rows = map(json.loads, results.splitlines())
    config = loads(demo_config(), "demo")
    if head["configuration"] != config.digest:
        raise ValueError(f"{DEMO} is about another configuration than the demo's")
    known = {digest(row["job"]): row for row in rows}
    with TemporaryDirectory() as folder:
        priced = price(config, load_population(config, ROOT))
        table_of_rows = own_table(priced, ROOT, Path(folder))
        dataset = with_policies(table_of_rows, config, ROOT)
        tables = questions(dataset, config, SEEDS).tables
    summaries = {
        one.name: summarise(one, lambda job: known.get(digest(job.facts)))
        for one in tables
    }
    if not all(one.whole for one in summaries.values()):
        raise ValueError(f"{DEMO} lacks results: measure it again")
    text = "\n".join(map(str, findings(summaries)))
    measured = (
        f"Configuration `{head['configuration'][:16]}`, code `{head['code']}`, "
        f"measured {head['date']}."
    )
    block = f"```text\n{text}\n```\n\n{measured}"
    return f"<!-- evaluate:output -->\n{block}\n<!-- /evaluate:output -->"


def keep_demo(folder: Path, code: str) -> None:
    """Keep the results of an evaluation of the demo, measured by some code."""
    rows = [json.loads(line) for line in (folder / RESULTS).read_text().splitlines()]
    head = {
        "configuration": loads(demo_config(), "demo").digest,
        "code": code,
        "date": max(row["date"] for row in rows),
        "machine": rows[0]["machine"],
    }
    kept = [
        {
            **{name: row[name] for name in ("job", "status", "note")},
            "values": {k: v for k, v in row["values"].items() if k != "path"},
        }
        for row in rows
    ]
    lines = (json.dumps(one, ensure_ascii=False) for one in (head, *kept))
    (ROOT / DEMO).write_text("".join(f"{line}\n" for line in lines), "utf-8")


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


def courses(measured: MeasuredTable) -> str:
    """Return what each course of noise is worth: means over the data sets."""
    lines: dict[str, list[TableLine]] = {}
    for line in measured.lines:
        lines.setdefault(str(line.facts["method"]), []).append(line)
    head = [
        *("method", "rounds run", "AUC, against constant", "worst and best table"),
        *("less budget", "more rounds"),
    ]
    rows = [head, ["---"] * len(head)]
    for method, group in lines.items():
        gains = [one.gains["auc"].mean if one.gains else 0.0 for one in group]
        rounds, less, more = (
            fmean(one.values[name].mean for one in group)
            for name in ("rounds", "less_budget", "more_rounds")
        )
        rows.append(
            [
                method.removeprefix("course-"),
                f"{rounds:.0f}",
                f"{fmean(gains):+.4f}",
                f"{min(gains):+.3f} to {max(gains):+.3f}",
                f"{100 * less:.0f} %",
                f"{100 * more:+.0f} %",
            ]
        )
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
    if name == "schedules":
        shown = courses(measured)
    elif measured.table.against:
        shown = comparison(measured)
    else:
        shown = lines_table(measured)
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
    parser.add_argument("--demo", type=Path, help="keep the demo's results of a folder")
    parser.add_argument("--benchmark", nargs=2, help="keep what a benchmark printed")
    parser.add_argument("--code", help="hash of the code that measured; this one's")
    arguments = parser.parse_args()
    code = arguments.code or code_digest()[:12]
    if arguments.demo is not None:
        keep_demo(arguments.demo, code)
    if arguments.benchmark is not None:
        name, printed = arguments.benchmark
        keep_benchmark(name, Path(printed), code, today())
    differing = stale(ROOT)
    if not arguments.check:
        for path, text in documents(ROOT).items():
            path.write_text(text, "utf-8")
        print(f"{len(differing)} written")
        return 0
    print("\n".join(differing))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
