# SPDX-License-Identifier: Apache-2.0
"""Three tables that are made from a seed: `adni_like`, `ehr_like`, `iot_like`.

`adni.py`, `ehr.py` and `iot.py` make the numbers of one site, state the public facts
about the table and write rows. Parameters are in `parameters.toml`; its text is part of
the digest of a table. A changed order of draws gives other rows under the same name and
seed.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from lexfed.evaluate.datasets.declarations import TableDeclaration
from lexfed.evaluate.datasets.synthetic import adni, ehr, iot
from lexfed.evaluate.datasets.synthetic.ingredients import parameters_text


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


def digest(name: str, rows: int, seed: int) -> str:
    """Return a SHA-256 of name, size, seed and parameters of a synthetic table."""
    text = f"{name}\n{rows}\n{seed}\n{parameters_text()}"
    return hashlib.sha256(text.encode()).hexdigest()
