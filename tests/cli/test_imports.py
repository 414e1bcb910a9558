# SPDX-License-Identifier: Apache-2.0
"""Libraries that commands import: those that only training needs cost seconds."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TRAINING = ("torch", "sklearn", "dp_accounting", "matplotlib", "scipy.stats")
TABLES = ("pandas", "pyarrow", "openpyxl")
TEXT = ("jinja2", "tomlkit", "rich")
PROGRAM = """
import sys
from lexfed.cli import main
try: main()
finally:
    found = sorted(set({heavy!r}) & set(sys.modules))
    print("imported:", *found, file=sys.stderr)
"""


def imported(heavy: tuple[str, ...], *words: str) -> list[str]:
    """Run a command in a process of its own; return what it imported of these."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(heavy=heavy), *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()[-1].split()[1:]


@pytest.mark.parametrize(
    "words", [("check",), ("plan",), ("plan", "--json"), ("tag", "patients.csv")]
)
def test_what_is_not_training_imports_none_of_its_libraries(
    place: Path, words: tuple[str, ...]
) -> None:
    assert imported((*TRAINING, *TABLES, *TEXT), *words) == []


def test_neither_does_a_plan_of_networks_and_of_sampled_rounds(
    place: Path, edit: Callable[..., None]
) -> None:
    edit(("rounds = 1", 'rounds = 2\nmodel = "mlp:8,4"\nlearning_rate = 0.5'))
    assert imported(("torch", "sklearn"), "plan") == []


def test_init_imports_little(place: Path) -> None:
    words = ("init", "patients.csv", "--out", "new.toml")
    assert imported(TRAINING, *words) == []


def test_the_count_sees_what_a_run_imports(place: Path) -> None:
    assert "torch" in imported(TRAINING, "run")
