# SPDX-License-Identifier: Apache-2.0
"""What has to be known to read a public table: codes, hidden gaps, sites, age bands.

Each rule is one that its documentation states, and knows a row by itself; only the
stays of one patient know each other. So no row's form depends on another person.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from lexfed.evaluate.datasets.public.hospital_codes import department, diagnosis_group

AGE_BANDS = ("under 40", "40 to 64", "65 and over")
CleaningRule = Callable[[pd.DataFrame], pd.DataFrame]


def clean(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its codes as documented, and its derived columns.

    Args:
        name: of the data set.
        frame: its rows as text, gaps as missing.
    """
    return _RULES[name](frame)


def age_band(years: pd.Series) -> pd.Series:
    """Return the band of an age: the bands of working life, the same for all sets."""
    bands = pd.cut(pd.to_numeric(years), [-1, 40, 65, 200], right=False)
    return bands.cat.rename_categories(list(AGE_BANDS)).astype(object)


def _heart(frame: pd.DataFrame) -> pd.DataFrame:
    codes = ("sex", "cp", "fbs", "restecg", "exang", "slope", "ca", "thal")
    chol = frame["chol"]
    return frame.assign(
        # Codes are written as 3.0.
        **{code: frame[code].str.removesuffix(".0") for code in codes},
        # Two of the hospitals wrote a cholesterol that was not measured as zero.
        chol=chol.mask(pd.to_numeric(chol) == 0),
        age_band=age_band(frame["age"]),
    )


# The lender's desk a loan for this purpose would be at.
_DESKS: Mapping[str, str] = {
    "A40": "cars", "A41": "cars",
    "A42": "household", "A43": "household", "A44": "household", "A45": "household",
    "A46": "business", "A47": "household", "A48": "business", "A49": "business",
    "A410": "business",
}  # fmt: skip


def _german(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(
        site=frame["purpose"].map(_DESKS), age_band=age_band(frame["age"])
    )


def _adult(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(age_band=age_band(frame["age"]))


_BANKS = 5
_LIMITS = (50_000, 100_000, 200_000, 300_000)


def _taiwan(frame: pd.DataFrame) -> pd.DataFrame:
    # Each band of limits is spread over the banks by its own Dirichlet(0.5) shares, so
    # banks differ in their clients and no bank tells a client's band. The seed is part
    # of the declaration.
    draws = np.random.default_rng(2005)
    shares = draws.dirichlet(np.full(_BANKS, 0.5), size=len(_LIMITS) + 1)
    band = np.searchsorted(_LIMITS, pd.to_numeric(frame["LIMIT_BAL"]))
    steps = np.cumsum(shares, axis=1)[band, :-1]
    bank = (draws.random(len(frame))[:, None] > steps).sum(axis=1)
    return frame.assign(
        site=[f"bank-{number + 1}" for number in bank], age_band=age_band(frame["AGE"])
    )


def _eicu(frame: pd.DataFrame) -> pd.DataFrame:
    # The cap on stays keeps the first ones of a patient.
    visit = pd.to_numeric(frame["unitvisitnumber"])
    first_to_last = frame.iloc[np.argsort(visit, kind="stable")]
    region = first_to_last["region"].fillna("unstated")
    age = first_to_last["age"].str.replace("> 89", "90", regex=False)
    return first_to_last.assign(
        age=age,
        age_band=age_band(age),
        site=_of_first_stay(region, first_to_last["uniquepid"]),
    )


def _of_first_stay(place: pd.Series, person: pd.Series) -> pd.Series:
    """Return where a person was first: persons have one site, whose budget they use."""
    return place.groupby(person).transform("first")


def _support(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(site=frame["dzgroup"], age_band=age_band(frame["age"]))


def _diabetes(frame: pd.DataFrame) -> pd.DataFrame:
    order = np.argsort(pd.to_numeric(frame["encounter_id"]), kind="stable")
    first_to_last = frame.iloc[order]
    specialty = first_to_last["medical_specialty"].fillna("").map(department)
    codes = ("diag_1", "diag_2", "diag_3")
    decade = first_to_last["age"].str.extract(r"\[(\d+)-", expand=False)
    return first_to_last.assign(
        **{code: first_to_last[code].map(diagnosis_group) for code in codes},
        medical_specialty=specialty,
        site=_of_first_stay(specialty, first_to_last["patient_nbr"]),
        age_band=age_band(pd.to_numeric(decade) + 5),
    )


_TWO_DAYS = 2 * 24 * 3600
_WINDOWS = 5


def _fraud(frame: pd.DataFrame) -> pd.DataFrame:
    window = pd.to_numeric(frame["Time"]) * _WINDOWS // _TWO_DAYS
    return frame.assign(site=[f"window-{int(number) + 1}" for number in window])


# Two counties are islands with a few people each.
_CAPE = ("Barnstable County", "Dukes County", "Nantucket County")


def _synthea(frame: pd.DataFrame) -> pd.DataFrame:
    county = frame["COUNTY"]
    site = county.mask(county.isin(_CAPE), "Cape and Islands")
    return frame.assign(site=site, age_band=age_band(frame["age"]))


_RULES: Mapping[str, CleaningRule] = {
    "adult": _adult,
    "creditcard_fraud_sample": _fraud,
    "diabetes130": _diabetes,
    "eicu_demo": _eicu,
    "german_credit": _german,
    "heart_uci4": _heart,
    "support2": _support,
    "synthea": _synthea,
    "taiwan_default": _taiwan,
}
