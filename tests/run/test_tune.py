# SPDX-License-Identifier: Apache-2.0
"""Searches: within the budget, the best of what was tried, nothing of the rest kept."""

import copy
import json
import math
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lexfed.config.search_grid import (
    SearchSetting,
    parse_grid,
    searched_configs,
    set_key,
)
from lexfed.errors import ConfigError, Refused, RunFolderError
from lexfed.privacy.releases import Release
from lexfed.privacy.scopes import CountedRelease
from lexfed.privacy.selection import Repetitions, selection_cost
from lexfed.randomness import SecureSource, SeededSource
from lexfed.run import load_population, tuning
from lexfed.run.intake.column_importance import Importance
from lexfed.run.tuning import (
    ChargedSearch,
    ScoredSetting,
    charged_record,
    finished_record,
    make_folder,
    plan_search,
    public_record,
    run_search,
    search_public,
    write_record,
)
from lexfed.tiers import Tier

GRID = parse_grid(["federation.rounds=1,2"])
LAW = Repetitions("geometric", 3.0)


def tables(text: str, *changes: tuple[tuple[str, ...], Any]) -> dict[str, Any]:
    found = copy.deepcopy(tomllib.loads(text))
    set_key(found, ("evaluation", "metrics"), "paid")
    for path, value in changes:
        set_key(found, path, value)
    return found


def planned(
    text: str, *changes: tuple[tuple[str, ...], Any], law: Repetitions = LAW
) -> ChargedSearch:
    settings = GRID.settings()
    configs = searched_configs(tables(text, *changes), settings)
    population = load_population(configs[0], Path())
    return plan_search(settings, configs, population, law, Path())


# What a charged search may cost


CAPS = (("budget", "caps"), {"special": 0.4, "personal": 1.5})


@pytest.mark.parametrize(
    "changes",
    [
        (),
        (CAPS,),
        ((("budget", "neighbours"), "replace-one"),),
        ((("budget", "policy"), "published"), (("budget", "delta"), 1e-7)),
        ((("privacy", "mechanism"), "uniform"),),
    ],
)
def test_a_search_stays_within_budget_and_caps(
    config_text: str, changes: tuple[Any, ...]
) -> None:
    found = planned(config_text, *changes)
    config = found.runs[0].config
    caps = {t.label: getattr(config.budget.caps, t.label, None) for t in Tier}
    if config.budget.policy == "published":
        caps = {"special": 0.1, "personal": 0.5, "non_personal": 1.0}
    limits = [(found.cost.epsilon, config.budget.epsilon)]
    limits += [
        (value, cap)
        for tier, value in found.cost.tiers.items()
        if (cap := caps[tier.label]) is not None
    ]
    assert all(cost <= limit for cost, limit in limits)
    # One of them is used up to a percent: nothing is wasted.
    assert any(cost > 0.98 * limit for cost, limit in limits)
    assert 0.0 < found.part < 1.0


def test_the_cost_is_that_of_the_recorded_releases(config_text: str) -> None:
    found = planned(config_text, CAPS)
    record = json.loads(json.dumps(charged_record(GRID, found, None)))
    settings: list[list[CountedRelease]] = [
        [(Release.from_json(row["release"]), row["count"]) for row in run["releases"]]
        for run in record["runs"]
    ]
    names = {release.name for one in settings for release, _ in one}
    assert "metrics" in names  # the score is paid for as well
    again = selection_cost(
        settings,
        Repetitions(**record["repetitions"]),
        delta=record["cost"]["record"]["delta"],
        neighbours=record["cost"]["record"]["neighbours"],
        tiers=[Tier.parse(name) for name in record["cost"]["tiers"]],
        sites_per_person=record["sites_per_person"],
    )
    assert again == found.cost


def test_more_runs_cost_more_or_get_less(config_text: str) -> None:
    few = planned(config_text, law=Repetitions("geometric", 2.0))
    many = planned(config_text, law=Repetitions("geometric", 20.0))
    assert many.part < few.part


@pytest.mark.no_cover
def test_sampled_runs_can_be_searched(config_text: str) -> None:
    changes = (
        (("federation", "learning_rate"), 0.5),
        (("federation", "sampling_rate"), 0.5),
    )
    found = planned(config_text, *changes)
    assert found.cost.epsilon <= 3.0
    assert found.runs[0].config.privacy.accountant == "rdp"


def test_a_search_that_cannot_be_paid_for_is_refused(config_text: str) -> None:
    with pytest.raises(Refused, match="cannot be paid for"):
        planned(config_text, (("budget", "epsilon"), 0.001))


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        (("privacy", "mechanism"), "none", "privacy.mechanism"),
        (("privacy", "trust"), "distributed", "privacy.trust"),
        (("adapt", "guarantee"), "filter", "adapt.guarantee"),
        (
            ("budget", "profiles"),
            {"strict": {"sites": ["hospital-1"], "epsilon": 1.0}},
            "budget.profiles",
        ),
        (
            ("budget", "clients"),
            {"total": 3.0, "low": 0.5, "high": 2.0},
            "budget.clients",
        ),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(
    config_text: str, path: tuple[str, ...], value: object, key: str
) -> None:
    raw = tomllib.loads(config_text)
    set_key(raw, path, value)
    if value == "filter":
        set_key(raw, ("adapt", "noise"), "convergence")
        set_key(raw, ("federation", "learning_rate"), 0.5)
    if value == "distributed":
        set_key(raw, ("privacy", "accountant"), "rdp")
        set_key(raw, ("federation", "engine"), "inprocess")
    configs = searched_configs(raw, GRID.settings())
    population = load_population(configs[0], Path())
    with pytest.raises(ConfigError, match=key):
        plan_search(GRID.settings(), configs, population, LAW, Path())


def test_importances_that_were_paid_for_are_not_searched_with(
    config_text: str,
) -> None:
    configs = searched_configs(tables(config_text), GRID.settings())
    population = load_population(configs[0], Path())
    paid = planned(config_text).runs[0].programme.charges()[:1]
    bought = replace(population, importance=Importance(paid=paid))
    with pytest.raises(ConfigError, match="importances were paid for before"):
        plan_search(GRID.settings(), configs, bought, LAW, Path())


# Choosing


def scored(values: dict[int, float], metric: str) -> Callable[..., ScoredSetting]:
    """Stand in for a training: the score follows from the number of rounds."""

    def one(run: Any, setting: SearchSetting) -> ScoredSetting:
        return ScoredSetting(setting, metric, values[run.config.federation.rounds])

    return one


@pytest.mark.parametrize(
    ("metric", "values", "best"),
    [
        ("auc", {1: 0.6, 2: 0.7}, 2),
        ("rmse", {1: 0.6, 2: 0.7}, 1),
        ("auc", {1: math.nan, 2: 0.1}, 2),
    ],
)
def test_the_best_is_chosen(
    config_text: str,
    monkeypatch: pytest.MonkeyPatch,
    metric: str,
    values: dict[int, float],
    best: int,
) -> None:
    found = planned(config_text, law=Repetitions("poisson", 60.0))
    monkeypatch.setattr(tuning, "_one", scored(values, metric))
    # Sixty runs on average all draw the same one of two with chance below 1e-9.
    chosen = run_search(found, SecureSource())
    assert chosen is not None
    assert chosen.setting == GRID.settings()[best - 1]


def test_settings_are_drawn_uniformly() -> None:
    source = SeededSource(1, "settings")
    counts = Counter(tuning._below(3, source) for _ in range(3000))
    # Each is within 6 standard deviations of 1000; seeded, so it never fails twice.
    assert all(abs(counts[k] - 1000) < 6 * math.sqrt(3000 * 2 / 9) for k in range(3))


def test_words_that_would_favour_a_setting_are_drawn_again() -> None:
    class Words:
        private = False

        def __init__(self) -> None:
            self.left = [2**64 - 1, 5]

        def words(self, count: int) -> Any:
            return [self.left.pop(0) for _ in range(count)]

    assert tuning._below(3, Words()) == 2


def test_no_run_at_all_chooses_nothing(
    config_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = planned(config_text)
    monkeypatch.setattr(Repetitions, "draw", lambda *_: 0)
    assert run_search(found, SecureSource()) is None
    record = finished_record(charged_record(GRID, found, None), None)
    assert (record["state"], record["chosen"]) == ("done", None)


def test_a_run_trains_under_its_ledger_and_is_scored_by_noise(
    config_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = planned(config_text)
    chosen = tuning._one(found.runs[0], found.settings[0])
    assert chosen.metric == "auc"
    assert 0.0 <= chosen.score <= 1.0
    monkeypatch.setattr(tuning, "paid_metrics", lambda *_: {})
    assert math.isnan(tuning._one(found.runs[0], found.settings[0]).score)


# Public data


def test_a_public_search_ranks_and_is_free(config_text: str) -> None:
    raw = tomllib.loads(config_text)
    tried = search_public(raw, GRID, "synthetic:hospital", Path())
    assert {one.setting for one in tried} == set(GRID.settings())
    assert [one.rank for one in tried] == sorted((o.rank for o in tried), reverse=True)
    record = public_record(GRID, tried)
    assert record["cost"] == "free: public data"
    assert record["chosen"] == record["tried"][0]


def test_files_of_sites_become_parts_of_the_public_file() -> None:
    raw = {"data": {"sites": {"files": ["a.csv", "b.csv"]}}}
    changed = tuning._on_public(raw, "public.csv")
    assert changed["data"] == {"sites": {"count": 2}, "source": "public.csv"}
    assert raw == {"data": {"sites": {"files": ["a.csv", "b.csv"]}}}


def test_of_an_error_less_is_better() -> None:
    setting = GRID.settings()[0]
    ranks = [tuning.ScoredSetting(setting, "rmse", score).rank for score in (1.0, 2.0)]
    assert ranks[0] > ranks[1]


# The folder


def test_a_folder_is_never_used_twice(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "tune")
    write_record(tmp_path / "a" / "tune", {"state": "charged"})
    with pytest.raises(RunFolderError, match="what it cost is spent"):
        make_folder(tmp_path / "a" / "tune")
    with pytest.raises(RunFolderError, match="cannot create"):
        make_folder(tmp_path / "a" / "tune" / "tune.json" / "deeper")
