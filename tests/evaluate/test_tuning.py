# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lexfed.evaluate.comparison.metrics import Scores, measure
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.measurement import setting_search
from lexfed.evaluate.measurement.setting_search import (
    GRIDS,
    REPEATS,
    TRIALS,
    TUNED,
    tune,
    twin,
)
from lexfed.evaluate.methods import METHODS, Case
from support.evaluation.small_dataset import small_case, small_dataset


def test_every_method_has_the_same_number_of_trials() -> None:
    assert set(GRIDS) == set(METHODS)
    assert set(TUNED) == {f"{name}-tuned" for name in METHODS}
    for grid in GRIDS.values():
        assert len(grid) == TRIALS
        assert len({repr(setting) for setting in grid}) == TRIALS


@pytest.mark.parametrize("number", [False, True])
def test_a_twin_is_made_without_the_rows(tmp_path: Path, number: bool) -> None:
    dataset = small_dataset(tmp_path, number=number)
    (tmp_path / "table.csv").unlink()
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        made = twin(dataset, 3, folder)
    first, second = (pd.read_csv(folder / "table.csv") for folder in folders)
    assert first.equals(second)
    assert len(first) == 300
    # It reads like any other table, and there is something to learn in it.
    found = measure(METHODS["none"](made, small_case()), None)
    assert (found["r2"] > 0.1) if number else (0.65 < found["auc"] < 0.95)


def test_a_twin_keeps_to_the_declaration(tmp_path: Path) -> None:
    dataset = small_dataset(tmp_path)
    columns = dataset.tables["data"]["columns"]
    columns["free"] = {"kind": "text"}
    dataset.tables["law"]["columns"]["free"] = {"tier": "identifier", "reason": "key"}
    columns["ill"] = {"kind": "category", "values": ["no", "yes"], "missing": False}
    columns["age"]["missing"] = False
    twin(dataset, 2, tmp_path)
    frame = pd.read_csv(tmp_path / "table.csv", keep_default_na=False, dtype=str)
    assert set(frame["ill"]) == {"no", "yes"}
    assert set(frame["ward"]) == {"x", "y"}
    ages = frame["age"].astype(float)
    assert ages.between(0, 120).all()
    assert (frame["dose"] == "").any()
    assert frame["free"].is_unique


@pytest.mark.no_cover
def test_a_search_is_shared_by_the_seeds_of_a_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One training that is scored with fresh noise each time stands for thirty-six.
    trained = cache(lambda: METHODS["none"](dataset, small_case()))

    def freshly_noised(_: Dataset, case: Case) -> Scores:
        scores = trained()
        noise = np.random.default_rng().normal(0.0, 0.1, len(scores.scores))
        return replace(scores, scores=scores.scores + noise)

    dataset = small_dataset(tmp_path)
    fake = {**METHODS, "fedsgd": freshly_noised}
    monkeypatch.setattr(setting_search, "METHODS", fake)
    found = tune("fedsgd", dataset, small_case())
    assert found.settings in GRIDS["fedsgd"]
    # Fresh noise gives another score, so an equal one was not searched for again.
    assert tune("fedsgd", dataset, small_case(seed=3)) == found
    assert tune("fedsgd", dataset, small_case(record_epsilon=0.5)) != found
    (tmp_path / "elsewhere").mkdir()
    assert tune("fedsgd", small_dataset(tmp_path / "elsewhere"), small_case()) != found
    monkeypatch.undo()
    scores = TUNED["fedsgd-tuned"](dataset, small_case())
    assert scores.method == "fedsgd-tuned"
    assert found.words in scores.note
    assert f"best of {TRIALS} settings, {REPEATS} trainings each" in scores.note


def test_a_real_method_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setting_search, "REPEATS", 1)
    found = tune("fedsgd", small_dataset(tmp_path), small_case())
    assert found.settings in GRIDS["fedsgd"]
    assert 0.5 < found.score <= 1.0


def test_a_setting_that_diverges_never_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = small_dataset(tmp_path)
    trained = METHODS["none"](dataset, small_case())

    def only_the_last(_: Dataset, case: Case) -> Scores:
        if case.settings == GRIDS["cascade"][-1]:
            # The worst scores that are numbers.
            return replace(trained, scores=1.0 - trained.targets)
        nowhere = np.full(len(trained.scores), np.nan)
        return replace(trained, scores=nowhere, diverged=True)

    fake: Mapping[str, Any] = {**METHODS, "cascade": only_the_last}
    monkeypatch.setattr(setting_search, "METHODS", fake)
    found = tune("cascade", dataset, small_case())
    assert found.settings == GRIDS["cascade"][-1]


def test_the_search_that_ends_first_is_kept(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    setting_search._keep_first(kept, "first")
    setting_search._keep_first(kept, "second")
    assert kept.read_text() == "first"
    assert list(tmp_path.iterdir()) == [kept]


def test_the_rule_is_one_of_the_trials() -> None:
    for name in ("cascade", "uniform", "local"):
        assert GRIDS[name][0] == {}
    assert setting_search.SettingChoice({}, 0.8).words.startswith("the rule: ")
