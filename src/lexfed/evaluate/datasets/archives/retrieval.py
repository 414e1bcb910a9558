# SPDX-License-Identifier: Apache-2.0
"""Get a public table where there is internet: download, shape, count, write.

The archive's file is brought into the form that a folder of `LEXFED_DATA` has. Its
bytes are then ours, so their checksums are written beside them; the digest of results
tells such a table from the one that lexfed keeps checksums of. Archives write the same
rows in another order, `3.0` for `3`, and compress them anew: whether the digest of rows
is that of the kept table is written beside the checksums too.
"""

import gzip
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from lexfed.errors import DataError, Problem
from lexfed.evaluate.datasets.archives import openml, uci
from lexfed.evaluate.datasets.cleaning import clean
from lexfed.evaluate.datasets.declarations import (
    TIER_OF_CLASS,
    TableDeclaration,
    load_declaration,
)
from lexfed.evaluate.datasets.source_folder import FETCHED, sha256_of


@dataclass(frozen=True)
class Archive:
    """A place of the web with public tables; `files_of` downloads those of one."""

    address: str
    names: tuple[str, ...]
    files_of: Callable[[str, str], dict[str, bytes]]


ARCHIVES: Mapping[str, Archive] = {
    "uci": Archive(uci.ADDRESS, uci.NAMES, uci.files_of),
    "openml": Archive(openml.ADDRESS, openml.NAMES, openml.files_of),
}
PUBLISHED: Mapping[str, str] = {
    "adult": "de8d0b4df0a531f76cb6089801b0b6d2f70db22905a271bd4a4e5356dd759dc9",
    "diabetes130": "5dd1896ff9f33b87e642c43a9b2491b7ee24a0f50b7347d215f444a6ee10c88d",
    "german_credit": "72e90a384895cc39db553c6328b7f972e467bdbc77c813bf319e6dbedf00baa1",
    "heart_uci4": "776764e8d8c5f7f2f85972c6f0929883b3e32c67cd719e361dd96ee8df564242",
    "support2": "12032083064282f51bd1bd38f2647ed68f6fbe6c2aa637bf7eeac5ea0695c460",
    "taiwan_default": "b42230bb9fc6257075e1ae7854871b75b519dfede93b75b83f6319df0ac28fed",  # noqa: E501
}
"""Digests of the rows of the files whose checksums are kept."""

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
    """A downloaded table, and whether its rows are those of the kept checksum."""

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
    """Download a public data set into a new folder of its name in `into`.

    The `address` is that of a mirror of the source, one of `ARCHIVES`.

    Guarantees:
        Nothing is left behind unless the table has the published number of rows and
        every column that its declaration needs, and all of it could be written. No
        folder is overwritten.

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
    files = archive.files_of(name, address or archive.address)
    frame = _shaped(facts, list(files.values()), next(iter(files)))
    same = rows_digest(facts, frame) == PUBLISHED[name]
    record = {"from": list(files), "rows": len(frame), "same_rows": same}
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


def _shaped(facts: TableDeclaration, files: list[bytes], address: str) -> pd.DataFrame:
    try:
        frame = uci.SHAPES[facts.name](files)
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
        given = implied[tier] if departure is None else departure.from_class
        classes["target" if column == facts.target else given].append(column)
    return {"name": facts.name, "columns": classes, "exclude_from_features": []}


def rows_digest(facts: TableDeclaration, frame: pd.DataFrame) -> str:
    """Return the SHA-256 of rows before cleaning in a form that all copies share.

    Guarantees:
        The order of rows and columns, and how a number is written (`3.0`, `3`, `007`
        and `7`), do not matter, nor do columns that identify somebody, which archives
        number anew. Any other value of a declared column does, with two exceptions:
        numbers that agree in their first seven digits are one, and so are a gap and an
        empty text.
    """
    names = sorted(name for name, tier in facts.tiers.items() if tier != "identifier")
    columns = [_spelt(frame[name]) for name in names]
    lines = sorted("\x1f".join(row) for row in zip(*columns, strict=True))
    return hashlib.sha256("\n".join([*names, *lines]).encode()).hexdigest()


def _spelt(column: pd.Series) -> list[str]:
    numbers = pd.to_numeric(column, errors="coerce")
    return [
        f"{number:.7g}" if number == number else "" if text != text else str(text)
        for number, text in zip(numbers, column, strict=True)
    ]
