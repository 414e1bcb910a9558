# SPDX-License-Identifier: Apache-2.0
"""Get a public table where there is internet: download, shape, count, write.

The archive's file is brought into the form that a folder of `LEXFED_DATA` has. Its
bytes are then ours, so their checksums are written beside them; the digest of results
tells such a table from the one that lexfed keeps checksums of.
"""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pandas as pd

from lexfed.errors import DataError, Problem
from lexfed.evaluate.datasets.classes import TIER_OF_CLASS
from lexfed.evaluate.datasets.cleaning import clean
from lexfed.evaluate.datasets.folder import FETCHED, sha256_of
from lexfed.evaluate.datasets.kept import Kept, kept
from lexfed.evaluate.datasets.shapes import SHAPES

ARCHIVE = "https://archive.ics.uci.edu"
_PATHS: Mapping[str, tuple[str, ...]] = {
    "adult": ("static/public/2/data.csv",),
    "diabetes130": ("static/public/296/data.csv",),
    "german_credit": ("static/public/144/data.csv",),
    "heart_uci4": tuple(
        f"ml/machine-learning-databases/heart-disease/processed.{site}.data"
        for site in ("cleveland", "hungarian", "switzerland", "va")
    ),
    "support2": ("static/public/880/data.csv",),
    "taiwan_default": ("static/public/350/data.csv",),
}
# What no program of ours puts together, and where a person finds it.
_BY_HAND: Mapping[str, str] = {
    "creditcard_fraud_sample": "it is a sample of a file of 284,807 payments: "
    "Kaggle mlg-ulb/creditcardfraud or OpenML 1597 have the whole file",
    "eicu_demo": "it is put together from five tables of "
    "https://physionet.org/files/eicu-crd-demo/2.0.1/",
    "synthea": "it is put together from a run of Synthea of April 2020; "
    "https://synthea.mitre.org/downloads has newer ones",
}
_SECONDS = 30
_MOST_BYTES = 200_000_000


def fetch(name: str, into: Path, archive: str = ARCHIVE) -> Path:
    """Download a public data set and return its new folder.

    Guarantees:
        Nothing is left behind unless the table has the published number of rows and
        every column that its declaration needs. No folder is overwritten.

    Args:
        name: of a public data set.
        into: the folder of data sets; the new folder is made in it.
        archive: address of the UCI machine learning repository, or of a mirror.

    Raises:
        DataError: if the set cannot be fetched by a program, there is no connection,
            or what came is not what was published.
    """
    facts = kept(name)
    if name in _BY_HAND:
        what = f"cannot be fetched: {_BY_HAND[name]}"
        raise DataError([Problem(name, what, "set LEXFED_DATA to a folder with it")])
    folder = into / name
    if folder.exists():
        hint = "remove it first, if it should be fetched again"
        raise DataError([Problem(str(folder), "is already there", hint)])
    addresses = [f"{archive}/{path}" for path in _PATHS[name]]
    came = [_download(address) for address in addresses]
    frame = _shaped(facts, came, addresses[0])
    folder.mkdir(parents=True)
    text = frame.to_csv(index=False, lineterminator="\n").encode()
    # Without a time stamp the same rows give the same bytes.
    packed = gzip.compress(text, mtime=0) if facts.file.endswith(".gz") else text
    (folder / facts.file).write_bytes(packed)
    (folder / "schema.json").write_text(json.dumps(_schema(facts), indent=1))
    sums = {facts.file: sha256_of(folder / facts.file)}
    record = {"from": addresses, "rows": len(frame), "sha256": sums}
    (folder / FETCHED).write_text(json.dumps(record, indent=1))
    return folder


def _download(address: str) -> bytes:
    try:
        # The address is a constant of this file or a mirror that the caller names.
        with urlopen(address, timeout=_SECONDS) as answer:  # noqa: S310
            body = answer.read(_MOST_BYTES + 1)
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        what = f"cannot be reached ({reason})"
        hint = (
            "fetching needs a connection to the internet; on a machine without one set "
            "LEXFED_DATA to a folder that was copied there"
        )
        raise DataError([Problem(address, what, hint)]) from error
    if len(body) > _MOST_BYTES:
        raise DataError([Problem(address, "sends more than any of the tables has")])
    return bytes(body)


def _shaped(facts: Kept, came: list[bytes], address: str) -> pd.DataFrame:
    try:
        frame = SHAPES[facts.name](came)
        # What cleaning needs is needed; only its result tells.
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


def _schema(facts: Kept) -> dict[str, object]:
    """Return classes of the columns: those that the declaration names or implies."""
    implied = {tier: name for name, tier in TIER_OF_CLASS.items()}
    implied |= {"special": "gdpr_art9_special_category", "personal": "quasi_identifier"}
    classes: dict[str, list[str]] = {name: [] for name in TIER_OF_CLASS}
    for column, tier in facts.tiers.items():
        departure = facts.departures.get(column)
        found = implied[tier] if departure is None else departure.from_class
        classes["target" if column == facts.target else found].append(column)
    return {"name": facts.name, "columns": classes, "exclude_from_features": []}
