# SPDX-License-Identifier: Apache-2.0
"""What has to be known to read a public table: codes, hidden gaps, sites, age bands.

Each rule is one that its documentation states. None looks at more than one row, but
for the order of one patient's stays, so that no row's form depends on another person.
"""

from collections.abc import Callable, Mapping

import pandas as pd

AGE_BANDS = ("under 40", "40 to 64", "65 and over")
Clean = Callable[[pd.DataFrame], pd.DataFrame]


def clean(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its codes as documented, and its derived columns.

    Args:
        name: of the data set.
        frame: its rows as text, gaps as missing.
    """
    rule = _RULES.get(name)
    return frame if rule is None else rule(frame)


def age_band(years: pd.Series) -> pd.Series:
    """Return the band of an age: the bands of working life, the same for all sets."""
    number = pd.to_numeric(years)
    bands = pd.cut(number, [-1, 39, 64, 200], labels=list(AGE_BANDS))
    return bands.astype(object)


def _whole(values: pd.Series) -> pd.Series:
    """Return codes that were written as 3.0 as 3."""
    return values.str.removesuffix(".0")


def _heart(frame: pd.DataFrame) -> pd.DataFrame:
    codes = ("sex", "cp", "fbs", "restecg", "exang", "slope", "ca", "thal")
    chol = frame["chol"]
    return frame.assign(
        **{code: _whole(frame[code]) for code in codes},
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


_RULES: Mapping[str, Clean] = {"heart_uci4": _heart, "german_credit": _german}
