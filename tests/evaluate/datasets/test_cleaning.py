# SPDX-License-Identifier: Apache-2.0
"""Rules that read public codes, one example for each that a codebook states."""

import pandas as pd
import pytest

from lexfed.evaluate.datasets.cleaning import (
    age_band,
    clean,
    department,
    diagnosis_group,
)


@pytest.mark.parametrize(
    ("code", "group"),
    [
        ("250.83", "diabetes"), ("401", "circulatory"), ("785", "circulatory"),
        ("486", "respiratory"), ("786", "respiratory"), ("574", "digestive"),
        ("787", "digestive"), ("996", "injury"), ("715", "musculoskeletal"),
        ("584", "genitourinary"), ("788", "genitourinary"), ("197", "neoplasms"),
        ("038", "other"), ("V57", "other"), ("E878", "other"), (None, None),
    ],
)  # fmt: skip
def test_diagnoses_have_the_groups_of_the_paper(
    code: str | None, group: str | None
) -> None:
    assert diagnosis_group(code) == group


@pytest.mark.parametrize(
    ("specialty", "name"),
    [
        ("", "unstated"), ("PhysicianNotFound", "unstated"), ("Radiology", "other"),
        ("Pediatrics-Neurology", "women and children"), ("Cardiology", "cardiology"),
        ("Surgery-Neuro", "surgery"), ("Psychiatry", "psychiatry and neurology"),
        ("Emergency/Trauma", "emergency"), ("Nephrology", "nephrology"),
        ("Family/GeneralPractice", "family"), ("InternalMedicine", "internal"),
    ],
)  # fmt: skip
def test_specialties_have_a_department(specialty: str, name: str) -> None:
    assert department(specialty) == name


def test_age_bands_are_those_of_working_life() -> None:
    bands = age_band(pd.Series(["0", "39.9", "40", "64", "65", "90", None]))
    assert bands.tolist()[:6] == [
        "under 40", "under 40", "40 to 64", "40 to 64", "65 and over", "65 and over",
    ]  # fmt: skip
    assert bands.isna().tolist()[6]


def test_a_cholesterol_of_zero_was_not_measured() -> None:
    row = {c: ["1.0"] for c in ("sex", "cp", "fbs", "restecg", "exang", "slope")}
    frame = pd.DataFrame(row | {"ca": ["0.0"], "thal": ["3.0"], "age": ["60.0"]})
    found = clean("heart_uci4", frame.assign(chol="0.0"))
    assert found["chol"].isna().all()
    assert found["thal"].tolist() == ["3"]
    assert clean("heart_uci4", frame.assign(chol="200"))["chol"].tolist() == ["200"]


def test_a_patient_stays_at_the_site_of_the_first_stay() -> None:
    stays = pd.DataFrame(
        {
            "uniquepid": ["p", "p", "q"],
            "unitvisitnumber": ["2", "1", "1"],
            "region": ["South", "West", None],
            "age": ["50", "50", "> 89"],
        }
    )
    found = clean("eicu_demo", stays)
    assert found["unitvisitnumber"].tolist() == ["1", "1", "2"]
    assert found["site"].tolist() == ["West", "unstated", "West"]
    assert found["age"].tolist() == ["50", "90", "50"]
