# SPDX-License-Identifier: Apache-2.0
"""The nine public tables, read through the product from a real folder.

The files are not part of the project; without `LEXFED_DATA` these tests are skipped.
"""

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lexfed.config import from_mapping
from lexfed.errors import DataError
from lexfed.evaluate.datasets import Dataset, prepare
from lexfed.evaluate.datasets.declarations import load_declaration, public_names
from lexfed.run import Population, seeded_population

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("LEXFED_DATA", ROOT.parent / "shared" / "data"))
LARGE = {"adult": 4000, "diabetes130": 4000, "taiwan_default": 4000}

pytestmark = pytest.mark.skipif(
    not (DATA / "german_credit").is_dir(),
    reason="no data files: set LEXFED_DATA to a folder with one subfolder per data set",
)


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEXFED_DATA", str(DATA))


def population(found: Dataset) -> Population:
    plain: dict[str, Any] = {
        "version": 1,
        "run": {"name": "evaluate"},
        **found.tables,
        "budget": {"epsilon": 1.0, "delta": 1e-6},
    }
    return seeded_population(from_mapping(plain), found.folder)


@pytest.mark.parametrize("name", public_names())
def test_a_table_fits_its_declaration(name: str, tmp_path: Path) -> None:
    found = prepare(name, tmp_path, rows=LARGE.get(name))
    seen = population(found)
    # A list that was written by hand may lack a code; then it is wrong, not the data.
    assert seen.undeclared == {}
    rows = LARGE.get(name, load_declaration(name).rows)
    assert all(count <= 0.03 * rows for count in seen.clamped.values())
    assert len(seen.sites) >= 3
    assert {slot.column for slot in seen.encoding.slots}
    table = pd.read_csv(tmp_path / "table.csv", dtype=str)
    assert len(table) == rows
    assert set(found.groups.values()) <= set(table.columns)
    assert found.target in table.columns


@pytest.mark.parametrize(
    ("name", "sites"),
    [("heart_uci4", 4), ("eicu_demo", 5), ("support2", 8), ("german_credit", 3)],
)
def test_natural_sites_are_those_of_the_data(
    name: str, sites: int, tmp_path: Path
) -> None:
    assert len(population(prepare(name, tmp_path)).sites) == sites


def test_patients_are_units_and_their_stays_are_capped(tmp_path: Path) -> None:
    found = prepare("eicu_demo", tmp_path)
    data = found.tables["data"]
    assert (data["person"], data["units"]) == ("uniquepid", 1820)
    seen = population(found)
    assert seen.records_per_person == 4
    assert sum(len(site.train) + len(site.test) for site in seen.sites) == 1820


def test_the_same_arguments_write_the_same_bytes(tmp_path: Path) -> None:
    one = prepare("german_credit", tmp_path / "a", rows=300, seed=5)
    two = prepare("german_credit", tmp_path / "b", rows=300, seed=5)
    other = prepare("german_credit", tmp_path / "c", rows=300, seed=6)
    texts = [(d.folder / "table.csv").read_bytes() for d in (one, two, other)]
    assert texts[0] == texts[1] != texts[2]
    assert one.digest == two.digest == other.digest
    assert one.tables == two.tables == other.tables
    assert one.tables["data"]["units"] == 300


def test_rows_are_drawn_person_after_person(tmp_path: Path) -> None:
    some = prepare("eicu_demo", tmp_path / "some", rows=600)
    every = prepare("eicu_demo", tmp_path / "all")
    stays = [
        pd.read_csv(d.folder / "table.csv", dtype=str)["uniquepid"].value_counts()
        for d in (some, every)
    ]
    cut = (stays[0] < stays[1].reindex(stays[0].index)).sum()
    assert stays[0].sum() == 600
    assert cut <= 1  # the last person drawn


def test_more_rows_than_there_are_cannot_be_drawn(tmp_path: Path) -> None:
    for rows in (0, 1001):
        with pytest.raises(DataError, match="there are 1000"):
            prepare("german_credit", tmp_path, rows=rows)
