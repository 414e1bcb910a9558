# SPDX-License-Identifier: Apache-2.0
"""Get a public table where there is internet: download, shape, count, write.

The archive's file is brought into the form that a folder of `LEXFED_DATA` has. Its
bytes are then ours, so their checksums are written beside them; the digest of results
tells such a table from the one that lexfed keeps checksums of. A comparison of its rows
with that one's (`row_digest.py`) is written there too.
"""

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from lexfed.errors import DataError, Problem
from lexfed.evaluate.datasets.archives import openml, uci
from lexfed.evaluate.datasets.archives.row_digest import PUBLISHED, rows_digest
from lexfed.evaluate.datasets.public.cleaning import clean
from lexfed.evaluate.datasets.public.declarations import (
    TableDeclaration,
    load_declaration,
)
from lexfed.evaluate.datasets.public.legal_classes import TIER_OF_CLASS
from lexfed.evaluate.datasets.public.source_folder import FETCHED, sha256_of


@dataclass(frozen=True)
class Archive:
    """A place of the web that has public tables.

    Attributes:
        names: of the data sets that it has.
        files_of: downloads the files of one, by the addresses they came from.
    """

    address: str
    names: tuple[str, ...]
    files_of: Callable[[str, str], dict[str, bytes]]


ARCHIVES: Mapping[str, Archive] = {
    "uci": Archive(uci.ADDRESS, uci.NAMES, uci.files_of),
    "openml": Archive(openml.ADDRESS, openml.NAMES, openml.files_of),
}
# Tables that no program of ours puts together, and where a person finds them.
_BY_HAND: Mapping[str, str] = {
    "creditcard_fraud_sample": "it is a sample of a file of 284,807 payments: "
    "Kaggle mlg-ulb/creditcardfraud or OpenML 1597 have the whole file",
    "eicu_demo": "it is put together from five tables of "
    "https://physionet.org/files/eicu-crd-demo/2.0.1/",
    "synthea": "it is put together from a run of Synthea of April 2020; "
    "https://synthea.mitre.org/downloads has newer ones",
}


@dataclass(frozen=True)
class FetchedTable:
    """A downloaded table.

    Attributes:
        same_rows: whether it has the rows of the copy whose checksum is kept.
    """

    folder: Path
    same_rows: bool

    @property
    def words(self) -> str:
        """The consequence for results, in words."""
        if self.same_rows:
            return "It has the rows that lexfed's declaration was written for."
        return (
            "Its rows are not those of the copy that lexfed's declaration was written "
            "for, though their number and columns are: results on it stand under its "
            "own checksum and are not comparable with published ones."
        )


def fetch(
    name: str, into: Path, source: str = "uci", address: str | None = None
) -> FetchedTable:
    """Download a public data set into a new folder.

    Guarantees:
        Nothing is left behind unless the table has the published number of rows and
        every column that its declaration needs, and all of it could be written. No
        folder is overwritten.

    Args:
        name: of a public data set.
        into: the folder of data sets; the new folder is made in it.
        source: one of `ARCHIVES`.
        address: of a mirror of it.

    Raises:
        DataError: if the set cannot be fetched by a program, there is no connection,
            the download is not the published table, or it cannot be written.
    """
    facts = load_declaration(name)
    archive = _archive(name, source)
    folder = into / name
    if folder.exists():
        hint = "remove it first, if it should be fetched again"
        raise DataError([Problem(str(folder), "is already there", hint)])
    came = archive.files_of(name, address or archive.address)
    frame = _shaped(facts, list(came.values()), next(iter(came)))
    same = rows_digest(facts, frame) == PUBLISHED[name]
    record = {"from": list(came), "rows": len(frame), "same_rows": same}
    try:
        into.mkdir(parents=True, exist_ok=True)
        # Beside it, so that it gets its name only when it is whole.
        with TemporaryDirectory(dir=into, prefix=f".{name}-") as work:
            whole = Path(work) / name
            whole.mkdir()
            _write(whole, facts, frame, record)
            whole.rename(folder)
    except OSError as error:
        what = f"cannot be written ({error.strerror or error})"
        raise DataError([Problem(str(folder), what)]) from error
    return FetchedTable(folder, same)


def _archive(name: str, source: str) -> Archive:
    if name in _BY_HAND:
        what = f"cannot be fetched: {_BY_HAND[name]}"
        raise DataError([Problem(name, what, "set LEXFED_DATA to a folder with it")])
    known = ", ".join(ARCHIVES)
    if source not in ARCHIVES:
        what = f"there is no archive `{source}`"
        raise DataError([Problem("source", what, f"known: {known}")])
    if name not in ARCHIVES[source].names:
        others = [n for n, archive in ARCHIVES.items() if name in archive.names]
        what = f"`{source}` does not have it"
        raise DataError([Problem(name, what, f"fetch it from {', '.join(others)}")])
    return ARCHIVES[source]


def _shaped(facts: TableDeclaration, came: list[bytes], address: str) -> pd.DataFrame:
    try:
        frame = uci.SHAPES[facts.name](came)
        # Cleaning makes columns of others, so its result is compared.
        missing = set(facts.written) - set(clean(facts.name, frame))
    except (ValueError, KeyError, UnicodeDecodeError) as error:
        what = "sends something else than the published table"
        raise DataError([Problem(address, what, str(error))]) from error
    if missing:
        what = f"sends a table without {', '.join(sorted(missing))}"
        raise DataError([Problem(address, what)])
    if len(frame) != facts.rows:
        what = f"sends {len(frame)} rows, but {facts.rows} are published"
        raise DataError([Problem(address, what, "cleaned copies exist; none is used")])
    return frame


def _write(
    folder: Path,
    facts: TableDeclaration,
    frame: pd.DataFrame,
    record: Mapping[str, object],
) -> None:
    text = frame.to_csv(index=False, lineterminator="\n").encode()
    # Without a time stamp the same rows give the same bytes.
    packed = gzip.compress(text, mtime=0) if facts.file.endswith(".gz") else text
    (folder / facts.file).write_bytes(packed)
    (folder / "schema.json").write_text(json.dumps(_schema(facts), indent=1))
    sums = {facts.file: sha256_of(folder / facts.file)}
    (folder / FETCHED).write_text(json.dumps({**record, "sha256": sums}, indent=1))


def _schema(facts: TableDeclaration) -> dict[str, object]:
    """Return classes of the columns: those that the declaration names or implies."""
    implied = {tier: name for name, tier in TIER_OF_CLASS.items()}
    implied |= {"special": "gdpr_art9_special_category", "personal": "quasi_identifier"}
    classes: dict[str, list[str]] = {name: [] for name in TIER_OF_CLASS}
    for column, tier in facts.tiers.items():
        departure = facts.departures.get(column)
        found = implied[tier] if departure is None else departure.from_class
        classes["target" if column == facts.target else found].append(column)
    return {"name": facts.name, "columns": classes, "exclude_from_features": []}
