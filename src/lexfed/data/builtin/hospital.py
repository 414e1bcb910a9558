# SPDX-License-Identifier: Apache-2.0
"""Synthetic hospitals: who comes back within thirty days?

Nobody in this table exists. A latent frailty ties the columns together: it grows
with age, moves people into care homes, decides diagnoses and laboratory values, and
brings patients back. Some of what brings them back is not about them at all (a full
house, a discharge before the weekend), some is personal (age, living alone, where
one lives), and some is health data, so that every tier carries signal and the most
sensitive one carries signal that no other has. Hospitals differ in size, age of
their patients, wards, coding of missing values, and base rate.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats
from lexfed.data.builtin.declarations import (
    HIPAA_AREA,
    HIPAA_PHI,
    HIPAA_RECORD_NUMBER,
    PERSONAL_DATA,
    PSEUDONYM,
    SPECIAL_DATA,
    BuiltinSource,
    about_patient,
    builtin_source,
    category_names,
    declared,
    draw_alike,
    draw_categories,
    drawn_columns,
    health_data,
    operational,
    softmax,
    with_gaps,
)
from lexfed.data.reading.frames import frame_of_arrays
from lexfed.data.schema import Column
from lexfed.tiers import Tier

SEXES = ("female", "male", "other")
AREAS = tuple(f"area-{number:02d}" for number in range(1, 9))
INSURANCES = ("public", "private", "uninsured")
LIVING = ("with_family", "alone", "care_home")
DIAGNOSES = (
    "cardiac", "respiratory", "cancer", "diabetes", "kidney", "mental_health",
    "injury", "other",
)  # fmt: skip
MEDICATIONS = (
    "none", "anticoagulant", "insulin", "opioid", "chemotherapy", "antidepressant",
    "antibiotic",
)  # fmt: skip
ETHNICITIES = ("group-a", "group-b", "group-c", "group-d", "group-e")
WARDS = tuple(f"W{number}" for number in range(1, 7))
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
SEASONS = ("winter", "spring", "summer", "autumn")
AGE = (18.0, 105.0)
HBA1C = (3.5, 16.0)
OCCUPANCY = (50.0, 120.0)


DECLARED = (
    declared(Column("patient_id", "text", missing=False), Tier.IDENTIFIER, "pseudonym",
             "a pseudonym that links all visits of a patient",
             PERSONAL_DATA, PSEUDONYM, HIPAA_PHI),
    about_patient(Column("hospital", "text", missing=False), "location",
                  "says where the patient was treated"),
    declared(Column("mrn", "text", missing=False), Tier.IDENTIFIER, "record number",
             "the medical record number names the patient inside the hospital",
             PERSONAL_DATA, HIPAA_RECORD_NUMBER),
    about_patient(Column("age", "number", range=AGE, missing=False), "demographic",
                  "age in years narrows down who somebody is"),
    about_patient(Column("sex", "category", values=SEXES), "demographic",
                  "sex as registered, not a special category"),
    about_patient(Column("postcode_area", "category", values=AREAS), "location",
                  "a district of some tens of thousands of people, linked to a "
                  "patient", HIPAA_AREA),
    about_patient(Column("insurance", "category", values=INSURANCES), "economic",
                  "who pays says something about income, not health"),
    about_patient(Column("living", "category", values=LIVING), "social",
                  "with whom the patient lives"),
    health_data(Column("diagnosis", "category", values=DIAGNOSES),
                "the main diagnosis of the visit is data concerning health"),
    health_data(Column("medication", "category", values=MEDICATIONS),
                "the class of the main medicine reveals the illness it treats"),
    health_data(Column("hba1c", "number", range=HBA1C),
                "a laboratory value (glycated haemoglobin, percent)"),
    declared(Column("ethnicity", "category", values=ETHNICITIES), Tier.SPECIAL,
             "ethnic origin", "reveals racial or ethnic origin",
             SPECIAL_DATA, HIPAA_PHI),
    operational(Column("ward", "category", values=WARDS, missing=False),
                "a building code shared by every speciality, not about a patient"),
    operational(Column("weekday", "category", values=WEEKDAYS, missing=False),
                "the weekday of discharge follows the rota, no date is kept"),
    operational(Column("season", "category", values=SEASONS, missing=False),
                "the quarter of the year, shared by all patients of that time"),
    operational(Column("bed_occupancy", "number", range=OCCUPANCY),
                "percent of beds in use in the whole hospital that day"),
    health_data(Column("readmitted", "flag", missing=False),
                "readmission within 30 days: the label itself is health data"),
)  # fmt: skip
"""The public declaration.

Nothing here is computed from generated rows: a reader of a real register would write
down the same ranges and lists from its manual. Length of stay is left out on purpose:
it looks operational but tells how ill somebody was.
"""

RECORDS_PER_PERSON = 4

# Rows: diagnoses; columns: medications. Log-odds of a medicine given the diagnosis.
_MEDICATION_GIVEN_DIAGNOSIS = np.array(
    [
        [0.0, 1.8, -2.0, -1.0, -5.0, -1.0, -1.0],
        [0.0, -0.5, -2.0, -1.0, -5.0, -1.0, 1.8],
        [-0.5, -0.5, -2.5, 1.2, 1.8, -0.5, -0.5],
        [-0.5, -0.5, 2.0, -1.5, -5.0, -1.0, -0.5],
        [0.0, 0.5, 0.0, -0.5, -5.0, -1.0, 0.5],
        [-0.5, -2.0, -2.5, -0.5, -5.0, 2.0, -1.5],
        [0.5, -0.5, -2.5, 1.8, -5.0, -1.5, 0.5],
        [1.2, -1.0, -2.0, -1.0, -5.0, -1.0, 0.5],
    ]
)
_DIAGNOSIS_BASE = np.array([0.4, 0.2, -0.4, -0.1, -0.9, -0.5, 0.1, 0.9])
_DIAGNOSIS_BY_FRAILTY = np.array([0.6, 0.5, 0.3, 0.3, 0.8, -0.2, -0.8, -0.5])

# Effects on the odds of a return, on the log-odds scale.
_BASE = -2.9
_BY_AGE, _BY_FRAILTY, _BY_HBA1C, _BY_OCCUPANCY = 0.7, 0.35, 0.45, 0.5
_BY_UNKNOWN = 1.2  # causes that no column records
_BY_SEX = np.array([0.0, 0.15, 0.0])
_BY_LIVING = np.array([0.0, 0.9, 1.7])
_BY_INSURANCE = np.array([0.2, -0.6, 1.1])
_BY_AREA = np.array([-0.8, -0.5, -0.3, -0.1, 0.1, 0.3, 0.6, 0.9])
_BY_DIAGNOSIS = np.array([0.9, 0.7, 1.1, 0.2, 1.3, 0.6, -1.4, -1.0])
_BY_MEDICATION = np.array([-0.5, 0.2, 0.5, 0.7, 0.9, 0.2, -0.2])
_BY_ETHNICITY = np.array([0.0, 0.15, -0.1, 0.3, 0.2])
_BY_WARD = np.array([-0.5, -0.2, 0.0, 0.1, 0.4, 0.6])
_BY_WEEKDAY = np.array([-0.1, -0.2, -0.1, 0.1, 0.6, 0.3, -0.1])
_BY_SEASON = np.array([0.4, 0.0, -0.3, 0.0])


def hospital(seed: int = 7, sites: int = 8, patients: int = 6000) -> BuiltinSource:
    """Return synthetic visits of patients to hospitals.

    Guarantees:
        The same arguments give the same rows; each hospital has its own stream.
        A patient is at one hospital and has 1 to 4 visits.
    """
    names = [column.name for column, _ in DECLARED]
    columns = drawn_columns(_one_hospital, names, seed, sites, patients)
    return builtin_source(
        frame_of_arrays("synthetic:hospital", columns),
        DECLARED,
        target="readmitted",
        person="patient_id",
        site="hospital",
        records_per_person=RECORDS_PER_PERSON,
        sites=tuple(map(_name, range(sites))),
    )


def _name(site: int) -> str:
    return f"hospital-{site + 1:02d}"


def _one_hospital(
    rng: np.random.Generator, site: int, size: int, first: int
) -> dict[str, NDArray[Any]]:
    older, likelier = rng.normal(0.0, 3.0), rng.normal(0.0, 0.3)
    busier = rng.normal(0.0, 4.0)
    # Each hospital serves its own neighbourhood and people.
    area_mix = rng.dirichlet(np.full(len(AREAS), 1.5))
    ethnic_mix = rng.dirichlet(np.array([8.0, 2.0, 1.5, 1.0, 0.5]))
    ward_mix = rng.dirichlet(np.full(len(WARDS), 4.0))
    unmeasured, unsaid = rng.uniform(0.1, 0.35), rng.uniform(0.02, 0.12)

    age = np.clip(np.round(rng.normal(61.0 + older, 17.0, size)), *AGE)
    years: Floats = (age - 61.0) / 17.0
    frailty = 0.55 * years + 0.85 * rng.normal(size=size)
    sex = draw_alike(rng, [0.52, 0.47, 0.01], size)
    area = draw_alike(rng, area_mix, size)
    poor = 0.6 * _BY_AREA[area] + rng.normal(0.0, 0.6, size)
    ethnicity = draw_alike(rng, ethnic_mix, size)
    insurance = draw_categories(
        rng, softmax(np.stack([np.full(size, 1.2), -0.9 * poor, poor - 1.3], axis=1))
    )
    at_home = np.full(size, 1.2)
    alone, cared_for = 0.4 * years, 1.1 * years + 0.9 * frailty - 1.8
    living = draw_categories(
        rng, softmax(np.stack([at_home, alone, cared_for], axis=1))
    )

    visits = 1 + np.minimum(
        rng.poisson(0.75 * np.exp(0.25 * np.clip(frailty, -3, 3))),
        RECORDS_PER_PERSON - 1,
    )
    who = np.repeat(np.arange(size), visits)
    rows = len(who)
    leaning = rng.gumbel(size=(size, len(DIAGNOSES)))
    diagnosis = np.argmax(
        _DIAGNOSIS_BASE
        + frailty[who, None] * _DIAGNOSIS_BY_FRAILTY
        + leaning[who]
        # Most patients come back with the illness they had.
        + 0.5 * rng.gumbel(size=(rows, len(DIAGNOSES))),
        axis=1,
    )
    medication = draw_categories(rng, softmax(_MEDICATION_GIVEN_DIAGNOSIS[diagnosis]))
    sugar = 5.7 + 2.3 * (diagnosis == 3) + 0.9 * (medication == 2)
    hba1c = sugar + 0.25 * frailty[who] + rng.gamma(2.0, 0.45, rows)
    hba1c = np.clip(np.round(hba1c, 1), *HBA1C)
    ward = draw_alike(rng, ward_mix, rows)
    weekday = draw_alike(rng, [0.15, 0.16, 0.16, 0.16, 0.2, 0.1, 0.07], rows)
    season = draw_alike(rng, [0.3, 0.25, 0.2, 0.25], rows)
    full = np.array([6.0, 0.0, -4.0, 0.0])[season] + rng.normal(0.0, 9.0, rows)
    occupancy = np.clip(np.round(86.0 + busier + full, 1), *OCCUPANCY)

    score = (
        _BASE + likelier
        + _BY_AGE * years[who] + _BY_FRAILTY * frailty[who]
        + _BY_SEX[sex][who] + _BY_AREA[area][who] + _BY_INSURANCE[insurance][who]
        + _BY_LIVING[living][who] + _BY_ETHNICITY[ethnicity][who]
        + _BY_DIAGNOSIS[diagnosis] + _BY_MEDICATION[medication]
        + _BY_HBA1C * (hba1c - 7.0) / 1.5
        + _BY_WARD[ward] + _BY_WEEKDAY[weekday] + _BY_SEASON[season]
        + _BY_OCCUPANCY * (occupancy - 86.0) / 10.0
        + _BY_UNKNOWN * rng.normal(size=rows)
    )  # fmt: skip
    readmitted = rng.random(rows) < 1.0 / (1.0 + np.exp(-score))

    # Values are missing by habit of the hospital, and laboratory values more often
    # for the young and well.
    skipped = np.clip(unmeasured - 0.08 * frailty[who], 0.02, 0.8)
    numbers = first + np.arange(size)
    return {
        "patient_id": np.array([f"P{n:06d}" for n in numbers], dtype=object)[who],
        "hospital": np.full(rows, _name(site), dtype=object),
        "mrn": np.array([f"MRN-{site + 1:02d}-{n:06d}" for n in numbers], object)[who],
        "age": age[who],
        "sex": category_names(SEXES, sex[who]),
        "postcode_area": with_gaps(rng, category_names(AREAS, area[who]), 0.01),
        "insurance": with_gaps(rng, category_names(INSURANCES, insurance[who]), 0.03),
        "living": with_gaps(rng, category_names(LIVING, living[who]), unsaid),
        "diagnosis": category_names(DIAGNOSES, diagnosis),
        "medication": with_gaps(rng, category_names(MEDICATIONS, medication), 0.02),
        "hba1c": np.where(rng.random(rows) < skipped, np.nan, hba1c),
        "ethnicity": with_gaps(
            rng, category_names(ETHNICITIES, ethnicity[who]), unsaid
        ),
        "ward": category_names(WARDS, ward),
        "weekday": category_names(WEEKDAYS, weekday),
        "season": category_names(SEASONS, season),
        "bed_occupancy": np.where(rng.random(rows) < 0.02, np.nan, occupancy),
        "readmitted": readmitted,
    }
