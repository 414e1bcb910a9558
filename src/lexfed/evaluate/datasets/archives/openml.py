# SPDX-License-Identifier: Apache-2.0
"""Tables of OpenML, in the columns and codes that the UCI archive has them in.

OpenML answers about a number with a description in JSON: the file's address, and its
MD5. The file is ARFF: names, then rows. scikit-learn reads such files too, but makes
numbers of texts, tries for seconds where there is no network, and knows one server.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from io import StringIO
from urllib.error import HTTPError

import pandas as pd

from lexfed.errors import DataError, Problem
from lexfed.evaluate.datasets.archives.download import download

ADDRESS = "https://www.openml.org"
NUMBERS: Mapping[str, int] = {
    "adult": 1590,
    "diabetes130": 4541,
    "german_credit": 31,
    "taiwan_default": 42477,
}
NAMES = tuple(NUMBERS)
# Where the repository has A11, A12, ..., OpenML has words; in the order of the codes.
_GERMAN: Mapping[str, tuple[str, ...]] = {
    "checking_status": ("<0", "0<=X<200", ">=200", "no checking"),
    "duration": (),
    "credit_history": (
        "no credits/all paid", "all paid", "existing paid", "delayed previously",
        "critical/other existing credit",
    ),
    "purpose": (
        "new car", "used car", "furniture/equipment", "radio/tv",
        "domestic appliance", "repairs", "education", "vacation", "retraining",
        "business", "other",
    ),
    "credit_amount": (),
    "savings_status": (
        "<100", "100<=X<500", "500<=X<1000", ">=1000", "no known savings",
    ),
    "employment": ("unemployed", "<1", "1<=X<4", "4<=X<7", ">=7"),
    "installment_commitment": (),
    "personal_status": (
        "male div/sep", "female div/dep/mar", "male single", "male mar/wid",
        "female single",
    ),
    "other_parties": ("none", "co applicant", "guarantor"),
    "residence_since": (),
    "property_magnitude": (
        "real estate", "life insurance", "car", "no known property",
    ),
    "age": (),
    "other_payment_plans": ("bank", "stores", "none"),
    "housing": ("rent", "own", "for free"),
    "existing_credits": (),
    "job": (
        "unemp/unskilled non res", "unskilled resident", "skilled",
        "high qualif/self emp/mgmt",
    ),
    "num_dependents": (),
    "own_telephone": ("none", "yes"),
    "foreign_worker": ("yes", "no"),
}  # fmt: skip
_FIRST_IS_0 = ("credit_history", "purpose")


def files_of(name: str, address: str) -> dict[str, bytes]:
    """Return the table as a CSV file of the UCI archive, by its own address.

    Guarantees:
        The file is the one that OpenML's description has the MD5 of.
    """
    about = f"{address}/api/v1/json/data/{NUMBERS[name]}"
    place, checksum = _described(about, address)
    body = download(place, address)
    actual = hashlib.md5(body, usedforsecurity=False).hexdigest()
    if actual != checksum:
        what = f"its MD5 begins with {actual[:12]}, OpenML says {checksum[:12]}"
        raise DataError([Problem(place, what, "fetch it again")])
    try:
        frame = _SHAPES[name](read_arff(body.decode()))
    except (ValueError, KeyError) as error:
        what = "sends something else than the published table"
        raise DataError([Problem(place, what, str(error))]) from error
    return {place: frame.to_csv(index=False).encode()}


def _described(about: str, address: str) -> tuple[str, str]:
    """Return the address of the file and its MD5."""
    try:
        answer = json.loads(download(about, address))["data_set_description"]
        return str(answer["url"]), str(answer["md5_checksum"])
    except DataError as error:
        # OpenML's way to say that there is no such number.
        if isinstance(error.__cause__, HTTPError) and error.__cause__.code == 412:
            what = "OpenML knows no table of this number"
            hint = "fetch it from the UCI archive: `--source uci`"
            raise DataError([Problem(about, what, hint)]) from error
        raise
    except (ValueError, KeyError, TypeError) as error:
        what = "answers with something else than the description of a table"
        raise DataError([Problem(about, what, str(error))]) from error


def read_arff(text: str) -> pd.DataFrame:
    """Return the rows of an ARFF file that is not sparse, as text."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("%")]
    start = next((n for n, line in enumerate(lines) if line.lower() == "@data"), None)
    if start is None:
        raise ValueError("there is no line `@data`")
    named = (_ATTRIBUTE.match(line) for line in lines[:start])
    names = [match[1].strip("'\"") for match in named if match]
    frame = pd.read_csv(
        StringIO("\n".join(lines[start + 1 :])),
        header=None,
        dtype=str,
        keep_default_na=False,
        skipinitialspace=True,
        quotechar="'",
        escapechar="\\",
    )
    if len(frame.columns) != len(names):
        what = f"{len(names)} columns are named, rows have {len(frame.columns)}"
        raise ValueError(what)
    return frame.set_axis(names, axis=1)


_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)", re.IGNORECASE)


def _german(frame: pd.DataFrame) -> pd.DataFrame:
    columns = {}
    for place, (name, words) in enumerate(_GERMAN.items(), start=1):
        first = 0 if name in _FIRST_IS_0 else 1
        codes = {word: f"A{place}{n}" for n, word in enumerate(words, start=first)}
        columns[f"Attribute{place}"] = _coded(frame[name], codes)
    return pd.DataFrame(
        {**columns, "class": _coded(frame["class"], {"good": "1", "bad": "2"})}
    )


def _coded(column: pd.Series, codes: Mapping[str, str]) -> pd.Series:
    strange = set(column) - set(codes)
    if codes and strange:
        raise ValueError(f"`{column.name}` is also {', '.join(sorted(strange))}")
    return column.map(codes) if codes else column


def _taiwan(frame: pd.DataFrame) -> pd.DataFrame:
    # The repository's ID is the number of the row.
    upper = frame.rename(columns=str.upper)
    return upper.assign(ID=[str(n) for n in range(1, len(frame) + 1)])


_SHAPES: Mapping[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "adult": lambda frame: frame.rename(columns={"class": "income"}),
    "diabetes130": lambda frame: frame,
    "german_credit": _german,
    "taiwan_default": _taiwan,
}
