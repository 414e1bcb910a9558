# SPDX-License-Identifier: Apache-2.0
"""Estimators for scikit-learn: what a fit states, charges, and refuses."""

import pickle
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import lexfed
from lexfed.errors import ConfigError, DataError, Refused
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import set_ceiling
from lexfed.sklearn import PrivateClassifier, PrivateRegressor

FRESH_NOISE = "every fit draws fresh noise, so two fits to the same rows differ"
EXPECTED = {
    "check_fit_idempotent": FRESH_NOISE,
    "check_supervised_y_2d": FRESH_NOISE,
    "check_classifier_data_not_an_array": FRESH_NOISE,
    "check_regressor_data_not_an_array": FRESH_NOISE,
    "check_regressors_int": FRESH_NOISE,
}


def _checked(estimator: Any) -> None:
    # Checks compare models with the truth, so the budget is a large one.
    estimator.set_params(
        columns=(-4.0, 4.0), tiers="personal", epsilon=20, delta=1e-3,
        neighbours="replace-one", ledger="ledgers", more={"federation.rounds": 20},
    )  # fmt: skip
    found = check_estimator(
        estimator, expected_failed_checks=EXPECTED, on_fail=None, on_skip=None
    )
    status = {each["check_name"]: each["status"] for each in found}
    problems = [
        (each["check_name"], each["exception"])
        for each in found
        if each["status"] == "failed"
    ]
    assert problems == []
    skipped = {name for name, each in status.items() if each == "skipped"}
    # The array API needs another mode of SciPy; pipelines are checked where fits agree.
    assert skipped <= {"check_array_api_input", "check_pipeline_consistency"}
    assert status["check_fit_idempotent"] == "xfail"
    assert Counter(status.values())["passed"] > 35


@pytest.mark.slow
def test_the_checks_of_scikit_learn_for_classifiers(place: Path) -> None:
    _checked(PrivateClassifier(target="public"))


@pytest.mark.slow
def test_the_checks_of_scikit_learn_for_regressors(place: Path) -> None:
    _checked(PrivateRegressor(target=(-4.0, 4.0)))


@pytest.fixture
def model() -> Any:
    """A classifier of the patients, fitted in a round."""
    return PrivateClassifier(
        columns={"ward": ["a", "b"], "age": (0, 110), "hba1c": (3, 20)},
        target=["no", "yes"],
        tiers={"ward": "non_personal", "age": "personal", "hba1c": "special"},
        epsilon=4,
        delta=1e-4,
        neighbours="replace-one",
        more={"federation.rounds": 1},
    )


@pytest.fixture
def rows(patients: pd.DataFrame) -> pd.DataFrame:
    return patients[["ward", "age", "hba1c"]]


@pytest.fixture
def ends(patients: pd.DataFrame) -> Any:
    return np.where(patients["died"] == 1, "yes", "no")


def test_a_fit_is_a_run_with_a_claim_that_verifies(
    place: Path, model: Any, rows: pd.DataFrame, ends: Any
) -> None:
    chances = model.fit(rows, ends).predict_proba(rows)
    assert chances.shape == (len(rows), 2)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert set(model.predict(rows)) <= {"no", "yes"}
    assert model.claim_.epsilon <= 4
    assert lexfed.verify(model.run_).ok
    assert model.run_.folder == Path("runs/sklearn/fit-1")
    text = (model.run_.folder / "config.toml").read_text()
    assert 'source = "frame:table"' in text
    assert "test_size = 0.0" in text  # no row is left out, and none is scored
    assert model.report_.verdict.ok
    assert (model.run_.folder / "report.html").is_file()


def test_a_second_fit_is_refused_until_a_ledger_is_named(
    place: Path, model: Any, rows: pd.DataFrame, ends: Any
) -> None:
    model.fit(rows, ends)
    for again in (model, clone(model), clone(model).set_params(epsilon=1)):
        with pytest.raises(Refused, match="holds a fit to the data set") as refused:
            again.fit(rows, ends)
        assert "ledger=" in refused.value.hint
    with pytest.raises(Refused):  # other sites are the same people
        clone(model).fit(rows, ends, sites=2)
    assert not (place / "runs" / "sklearn" / "fit-2").exists()
    clone(model).set_params(data_set="others").fit(rows, ends)
    clone(model).set_params(ledger="ledgers").fit(rows, ends)
    (file,) = (place / "ledgers").glob("*.ledger")
    assert "all-parts" in file.name


def test_of_fits_at_once_one_is_charged_and_the_others_are_refused(
    place: Path, model: Any, rows: pd.DataFrame, ends: Any
) -> None:
    # Folds in parallel, or two notebooks: none looks before another has paid.
    def fit(each: Any) -> str:
        try:
            each.fit(rows, ends)
        except Refused:
            return "refused"
        return "fitted"

    with ThreadPoolExecutor(3) as threads:
        ends_of_fits = sorted(threads.map(fit, [clone(model) for _ in range(3)]))
    assert ends_of_fits == ["fitted", "refused", "refused"]
    assert [each.name for each in (place / "runs/sklearn").glob("fit-*")] == ["fit-1"]


def test_labels_are_in_the_order_that_scorers_of_scikit_learn_expect(
    place: Path, model: Any, rows: pd.DataFrame, ends: Any
) -> None:
    model.set_params(target=["yes", "no"], epsilon=20).fit(rows, ends)
    assert model.classes_.tolist() == ["no", "yes"]
    assert get_scorer("roc_auc")(model, rows, ends) > 0.5
    with pytest.raises(ConfigError, match="labels of different kinds"):
        clone(model).set_params(target=[None, "yes"]).fit(rows, ends)


def _runs(folder: Path) -> int:
    (file,) = folder.glob("*.ledger")
    with closing(LastingLedger.open(file)) as ledger:
        return sum(row.kind == "reserve" for row in ledger.rows())


def test_folds_and_candidates_are_charged_until_the_ceiling(
    place: Path, model: Any, rows: pd.DataFrame, ends: Any
) -> None:
    ledgers = place / "ledgers"
    one = clone(model).set_params(ledger=ledgers).fit(rows, ends)
    assert _runs(ledgers) == 1
    scores = cross_val_score(one, rows, ends, cv=2, error_score="raise")
    assert len(scores) == 2
    assert _runs(ledgers) == 3
    grid = GridSearchCV(
        make_pipeline(FunctionTransformer(), clone(one)),
        {"privateclassifier__epsilon": [1, 2]},
        cv=2,
        error_score="raise",
    )
    grid.fit(rows, ends)
    assert _runs(ledgers) == 3 + 5
    assert grid.best_estimator_[-1].claim_.epsilon <= 2
    (file,) = ledgers.glob("*.ledger")
    with closing(LastingLedger.open(file)) as ledger:
        set_ceiling(ledger, "label", Ceiling.of(5.0, 1e-4), "enough")
    with pytest.raises(Refused, match="label"):
        clone(one).fit(rows, ends)


def test_without_a_ledger_a_search_ends_at_its_second_fit(
    place: Path, model: Any, rows: pd.DataFrame, ends: Any
) -> None:
    with pytest.raises(Refused, match="holds a fit"):
        cross_val_score(model, rows, ends, cv=2, error_score="raise")


def test_a_model_lives_without_its_folder(
    place: Path, model: Any, rows: pd.DataFrame, ends: Any
) -> None:
    before = model.fit(rows, ends).predict_proba(rows)
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own
    shutil.rmtree(place / "runs")
    np.testing.assert_array_equal(copy.predict_proba(rows), before)
    np.testing.assert_array_equal(copy.predict_proba(pl.from_pandas(rows)), before)


def test_sites_and_people(
    place: Path, model: Any, rows: pd.DataFrame, ends: Any
) -> None:
    model.set_params(ledger="ledgers", data_set="all")
    people = np.arange(len(rows)) // 2
    with pytest.raises(DataError, match="more than 1 row"):
        model.fit(rows, ends, person=people)
    model.set_params(records_per_person=2).fit(rows, ends, person=people)
    assert model.claim_.records_per_person == 2
    where = np.where(people % 2, "north", "south")
    with pytest.raises(ConfigError, match="`site_names`: is missing"):
        model.fit(rows, ends, sites=where, person=people)
    model.set_params(site_names=["north", "south"])
    model.fit(pl.from_pandas(rows), ends, sites=where, person=people)
    names = {file.name.split("-")[2] for file in (place / "ledgers").glob("*.ledger")}
    assert names == {"all", "north", "south"}
    with pytest.raises(DataError, match="one value for each of 300 rows"):
        model.fit(rows, ends, sites=["north"], person=people)
    with pytest.raises(DataError, match="column `person`"):
        model.fit(rows, ends, person=[None, *people[1:]])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"columns": None}, "`columns`: is missing"),
        ({"tiers": None}, "`tiers`: is missing"),
        ({"epsilon": None}, "`epsilon`: is missing"),
        ({"target": None}, "`target`: is missing: which labels"),
        ({"target": "anything"}, "`target`: is missing: which labels"),
        ({"target": ["yes", "yes"]}, "two of them read alike"),
        ({"neighbours": None}, "`data.units` is missing"),
        ({"columns": {"age": (0, 110)}}, "column `ward`"),
        ({"more": {"budget.epsilon": 9}}, "is stated by a keyword"),
    ],
)
def test_nothing_has_a_default_that_reads_the_rows(
    place: Path,
    model: Any,
    rows: pd.DataFrame,
    ends: Any,
    change: dict[str, Any],
    said: str,
) -> None:
    with pytest.raises(ConfigError) as refused:
        model.set_params(**change).fit(rows, ends)
    assert said in str(refused.value)
    assert refused.value.hint
    assert not list(place.iterdir())


def test_labels_that_are_not_listed_are_refused_and_not_shown(
    place: Path, model: Any, rows: pd.DataFrame, ends: Any
) -> None:
    strange = ends.astype(object)
    strange[4] = "Mx-4711"
    with pytest.raises(ValueError, match="first in row 5") as refused:
        model.fit(rows, strange)
    assert isinstance(refused.value, DataError)
    assert "4711" not in str(refused.value)
    with pytest.raises(ValueError, match="one class only"):
        model.set_params(target="public").fit(rows, ["no"] * len(rows))


def test_arrays_of_several_classes(place: Path) -> None:
    chance = np.random.default_rng(1)
    y = chance.integers(0, 3, 240)
    X = chance.normal(y[:, None], 1, (240, 2))
    model = PrivateClassifier(
        columns=(-5, 8), target=[0, 1, 2], tiers="personal", epsilon=8, delta=1e-3,
        neighbours="replace-one",
    )  # fmt: skip
    model.fit(X, y)
    assert model.predict_proba(X).shape == (240, 3)
    assert set(model.predict(X)) <= {0, 1, 2}
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.full((1, 2), np.inf))


def test_numbers_are_predicted_in_their_own_units(
    place: Path, rows: pd.DataFrame
) -> None:
    model = PrivateRegressor(
        columns={"ward": ["a", "b"], "age": (0, 110), "target": (3, 20)},
        tiers=lexfed.tag(rows), epsilon=8, delta=1e-4, neighbours="replace-one",
    )  # fmt: skip
    rows = rows.rename(columns={"hba1c": "target"})
    model.set_params(tiers={"ward": "personal", "age": "personal", "target": "special"})
    stays = 3 + rows["age"].fillna(50) / 10
    with pytest.raises(ConfigError, match="the range of `y` is not read from it"):
        model.fit(rows, stays)
    model.set_params(target=(0, 20))
    with pytest.raises(ValueError, match="expected numbers"):
        model.fit(rows, ["x"] * len(rows))
    found = model.fit(rows, stays).predict(rows)
    assert 0 <= found.min() <= found.max() <= 20
    assert "target_" in (model.run_.folder / "config.toml").read_text()


def test_tags_are_tiers(place: Path, model: Any, rows: pd.DataFrame, ends: Any) -> None:
    tags = lexfed.tag(rows)
    model.set_params(
        tiers={**tags.decisions(), **dict.fromkeys(tags.review, "special")}
    )
    model.fit(rows, ends)
    assert 'by = "rule"' in (model.run_.folder / "config.toml").read_text()


def test_a_folder_that_cannot_be_written(
    place: Path, model: Any, rows: pd.DataFrame, ends: Any
) -> None:
    Path("taken").write_text("")
    with pytest.raises(lexfed.errors.LexfedError, match="taken"):
        model.set_params(folder="taken").fit(rows, ends)
