# SPDX-License-Identifier: Apache-2.0
"""Cost and accuracy of the tagger, with Presidio and DataProfiler beside it.

    LEXFED_DATA=... python -m benchmarks.tagging [--peers]

Prints one JSON line:

    start_s              CPU seconds of a fresh process up to its first answer
    names_s              CPU seconds for 1,000 columns after that, names only
    values_s             the same with 100 values for each column, each in its own table
    one_table_s          the same with all of them in one table, proxies looked for
    resident_mb          resident memory of a fresh process after names alone
    resident_values_mb   the same after columns with values
    wheel_data_bytes     data files of the tagger in the wheel: lexicons, packs, model
    made                 accuracy on 1,000 columns of values made by rule, without names
    data                 accuracy on the columns of public data files, null without
                         `LEXFED_DATA`: names and values; the labels are those files'

Accuracy is that of the question whether a column identifies a person or is of a
special category: precision, recall and F1, beside the share of the identifiers that
are found. With `--peers` the others answer it for the same values, in a virtual
environment of their own (`tagging_peers`); without, or where they do not install,
theirs is null. They look at values only and know no special categories, which is what
their figures show.
"""

import argparse
import csv
import gzip
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from benchmarks.made_columns import made_columns
from lexfed.law.tagger.metadata.packs import load_packs
from lexfed.law.tagger.pipeline import tag_columns
from lexfed.law.tagger.suggestions import DescribedColumn

NUMBER = 1000
PEER_VALUES = 20
LABELS = {
    "identifier": "identifier",
    "gdpr_art9_special_category": "special",
    "gdpr_art10_criminal": "special",
}
Labelled = tuple[DescribedColumn, str]


def named_columns() -> list[DescribedColumn]:
    """Return 1,000 columns of known standards, a few of each table."""
    packs = load_packs(frozenset()).packs
    rows = chain.from_iterable(pack.rows[:12] for _, pack in sorted(packs.items()))
    return [
        DescribedColumn(f"{row.pack}.{row.table}", row.column, row.description)
        for row in islice(rows, NUMBER)
    ]


def data_columns(folder: Path) -> list[Labelled]:
    """Return the columns of the data files with 200 values and their own labels."""
    found: list[Labelled] = []
    for schema_file in sorted(folder.glob("*/schema.json")):
        schema = json.loads(schema_file.read_text())
        content = (schema_file.parent / schema["file"]).read_bytes()
        if schema["file"].endswith(".gz"):
            content = gzip.decompress(content)
        rows = csv.reader(io.StringIO(content.decode(), newline=""))
        header = next(rows)
        taken = list(islice(rows, 200))
        labels = {
            n: kind for key, kind in LABELS.items() for n in schema["columns"][key]
        }
        targets = schema["columns"]["target"]
        found += [
            (
                DescribedColumn(
                    schema["name"], n, values=tuple(row[at] for row in taken)
                ),
                labels.get(n, ""),
            )
            for at, n in enumerate(header)
            if n not in targets
        ]
    return found


def accuracy(flags: Sequence[bool], truth: Sequence[str]) -> dict[str, float]:
    """Return how well the columns that were flagged are the ones that should be."""
    pairs = list(zip(flags, truth, strict=True))
    right = sum(flag and bool(label) for flag, label in pairs)
    precision, recall = (
        right / max(1, sum(flags)),
        right / max(1, sum(map(bool, truth))),
    )
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    found = [flag for flag, label in pairs if label == "identifier"]
    return {
        "identifiers": round(sum(found) / max(1, len(found)), 3),
        "precision": round(precision, 3),
        "recall": round(recall, 3),
        "f1": round(f1, 3),
    }


def own_flags(columns: Sequence[DescribedColumn]) -> list[bool]:
    """Return which columns the tagger calls special or identifying."""
    return [s.tier in ("special", "identifier") for s in tag_columns(columns)]


def peer_flags(columns: Sequence[DescribedColumn]) -> dict[str, Any]:
    """Return what each peer flags and the CPU seconds it takes, or nothing."""
    script = Path(__file__).with_name("tagging_peers.py")
    values = [list((column.values or ())[:PEER_VALUES]) for column in columns]
    ran = subprocess.run(
        [sys.executable, str(script)],
        input=json.dumps(values),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        return {}
    answer: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return answer


def compare(labelled: Sequence[Labelled], peers: bool) -> dict[str, Any]:
    """Return the accuracy of the tagger and of its peers on the same columns."""
    columns = [column for column, _ in labelled]
    truth = [label for _, label in labelled]
    answers = peer_flags(columns) if peers else {}
    result: dict[str, Any] = {
        "columns": len(truth),
        "sensitive": sum(map(bool, truth)),
        "lexfed": accuracy(own_flags(columns), truth),
    }
    for name in ("presidio", "dataprofiler"):
        found = answers.get(name)
        result[name] = None
        if found is not None:
            cost = {"cpu_s": found["cpu_s"], "resident_mb": found["resident_mb"]}
            result[name] = accuracy(found["flags"], truth) | cost
    return result


def resident_mb() -> float:
    """Return the most memory that this process held, in megabytes."""
    # Not ru_maxrss, which a new process takes over from the one that started it.
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


def measure(kind: str) -> None:
    """Print what a fresh process takes: to its first answer, and for 1,000 more."""
    tag_columns([DescribedColumn("patients", "birth_date", values=("1999-01-02",))])
    start = time.process_time()
    if kind == "names":
        columns = named_columns()
    else:
        columns = [column for column, _ in made_columns(NUMBER, 100)]
    if kind == "table":
        columns = [replace(column, table="t") for column in columns]
    before = time.process_time()
    tag_columns(columns)
    seconds = time.process_time() - before
    resident = resident_mb()
    print(json.dumps({"start_s": start, "tag_s": seconds, "resident_mb": resident}))


def fresh(kind: str, turns: int = 3) -> dict[str, float]:
    """Return the best of several fresh processes."""
    command = [sys.executable, "-m", "benchmarks.tagging", "--measure", kind]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    found = []
    for _ in range(turns):
        ran = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        )
        found.append(json.loads(ran.stdout))
    return {key: min(one[key] for one in found) for key in found[0]}


def data_bytes() -> int:
    """Return the size of the tagger's files that are no code."""
    folder = Path(sys.modules[DescribedColumn.__module__].__file__ or "").parent
    files = (path for path in folder.rglob("*") if path.is_file())
    return sum(p.stat().st_size for p in files if p.suffix not in (".py", ".pyc"))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--measure", choices=("names", "values", "table"))
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
        return
    names, values, table = map(fresh, ("names", "values", "table"))
    folder = os.environ.get("LEXFED_DATA")
    print(
        json.dumps(
            {
                "benchmark": "tagging",
                "start_s": round(names["start_s"], 3),
                "names_s": round(names["tag_s"], 3),
                "values_s": round(values["tag_s"], 3),
                "one_table_s": round(table["tag_s"], 3),
                "resident_mb": round(names["resident_mb"], 1),
                "resident_values_mb": round(values["resident_mb"], 1),
                "wheel_data_bytes": data_bytes(),
                "made": compare(made_columns(NUMBER, 100), options.peers),
                "data": compare(data_columns(Path(folder)), options.peers)
                if folder
                else None,
            }
        )
    )


if __name__ == "__main__":
    main()
