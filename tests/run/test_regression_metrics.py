# SPDX-License-Identifier: Apache-2.0
"""Errors of a predicted number are those that a person sees, in the target's units."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lexfed
from lexfed.cli import display
from lexfed.config import load
from lexfed.run import RunResult

TEXT = """\
version = 1

[run]
name = "stays"
test = true

[data]
source = "stays.csv"
target = "days"
units = 600
test_size = 0.5
sites = { count = 2, partition = "iid" }

[data.columns]
age = { kind = "number", range = [20, 100] }
days = { kind = "number", range = [0, 400]SCALE }

[law.columns]
age = { tier = "personal", reason = "about a person" }
days = { tier = "personal", reason = "about a person" }

[federation]
model = "linear"

[budget]
epsilon = 20.0
delta = 1e-6

[evaluation]
metrics = "METRICS"
"""


def trained(folder: Path, metrics: str, scale: str = "") -> RunResult:
    random = np.random.default_rng(5)
    age = random.uniform(20, 100, 600)
    days = np.clip(3.0 * (age - 20) + random.normal(0, 20, 600), 0, 400)
    pd.DataFrame({"age": age, "days": days}).to_csv(folder / "stays.csv", index=False)
    path = folder / "lexfed.toml"
    path.write_text(TEXT.replace("METRICS", metrics).replace("SCALE", scale))
    return lexfed.train(path)


def test_errors_are_those_of_predicted_days(tmp_path: Path) -> None:
    result = trained(tmp_path, "public")
    assert list(result.metrics) == ["r2", "rmse", "mae"]
    # About the noise of the table, 20 days, and not a part of a range from -1 to 1.
    assert 15 < result.metrics["rmse"] < 45
    assert 10 < result.metrics["mae"] < result.metrics["rmse"]
    assert 0.6 < result.metrics["r2"] < 1.0
    # What `predict` gives for all rows has about the same error.
    table = pd.read_csv(tmp_path / "stays.csv")
    table[["age"]].to_csv(tmp_path / "new.csv", index=False)
    found = lexfed.predict(result.folder, tmp_path / "new.csv").values[:, 0]
    error = found - table["days"].to_numpy()
    assert np.abs(error).mean() == pytest.approx(result.metrics["mae"], rel=0.25)
    said = "\n".join(display.closing(load(tmp_path / "lexfed.toml"), result))
    assert "; errors in units of the target" in said
    assert f"rmse {result.metrics['rmse']:.2f}, mae" in said


def test_paid_errors_are_in_the_same_units(tmp_path: Path) -> None:
    result = trained(tmp_path, "paid")
    assert list(result.metrics) == ["rmse", "mae"]
    # Bins are a twentieth of twice the range wide, here 20 days.
    assert 10 < result.metrics["rmse"] < 80


def test_paid_errors_on_a_curved_scale_say_so(tmp_path: Path) -> None:
    result = trained(tmp_path, "paid", ', scale = "log"')
    assert list(result.metrics) == ["rmse_on_scale", "mae_on_scale"]
    said = "\n".join(display.closing(load(tmp_path / "lexfed.toml"), result))
    assert "in units of the target" not in said
