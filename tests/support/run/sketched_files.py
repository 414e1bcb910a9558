# SPDX-License-Identifier: Apache-2.0
"""A table with persons at two hospitals, and runs that are sketched."""

import csv
from pathlib import Path

import numpy as np

from lexfed.config import load
from lexfed.run import PricedRun, RunResult, load_population, price, start, train

CONFIG = """\
version = 1

[run]
name = "sketched"
seed = 3
test = true

[data]
source = "visits.csv"
target = "back"
person = "patient"
records_per_person = 2
sites_per_person = 2
units = 5400
sites = { column = "hospital", names = ["a", "b", "c"] }

[data.columns]
patient = { kind = "text" }
hospital = { kind = "text" }
bed = { kind = "number", range = [0, 40], missing = false }
age = { kind = "number", range = [0, 110] }
bmi = { kind = "number", range = [10, 60], missing = false }
back = { kind = "flag" }

[law.columns]
patient = { tier = "identifier", reason = "a key" }
hospital = { tier = "non_personal", reason = "says where, not who" }
bed = { tier = "non_personal", reason = "operational code" }
age = { tier = "personal", reason = "about the person" }
bmi = { tier = "special", reason = "health" }
back = { tier = "special", reason = "health" }

[budget]
epsilon = 16.0
delta = 1e-6

[sketches]
share = 0.3
weights = "overlap"
"""
TRUST = {
    "central": "",
    "local": 'trust = "local"',
    "distributed": 'trust = "distributed"\naccountant = "rdp"',
}


def write_visits(place: Path, common: int = 1500) -> None:
    """Write `visits.csv`: 1800 persons at each of a, b and c; a and b share some."""
    generator = np.random.default_rng(0)
    rows = 3 * 1800
    keys = np.arange(rows)
    keys[1800 : 1800 + common] = np.arange(common)
    age = generator.integers(20, 90, rows)
    bmi = generator.normal(27, 4, rows).clip(10, 60)
    score = age / 60 + bmi / 30 + generator.normal(0, 0.7, rows)
    columns = {
        "patient": [f"p{key}" for key in keys],
        "hospital": np.repeat(["a", "b", "c"], 1800),
        "bed": generator.integers(0, 40, rows),
        "age": ["" if at % 10 == 0 else str(a) for at, a in enumerate(age)],
        "bmi": bmi.round(1),
        "back": (score > 2.0).astype(int),
    }
    with (place / "visits.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def written(place: Path, *changes: tuple[str, str], tables: str = "") -> Path:
    """Write table and configuration, and return the path of the latter."""
    text = CONFIG
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    if not (place / "visits.csv").exists():
        write_visits(place)
    path = place / "lexfed.toml"
    path.write_text(text + tables)
    return path


def priced_of(path: Path) -> PricedRun:
    """Price a configuration file."""
    config = load(path)
    return price(config, load_population(config, path.parent), path.parent)


def ran(path: Path, out: Path) -> RunResult:
    """Run a configuration file."""
    priced = priced_of(path)
    return train(priced, start(priced, out, path.read_text(), path.parent))
