# SPDX-License-Identifier: Apache-2.0
"""The table of D2: one row for each visit, codes counted by illness and group.

Three hundred codes, 120 procedures and 200 medicines become counts: of the codes of an
illness, of ten neighbouring procedures, of twenty neighbouring medicines. `ehr.py` has
them one by one.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lexfed.arrays import Floats, Integers
from lexfed.evaluate.datasets.public.cleaning import age_band
from lexfed.evaluate.datasets.public.declarations import TableDeclaration
from lexfed.evaluate.datasets.synthetic import ehr
from lexfed.evaluate.datasets.synthetic.ehr_vocabulary import (
    FIRST_NAMES,
    INSURANCES,
    LABS,
    LAST_NAMES,
    POSTCODES,
    RACES,
    STEMS,
)
from lexfed.evaluate.datasets.synthetic.random_streams import parameters

ROWS = int(parameters()[ehr.NAME]["rows"])
_PROCEDURES, _MEDICATIONS = 10, 20  # codes in a group


def facts(rows: int) -> TableDeclaration:
    """Return the public facts about so many visits, approximately."""
    p = parameters()[ehr.NAME]
    codes, often = p["codes"], p["visits"]
    personal: dict[str, Mapping[str, Any]] = {
        "age": _whole(18, 95),
        "sex": _one_of("female", "male"),
        "insurance": _one_of(*INSURANCES),
        "postcode": _one_of(*POSTCODES),
        "prior_visits": _whole(0, often["most"]),
    }
    special: dict[str, Mapping[str, Any]] = {"race": _one_of(*RACES)}
    each = codes["diagnoses"] // len(STEMS)
    special |= {f"codes_{name}": _whole(0, each) for name in STEMS}
    groups = codes["procedures"]["count"] // _PROCEDURES
    special |= {f"procedures_{n:02d}": _whole(0, 8) for n in range(groups)}
    groups = codes["medications"]["count"] // _MEDICATIONS
    special |= {f"medicines_{n:02d}": _whole(0, 12) for n in range(groups)}
    for name, lab in LABS.items():
        special[name] = {"kind": "number", "range": list(lab.range)}
    special["readmit30"] = {"kind": "flag", "missing": False}
    keys = {key: {"kind": "text"} for key in ("name", "mrn", "national_id")}
    return TableDeclaration(
        name=ehr.NAME,
        title="Shaped like hospital records: is a patient back within 30 days?",
        licence="made by lexfed, nobody in it exists",
        reason="parameters",
        file="",
        rows=rows,
        target="readmit30",
        sites={"column": "hospital"},
        sha256={},
        columns=personal | special | keys,
        tiers=dict.fromkeys(personal, "personal")
        | dict.fromkeys(special, "special")
        | dict.fromkeys(keys, "identifier"),
        departures={},
        groups={"sex": "sex", "age": "age_band", "ethnicity": "race"},
        person="patient_id",
        persons=_patients(rows),
        records_per_person=often["used"],
        # Some patients are known to two hospitals, and each clips by itself.
        sites_per_person=2,
        extra=("day", "died"),
    )


def _whole(low: float, high: float) -> Mapping[str, Any]:
    return {"kind": "number", "range": [low, high], "missing": False}


def _one_of(*values: str) -> Mapping[str, Any]:
    return {"kind": "category", "values": list(values), "missing": False}


def _patients(rows: int) -> int:
    p = parameters()[ehr.NAME]
    return max(int(p["sites"]), round(int(p["persons"]) * rows / int(p["rows"])))


def frames(seed: int, rows: int) -> Iterator[pd.DataFrame]:
    """Yield the patients of one hospital after the other, with all their visits."""
    first = 0
    for hospital, size in enumerate(ehr.patients_of(seed, _patients(rows))):
        yield _frame(seed, hospital, size, first)
        first += size


def _frame(seed: int, hospital: int, size: int, first: int) -> pd.DataFrame:
    visits, rng = ehr.site(seed, hospital, size)
    who = visits.patient
    number = first + np.arange(size)
    patient: dict[str, NDArray[Any]] = {
        "patient_id": np.array([f"P{n:06d}" for n in number]),
        "name": np.char.add(
            np.char.add(rng.choice(FIRST_NAMES, size), " "),
            rng.choice(LAST_NAMES, size),
        ),
        "mrn": np.array([f"MRN-{hospital + 1:02d}-{n:06d}" for n in number]),
        "national_id": np.array(
            [f"{n:03d}-{rng.integers(100):02d}-{n % 10_000:04d}" for n in number % 1000]
        ),
        "age": visits.age,
        "age_band": age_band(pd.Series(visits.age)).to_numpy(),
        "sex": rng.choice(("female", "male"), size),
        "race": rng.choice(RACES, size, p=(0.66, 0.14, 0.06, 0.11, 0.03)),
        "insurance": rng.choice(INSURANCES, size, p=(0.55, 0.33, 0.05, 0.07)),
        "postcode": rng.choice(POSTCODES, size),
    }
    columns = {name: values[who] for name, values in patient.items()}
    columns["hospital"] = np.array(
        [f"hospital-{place + 1:02d}" for place in visits.hospital]
    )
    columns |= {"day": visits.day, "prior_visits": visits.prior}
    for name, block in (
        ("codes", _counted(visits.codes, visits.codes.shape[1] // len(STEMS))),
        ("procedures", _counted(visits.procedures, _PROCEDURES)),
        ("medicines", _counted(visits.medications, _MEDICATIONS)),
    ):
        ends = STEMS if name == "codes" else [f"{n:02d}" for n in range(block.shape[1])]
        columns |= {f"{name}_{end}": block[:, n] for n, end in enumerate(ends)}
    columns |= _in_units(visits.labs)
    columns["readmit30"] = visits.readmitted.astype(int)
    columns["died"] = visits.died.astype(int)
    return pd.DataFrame(columns)


def _counted(events: NDArray[Any], group: int) -> Integers:
    """Return each visit's number of events in each group of neighbouring codes."""
    split = events.reshape(len(events), -1, group)
    return np.asarray(split.sum(axis=2, dtype=np.int64))


def _in_units(labs: Floats) -> dict[str, Floats]:
    found: dict[str, Floats] = {}
    for place, (name, lab) in enumerate(LABS.items()):
        away = lab.step * labs[:, place]
        value = lab.usual * np.exp(away) if lab.skewed else lab.usual + away
        low, high = lab.range
        found[name] = np.asarray(np.round(np.clip(value, low, high), 3))
    return found
