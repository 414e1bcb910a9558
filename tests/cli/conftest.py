# SPDX-License-Identifier: Apache-2.0
"""The command line in this process, a table to use it on, and expected texts."""

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lexfed.cli import app, talk

EXPECTED = Path(__file__).with_name("expected")

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
units = 200
sites = { column = "hospital", names = ["north", "south", "west"] }

[data.columns]
patient = { kind = "text" }
hospital = { kind = "text" }
ward = { kind = "category", values = ["a", "b"] }
age = { kind = "number", range = [18, 100] }
smoker = { kind = "flag" }
bmi = { kind = "number", range = [10, 60] }
diagnosis = { kind = "category", values = ["none", "cardiac"] }
readmitted = { kind = "flag" }

[law.columns]
patient = { tier = "identifier", reason = "a key" }
hospital = { tier = "non_personal", reason = "says where, not who" }
ward = { tier = "non_personal", reason = "operational code" }
age = { tier = "personal", reason = "about the person" }
smoker = { tier = "personal", reason = "a habit" }
bmi = { tier = "special", reason = "health" }
diagnosis = { tier = "special", reason = "health" }
readmitted = { tier = "special", reason = "health" }

[budget]
epsilon = 8.0
delta = 1e-6

[federation]
rounds = 1
"""


@dataclass(frozen=True)
class Said:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str


Lexfed = Callable[..., Said]


@pytest.fixture
def lexfed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Lexfed:
    """Run a command in this process."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(talk, "verbose", False)

    def command(*arguments: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["lexfed", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app.main()
        out, err = capsys.readouterr()
        return Said(int(ended.value.code or 0), out, err)

    return command


def patients(count: int = 200) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    age = generator.integers(18, 95, count)
    diagnosis = generator.choice(["none", "cardiac"], count)
    score = age / 90 + (diagnosis == "cardiac") + generator.normal(0, 0.5, count)
    return pd.DataFrame(
        {
            "patient": [f"p{number}" for number in range(count)],
            "hospital": generator.choice(["north", "south", "west"], count),
            "ward": generator.choice(["a", "b"], count),
            "age": age,
            "smoker": generator.integers(0, 2, count),
            "bmi": generator.normal(27, 4, count).round(1),
            "diagnosis": diagnosis,
            "readmitted": (score > 1.2).astype(int),
        }
    )


@pytest.fixture
def table() -> pd.DataFrame:
    """Two hundred patients of three hospitals."""
    return patients()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: pd.DataFrame) -> Path:
    """A working folder with `patients.csv` and `lexfed.toml`."""
    monkeypatch.chdir(tmp_path)
    table.to_csv("patients.csv", index=False)
    Path("lexfed.toml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def edit(place: Path) -> Callable[..., None]:
    """Replace text in `lexfed.toml`, or add to its end."""

    def change(*pairs: tuple[str, str], add: str = "") -> None:
        text = (place / "lexfed.toml").read_text()
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new)
        (place / "lexfed.toml").write_text(text + add)

    return change


@pytest.fixture
def expected() -> Callable[[str, str], None]:
    """Compare a text with `expected/NAME`; `LEXFED_UPDATE=1` writes it instead."""

    def compare(name: str, text: str) -> None:
        file = EXPECTED / name
        if os.environ.get("LEXFED_UPDATE"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        assert text == file.read_text()

    return compare


@pytest.fixture
def rounded() -> Callable[[str], str]:
    """Blur what may differ: decimals, their width, times, and roots of logs."""

    def blur(text: str) -> str:
        text = re.sub(r"   \d+ s left|≥ ", "", text)
        text = re.sub(r"root \w+…\w+", "root #", text)
        return re.sub(r" +#", " #", re.sub(r"\d+\.\d+", "#", text))

    return blur
