# SPDX-License-Identifier: Apache-2.0
"""The table of D1: the declaration of its 847 columns, and its rows."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from lexfed.evaluate.datasets.public.cleaning import age_band
from lexfed.evaluate.datasets.public.declarations import TableDeclaration
from lexfed.evaluate.datasets.synthetic import adni
from lexfed.evaluate.datasets.synthetic.random_streams import parameters

ROWS = int(parameters()[adni.NAME]["rows"])


def facts(rows: int) -> TableDeclaration:
    """Return the public facts about so many people."""
    p = parameters()[adni.NAME]
    personal: dict[str, Mapping[str, Any]] = {
        "age": _number(50, 100),
        "sex": _category("female", "male"),
        "education": _number(0, 25),
        "marital": _category(*adni.MARITAL),
        "handedness": _category("left", "right"),
    }
    special: dict[str, Mapping[str, Any]] = {
        "race": _category(*adni.RACES),
        "bmi": _number(12, 60),
        "systolic": _number(70, 240),
        "diastolic": _number(40, 140),
        "smoking": _category(*adni.SMOKING),
    }
    flags, snps = p["demographic"]["flags"], p["snp"]["count"]
    special |= {f"comorbidity_{n:03d}": _FLAG for n in range(flags)}
    special["apoe4"] = _with_gaps(0, 2)
    special |= {f"snp_{n:03d}": _with_gaps(0, 2) for n in range(1, snps)}
    special |= {f"test_{n:03d}": _test(n) for n in range(p["cognitive"]["count"])}
    images = p["imaging"]
    for place in range(images["count"] - images["pet"]):
        usual = float(adni.usual_volume(place))
        special[f"volume_{place:03d}"] = _number(0.4 * usual, 1.6 * usual)
    special |= {f"suvr_{n:03d}": _with_gaps(0.4, 3.5) for n in range(images["pet"])}
    special["ad"] = _FLAG
    return TableDeclaration(
        name=adni.NAME,
        title="Shaped like ADNI: has an invented person Alzheimer's disease?",
        licence="made by lexfed, nobody in it exists",
        reason="parameters",
        file="",
        rows=rows,
        target="ad",
        sites={"column": "site"},
        sha256={},
        columns=personal | special,
        tiers=dict.fromkeys(personal, "personal") | dict.fromkeys(special, "special"),
        departures={},
        groups={"sex": "sex", "age": "age_band", "ethnicity": "race"},
        extra=("diagnosis",),
    )


_FLAG: Mapping[str, Any] = {"kind": "flag", "missing": False}


def _number(low: float, high: float) -> Mapping[str, Any]:
    return {"kind": "number", "range": [low, high], "missing": False}


def _with_gaps(low: float, high: float) -> Mapping[str, Any]:
    return {"kind": "number", "range": [low, high]}


def _category(*values: str) -> Mapping[str, Any]:
    return {"kind": "category", "values": list(values), "missing": False}


def _test(place: int) -> Mapping[str, Any]:
    half = parameters()[adni.NAME]["cognitive"]["ordinal"] // 2
    if place < 2 * half:
        return _with_gaps(0, adni.ORDINAL_ENDS[place // half])
    return _with_gaps(-4, 4)


def frames(seed: int, rows: int) -> Iterator[pd.DataFrame]:
    """Yield the people of one site after the other."""
    for site, size in enumerate(adni.sizes(rows)):
        frame = pd.DataFrame(adni.one_site(seed, site, size))
        # In one step: a column at a time would copy 850 of them each time.
        bands = pd.DataFrame({"age_band": age_band(frame["age"])})
        yield pd.concat([frame, bands], axis=1)
