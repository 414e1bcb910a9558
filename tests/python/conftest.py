# SPDX-License-Identifier: Apache-2.0
"""A table of made-up patients in memory, and what a person states about it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lexfed.python.settings import Settings

ROWS = 300


@pytest.fixture(scope="session")
def patients() -> pd.DataFrame:
    """Patients whose age says most about their end."""
    chance = np.random.default_rng(5)
    age = chance.integers(18, 90, ROWS).astype(float)
    risk = 1 / (1 + np.exp(-(age - 55) / 8))
    table = pd.DataFrame(
        {
            "ward": chance.choice(["a", "b"], ROWS),
            "age": age,
            "hba1c": chance.normal(6, 1, ROWS).clip(4, 14),
            "died": (chance.random(ROWS) < risk).astype(int),
        }
    )
    table.loc[3, "age"] = np.nan
    return table


@pytest.fixture
def settings() -> Settings:
    """Keywords for a run on the patients, of a few rounds."""
    return {
        "target": "died",
        "columns": {
            "ward": ["a", "b"],
            "age": (0, 110),
            "hba1c": (3.0, 20.0),
            "died": bool,
        },
        "tiers": {
            "ward": ("non_personal", "a code of the building"),
            "age": "personal",
            "hba1c": {"tier": "special", "reason": "health", "category": "health"},
            "died": "special",
        },
        "epsilon": 4,
        "delta": 1e-4,
        "neighbours": "replace-one",
        "sites": 2,
        "name": "patients",
        "more": {"federation.rounds": 1},
    }


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path
