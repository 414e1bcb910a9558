# SPDX-License-Identifier: Apache-2.0
"""The persons of a profile, and the values it counts."""

from pathlib import Path

import numpy as np
import pytest

from lexfed.arrays import Floats
from lexfed.config.open_decisions import examine_open, load_open
from lexfed.data.letter_pairs import text_of
from lexfed.data.reading.conversion import raw_places
from lexfed.errors import ConfigError, DataError
from lexfed.run.purchases.profile_population import (
    ProfilePopulation,
    load_profile_population,
)
from lexfed.run.purchases.profile_purchase import is_open
from support.configurations import configuration
from support.run.profile_checks import a_profile_counts_the_persons_of_training
from support.run.profile_files import WARDS, written

SITES = 'sites = { column = "hospital", names = ["a", "b", "c"] }'


def loaded(place: Path, *changes: tuple[str, str]) -> ProfilePopulation:
    return load_profile_population(load_open(written(place, *changes)), place)


def values(found: ProfilePopulation, name: str) -> Floats:
    slots = list(raw_places(found.columns)[name])
    inputs = [site.train.inputs[:, 0, slots] for site in found.population.sites]
    return np.concatenate(inputs)


def test_the_persons_are_those_of_training() -> None:
    a_profile_counts_the_persons_of_training()


def test_values_are_as_in_the_file(tmp_path: Path) -> None:
    found = loaded(tmp_path)
    assert [column.name for column in found.columns] == [
        "ward", "bed", "age", "bmi", "diagnosis", "readmitted",
    ]  # fmt: skip
    # Declared to go up to 40; there are numbers up to 49, and nothing is clamped.
    assert values(found, "bed").max() == 49
    assert found.population.clamped == {}
    age = values(found, "age")
    assert 0.05 < np.isnan(age).mean() < 0.15
    # A value outside the declared list is another one, and not a missing one.
    assert set(np.unique(values(found, "diagnosis"))) == {-1.0, 0.0, 1.0}
    pairs = np.unique(values(found, "ward"), axis=0).astype(int)
    assert {text_of(tuple(row)) for row in pairs.tolist()} == set(WARDS)


def test_open_columns_are_sought_and_declared_ones_known(tmp_path: Path) -> None:
    by_name = {column.name: column for column in loaded(tmp_path).columns}
    assert by_name["age"].range is None
    assert by_name["bed"].range == (0.0, 40.0)
    assert by_name["ward"].values is None
    assert by_name["diagnosis"].values == ("none", "cardiac")


@pytest.mark.parametrize(
    ("sites", "names"),
    [
        ('sites = { count = 2, partition = "iid" }', 2),
        ('sites = { count = 3, partition = "dirichlet", alpha = 1.0 }', 3),
    ],
)
def test_rows_are_spread_as_for_training(
    tmp_path: Path, sites: str, names: int
) -> None:
    assert len(loaded(tmp_path, (SITES, sites)).population.sites) == names


def test_an_open_target_cannot_spread_rows(tmp_path: Path) -> None:
    spread = (SITES, 'sites = { count = 3, partition = "dirichlet", alpha = 1.0 }')
    target = ('readmitted = { kind = "flag" }', 'readmitted = { kind = "category" }')
    with pytest.raises(ConfigError, match="spreads rows by the target, which is open"):
        loaded(tmp_path, spread, target)
    found = loaded(tmp_path, target)
    assert found.columns[-1].values is None


def test_files_are_sites(tmp_path: Path) -> None:
    written(tmp_path)
    content = (tmp_path / "patients.csv").read_text().splitlines()
    for name, rows in (("a", content[1:1000]), ("b", content[1000:])):
        (tmp_path / f"{name}.csv").write_text("\n".join([content[0], *rows]))
    files = (SITES, 'sites = { files = ["a.csv", "b.csv"] }')
    found = loaded(tmp_path, ('source = "patients.csv"\n', ""), files)
    assert len(found.population.sites) == 2
    assert found.population.ignored == ("hospital",)


def test_built_in_sources_can_be_profiled() -> None:
    text = configuration({"data.generator.patients": 200})
    found = load_profile_population(examine_open(text).require(), Path())
    assert found.population.units == 160
    assert not any(map(is_open, found.columns))


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (",age,", ",years,", "is not in this file"),
        ("\np1,", "\np0,", "more than 1 row"),
        ("\np1,", "\n,", "key is missing"),
    ],
)
def test_wrong_data_are_refused(tmp_path: Path, old: str, new: str, what: str) -> None:
    written(tmp_path)
    path = tmp_path / "patients.csv"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(DataError, match=what):
        loaded(tmp_path)


def test_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    written(tmp_path)
    path = tmp_path / "patients.csv"
    lines = path.read_text().splitlines()
    fields = lines[5].split(",")
    fields[5] = "high"
    path.write_text("\n".join([*lines[:5], ",".join(fields), *lines[6:]]))
    with pytest.raises(DataError, match=r"row 6.*expected a number, found text"):
        loaded(tmp_path)
