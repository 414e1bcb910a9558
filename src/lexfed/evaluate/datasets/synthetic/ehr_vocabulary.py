# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of the synthetic hospitals: illnesses, laboratory values, names.

Stems of ICD-10 are real, so that a policy can be stricter about F (mental health), B20
(HIV), F10 (substance use) and O (pregnancy). Laboratory values have real units.
"""

from collections.abc import Mapping
from typing import NamedTuple

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
