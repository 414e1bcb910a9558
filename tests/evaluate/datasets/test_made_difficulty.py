# SPDX-License-Identifier: Apache-2.0
"""The difficulty of the synthetic tables, against that of their specification.

The specification gives test AUCs of one prototype and no spread. Seeds are fixed here.
Over seeds 0 to 2 these AUCs moved by less than 0.02, so an interval of 0.03 around the
stated one leaves room for another split and not for another generator. D2's bounds are
those of the three seeds and of the stated figure together.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lexfed.evaluate.datasets.synthetic import MAKERS, ehr, iot

pytestmark = pytest.mark.slow
SPREAD = 0.03


def logistic(strength: float) -> Any:
    return make_pipeline(
        SimpleImputer(add_indicator=False),
        StandardScaler(),
        LogisticRegression(C=strength, max_iter=500),
    )


def test_alzheimers_is_as_hard_as_specified() -> None:
    people = pd.concat(MAKERS["adni_like"].frames(1, 5000), ignore_index=True)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    ill = people["ad"].to_numpy()
    inputs = pd.get_dummies(people.drop(columns=["diagnosis", "ad", "age_band"]))

    def auc(
        columns: list[str], rows: NDArray[np.bool_], of: NDArray[np.bool_]
    ) -> float:
        block = inputs.loc[rows, columns].to_numpy(dtype=float)
        found = cross_val_score(
            logistic(0.003), block, of[rows], cv=folds, scoring="roc_auc"
        )
        return float(found.mean())

    names = [str(column) for column in inputs]
    genes = ["apoe4", *(c for c in names if c.startswith("snp_"))]
    tests = [c for c in names if c.startswith("test_")]
    images = [c for c in names if c.startswith(("volume_", "suvr_"))]
    life = [c for c in names if c not in {*genes, *tests, *images}]
    everybody = np.ones(len(people), dtype=bool)
    stated: list[tuple[list[str], float]] = [
        (names, 0.88), (tests, 0.85), (images, 0.83), (life, 0.73),
        (genes, 0.67), (["apoe4"], 0.65),
    ]  # fmt: skip
    found = [auc(columns, everybody, ill == 1) for columns, _ in stated]
    for value, (_, expected) in zip(found, stated, strict=True):
        assert abs(value - expected) < SPREAD
    # A policy without genetic data costs less than 0.01.
    assert found[0] - auc([*tests, *images, *life], everybody, ill == 1) < 0.01
    stage = people["diagnosis"].to_numpy()
    assert abs(auc(names, stage != "AD", stage == "MCI") - 0.80) < SPREAD
    shares = [(stage == name).mean() for name in ("CN", "MCI", "AD")]
    assert np.abs(np.array(shares) - [0.42, 0.38, 0.20]).max() < 0.03


def test_readmission_is_as_hard_as_specified() -> None:
    blocks, labels, patients, first = [], [], [], 0
    for hospital, size in enumerate(ehr.patients_of(0, 18_000)):
        visits, _ = ehr.site(0, hospital, size)
        who = visits.patient
        by_illness = visits.codes.reshape(len(who), 15, 20).sum(axis=2)
        blocks.append(
            np.column_stack(
                [visits.age[who], np.log1p(visits.prior), by_illness, visits.labs]
            )
        )
        labels.append(visits.readmitted)
        patients.append(who + first)
        first += size
    inputs, back = np.concatenate(blocks), np.concatenate(labels)
    assert 49_000 < len(back) < 53_000
    assert 0.12 < back.mean() < 0.16
    # Split by patient: rows of one patient on both sides would flatter the model.
    train = (np.random.default_rng(0).random(18_000) < 0.7)[np.concatenate(patients)]
    for model, low, high in (
        (logistic(0.1), 0.69, 0.74),
        (HistGradientBoostingClassifier(max_iter=80, random_state=0), 0.68, 0.73),
    ):
        model.fit(inputs[train], back[train])
        scores = model.predict_proba(inputs[~train])[:, 1]
        assert low < roc_auc_score(back[~train], scores) < high


def test_anomalies_are_as_hard_as_specified() -> None:
    blocks, labels, sensors = [], [], []
    for number in range(iot.zones()):
        zone = iot.one_zone(0, number, 40, 500, 40 * number)
        seen = iot.features(zone)
        there = ~np.isnan(zone.value)
        blocks.append(np.column_stack([seen[name][there] for name in seen]))
        labels.append(zone.anomaly[there])
        sensors.append(np.broadcast_to(zone.sensor[:, None], there.shape)[there])
    inputs = np.nan_to_num(np.concatenate(blocks))
    odd, sensor = np.concatenate(labels), np.concatenate(sensors)
    train = sensor % 3 != 0
    raw = [place for place, name in enumerate(seen) if not name.endswith("_size")]

    def auc(model: Any, columns: list[int]) -> float:
        model.fit(inputs[train][:, columns], odd[train])
        scores = model.predict_proba(inputs[~train][:, columns])
        return float(roc_auc_score(odd[~train], scores[:, 1]))

    every = list(range(inputs.shape[1]))
    boosted = HistGradientBoostingClassifier(max_iter=150, random_state=0)
    assert abs(auc(logistic(1.0), raw) - 0.61) < SPREAD
    assert abs(auc(logistic(1.0), every) - 0.71) < SPREAD
    assert abs(auc(boosted, every) - 0.89) < SPREAD


TRAIN = """
import sys
from pathlib import Path
from lexfed.config import from_mapping
from lexfed.evaluate.datasets import prepare
from lexfed.run import seeded_population, price
from lexfed.run.results.metrics import evaluate
from lexfed.run.driver.rehearsal import rehearse

def most_megabytes():
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmHWM:") + 1]) // 1024

found = prepare("iot_like", Path(sys.argv[1]), rows=10_000_000)
made = most_megabytes()
plain = {"version": 1, "run": {"name": "iot"}, **found.tables}
config = from_mapping({**plain, "budget": {"epsilon": 2.0, "delta": 1e-5}})
priced = price(config, seeded_population(config, found.folder))
print(made, evaluate(priced, rehearse(priced))["auc"], most_megabytes())
"""


@pytest.mark.timeout(300)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_ten_million_readings_are_made_and_trained_on_below_two_gigabytes(
    tmp_path: Path,
) -> None:
    # VmHWM is of this program alone; ru_maxrss would count the parent before exec.
    done = subprocess.run(
        [sys.executable, "-c", TRAIN, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    made, auc, trained = map(float, done.stdout.split())
    assert made < 1000
    assert trained < 2000
    assert auc > 0.65
    with (tmp_path / "table.csv").open() as rows:
        assert sum(1 for _ in rows) == 1 + 5000 * 50
