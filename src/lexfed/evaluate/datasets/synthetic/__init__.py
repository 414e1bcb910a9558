# SPDX-License-Identifier: Apache-2.0
"""Tables that are made from a seed: three shaped like real ones, and a suite.

`adni.py`, `ehr.py` and `iot.py` make the numbers of one site, state the public facts
about the table and write rows. Parameters are in `parameters.toml`; its text is part of
the digest of a table. `suite` has tables that differ in one known factor each; their
factors and names are part of their digests. A changed order of draws gives other rows
under the same name and seed.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pandas as pd

from lexfed.evaluate.datasets.declarations import TableDeclaration
from lexfed.evaluate.datasets.synthetic import adni, ehr, iot, suite
from lexfed.evaluate.datasets.synthetic.ingredients import parameters_text
from lexfed.evaluate.datasets.synthetic.suite.columns import names_text


@dataclass(frozen=True)
class Maker:
    """The maker of a synthetic table: facts by size, frames by seed and size."""

    rows: int
    facts: Callable[[int], TableDeclaration]
    frames: Callable[[int, int], Iterator[pd.DataFrame]]


MAKERS: Mapping[str, Maker] = {
    "adni_like": Maker(adni.ROWS, adni.facts, adni.frames),
    "ehr_like": Maker(ehr.ROWS, ehr.facts, ehr.frames),
    "iot_like": Maker(iot.ROWS, iot.facts, iot.frames),
}


def _one_frame(factors: suite.Factors, seed: int, rows: int) -> Iterator[pd.DataFrame]:
    yield suite.frame(factors, seed, rows)


SUITE: Mapping[str, Maker] = {
    name: Maker(
        factors.all_rows,
        partial(suite.facts, name, factors),
        partial(_one_frame, factors),
    )
    for name, factors in suite.TABLES.items()
}


def digest(name: str, rows: int, seed: int) -> str:
    """Return a SHA-256 of name, size, seed and parameters of a synthetic table."""
    stated = parameters_text()
    if name in SUITE:
        stated = f"{suite.TABLES[name]}\n{names_text()}"
    text = f"{name}\n{rows}\n{seed}\n{stated}"
    return hashlib.sha256(text.encode()).hexdigest()
