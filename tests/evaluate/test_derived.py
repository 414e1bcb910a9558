# SPDX-License-Identifier: Apache-2.0
"""Tables made from others: what they leave out, what they count as what."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lexfed.config import from_mapping
from lexfed.evaluate.comparison.case import Case, plain_configuration
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.datasets.preparation import (
    DERIVED,
    EICU_FOUR,
    GERMAN_FOUR,
    NEXT_HOUR,
    NO_GENETICS,
    prepare_variant,
)
from lexfed.evaluate.harness.tables import Job
from lexfed.evaluate.measurement.job_kinds import measure
from lexfed.run.pricing.priced_run import price
from support.evaluation.small_dataset import small_case

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("LEXFED_DATA", ROOT.parent / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not (DATA / "german_credit").is_dir(), reason="no data files: set LEXFED_DATA"
)
CASCADE = {"privacy": {"mechanism": "cascade"}}


def towers(dataset: Dataset, case: Case) -> list[frozenset[str]]:
    """Return the columns that each tower reads."""
    config = from_mapping(plain_configuration(dataset, case, CASCADE))
    priced = price(config, rows_of(dataset, case).population, dataset.folder)
    slots = priced.population.encoding.slots
    return [
        frozenset(slots[place].column for place in shape.slots)
        for shape in priced.programme.shapes
    ]


@needs_data
@pytest.mark.parametrize(
    ("name", "identifier", "not_personal"),
    [
        (GERMAN_FOUR, "telephone", "duration"),
        (EICU_FOUR, "age", "teachingstatus"),
    ],
)
def test_four_three_and_two_tiers_train_other_towers(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    identifier: str,
    not_personal: str,
) -> None:
    monkeypatch.setenv("LEXFED_DATA", str(DATA))
    dataset = prepare_variant(name, tmp_path)
    four, three, two = (
        towers(dataset, small_case(equal="attribute", tiers=count))
        for count in (4, 3, 2)
    )
    assert (len(four), len(three), len(two)) == (3, 3, 2)
    assert not any(identifier in tower for tower in four)
    # An identifier that is read is in the last tower alone, the special one.
    assert [identifier in tower for tower in three] == [False, False, True]
    assert not_personal in three[0]
    assert three[0] < two[0]


def test_without_genetics_nothing_genetic_is_declared(tmp_path: Path) -> None:
    whole = prepare_variant("adni_like", tmp_path / "whole", 200)
    less = prepare_variant(NO_GENETICS, tmp_path / "less", 200)
    gone = set(whole.tables["data"]["columns"]) - set(less.tables["data"]["columns"])
    assert {"apoe4", "snp_001"} <= gone
    assert all(name == "apoe4" or name.startswith("snp_") for name in gone)
    assert not gone & set(less.tables["law"]["columns"])
    assert less.name == NO_GENETICS


def test_the_next_hour_is_a_number_that_came_an_hour_later(tmp_path: Path) -> None:
    dataset = prepare_variant(NEXT_HOUR, tmp_path, 20_000)
    assert "anomaly" not in dataset.tables["data"]["columns"]
    frame = pd.read_csv(tmp_path / "table.csv", parse_dates=["timestamp"])
    assert frame["next_level"].notna().all()
    # Where a sensor's next hour was drawn too, its level is what was to be predicted.
    later = frame[["sensor", "timestamp", "level"]].copy()
    later["timestamp"] -= pd.Timedelta(hours=1)
    both = frame.merge(later, on=["sensor", "timestamp"], suffixes=("", "_later"))
    known = both.dropna(subset=["level_later"])
    assert len(known) > 20
    assert np.allclose(known["next_level"], known["level_later"])
    found = measure(Job("train", NEXT_HOUR, "none", 0, 20_000), dataset)["values"]
    assert found["r2"] > 0.5
    assert "auc" not in found


def test_derived_tables_come_from_others() -> None:
    assert all(source not in DERIVED for source, _ in DERIVED.values())
