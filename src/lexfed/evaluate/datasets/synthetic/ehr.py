# SPDX-License-Identifier: Apache-2.0
"""D2: visits to hospitals that do not exist, by patients who come again and again.

A frailty that grows with age decides who has which of fifteen chronic illnesses; the
illnesses decide codes, procedures, medicines and laboratory values. Some patients have
very many visits and a few are known to two hospitals, so that the unit of privacy is
the patient and not the row. A hospital's patients are made alone, with all their
visits.

The table has one row for each visit. Codes, procedures and medicines become counts: of
the codes of an illness, of ten neighbouring procedures, of twenty neighbouring
medicines. Stems of ICD-10 are real, so that a policy can be stricter about F (mental
health), B20 (HIV), F10 (substance use) and O (pregnancy). Laboratory values have real
units.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lexfed.arrays import Bools, Floats, Integers
from lexfed.evaluate.datasets.cleaning import age_band
from lexfed.evaluate.datasets.declarations import TableDeclaration
from lexfed.evaluate.datasets.synthetic.ingredients import (
    FLAG,
    ColumnKeys,
    between,
    declare,
    number,
    one_of,
    parameters,
    shared_stream,
    shares_to_sizes,
    sigmoid,
    site_stream,
    standard,
)

NAME = "ehr_like"
ROWS = int(parameters()[NAME]["rows"])
_YEAR = 365
DRIFTING_HOSPITAL = 2
_PROCEDURES, _MEDICATIONS = 10, 20  # codes in a group

STEMS: Mapping[str, str] = {
    "diabetes": "E11", "hypertension": "I10", "heart_failure": "I50", "copd": "J44",
    "kidney": "N18", "breast_cancer": "C50", "depression": "F32", "hiv": "B20",
    "alcohol": "F10", "pregnancy": "O80", "arthrosis": "M17", "anaemia": "D50",
    "thyroid": "E03", "stroke": "I63", "asthma": "J45",
}  # fmt: skip
WINTER = ("copd", "asthma")
RACES = ("white", "black", "asian", "hispanic", "other")
INSURANCES = ("public", "private", "self-paid", "none")
POSTCODES = tuple(f"{number:03d}" for number in range(10, 30))
FIRST_NAMES = (
    "Ada", "Bela", "Cora", "Dario", "Edda", "Finn", "Gita", "Hugo", "Ines", "Jonas",
)  # fmt: skip
LAST_NAMES = (
    "Ahorn", "Birke", "Ceder", "Dorn", "Eiche", "Farn", "Ginster", "Holm", "Iris",
    "Jasmin",
)  # fmt: skip


class Lab(NamedTuple):
    """A laboratory value: usual value, one deviation, possible range, its curve.

    A `skewed` value is the usual one times the exponential of deviations.
    """

    usual: float
    step: float
    range: tuple[float, float]
    skewed: bool = False


LABS: Mapping[str, Lab] = {
    "hba1c": Lab(5.7, 0.9, (3, 18)),                  # per cent
    "creatinine": Lab(0.95, 0.35, (0.1, 20), True),   # mg/dl
    "sodium": Lab(139, 3.2, (100, 180)),              # mmol/l
    "potassium": Lab(4.2, 0.45, (1.5, 9)),
    "haemoglobin": Lab(13.2, 1.7, (3, 22)),           # g/dl
    "white_cells": Lab(7.8, 0.4, (0.1, 100), True),   # 10^9/l
    "crp": Lab(8, 1.1, (0.1, 500), True),             # mg/l
    "glucose": Lab(108, 0.25, (20, 1000), True),      # mg/dl
    "urea": Lab(17, 0.4, (1, 250), True),
    "alt": Lab(26, 0.5, (2, 3000), True),             # U/l
    "ast": Lab(27, 0.45, (2, 3000), True),
    "alkaline_phosphatase": Lab(78, 0.35, (10, 1500), True),
    "bilirubin": Lab(0.6, 0.5, (0.1, 50), True),
    "albumin": Lab(3.9, 0.5, (0.5, 6)),
    "calcium": Lab(9.3, 0.6, (4, 17)),
    "magnesium": Lab(2.0, 0.25, (0.5, 6)),
    "phosphate": Lab(3.5, 0.7, (0.5, 12)),
    "chloride": Lab(103, 3.6, (70, 140)),
    "bicarbonate": Lab(25, 3.0, (5, 50)),
    "platelets": Lab(245, 0.3, (5, 1500), True),
    "mcv": Lab(90, 5.5, (55, 130)),
    "rdw": Lab(13.8, 1.5, (10, 35)),
    "neutrophils": Lab(5.0, 0.45, (0.1, 80), True),
    "lymphocytes": Lab(1.8, 0.4, (0.05, 50), True),
    "eosinophils": Lab(0.18, 0.6, (0.01, 10), True),
    "inr": Lab(1.1, 0.18, (0.5, 15), True),
    "aptt": Lab(30, 0.15, (15, 200), True),
    "fibrinogen": Lab(3.3, 0.7, (0.3, 12)),
    "ldl": Lab(112, 33, (10, 400)),
    "hdl": Lab(52, 14, (5, 150)),
    "triglycerides": Lab(130, 0.5, (20, 3000), True),
    "cholesterol": Lab(188, 38, (50, 600)),
    "tsh": Lab(1.8, 0.6, (0.01, 100), True),
    "free_t4": Lab(1.2, 0.22, (0.1, 6)),
    "ferritin": Lab(110, 0.8, (2, 5000), True),
    "iron": Lab(85, 32, (5, 350)),
    "vitamin_b12": Lab(420, 0.4, (50, 3000), True),
    "folate": Lab(10, 0.4, (1, 60), True),
    "bnp": Lab(70, 1.0, (2, 30000), True),
    "troponin": Lab(9, 0.9, (1, 20000), True),
}  # fmt: skip


@dataclass(frozen=True)
class HospitalParameters:
    """Parameters that all hospitals share, by illness, code or hospital.

    Attributes:
        share: of each hospital in all patients.
        intercept: log-odds of each illness at frailty 0, with its slope in frailty.
        code_base: rate of each diagnosis code without its illness.
        code_given: rate that its illness adds; codes are in the order of illnesses.
        procedures: distribution over procedures for each illness; the last row is for
            visits that no illness explains.
        lab_shift: shift of a laboratory value by its illness.
        lab_hospital: calibration of each laboratory, [hospitals, labs].
    """

    share: Floats
    intercept: Floats
    slope: Floats
    code_base: Floats
    code_given: Floats
    procedures: Floats
    medications: Floats
    lab_shift: Floats
    lab_hospital: Floats
    readmission: Floats
    death: Floats
    hospital: Floats


def hospital_parameters(seed: int) -> HospitalParameters:
    """Return the parameters that all hospitals share under a seed."""
    rng, p = shared_stream(seed), parameters()[NAME]
    ill, codes, labs = p["phenotype"], p["codes"], p["labs"]
    base, count, sites = codes["base"], ill["count"], p["sites"]

    def mixtures(of: int) -> Floats:
        return rng.dirichlet(np.full(of, 0.15), size=count + 1)

    return HospitalParameters(
        share=rng.dirichlet(np.full(sites, p["site_concentration"])),
        intercept=rng.normal(ill["intercept"][0], ill["intercept"][1], count),
        slope=ill["on_frailty"] * between(rng, ill["slope"], count),
        code_base=rng.gamma(base["shape"], base["scale"], codes["diagnoses"]),
        code_given=between(rng, codes["given"], codes["diagnoses"]),
        procedures=mixtures(codes["procedures"]["count"]),
        medications=mixtures(codes["medications"]["count"]),
        lab_shift=between(rng, labs["shift"], labs["count"]),
        lab_hospital=rng.normal(0.0, labs["hospital"], (sites, labs["count"])),
        readmission=between(rng, p["readmission"]["phenotype"], count),
        death=between(rng, p["death"]["phenotype"], count),
        hospital=rng.normal(0.0, p["readmission"]["hospital"], sites),
    )


@dataclass(frozen=True)
class Visits:
    """All visits of the patients of one hospital, among whom a patient has a place.

    Days count from the first of January of the first year. Events are numbers of times,
    [visits, kinds]; labs are in deviations from the usual, NaN where not measured.
    """

    patient: Integers
    hospital: Integers
    day: Integers
    prior: Integers
    age: Floats
    frailty: Floats
    ill: Bools
    codes: Bools
    procedures: NDArray[np.uint8]
    medications: NDArray[np.uint8]
    labs: Floats
    readmitted: Bools
    died: Bools


def patients_of(seed: int, patients: int) -> list[int]:
    """Return the number of all patients who belong to each hospital."""
    return shares_to_sizes(patients, hospital_parameters(seed).share)


def site(seed: int, hospital: int, patients: int) -> tuple[Visits, np.random.Generator]:
    """Return a hospital's visits, and its stream, which names and places go on with.

    Guarantees:
        The same arguments give the same visits, whatever other hospitals are made.
    """
    rng, common = site_stream(seed, hospital), hospital_parameters(seed)
    p = parameters()[NAME]
    ages = p["age"]
    drawn = np.round(rng.normal(ages["mean"], ages["sd"], patients))
    age = np.clip(drawn, ages["low"], ages["high"])
    frailty = rng.normal(size=patients) + p["frailty_on_age"] * standard(
        age, ages["mean"], ages["sd"]
    )
    odds = common.intercept + common.slope * frailty[:, None]
    ill = rng.random(odds.shape) < sigmoid(odds)

    often = p["visits"]
    # Pareto from 1 upwards; numpy's begins at 0.
    count = 1 + np.floor(1 + rng.pareto(often["shape"], patients)).astype(int)
    count = np.minimum(count, often["most"])
    who = np.repeat(np.arange(patients), count)
    prior = np.arange(len(who)) - np.repeat(np.cumsum(count) - count, count)
    day = rng.integers(p["years"] * _YEAR, size=len(who))
    day = day[np.lexsort((day, who))]
    where = _where(rng, hospital, prior, who, patients)

    labs, measured = _labs(rng, common, ill[who], where, frailty[who])
    back, death = p["readmission"], p["death"]
    chance = sigmoid(
        back["intercept"]
        + back["frailty"] * frailty[who]
        + back["prior"] * np.log1p(prior)
        + ill[who] @ common.readmission
        + back["lab"] * labs[:, 0]
        + common.hospital[where]
        + rng.normal(0.0, back["noise"], len(who))
    )
    fatal = death["intercept"] + death["frailty"] * frailty + ill @ common.death
    codes = p["codes"]
    visits = Visits(
        patient=who,
        hospital=where,
        day=day,
        prior=prior,
        age=age,
        frailty=frailty,
        ill=ill,
        codes=_codes(rng, common, ill[who], where, day),
        procedures=_events(rng, ill[who], common.procedures, codes["procedures"]),
        medications=_events(rng, ill[who], common.medications, codes["medications"]),
        labs=np.where(measured, labs, np.nan),
        readmitted=rng.random(len(who)) < chance,
        died=rng.random(len(who)) < sigmoid(fatal)[who],
    )
    return visits, rng


def _where(
    rng: np.random.Generator, home: int, prior: Integers, who: Integers, patients: int
) -> Integers:
    """Return the hospital of each visit; a few patients go to a second one too."""
    p = parameters()[NAME]
    moves = rng.random(patients) < p["two_hospitals"]
    other = (home + rng.integers(1, p["sites"], patients)) % p["sites"]
    # The second visit is elsewhere for sure, later ones half of the time.
    away = (prior == 1) | ((prior > 1) & (rng.random(len(who)) < 0.5))
    return np.where(moves[who] & away, other[who], home)


def _labs(
    rng: np.random.Generator,
    common: HospitalParameters,
    ill: Bools,
    where: Integers,
    frailty: Floats,
) -> tuple[Floats, Bools]:
    p = parameters()[NAME]["labs"]
    of_illness = np.arange(p["count"]) % ill.shape[1]
    values = rng.normal(0.0, p["noise"], (len(ill), p["count"]))
    values += common.lab_shift * ill[:, of_illness] + common.lab_hospital[where]
    gaps = p["missing"]
    rate = np.clip(
        gaps["base"] + gaps["on_frailty"] * frailty, gaps["low"], gaps["high"]
    )
    return values, rng.random(values.shape) >= rate[:, None]


def _codes(
    rng: np.random.Generator,
    common: HospitalParameters,
    ill: Bools,
    where: Integers,
    day: Integers,
) -> Bools:
    p = parameters()[NAME]
    total, kinds = p["codes"]["diagnoses"], p["phenotype"]["count"]
    each = total // kinds
    of_illness = np.repeat(np.arange(kinds), each)
    rate = common.code_base + common.code_given * ill[:, of_illness]
    winter = 1.0 + 0.8 * np.cos(2 * np.pi * day / _YEAR)
    lungs = np.isin(of_illness, [list(STEMS).index(name) for name in WINTER])
    rate[:, lungs] *= winter[:, None]
    written = rng.random(rate.shape) < 1.0 - np.exp(-rate)
    # One hospital changes its code set: the same illnesses, under other codes.
    late = day >= (p["codes"]["drift_year"] - 1) * _YEAR
    drifted = late & (where == DRIFTING_HOSPITAL)
    blocks = written[drifted].reshape(-1, kinds, each)
    written[drifted] = np.roll(blocks, each // 2, axis=2).reshape(-1, total)
    return np.asarray(written)


def _events(
    rng: np.random.Generator, ill: Bools, mixtures: Floats, p: Mapping[str, float]
) -> NDArray[np.uint8]:
    """Return counts of events, each drawn for one illness of the patient, or none."""
    visits = np.repeat(np.arange(len(ill)), rng.poisson(p["per_visit"], len(ill)))
    causes = np.column_stack([ill, np.ones(len(ill), dtype=bool)])[visits]
    cause = np.argmax(causes * rng.random(causes.shape), axis=1)
    steps = np.cumsum(mixtures, axis=1)[cause]
    event = (rng.random(len(visits))[:, None] > steps[:, :-1]).sum(axis=1)
    counts = np.zeros((len(ill), mixtures.shape[1]), dtype=np.uint8)
    np.add.at(counts, (visits, event), 1)
    return counts


def facts(rows: int) -> TableDeclaration:
    """Return the public facts about so many visits, approximately."""
    p = parameters()[NAME]
    codes, often = p["codes"], p["visits"]
    personal: dict[str, ColumnKeys] = {
        "age": number(18, 95),
        "sex": one_of("female", "male"),
        "insurance": one_of(*INSURANCES),
        "postcode": one_of(*POSTCODES),
        "prior_visits": number(0, often["most"]),
    }
    special: dict[str, ColumnKeys] = {"race": one_of(*RACES)}
    each = codes["diagnoses"] // len(STEMS)
    special |= {f"codes_{name}": number(0, each) for name in STEMS}
    groups = codes["procedures"]["count"] // _PROCEDURES
    special |= {f"procedures_{n:02d}": number(0, 8) for n in range(groups)}
    groups = codes["medications"]["count"] // _MEDICATIONS
    special |= {f"medicines_{n:02d}": number(0, 12) for n in range(groups)}
    for name, lab in LABS.items():
        special[name] = {"kind": "number", "range": list(lab.range)}
    special["readmit30"] = FLAG
    keys = {key: {"kind": "text"} for key in ("name", "mrn", "national_id")}
    return declare(
        NAME,
        rows,
        {"personal": personal, "special": special, "identifier": keys},
        title="Shaped like hospital records: is a patient back within 30 days?",
        licence="made by lexfed, nobody in it exists",
        target="readmit30",
        sites={"column": "hospital"},
        groups={"sex": "sex", "age": "age_band", "ethnicity": "race"},
        person="patient_id",
        persons=_patients(rows),
        records_per_person=often["used"],
        # Some patients are known to two hospitals, and each clips by itself.
        sites_per_person=2,
        extra=("day", "died"),
    )


def _patients(rows: int) -> int:
    p = parameters()[NAME]
    return max(int(p["sites"]), round(int(p["persons"]) * rows / int(p["rows"])))


def frames(seed: int, rows: int) -> Iterator[pd.DataFrame]:
    """Yield the patients of one hospital after the other, with all their visits."""
    first = 0
    for hospital, size in enumerate(patients_of(seed, _patients(rows))):
        yield _frame(seed, hospital, size, first)
        first += size


def _frame(seed: int, hospital: int, size: int, first: int) -> pd.DataFrame:
    visits, rng = site(seed, hospital, size)
    who = visits.patient
    places = first + np.arange(size)
    patient: dict[str, NDArray[Any]] = {
        "patient_id": np.array([f"P{n:06d}" for n in places]),
        "name": np.char.add(
            np.char.add(rng.choice(FIRST_NAMES, size), " "),
            rng.choice(LAST_NAMES, size),
        ),
        "mrn": np.array([f"MRN-{hospital + 1:02d}-{n:06d}" for n in places]),
        "national_id": np.array(
            [f"{n:03d}-{rng.integers(100):02d}-{n % 10_000:04d}" for n in places % 1000]
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
    values: dict[str, Floats] = {}
    for place, (name, lab) in enumerate(LABS.items()):
        away = lab.step * labs[:, place]
        value = lab.usual * np.exp(away) if lab.skewed else lab.usual + away
        low, high = lab.range
        values[name] = np.asarray(np.round(np.clip(value, low, high), 3))
    return values
