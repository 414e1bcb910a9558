# SPDX-License-Identifier: Apache-2.0
"""A digest of rows, to compare a copy of a public table with the declared one.

Archives write the same rows in another order, `3.0` for `3`, and compress them anew, so
that the checksum of the file differs. This one does not: it is over the declared
columns, every number to seven digits, the rows sorted.
"""

import hashlib
from collections.abc import Mapping

import pandas as pd

from lexfed.evaluate.datasets.public.declarations import TableDeclaration

PUBLISHED: Mapping[str, str] = {
    "adult": "de8d0b4df0a531f76cb6089801b0b6d2f70db22905a271bd4a4e5356dd759dc9",
    "diabetes130": "5dd1896ff9f33b87e642c43a9b2491b7ee24a0f50b7347d215f444a6ee10c88d",
    "german_credit": "72e90a384895cc39db553c6328b7f972e467bdbc77c813bf319e6dbedf00baa1",
    "heart_uci4": "776764e8d8c5f7f2f85972c6f0929883b3e32c67cd719e361dd96ee8df564242",
    "support2": "12032083064282f51bd1bd38f2647ed68f6fbe6c2aa637bf7eeac5ea0695c460",
    "taiwan_default": "b42230bb9fc6257075e1ae7854871b75b519dfede93b75b83f6319df0ac28fed",  # noqa: E501
}
"""Digests of the rows of the files whose checksums are kept."""


def rows_digest(facts: TableDeclaration, frame: pd.DataFrame) -> str:
    """Return the SHA-256 of the rows in a form that all copies share.

    Guarantees:
        The order of rows and columns, and how a number is written (`3.0`, `3`, `007`
        and `7`), do not matter, nor do columns that identify somebody, which archives
        number anew. Any other value of a declared column does, with two exceptions:
        numbers that agree in their first seven digits are one, and so are a gap and an
        empty text.

    `frame` has the rows as text before cleaning, gaps as missing.
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
