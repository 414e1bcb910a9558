# SPDX-License-Identifier: Apache-2.0
"""The folder of public tables: found, and the same bytes that were declared.

A cleaned, shortened or recoded copy of a table gives other results under the same name,
so every file is compared with a checksum before a row is read.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lexfed.errors import DataError, Problem
from lexfed.evaluate.datasets.declarations import TableDeclaration, differences

VARIABLE = "LEXFED_DATA"
# Written by `fetch` beside a table: its origin, and its checksum.
FETCHED = "fetched.json"


def data_folder() -> Path:
    """Return the folder that holds one subfolder for each public data set."""
    named = os.environ.get(VARIABLE)
    if named and Path(named).is_dir():
        return Path(named)
    where, what = f"{VARIABLE}={named}", "there is no such folder"
    if not named:
        where, what = VARIABLE, "not set, and public tables are not part of lexfed"
    hint = (
        "set it to a folder with one subfolder for each data set, or get one with "
        "`lexfed evaluate fetch NAME`"
    )
    raise DataError([Problem(where, what, hint)])


def read_source(kept: TableDeclaration) -> pd.DataFrame:
    """Return the rows of a public data set as they were published.

    Guarantees:
        The bytes are those whose checksum is known, the tiers follow from the
        classes in `schema.json`, and the number of rows is the published one.

    Raises:
        DataError: naming every file that is missing or differs; every column whose
            tier and class differ.
    """
    folder = data_folder() / kept.name
    sums = checksums(kept)
    problems = [p for file in sums if (p := _checked(folder, file, sums, kept.name))]
    if problems:
        raise DataError(problems)
    differing = list(differences(kept, _schema(folder)))
    if differing:
        raise DataError(differing)
    frame = pd.read_csv(folder / kept.file, dtype=str, keep_default_na=False)
    if len(frame) != kept.rows:
        what = f"{len(frame)} rows, but {kept.rows} are declared"
        raise DataError([Problem(str(folder / kept.file), what)])
    return frame.mask(frame == "")


def checksums(kept: TableDeclaration) -> Mapping[str, str]:
    """Return the checksum of each file: lexfed's, or the one written by `fetch`."""
    record = data_folder() / kept.name / FETCHED
    if not record.is_file():
        return kept.sha256
    try:
        sums = json.loads(record.read_text(encoding="utf-8"))["sha256"]
        return {kept.file: str(sums[kept.file])}
    except (ValueError, KeyError, TypeError) as error:
        what = "cannot be read as the record of a table that was fetched"
        hint = f"remove the folder and run `lexfed evaluate fetch {kept.name}`"
        raise DataError([Problem(str(record), what, hint)]) from error


def _checked(
    folder: Path, file: str, sums: Mapping[str, str], name: str
) -> Problem | None:
    path = folder / file
    if not path.is_file():
        hint = f"get it with `lexfed evaluate fetch {name}`"
        return Problem(str(path), "there is no such file", hint)
    actual = sha256_of(path)
    if actual == sums[file]:
        return None
    what = f"its SHA-256 begins with {actual[:12]}, expected {sums[file][:12]}"
    hint = (
        "the file was changed or is another version; results on it could not be "
        f"compared, so fetch it again with `lexfed evaluate fetch {name}`"
    )
    return Problem(str(path), what, hint)


def sha256_of(path: Path) -> str:
    """Return the checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _schema(folder: Path) -> dict[str, Any]:
    path = folder / "schema.json"
    try:
        schema = json.loads(path.read_text(encoding="utf-8"))
        _ = dict(schema["columns"]), list(schema["exclude_from_features"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = "cannot be read as a description with `columns` and "
        what += "`exclude_from_features`"
        hint = "each folder holds the classes of its columns there"
        raise DataError([Problem(str(path), what, hint)]) from error
    return dict(schema)


def digest(sums: Mapping[str, str]) -> str:
    """Return one SHA-256 for all source files: of their names and checksums."""
    listed = "".join(f"{sha}  {file}\n" for file, sha in sorted(sums.items()))
    return hashlib.sha256(listed.encode()).hexdigest()
