# SPDX-License-Identifier: Apache-2.0
import sys
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import toeplitz

from lexfed.errors import ConfigError
from lexfed.evaluate.comparison.metrics import measure
from lexfed.evaluate.comparison.split_rows import columns_of, rows_of
from lexfed.evaluate.methods import METHODS, ebm
from lexfed.evaluate.methods.baseline_claims import affordable_mu, gaussian, scored
from lexfed.evaluate.methods.single_tower import FEDAVG, FTRL, bands, correlated
from lexfed.privacy.accountants.gdp import epsilon_from, mu_from
from lexfed.tiers import Tier
from support.evaluation.small_dataset import small_case, small_dataset


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("table")


def matrix(coefficients: np.ndarray, steps: int) -> np.ndarray:
    first = np.zeros(steps)
    first[: len(coefficients)] = coefficients[:steps]
    return np.tril(toeplitz(first))


def test_bands_are_the_square_root_of_the_prefix_sum() -> None:
    root = matrix(bands(12), 12)
    assert np.allclose(root @ root, np.tril(np.ones((12, 12))))


@pytest.mark.parametrize(("batches", "passes"), [(1, 3), (4, 1), (4, 5)])
def test_correlated_noise_solves_its_equation(batches: int, passes: int) -> None:
    coefficients, steps = bands(batches), batches * passes
    noise = list(correlated(coefficients, steps, 2, np.random.default_rng(3)))
    drawn = np.random.default_rng(3).normal(size=(steps, 2))
    assert np.allclose(matrix(coefficients, steps) @ np.array(noise), drawn)


@pytest.mark.parametrize(("batches", "passes"), [(1, 3), (3, 4), (8, 2)])
def test_a_unit_moves_the_release_by_no_more_than_is_charged(
    batches: int, passes: int
) -> None:
    generator = np.random.default_rng(0)
    encoder = matrix(bands(batches), batches * passes)
    charged = sqrt(passes) * float(np.linalg.norm(bands(batches)))
    longest = 0.0
    for place in range(batches):
        # Its gradients change from pass to pass, also to the opposite direction.
        for gradients in [np.ones((passes, 1)), generator.choice([-1, 1], (passes, 1))]:
            stream = np.zeros((batches * passes, 1))
            stream[place::batches] = gradients
            longest = max(longest, float(np.linalg.norm(encoder @ stream)))
    assert longest <= charged * (1 + 1e-12)
    # The last batch is cut off at the end, the first one is not.
    assert longest == pytest.approx(charged, rel=0.3)


def test_overlapping_bands_would_be_charged_too_little() -> None:
    # Negative control: with more bands than batches in a pass columns overlap.
    encoder = matrix(bands(8), 16)
    stream = np.zeros(16)
    stream[::4] = 1.0
    assert np.linalg.norm(encoder @ stream) > sqrt(4) * np.linalg.norm(bands(8))


@pytest.mark.parametrize("name", [FTRL, FEDAVG])
@pytest.mark.parametrize("equal", ["record", "attribute"])
def test_the_whole_budget_is_spent_and_no_more(
    folder: Path, name: str, equal: str
) -> None:
    scores = METHODS[name](small_dataset(folder), small_case(equal=equal))
    assert scores.record_epsilon is not None
    budget = 8.0 if equal == "record" else 2.0
    assert budget * (1 - 1e-6) < scores.record_epsilon <= budget
    # No towers: an attribute costs what a replaced record costs.
    mu = mu_from(budget, 1e-5) * (2.0 if equal == "record" else 1.0)
    assert scores.attribute_epsilon == pytest.approx(epsilon_from(mu, 1e-5), rel=1e-6)


@pytest.mark.parametrize(
    "name", ["boosted", "local-none", "local", "fedavg", "dp-ftrl"]
)
def test_baselines_learn_what_there_is_to_learn(folder: Path, name: str) -> None:
    # Chance has AUC .5 +- .04 on 180 test rows; .65 is more than three deviations up.
    case = small_case(record_epsilon=30.0)
    assert measure(METHODS[name](small_dataset(folder), case), None)["auc"] > 0.65


def test_noise_drowns_baselines_where_it_should(folder: Path) -> None:
    # Negative control: at epsilon .01 nothing is learned, so AUC stays near chance;
    # the mean of 6 runs is beyond .3 from it with probability below 1e-6.
    case = small_case(record_epsilon=0.01)
    dataset = small_dataset(folder)
    found = [measure(METHODS[FTRL](dataset, case), None)["auc"] for _ in range(6)]
    assert abs(np.mean(found) - 0.5) < 0.3
    assert np.std(found) > 0.01


@pytest.mark.parametrize("name", ["boosted", "fedavg", "dp-ftrl"])
def test_baselines_predict_numbers(tmp_path: Path, name: str) -> None:
    dataset = small_dataset(tmp_path, number=True)
    case = small_case(record_epsilon=30.0)
    assert measure(METHODS[name](dataset, case), None)["r2"] > 0.0


def test_networks_are_trained_by_baselines_too(folder: Path) -> None:
    case = small_case(model="mlp:8", record_epsilon=30.0)
    assert not METHODS["dp-ftrl"](small_dataset(folder), case).diverged


def test_lost_numbers_are_reported_as_diverged(folder: Path) -> None:
    dataset, case = small_dataset(folder), small_case()
    rows = rows_of(dataset, case)
    predicted = np.full(len(rows.test.targets), np.nan)
    lost = scored("m", dataset, case, rows, predicted, (), 1, 0.0, "")
    assert lost.diverged
    assert np.isnan(measure(lost, None)["auc"])


def test_sites_alone_are_scored_on_their_own_rows(folder: Path) -> None:
    dataset, case = small_dataset(folder), small_case()
    scores = METHODS["local-none"](dataset, case)
    rows = rows_of(dataset, case)
    assert np.array_equal(scores.targets, rows.test.targets)
    assert len(np.unique(scores.sites)) == 4
    # Four models: the same slots would be scored differently at another site.
    whole = METHODS["none"](dataset, case)
    assert not np.allclose(scores.scores, whole.scores)


def test_a_person_at_two_sites_pays_twice(folder: Path) -> None:
    dataset, case = small_dataset(folder), small_case()
    once = affordable_mu(dataset, case)
    dataset.tables["data"]["sites_per_person"] = 2
    assert affordable_mu(dataset, case) == pytest.approx(once / 2)
    rows = rows_of(small_dataset(folder), case)
    release = gaussian("sum", once / 2, Tier.SPECIAL)
    predicted = np.zeros(len(rows.test.targets))
    found = scored("m", dataset, case, rows, predicted, [(release, 1)], 1, 0.0, "")
    assert found.record_epsilon == pytest.approx(8.0, rel=1e-6)


def test_columns_are_those_of_the_file(folder: Path) -> None:
    rows = rows_of(small_dataset(folder), small_case())
    known = columns_of(rows, rows.train)
    names = [column.name for column in known.columns]
    assert names == ["dose", "ward", "age", "marker", "smoker"]
    assert set(np.unique(known.values[:, 1])) == {0.0, 1.0}
    # A tenth of the markers is missing.
    assert 0.02 < np.isnan(known.values[:, 3]).mean() < 0.2


def test_what_is_missing_has_a_bin_of_its_own(folder: Path) -> None:
    rows = rows_of(small_dataset(folder), small_case())
    known = columns_of(rows, rows.train)
    filled = ebm._filled(known, 8)
    low = ebm._bounds(known, 8)[3][0]
    # The range [-1, 1] in seven bins, and one more below.
    assert low == pytest.approx(-1.0 - 2.0 / 7.0)
    assert np.array_equal(filled[:, 3] == low, np.isnan(known.values[:, 3]))
    known.values[0, 1] = np.nan
    assert ebm._filled(known, 8)[0, 1] == "-1"


@pytest.mark.parametrize("budget", [0.1, 1.0])
def test_dp_ebm_is_asked_for_what_its_exact_price_allows(
    folder: Path, budget: float
) -> None:
    dataset = small_dataset(folder)
    case = small_case(equal="attribute", record_epsilon=2.0, attribute_epsilon=budget)
    asked = ebm.own_epsilon(dataset, case)
    replaced = epsilon_from(2.0 * ebm.total_mu(asked, 1e-5), 1e-5)
    assert budget * (1 - 1e-6) < replaced <= budget
    # What the library calls epsilon is never less than the exact price of it.
    assert epsilon_from(ebm.total_mu(1.0, 1e-5), 1e-5) < 1.0
    removed = epsilon_from(
        ebm.total_mu(ebm.own_epsilon(dataset, small_case()), 1e-5), 1e-5
    )
    assert 8.0 * (1 - 1e-6) < removed <= 8.0


def test_a_missing_library_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "interpret.privacy", None)
    with pytest.raises(ConfigError, match="`interpret` is not installed") as error:
        METHODS[ebm.NAME](small_dataset(folder), small_case())
    assert error.value.hint == "pip install 'lexfed[ebm]'"


@pytest.mark.parametrize("number", [False, True])
def test_dp_ebm_trains_by_its_own_library(tmp_path: Path, number: bool) -> None:
    pytest.importorskip("interpret.privacy")
    dataset = small_dataset(tmp_path, number=number)
    scores = METHODS[ebm.NAME](dataset, small_case())
    assert scores.record_epsilon is not None
    assert scores.record_epsilon <= 8.0
    found = measure(scores, None)
    assert (found["r2"] if number else found["auc"] - 0.5) > 0.1
