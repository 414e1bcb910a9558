# SPDX-License-Identifier: Apache-2.0
"""The public declaration of the synthetic hospitals: columns, ranges, tags.

Nothing here is computed from generated rows: a reader of a real register would
write down the same ranges and lists from its manual. Length of stay is left out on
purpose: it looks operational but tells how ill somebody was.
"""

from lexfed.data.builtin.declarations import (
    HEALTH_DATA,
    HIPAA_AREA,
    HIPAA_PHI,
    HIPAA_RECORD_NUMBER,
    PERSONAL_DATA,
    PSEUDONYM,
    SPECIAL_DATA,
    DeclaredColumn,
    DeclaredTag,
    declared_tag,
)
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


def _about_person(category: str, reason: str) -> DeclaredTag:
    return declared_tag(Tier.PERSONAL, category, reason, PERSONAL_DATA, HIPAA_PHI)


def _health(reason: str) -> DeclaredTag:
    return declared_tag(
        Tier.SPECIAL, "health", reason, SPECIAL_DATA, HEALTH_DATA, HIPAA_PHI
    )


def _operational(reason: str) -> DeclaredTag:
    return declared_tag(Tier.NON_PERSONAL, "operational", reason)


DECLARED = (
    DeclaredColumn(
        Column("patient_id", "text", missing=False),
        declared_tag(
            Tier.IDENTIFIER,
            "pseudonym",
            "a pseudonym that links all visits of a patient",
            PERSONAL_DATA,
            PSEUDONYM,
            HIPAA_PHI,
        ),
    ),
    DeclaredColumn(
        Column("hospital", "text", missing=False),
        _about_person("location", "says where the patient was treated"),
    ),
    DeclaredColumn(
        Column("mrn", "text", missing=False),
        declared_tag(
            Tier.IDENTIFIER,
            "record number",
            "the medical record number names the patient inside the hospital",
            PERSONAL_DATA,
            HIPAA_RECORD_NUMBER,
        ),
    ),
    DeclaredColumn(
        Column("age", "number", range=AGE, missing=False),
        _about_person("demographic", "age in years narrows down who somebody is"),
    ),
    DeclaredColumn(
        Column("sex", "category", values=SEXES),
        _about_person("demographic", "sex as registered, not a special category"),
    ),
    DeclaredColumn(
        Column("postcode_area", "category", values=AREAS),
        declared_tag(
            Tier.PERSONAL,
            "location",
            "a district of some tens of thousands of people, linked to a patient",
            PERSONAL_DATA,
            HIPAA_PHI,
            HIPAA_AREA,
        ),
    ),
    DeclaredColumn(
        Column("insurance", "category", values=INSURANCES),
        _about_person("economic", "who pays says something about income, not health"),
    ),
    DeclaredColumn(
        Column("living", "category", values=LIVING),
        _about_person("social", "with whom the patient lives"),
    ),
    DeclaredColumn(
        Column("diagnosis", "category", values=DIAGNOSES),
        _health("the main diagnosis of the visit is data concerning health"),
    ),
    DeclaredColumn(
        Column("medication", "category", values=MEDICATIONS),
        _health("the class of the main medicine reveals the illness it treats"),
    ),
    DeclaredColumn(
        Column("hba1c", "number", range=HBA1C),
        _health("a laboratory value (glycated haemoglobin, percent)"),
    ),
    DeclaredColumn(
        Column("ethnicity", "category", values=ETHNICITIES),
        declared_tag(
            Tier.SPECIAL,
            "ethnic origin",
            "reveals racial or ethnic origin",
            SPECIAL_DATA,
            HIPAA_PHI,
        ),
    ),
    DeclaredColumn(
        Column("ward", "category", values=WARDS, missing=False),
        _operational("a building code shared by every speciality, not about a patient"),
    ),
    DeclaredColumn(
        Column("weekday", "category", values=WEEKDAYS, missing=False),
        _operational("the weekday of discharge follows the rota, no date is kept"),
    ),
    DeclaredColumn(
        Column("season", "category", values=SEASONS, missing=False),
        _operational("the quarter of the year, shared by all patients of that time"),
    ),
    DeclaredColumn(
        Column("bed_occupancy", "number", range=OCCUPANCY),
        _operational("percent of beds in use in the whole hospital that day"),
    ),
    DeclaredColumn(
        Column("readmitted", "flag", missing=False),
        _health("readmission within 30 days: the label itself is health data"),
    ),
)
