# SPDX-License-Identifier: Apache-2.0
"""A first guess at a file's columns, for a person to complete.

Only names and kinds leave this module. Ranges and category lists do not: copied from
the data into a configuration they would be published with it, and tell that somebody
is 104 years old or has a rare disease.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lexfed.arrays import Floats
from lexfed.data.problems import Problems
from lexfed.data.reading.frames import RawColumn
from lexfed.data.reading.table_files import read_file
from lexfed.data.schema import ColumnKind

_FEW = 20
_TRUTH = {"0", "1", "true", "false", "yes", "no"}
_NOTES: dict[ColumnKind, str] = {
    "number": "looks like a number: fill in its range from public knowledge",
    "flag": "looks like yes/no",
    "category": "looks like a category: list its values from public knowledge",
    "text": "looks like free text or a key: never a model input",
}


@dataclass(frozen=True)
class ColumnGuess:
    """A column's name and what it looks like.

    Guarantees:
        Holds no value of the data and nothing counted or computed from values but
        the kind.
    """

    name: str
    kind: ColumnKind
    note: str


def guess_columns(path: Path) -> tuple[ColumnGuess, ...]:
    """Return a guess for every column of a CSV or Parquet file, in its order.

    Raises:
        DataError: if the file cannot be read, or has no rows.
    """
    problems = Problems()
    frame = read_file(path, None, problems)
    if frame is not None and not len(frame):
        problems.add("no-rows", "there are no rows", file=str(path))
    problems.raise_if_any()
    columns = frame.columns if frame is not None else {}
    kinds = {name: _guess(raw) for name, raw in columns.items()}
    return tuple(ColumnGuess(name, kind, _NOTES[kind]) for name, kind in kinds.items())


def _guess(raw: RawColumn) -> ColumnKind:
    present = raw.values[~raw.missing]
    if raw.kind == "flag":
        return "flag"
    if raw.kind == "other":
        return "text"
    if raw.kind == "number":
        return _number_or_key(present.astype(np.float64))
    distinct = {str(value).lower() for value in present}
    if distinct and distinct <= _TRUTH:
        return "flag"
    numbers = _numbers(present.tolist())
    if distinct and numbers is not None:
        return _number_or_key(numbers)
    # A key has about as many values as rows, a category has few and repeats them.
    few = len(distinct) <= _FEW and len(distinct) < len(present)
    return "category" if few else "text"


def _number_or_key(present: Floats) -> ColumnKind:
    if len(present) and np.isin(present, (0.0, 1.0)).all():
        return "flag"
    different = len(np.unique(present)) == len(present) > _FEW
    whole = bool((np.floor(present) == present).all())
    return "text" if different and whole else "number"


def _numbers(texts: list[str]) -> Floats | None:
    try:
        return np.array([float(text) for text in texts])
    except ValueError:
        return None
