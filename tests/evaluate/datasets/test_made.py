# SPDX-License-Identifier: Apache-2.0
"""Synthetic tables: repeatable, made site by site, shaped as specified.

Seeds are fixed, so nothing here fails by chance. Intervals around shares are at least
four deviations wide at these sizes: another seed would fail in one of 10,000 runs.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lexfed.config import from_mapping
from lexfed.errors import DataError
from lexfed.evaluate.datasets import names, prepare
from lexfed.evaluate.datasets.synthetic import MAKERS, adni, ehr, iot
from lexfed.evaluate.datasets.synthetic.ehr import LABS, STEMS
from lexfed.evaluate.datasets.synthetic.ingredients import (
    parameters,
    shares_to_sizes,
)
from lexfed.evaluate.datasets.synthetic.iot import with_anomalies
from lexfed.run import seeded_population

SMALL = {"adni_like": 200, "ehr_like": 400, "iot_like": 10_000}


@pytest.mark.parametrize("name", MAKERS)
def test_the_same_seed_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    one = prepare(name, tmp_path / "one", rows=SMALL[name])
    two = prepare(name, tmp_path / "two", rows=SMALL[name])
    other = prepare(name, tmp_path / "other", rows=SMALL[name], seed=1)
    bytes_of = [(d.folder / "table.csv").read_bytes() for d in (one, two, other)]
    assert bytes_of[0] == bytes_of[1] != bytes_of[2]
    assert one.digest == two.digest != other.digest
    assert one.tables == other.tables


@pytest.mark.parametrize("name", MAKERS)
def test_a_made_table_is_read_by_the_product(name: str, tmp_path: Path) -> None:
    found = prepare(name, tmp_path, rows=SMALL[name])
    plain: dict[str, Any] = {
        "version": 1,
        "run": {"name": "evaluate"},
        **found.tables,
        "budget": {"epsilon": 1.0, "delta": 1e-6},
    }
    seen = seeded_population(from_mapping(plain), found.folder)
    assert seen.undeclared == {}
    assert all(count <= 0.03 * SMALL[name] for count in seen.clamped.values())
    assert len(seen.sites) == (12 if name == "ehr_like" else 10)
    assert name in names()


def test_a_site_can_be_made_alone() -> None:
    sizes = adni.sizes(60)
    every = list(MAKERS["adni_like"].frames(3, 60))
    alone = pd.DataFrame(adni.one_site(3, 4, sizes[4]))
    pd.testing.assert_frame_equal(every[4][list(alone)], alone)
    visits = [ehr.site(3, hospital, 20)[0] for hospital in (5, 0, 5)]
    assert np.array_equal(visits[0].codes, visits[2].codes)
    assert not np.array_equal(visits[0].age, visits[1].age)
    zones = [iot.one_zone(3, zone, 4, 100, 0) for zone in (7, 1, 7)]
    assert np.array_equal(zones[0].value, zones[2].value, equal_nan=True)
    assert not np.array_equal(zones[0].level, zones[1].level, equal_nan=True)


@pytest.mark.parametrize(
    ("total", "shares", "sizes"),
    [
        (100, [18, 15, 13, 12, 10, 9, 8, 6, 5, 4], [18, 15, 13, 12, 10, 9, 8, 6, 5, 4]),
        (10, [1, 1, 1], [4, 3, 3]),
        (4, [97, 1, 1, 1], [1, 1, 1, 1]),
    ],
)
def test_sizes_sum_to_the_total(
    total: int, shares: list[float], sizes: list[int]
) -> None:
    assert shares_to_sizes(total, np.array(shares, dtype=float)) == sizes


def test_the_study_has_847_columns_of_four_sorts() -> None:
    person = adni.one_site(0, 0, 30)
    columns = set(person) - {"diagnosis", "ad"}
    stems = [name.rsplit("_", 1)[0] for name in columns]
    assert len(columns) == 847
    assert stems.count("snp") + stems.count("apoe4") == 305
    assert stems.count("test") == 178
    assert stems.count("volume") + stems.count("suvr") == 322
    assert stems.count("suvr") == 60


def test_genes_tests_and_images_have_the_stated_gaps() -> None:
    people = pd.DataFrame(adni.one_site(1, 0, 2000))
    genes = people.filter(like="snp_")
    assert set(np.unique(genes.to_numpy()[~genes.isna().to_numpy()])) == {0, 1, 2}
    assert abs(genes.isna().to_numpy().mean() - 0.01) < 0.001
    assert abs(people["apoe4"].mean() - 0.44) < 0.06
    # Depends on the latent burden, which differs by site: 0.08 on average.
    assert 0.06 < people.filter(like="test_").isna().to_numpy().mean() < 0.10
    without = people.filter(like="suvr_").isna()
    assert (without.all(axis=1) == without.any(axis=1)).all()
    assert abs(without.all(axis=1).mean() - 0.12) < 0.03
    # MNAR: people with the disease miss more tests.
    gaps = people.filter(like="test_").isna().mean(axis=1)
    assert gaps[people["ad"] == 1].mean() > 1.3 * gaps[people["ad"] == 0].mean()


def test_neighbouring_genes_are_linked_and_distant_ones_are_not() -> None:
    people = adni.one_site(1, 0, 3000)
    block = adni.study_parameters(1).block
    genes = np.column_stack([people[f"snp_{n:03d}"] for n in range(1, 305)])
    found = pd.DataFrame(genes).corr().to_numpy()
    neighbours = np.flatnonzero(block[1:] == block[:-1])
    assert found[neighbours, neighbours + 1].mean() > 0.3
    others = np.flatnonzero(block[1:] != block[:-1])
    assert abs(found[others, others + 1].mean()) < 0.02
    lengths = np.bincount(block)[:-1]
    assert set(lengths[lengths > 0][:-1]) <= set(range(3, 9))


def test_visits_are_heavy_tailed_and_few_patients_have_two_hospitals() -> None:
    assert len(LABS) == parameters()["ehr_like"]["labs"]["count"]
    assert len(STEMS) == parameters()["ehr_like"]["phenotype"]["count"]
    visits, _ = ehr.site(0, 0, 4000)
    count = np.bincount(visits.patient)
    assert count.min() >= 2
    assert 20 < count.max() <= 60
    assert 2.6 < count.mean() < 3.1
    moved = np.zeros(4000, dtype=bool)
    moved[visits.patient[visits.hospital != 0]] = True
    assert 0.025 < moved.mean() < 0.055
    same = visits.patient[1:] == visits.patient[:-1]
    assert (np.diff(visits.day)[same] >= 0).all()
    assert (np.diff(visits.prior)[same] == 1).all()
    assert 0.08 < visits.readmitted.mean() < 0.22
    assert 0.015 < visits.died.mean() < 0.05
    assert abs(visits.procedures.sum(axis=1).mean() - 1.4) < 0.06
    assert abs(visits.medications.sum(axis=1).mean() - 4.5) < 0.1


def test_frail_patients_are_measured_more_often() -> None:
    visits, _ = ehr.site(0, 1, 2000)
    gaps = np.isnan(visits.labs).mean(axis=1)
    frail = visits.frailty[visits.patient] > 1
    assert gaps[frail].mean() < gaps[~frail].mean() - 0.1


def test_lungs_have_a_winter_and_one_hospital_changes_its_codes() -> None:
    visits, _ = ehr.site(0, ehr.DRIFTING_HOSPITAL, 6000)
    by_illness = visits.codes.reshape(len(visits.codes), len(STEMS), -1)
    copd = by_illness[:, list(STEMS).index("copd")].sum(axis=1)
    phase = np.cos(2 * np.pi * visits.day / 365)
    assert copd[phase > 0.7].mean() > 2 * copd[phase < -0.7].mean()
    home = visits.hospital == ehr.DRIFTING_HOSPITAL
    late = home & (visits.day >= 3 * 365)
    rates = [by_illness[rows].mean(axis=0) for rows in (home & ~late, late)]
    half = rates[0].shape[1] // 2

    def alike(shift: int) -> float:
        moved = np.roll(rates[0], shift, axis=1)
        return float(np.corrcoef(moved.ravel(), rates[1].ravel())[0, 1])

    assert alike(half) > 0.9 > alike(0)


def test_anomalies_are_of_four_kinds_and_as_frequent_as_stated() -> None:
    settings = parameters()["iot_like"]["anomaly"]
    levels = np.random.default_rng(0).normal(0, 0.1, (400, 2000)).astype(np.float32)
    before = levels.copy()
    where = with_anomalies(np.random.default_rng(1), levels, settings, 1.0)
    # Length 8.5 on average, every 261 readings: 3.3 %, less where two overlap.
    assert 0.030 < where.mean() < 0.034
    assert np.array_equal(levels[~where], before[~where])
    twice = with_anomalies(np.random.default_rng(1), before, settings, 2.0)
    assert 1.8 < twice.mean() / where.mean() < 2.1


def test_features_look_back_and_never_ahead() -> None:
    zone = iot.one_zone(0, 0, 3, 200, 0)
    seen = iot.features(zone)
    later = iot.one_zone(0, 0, 3, 200, 0)
    later.level[:, 150:] = 99.0
    changed = iot.features(later)
    for name, values in seen.items():
        np.testing.assert_array_equal(values[:, :150], changed[name][:, :150])
    series = zone.level[0]
    hour = (
        int(np.flatnonzero(~np.isnan(series[30:]) & ~np.isnan(series[6:-24]))[0]) + 30
    )
    assert seen["day_change"][0, hour] == series[hour] - series[hour - 24]
    window = series[hour - 5 : hour + 1]
    np.testing.assert_allclose(
        seen["from_mean"][0, hour], series[hour] - np.nanmean(window), atol=1e-4
    )
    np.testing.assert_allclose(seen["spread"][0, hour], np.nanstd(window), atol=1e-3)


def test_a_zone_has_the_stated_gaps_and_households() -> None:
    zone = iot.one_zone(2, 0, 500, 500, 0)
    assert 0.019 < np.isnan(zone.value).mean() < 0.025
    assert 0.03 < zone.household.mean() < 0.13
    shares = np.bincount(zone.kind, minlength=5) / 500
    assert np.abs(shares - [0.30, 0.25, 0.20, 0.15, 0.10]).max() < 0.09
    assert set(np.unique(zone.status)) <= {0, 1, 2}


def test_the_full_city_has_five_thousand_sensors() -> None:
    assert iot.sizes(10_000_000) == (5000, 2000)
    assert iot.sizes(iot.ROWS) == (200, 500)
    facts = iot.facts(10_000_000)
    assert (facts.persons, facts.records_per_person) == (5000, 50)


def test_no_table_is_made_larger_than_the_largest(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="10000000"):
        prepare("iot_like", tmp_path, rows=10_000_001)
    with pytest.raises(DataError, match="there is no `iot`"):
        prepare("iot", tmp_path)
