# SPDX-License-Identifier: Apache-2.0
"""A table to be profiled, and a configuration whose ranges and lists are open."""

import csv
from pathlib import Path

import numpy as np

CONFIG = """\
version = 1

[run]
name = "visits"
seed = 3
test = true

[data]
source = "patients.csv"
target = "readmitted"
person = "patient"
units = 2500
sites = { column = "hospital", names = ["a", "b", "c"] }

[data.columns]
patient = { kind = "text" }
hospital = { kind = "text" }
ward = { kind = "category", values = "?" }
bed = { kind = "number", range = [0, 40] }
age = { kind = "number", range = "?" }
bmi = { kind = "number" }
diagnosis = { kind = "category", values = ["none", "cardiac"] }
readmitted = { kind = "flag" }

[law.columns]
patient = { tier = "identifier", reason = "a key" }
hospital = { tier = "non_personal", reason = "says where, not who" }
ward = { tier = "non_personal", reason = "operational code" }
bed = { tier = "non_personal", reason = "operational code" }
age = { tier = "personal", reason = "about the person" }
bmi = { tier = "special", reason = "health" }
diagnosis = { tier = "special", reason = "health" }
readmitted = { tier = "special", reason = "health" }

[budget]
epsilon = 12.0
delta = 1e-6

[budget.caps]
special = 8.0

[evaluation]
metrics = "paid"
"""
WARDS = ("north", "south", "west 2")
NUMBERS_ONLY = CONFIG.replace(
    'values = "?"', f"values = {list(WARDS)}".replace("'", '"')
)
"""Without words to look for, whose tables are large."""


def write_patients(place: Path, persons: int = 2500) -> None:
    """Write `patients.csv`: three hospitals, a hundred persons at no two of them."""
    generator = np.random.default_rng(0)
    age = generator.integers(20, 90, persons)
    diagnosis = generator.choice(
        ["none", "cardiac", "rare"], persons, p=[0.6, 0.3, 0.1]
    )
    score = age / 90 + (diagnosis == "cardiac") + generator.normal(0, 0.5, persons)
    columns = {
        "patient": [f"p{number}" for number in range(persons)],
        "hospital": generator.choice(["a", "b", "c"], persons),
        "ward": generator.choice(WARDS, persons, p=[0.5, 0.3, 0.2]),
        "bed": generator.integers(0, 50, persons),
        "age": ["" if number % 10 == 0 else str(a) for number, a in enumerate(age)],
        "bmi": generator.normal(27, 4, persons).round(1),
        "diagnosis": diagnosis,
        "readmitted": (score > 1.2).astype(int),
    }
    with (place / "patients.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def written(place: Path, *changes: tuple[str, str], text: str = CONFIG) -> Path:
    """Write table and configuration, and return the path of the latter."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    if not (place / "patients.csv").exists():
        write_patients(place)
    path = place / "lexfed.toml"
    path.write_text(text)
    return path
