# SPDX-License-Identifier: Apache-2.0
"""A mutated table, guessed and read by the real code, against what was written."""

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lexfed.config.declarations import declared_columns
from lexfed.config.tables.root import ColumnTable
from lexfed.data.file_format import FileFormat
from lexfed.data.reading.checked_tables import read_files
from lexfed.data.reading.column_guesses import TableGuess, guess_table
from lexfed.data.schema import Schema
from lexfed.data.table import Table
from lexfed.errors import ConfigError, DataError
from support.mutated_tables import NUMBERS, VALUES, WrittenTable, written_table

KINDS = {
    **dict.fromkeys(NUMBERS, "number"), "ward": "category", "sex": "category",
    "smoker": "flag", "outcome": "flag", "admitted": "date", "note": "category",
}  # fmt: skip


def declared(names: dict[str, str], written: FileFormat) -> Schema:
    """Return the public declarations, under the names that the file's columns have."""
    tables = {
        **{
            name: ColumnTable(kind="number", range=ends, scale="linear")
            for name, ends in NUMBERS.items()
        },
        **{
            name: ColumnTable(kind="category", values=VALUES[name])
            for name in ("ward", "sex")
        },
        "smoker": ColumnTable(kind="flag"),
        "outcome": ColumnTable(kind="flag"),
        "admitted": ColumnTable(
            kind="date", period=("2000-01-01", "2030-01-01"), parts=("days", "hour")
        ),
    }
    columns = [
        column
        for name, table in tables.items()
        for column in declared_columns(names[name], table)
    ]
    return Schema(
        tuple(columns), names["outcome"], person=names["patient"], written=written
    )


def wrong_columns(file: WrittenTable, guess: TableGuess, path: Path) -> list[str]:
    """Return the columns that are not what was written, after all of reading."""
    found = [guess.name for guess in guess.columns]
    if len(found) != len(file.values):
        return [f"{len(found)} columns"]
    names = dict(zip(file.values, found, strict=True))
    kinds = {each.name: each.kind for each in guess.columns}
    wrong = [
        f"{name} is a {kinds[names[name]]}"
        for name, kind in KINDS.items()
        if kinds[names[name]] != kind
    ]
    table = read_files([path], declared(names, guess.format), strict=True)
    if len(table) != len(file.values["age"]):
        return [f"{len(table)} rows"]
    return wrong + [
        name for name in file.values if not same(name, names[name], file, table, guess)
    ]


def same(
    name: str, own: str, file: WrittenTable, table: Table, guess: TableGuess
) -> bool:
    values = file.values[name]
    if name == "patient":
        read = [table.person_keys[code] for code in table.persons]
        return read == list(values)
    if name == "note":
        return bool(guess.frame.columns[own].values.tolist() == list(values))
    if name == "admitted":
        epoch = np.datetime64(0, "us")
        moments = np.array(values, dtype="datetime64[us]")
        days = (moments - epoch) / np.timedelta64(1, "D")
        return np.allclose(table.numbers(f"{own}.days"), days, equal_nan=True)
    if name in ("smoker", "outcome"):
        truth = [np.nan if v is None else float(v == "yes") for v in values]
        return np.array_equal(table.numbers(own), truth, equal_nan=True)
    if name in VALUES:
        places = [-1 if v is None else VALUES[name].index(str(v)) for v in values]
        return bool(table.codes(own).tolist() == places)
    numbers = np.array(values, dtype=np.float64)
    return np.allclose(table.numbers(own), numbers, rtol=1e-12, equal_nan=True)


def told(file: WrittenTable, message: str) -> list[str]:
    """Return values of the file that a message holds."""
    texts = {str(v) for column in file.values.values() for v in column if v is not None}
    return sorted(text for text in texts if len(text) > 4 and text in message)


@dataclass
class Outcomes:
    """What became of files: counts, and everything that is not as it must be.

    A file as people write them is read as it was written, or refused; a damaged one is
    refused. A refusal names the file, has a hint and holds no value.
    """

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def outcomes_of(seeds: range) -> Outcomes:
    """Write, guess and read the files of these seeds."""
    found = Outcomes()
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            file = written_table(seed)
            path = Path(folder) / file.name
            path.write_bytes(file.content)
            _judge(file, path, found)
    return found


def _judge(file: WrittenTable, path: Path, found: Outcomes) -> None:
    damage, writing = file.writing.damage, f"{path.name}: {file.writing}"
    try:
        columns = wrong_columns(file, guess_table(path), path)
    except (ConfigError, DataError) as error:
        found.counts["refused, damaged" if damage else "refused"] += 1
        for what in {problem.what for problem in error.problems}:
            found.reasons[what] += 1
        places = [each for each in error.problems if each.where]
        if not all(str(path) in each.where and each.hint for each in places):
            found.wrong.append(f"no place or no hint: {error} {writing}")
        if values := told(file, str(error)):
            found.wrong.append(f"tells {values}: {error} {writing}")
        return
    found.counts["read, damaged" if damage else "read"] += 1
    if damage or columns:
        found.wrong.append(f"{damage or columns} was read: {writing}")
