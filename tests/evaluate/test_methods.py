# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from lexfed.errors import DataError
from lexfed.evaluate.comparison.case import configuration, law_table, sensitive_tier
from lexfed.evaluate.comparison.metrics import measure
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.methods import METHODS, ebm
from lexfed.evaluate.methods.exact_solution import _best, solve
from lexfed.run.intake.population import seeded_population
from lexfed.tiers import Tier
from support.evaluation.small_dataset import small_case, small_dataset


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("table")


def test_test_rows_are_those_of_the_population_in_order(folder: Path) -> None:
    rows = rows_of(small_dataset(folder), small_case())
    slots, targets = rows.population.test_rows
    assert np.array_equal(rows.test.slots, slots.numpy())
    assert np.array_equal(rows.test.targets, targets.numpy())
    # The row numbers lead to the same values on another way: through the file.
    frame = pd.read_csv(folder / "table.csv")
    assert np.array_equal(frame["ill"].to_numpy()[rows.test.rows], rows.test.targets)
    assert np.array_equal(frame["band"].to_numpy()[rows.test.rows], rows.groups["age"])
    names = np.array(rows.population.names)
    assert np.array_equal(
        frame["clinic"].to_numpy()[rows.test.rows], names[rows.test.sites]
    )
    assert not np.intersect1d(rows.train.persons, rows.test.persons).size
    assert len(rows.train.rows) + len(rows.test.rows) == len(frame)


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    first = rows_of(small_dataset(tmp_path), small_case())
    assert rows_of(small_dataset(tmp_path, rows=600), small_case()) is not first
    again = small_dataset(tmp_path, rows=400)
    assert len(rows_of(again, small_case()).table) == 400


def test_three_classes_are_refused(tmp_path: Path) -> None:
    dataset = small_dataset(tmp_path)
    kinds = {"kind": "category", "values": ["0", "1", "2"], "missing": False}
    data = dataset.tables["data"]
    frame = pd.read_csv(tmp_path / "table.csv")
    frame.loc[0, "ill"] = 2
    frame.to_csv(tmp_path / "table.csv", index=False)
    data["columns"]["ill"] = kinds
    with pytest.raises(DataError, match="3 classes"):
        rows_of(dataset, small_case())


def test_fewer_tiers_never_protect_a_column_less(folder: Path) -> None:
    dataset = small_dataset(folder)
    columns = dataset.tables["law"]["columns"]
    columns["ward"]["tier"] = "identifier"
    tags = {
        count: law_table(dataset, small_case(tiers=count))["columns"]
        for count in (4, 3, 2)
    }
    for name in columns:
        tiers = [Tier.parse(tags[count][name]["tier"]) for count in (4, 3, 2)]
        # An identifier is outside the model; inside, nothing is above special.
        inside = [min(tier, Tier.SPECIAL) for tier in tiers]
        assert inside == sorted(inside)
    assert tags[3]["ward"]["tier"] == "special"
    assert tags[2]["dose"]["tier"] == "personal"
    assert sensitive_tier(dataset, small_case()) is Tier.SPECIAL


def test_equal_attribute_caps_the_tier_and_equal_record_does_not(folder: Path) -> None:
    dataset = small_dataset(folder)
    capped = configuration(dataset, small_case(equal="attribute"), {})
    free = configuration(dataset, small_case(), {})
    assert capped.budget.caps.special == 2.0
    assert capped.budget.neighbours == "replace-one"
    assert free.budget.caps.special is None
    assert free.budget.neighbours == "add-remove"


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("equal", ["record", "attribute"])
def test_no_method_claims_more_than_it_may_spend(
    folder: Path, name: str, equal: str
) -> None:
    if name == ebm.NAME:
        pytest.importorskip("interpret.privacy")
    scores = METHODS[name](small_dataset(folder), small_case(equal=equal))
    assert scores.method == name
    assert scores.scores.shape == scores.targets.shape == scores.sites.shape
    assert scores.rounds > 0
    assert not scores.diverged
    if scores.record_epsilon is not None:
        assert scores.attribute_epsilon is not None
        assert 0 < scores.record_epsilon <= 8.0
        most = 2.0 if equal == "attribute" else 25.0
        assert 0 <= scores.attribute_epsilon <= most
    else:
        assert "no guarantee" in scores.note
    assert set(measure(scores, 0.9)) >= {"auc", "gap_auc_age"}


@pytest.mark.parametrize("name", ["none", "cascade", "uniform"])
def test_methods_learn_what_there_is_to_learn(folder: Path, name: str) -> None:
    # Chance has AUC .5 +- .04 on 180 test rows; .7 is five deviations above it.
    scores = METHODS[name](small_dataset(folder), small_case(record_epsilon=30.0))
    assert measure(scores, None)["auc"] > 0.7


def test_a_number_is_predicted_too(tmp_path: Path) -> None:
    dataset = small_dataset(tmp_path, number=True)
    found = measure(METHODS["none"](dataset, small_case()), None)
    assert found["r2"] > 0.5


@pytest.mark.parametrize(
    ("partition", "alpha"), [("iid", None), ("dirichlet", 0.5), ("dirichlet", 0.01)]
)
def test_every_site_has_somebody_to_train_on(
    folder: Path, partition: str, alpha: float | None
) -> None:
    case = small_case(sites=60, partition=partition, alpha=alpha)
    rows = rows_of(small_dataset(folder), case)
    assert len(rows.population.sites) == 60
    assert all(len(site.train) for site in rows.population.sites)
    at: dict[int, int] = {}
    for side in (rows.train, rows.test):
        for person, site in zip(side.persons, side.sites, strict=True):
            assert at.setdefault(int(person), int(site)) == site
    slots, targets = rows.population.test_rows
    assert np.array_equal(rows.test.slots, slots.numpy())
    assert np.array_equal(rows.test.targets, targets.numpy())


def test_a_partition_that_is_fine_is_the_product_s_own(folder: Path) -> None:
    dataset = small_dataset(folder)
    case = small_case(sites=3, partition="dirichlet", alpha=5.0)
    own = seeded_population(configuration(dataset, case, {}), folder)
    made = rows_of(dataset, case).population
    assert made.names == own.names
    assert made.units == own.units
    for one, other in zip(made.sites, own.sites, strict=True):
        for block, same in ((one.train, other.train), (one.test, other.test)):
            assert np.array_equal(block.inputs, same.inputs)
            assert np.array_equal(block.persons, same.persons)
            assert np.array_equal(block.weights, same.weights)


def test_more_sites_than_training_persons_are_refused(folder: Path) -> None:
    with pytest.raises(DataError, match=r"250 sites, and 2\d\d people"):
        rows_of(small_dataset(folder), small_case(sites=250))


def test_networks_that_do_not_pay_are_named(folder: Path) -> None:
    dataset = small_dataset(folder)
    ruled = METHODS["cascade"](dataset, small_case(model="mlp:8"))
    assert "would not pay" in ruled.note
    plain = METHODS["fedsgd"](dataset, small_case(model="mlp:8"))
    assert "would not pay" not in plain.note
    ceiling = METHODS["none"](dataset, small_case(model="mlp:8"))
    assert ceiling.note == "no guarantee"


def test_the_ceiling_is_that_of_a_solver(folder: Path) -> None:
    dataset, case = small_dataset(folder), small_case(settings={"C": 0.3})
    scores = METHODS["none"](dataset, case)
    rows = rows_of(dataset, case)
    # Persons with two rows weigh as much as others, so rows weigh one half here.
    spread = rows.train.slots.std(axis=0)
    keep = spread > 1e-9
    inputs = (
        ((rows.train.slots - rows.train.slots.mean(axis=0))[:, keep]) / spread[keep]
    )
    line = LogisticRegression(C=0.15, max_iter=2000).fit(inputs, rows.train.targets)
    asked = ((rows.test.slots - rows.train.slots.mean(axis=0))[:, keep]) / spread[keep]
    assert np.allclose(scores.scores, line.predict_proba(asked)[:, 1], atol=2e-3)


def test_the_penalty_is_chosen_on_training_rows(folder: Path) -> None:
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(120, 60))
    # One column tells, 59 are noise: a strong penalty is better than a weak one.
    targets = (inputs[:, 0] + generator.normal(size=120) > 0).astype(np.float64)
    folds = np.arange(120) % 3
    weights = np.ones(120)
    assert _best((1e-3, 1e3), inputs, targets, weights, folds) == 1e-3
    # No choice without both classes in every part.
    alike = np.where(folds == 0, 1.0, targets)
    assert _best((1e-3, 0.1, 1e3), inputs, alike, weights, folds) == 0.1


def test_a_site_with_one_class_repeats_it(folder: Path) -> None:
    dataset, case = small_dataset(folder), small_case()
    rows = rows_of(dataset, case)
    known = rows.train.where(rows.train.targets == 1.0)
    assert set(solve(rows, known, rows.test, case)) == {1.0}
    nobody = rows.test.where(rows.test.targets > 1.0)
    assert not len(solve(rows, known, nobody, case))
