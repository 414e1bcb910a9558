# SPDX-License-Identifier: Apache-2.0
"""Small runs whose models have shape functions, of two classes, three, and a number."""

from pathlib import Path

import numpy as np
import pandas as pd

import lexfed

TEXT = """\
version = 1

[run]
name = "people"
seed = 4
test = true

[data]
source = "people.csv"
target = "TARGET"
test_size = 0.2
units = 400
sites = { count = 2, partition = "iid" }

[data.columns]
age = { kind = "number", range = [0, 100] }
income = { kind = "number", range = [1, 1000000], scale = "log" }
weight = { kind = "number", range = [30, 200], public_stats = [75, 15] }
smoker = { kind = "flag" }
ward = { kind = "category", values = ["a", "b", "<i>c"] }
intercept = { kind = "number", range = [-1, 1] }
two = { kind = "flag", missing = false }
three = { kind = "category", values = ["low", "mid", "high"], missing = false }
score = { kind = "number", range = [-3, 5], missing = false }

[law.columns]
age = { tier = "personal", reason = "about a person" }
income = { tier = "personal", reason = "about a person" }
weight = { tier = "special", reason = "about health" }
smoker = { tier = "special", reason = "about health" }
ward = { tier = "non_personal", reason = "about a place" }
intercept = { tier = "non_personal", reason = "about a place" }
two = { tier = "personal", reason = "about a person" }
three = { tier = "personal", reason = "about a person" }
score = { tier = "personal", reason = "about a person" }

[budget]
epsilon = 40.0
delta = 1e-5

[federation]
engine = "inprocess"
model = "MODEL"
"""
TARGETS = ("two", "three", "score")


def people(rows: int = 400) -> pd.DataFrame:
    """Return rows whose targets depend on age by a curve that is no line."""
    draw = np.random.default_rng(5)
    age = draw.uniform(0, 100, rows).round(1)
    ward = draw.choice(["a", "b", "<i>c"], rows)
    score = 3 * (age / 50 - 1) ** 2 - 1 + (ward == "a") + draw.normal(0, 0.5, rows)
    return pd.DataFrame(
        {
            "age": np.where(draw.random(rows) < 0.1, np.nan, age),
            "income": np.exp(draw.normal(9, 1, rows)).round() + 1,
            "weight": draw.normal(75, 15, rows).round(1).clip(30, 200),
            "smoker": draw.choice(["yes", "no"], rows),
            "ward": ward,
            "intercept": draw.uniform(-1, 1, rows).round(3),
            "two": np.where(score > 0.5, "yes", "no"),
            "three": np.select([score > 1, score > 0], ["high", "mid"], "low"),
            "score": score.round(3),
        }
    )


def explained_run(folder: Path, target: str = "two", model: str = "additive") -> Path:
    """Train in a folder, and return the folder of the run."""
    others = [name for name in TARGETS if name != target]
    people().drop(columns=others).to_csv(folder / "people.csv", index=False)
    text = TEXT.replace("TARGET", target).replace("MODEL", model)
    lines = text.splitlines(keepends=True)
    path = folder / "lexfed.toml"
    path.write_text("".join(x for x in lines if not x.startswith(tuple(others))))
    return lexfed.train(path).folder
