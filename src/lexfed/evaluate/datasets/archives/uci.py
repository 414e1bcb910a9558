# SPDX-License-Identifier: Apache-2.0
"""Tables of the UCI repository: their files, and readers into the declared columns."""

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO

import pandas as pd

from lexfed.evaluate.datasets.archives.download import download

ADDRESS = "https://archive.ics.uci.edu"
_HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
_PATHS: Mapping[str, tuple[str, ...]] = {
    "adult": ("static/public/2/data.csv",),
    "diabetes130": ("static/public/296/data.csv",),
    "german_credit": ("static/public/144/data.csv",),
    "heart_uci4": tuple(
        f"ml/machine-learning-databases/heart-disease/processed.{site}.data"
        for site in _HOSPITALS
    ),
    "support2": ("static/public/880/data.csv",),
    "taiwan_default": ("static/public/350/data.csv",),
}
NAMES = tuple(_PATHS)
ArchiveReader = Callable[[Sequence[bytes]], pd.DataFrame]

_GERMAN = (
    "status", "duration", "credit_history", "purpose", "credit_amount", "savings",
    "employment_since", "installment_rate", "personal_status_sex", "other_debtors",
    "residence_since", "property", "age", "other_installment_plans", "housing",
    "existing_credits", "job", "people_liable", "telephone", "foreign_worker",
)  # fmt: skip
_TAIWAN = (
    "LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE",
    "PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6",
    *(f"BILL_AMT{month}" for month in range(1, 7)),
    *(f"PAY_AMT{month}" for month in range(1, 7)),
)  # fmt: skip
_HEART = (
    "age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang",
    "oldpeak", "slope", "ca", "thal", "num",
)  # fmt: skip


def files_of(name: str, address: str) -> dict[str, bytes]:
    """Return the files of a table, one of `NAMES`, by their addresses."""
    places = [f"{address}/{path}" for path in _PATHS[name]]
    return {place: download(place, address) for place in places}


def _table(body: bytes, header: tuple[str, ...] | None = None) -> pd.DataFrame:
    """Return a CSV file as text, with the archive's marks of a gap as gaps."""
    frame = pd.read_csv(
        BytesIO(body),
        dtype=str,
        keep_default_na=False,
        skipinitialspace=True,
        header="infer" if header is None else None,
        names=header,
    )
    return frame.mask(frame.isin(["", "?"]))


def _flag(true: pd.Series) -> pd.Series:
    return true.astype(int).astype(str)


def _german(files: Sequence[bytes]) -> pd.DataFrame:
    frame = _table(files[0])
    names = {f"Attribute{n}": name for n, name in enumerate(_GERMAN, start=1)}
    frame = frame.rename(columns=names)
    # A92 and A95 are the codes of women (the second has no row).
    women = frame["personal_status_sex"].isin(["A92", "A95"])
    sex = women.map({True: "female", False: "male"})
    return frame.assign(bad=_flag(frame["class"] == "2"), sex=sex)[
        [*_GERMAN, "bad", "sex"]
    ]


def _adult(files: Sequence[bytes]) -> pd.DataFrame:
    frame = _table(files[0])
    frame.columns = frame.columns.str.replace("-", "_")
    # The second part of the file writes a full stop after the income.
    income = frame["income"].str.removesuffix(".")
    return frame.assign(income=_flag(income == ">50K"))


def _taiwan(files: Sequence[bytes]) -> pd.DataFrame:
    names = {f"X{n}": name for n, name in enumerate(_TAIWAN, start=1)}
    frame = _table(files[0]).rename(columns={**names, "Y": "default_next_month"})
    return frame[["ID", *_TAIWAN, "default_next_month"]]


def _diabetes(files: Sequence[bytes]) -> pd.DataFrame:
    frame = _table(files[0])
    # A test that was not made is a result of its own in the published table.
    tests = {
        name: frame[name].fillna("None") for name in ("max_glu_serum", "A1Cresult")
    }
    return frame.assign(**tests, readmit30=_flag(frame["readmitted"] == "<30"))


def _heart(files: Sequence[bytes]) -> pd.DataFrame:
    parts = []
    for site, body in zip(_HOSPITALS, files, strict=True):
        frame = _table(body, _HEART)
        parts.append(frame.mask(frame.isin(["-9", "-9.0"])).assign(site=site))
    every = pd.concat(parts, ignore_index=True)
    return every.assign(target=_flag(pd.to_numeric(every["num"]) > 0))


SHAPES: Mapping[str, ArchiveReader] = {
    "adult": _adult,
    "diabetes130": _diabetes,
    "german_credit": _german,
    "heart_uci4": _heart,
    "support2": lambda files: _table(files[0]),
    "taiwan_default": _taiwan,
}
