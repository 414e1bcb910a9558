# SPDX-License-Identifier: Apache-2.0
"""Rules for reading a public table: codes, hidden gaps, sites, age bands.

Each rule is one that its documentation states, and knows a row by itself; only the
stays of one patient know each other. So no row's form depends on another person.
Diagnoses and specialties of American hospitals come in few groups; those of diagnoses
are from table 2 of Strack et al. 2014, the paper that published the data.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

AGE_BANDS = ("under 40", "40 to 64", "65 and over")
CleaningRule = Callable[[pd.DataFrame], pd.DataFrame]

# First and last three-digit code of ICD-9-CM.
_CHAPTERS: Sequence[tuple[str, int, int]] = (
    ("circulatory", 390, 459),
    ("circulatory", 785, 785),
    ("respiratory", 460, 519),
    ("respiratory", 786, 786),
    ("digestive", 520, 579),
    ("digestive", 787, 787),
    ("diabetes", 250, 250),
    ("injury", 800, 999),
    ("musculoskeletal", 710, 739),
    ("genitourinary", 580, 629),
    ("genitourinary", 788, 788),
    ("neoplasms", 140, 239),
)

# Beginnings of the names of specialties; the first that fits decides.
_DEPARTMENTS: Sequence[tuple[str, tuple[str, ...]]] = (
    ("women and children", ("Pediatric", "Obst", "Gynecology", "Perinatology")),
    ("surgery", ("Surg", "Orthopedics", "Urology", "Podiatry", "Otolaryngology")),
    ("cardiology", ("Cardiology",)),
    ("emergency", ("Emergency",)),
    ("family", ("Family",)),
    ("internal", ("InternalMedicine", "Hospitalist")),
    ("nephrology", ("Nephrology",)),
    ("psychiatry and neurology", ("Psych", "Neuro")),
    ("unstated", ("PhysicianNotFound",)),
)


def clean(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of texts with its codes as documented, and derived columns."""
    return _RULES[name](frame)


def age_band(years: pd.Series) -> pd.Series:
    """Return the band of an age: the bands of working life, the same for all sets."""
    bands = pd.cut(pd.to_numeric(years), [-1, 40, 65, 200], right=False)
    return bands.cat.rename_categories(list(AGE_BANDS)).astype(object)


def diagnosis_group(code: object) -> object:
    """Return the group of an ICD-9-CM code; anything but a code stays as it is."""
    if not isinstance(code, str):
        return code
    whole = code.split(".")[0]
    if not whole.isdigit():
        return "other"
    number = int(whole)
    fits = (name for name, first, last in _CHAPTERS if first <= number <= last)
    return next(fits, "other")


def department(specialty: str) -> str:
    """Return the department of a specialty; nothing stated is a group of its own."""
    if not specialty:
        return "unstated"
    fits = (name for name, words in _DEPARTMENTS if specialty.startswith(words))
    return next(fits, "other")


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
    """Return a person's first place: persons have one site, whose budget they use."""
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
