# SPDX-License-Identifier: Apache-2.0
"""A configuration as a table with policies: what is copied, compared, left out."""

import itertools
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lexfed.config import Config, from_mapping
from lexfed.errors import ConfigError, DataError, RunFolderError
from lexfed.evaluate.comparison.case import CONFIGURED, own_methods
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.harness.tables import Job
from lexfed.evaluate.own.csv_copy import FILE, own_table
from lexfed.evaluate.own.policies import (
    CASCADE,
    UNIFORM_ATTRIBUTE,
    UNIFORM_RECORD,
    own_case,
    referenced_content,
    with_policies,
)
from lexfed.evaluate.own.questions import COST, TAILORING, measure, questions
from lexfed.run import load_population, price
from lexfed.run.intake.population import seeded_population

MODEL = """
from torch import nn
def small(slots, outputs):
    return nn.Linear(slots, outputs)
"""
POLICY = """
version = 1
title = "a trust"
[levels.high]
tier = "special"
weight = 1.0
[levels.middle]
tier = "personal"
weight = 1.0
[levels.low]
tier = "non_personal"
weight = 1.0
"""
STRICT = {"sites": ["hospital-01"], "epsilon": 1.0}


def hospital(**changed: dict[str, Any]) -> Config:
    """A made-up hospital with caps on tiers, small enough for tests."""
    tables: dict[str, dict[str, Any]] = {
        "run": {"name": "trial"},
        "data": {
            "source": "synthetic:hospital",
            "generator": {"patients": 400, "sites": 2},
        },
        "budget": {"epsilon": 2.0, "delta": 1e-5, "caps": {"special": 0.5}},
    }
    for name, added in changed.items():
        tables[name] = {**tables.get(name, {}), **added}
    return from_mapping({"version": 1, **tables})


def prepared(config: Config, into: Path, base: Path = Path()) -> Dataset:
    priced = price(config, load_population(config, base), base)
    into.mkdir(exist_ok=True)
    (into / FILE).unlink(missing_ok=True)
    return with_policies(own_table(priced, base, into), config, base)


def files(folder: Path) -> Config:
    """Two files, one for each site, with an age and a sex."""
    for site, first in (("north", 20), ("south", 50)):
        rows = [
            {"years_age": first + n % 40, "sex": "fm"[n % 2], "ill": n % 3 == 0, "x": n}
            for n in range(60)
        ]
        pd.DataFrame(rows).to_csv(folder / f"{site}.csv", index=False)
    tier = {"reason": "test"}
    return from_mapping(
        {
            "version": 1,
            "run": {"name": "two"},
            "data": {
                "target": "ill",
                "units": 120,
                "sites": {"files": ["north.csv", "south.csv"]},
                "columns": {
                    "years_age": {"kind": "number", "range": [0, 120]},
                    "sex": {"kind": "category", "values": ["f", "m"]},
                    "ill": {"kind": "flag"},
                },
            },
            "law": {
                "columns": {
                    "years_age": {"tier": "personal", **tier},
                    "sex": {"tier": "special", **tier},
                    "ill": {"tier": "special", **tier},
                }
            },
            "budget": {"epsilon": 1.0, "delta": 1e-4},
        }
    )


def test_the_copy_is_private_and_holds_what_is_declared(tmp_path: Path) -> None:
    config = files(tmp_path)
    found = prepared(config, tmp_path / "copy", tmp_path)
    path = found.folder / FILE
    assert path.stat().st_mode & 0o777 == 0o600
    frame = pd.read_csv(path)
    assert list(frame) == ["years_age", "sex", "ill", "site", "age_band"]
    assert set(frame["site"]) == {"north", "south"}
    assert set(frame["age_band"]) == {"below 40", "40 to 65", "from 65"}
    assert found.groups == {"sex": "sex", "age": "age_band"}
    rows = rows_of(found, own_case(config))
    assert rows.population.names == ("north", "south")
    assert set(rows.groups) == {"sex", "age"}


def test_no_file_is_replaced_by_the_copy(tmp_path: Path) -> None:
    config = files(tmp_path)
    priced = price(config, load_population(config, tmp_path), tmp_path)
    (tmp_path / FILE).write_text("the only copy")
    with pytest.raises(RunFolderError, match="file exists"):
        own_table(priced, tmp_path, tmp_path)
    assert (tmp_path / FILE).read_text() == "the only copy"


def test_other_rows_or_policies_have_another_digest(tmp_path: Path) -> None:
    config = files(tmp_path)
    first = prepared(config, tmp_path / "copy", tmp_path)
    again = prepared(config, tmp_path / "copy", tmp_path)
    assert first.digest == again.digest
    wider = config.model_copy(
        update={"budget": config.budget.model_copy(update={"epsilon": 2.0})}
    )
    assert prepared(wider, tmp_path / "copy", tmp_path).digest != first.digest
    south = tmp_path / "south.csv"
    south.write_text(south.read_text().replace("50,f", "51,f", 1))
    assert prepared(config, tmp_path / "copy", tmp_path).digest != first.digest


def test_a_built_in_source_is_the_population_of_a_run(tmp_path: Path) -> None:
    config = hospital()
    population = seeded_population(config, Path())
    found = prepared(config, tmp_path)
    rows = rows_of(found, replace(own_case(config), seed=config.run.seed))
    assert rows.population.units == population.units
    assert rows.population.sizes == population.sizes
    assert rows.population.encoding.columns == population.encoding.columns


def test_uniform_noise_protects_the_sensitive_tier_equally(tmp_path: Path) -> None:
    config = hospital()
    found = prepared(config, tmp_path)
    asked = questions(found, config, 1)
    jobs = {
        job.method: job
        for one in asked.tables
        for job in one.jobs
        if job.kind == "train"
    }
    values = {
        name: measure(jobs[name], found)["values"]
        for name in (CONFIGURED, UNIFORM_ATTRIBUTE, UNIFORM_RECORD)
    }
    assert values[CONFIGURED]["attribute_epsilon"] <= 0.5
    assert values[UNIFORM_ATTRIBUTE]["attribute_epsilon"] <= 0.5
    assert values[UNIFORM_RECORD]["attribute_epsilon"] > 2.0
    assert values[UNIFORM_RECORD]["record_epsilon"] == pytest.approx(2.0, rel=0.01)
    assert values[UNIFORM_ATTRIBUTE]["record_epsilon"] < 0.5


def test_where_a_cap_binds_the_record_is_compared_at_the_epsilon_really_used(
    tmp_path: Path,
) -> None:
    caps = {"special": 0.2, "personal": 0.4, "non_personal": 0.5}
    config = hospital(budget={"caps": caps})
    found = prepared(config, tmp_path)
    [tailoring] = [
        one for one in questions(found, config, 1).tables if one.name == "tailoring"
    ]
    used = {
        job.method: measure(job, found)["values"]["record_epsilon"]
        for job in tailoring.jobs
    }
    assert used[CONFIGURED] < 1.0  # of 2
    assert used[UNIFORM_RECORD] == pytest.approx(used[CONFIGURED], rel=1e-3)


def test_no_ledger_of_a_site_is_opened(tmp_path: Path) -> None:
    config = files(tmp_path)
    budget = config.budget.model_copy(update={"ledgers": "accounts"})
    found = prepared(
        config.model_copy(update={"budget": budget}), tmp_path / "copy", tmp_path
    )
    assert "ledgers" not in own_methods(found)[CONFIGURED]["budget"]
    assert not (tmp_path / "accounts").exists()


def test_the_configured_policy_keeps_its_mechanism_and_keys(tmp_path: Path) -> None:
    config = hospital(
        privacy={"mechanism": "grouped"},
        budget={"allocation": "noise-scale"},
    )
    methods = own_methods(prepared(config, tmp_path))
    assert methods[CONFIGURED]["privacy"] == {"mechanism": "grouped"}
    assert methods[CONFIGURED]["budget"]["allocation"] == "noise-scale"
    assert methods[CASCADE]["privacy"]["mechanism"] == "cascade"
    assert methods[CASCADE]["budget"]["caps"] == {"special": 0.5}


def test_sites_as_units_are_not_attacked(tmp_path: Path) -> None:
    config = hospital(
        budget={"unit": "client", "delta": 1e-2, "caps": {}},
        privacy={"mechanism": "uniform"},
        data={"generator": {"patients": 400, "sites": 4}},
    )
    asked = questions(prepared(config, tmp_path), config, 2)
    assert {one.name for one in asked.tables} <= {COST, TAILORING}
    left = {one.part: one.why for one in asked.left_out}
    assert "whole sites" in left["Attacks and audit"]
    assert "Every site alone" in left


def test_few_rows_are_not_attacked(tmp_path: Path) -> None:
    config = hospital(data={"generator": {"patients": 100, "sites": 2}})
    asked = questions(prepared(config, tmp_path), config, 1)
    assert [one.name for one in asked.tables] == [COST, TAILORING, "audit"]
    (left,) = asked.left_out
    assert left.part == "Membership and attribute inference"
    assert "below 100" in left.why


def test_paths_of_a_policy_hold_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = files(tmp_path).model_dump(mode="json", exclude_unset=True)
    (tmp_path / "public.csv").write_bytes((tmp_path / "north.csv").read_bytes())
    plain["privacy"] = {"mechanism": "grouped"}
    plain["budget"] |= {
        "allocation": "multiplier",
        "importance_from": "public:public.csv",
    }
    config = from_mapping(plain)
    found = prepared(config, tmp_path / "copy", tmp_path)
    keys = own_methods(found)[CONFIGURED]["budget"]
    assert keys["importance_from"] == f"public:{tmp_path / 'public.csv'}"
    monkeypatch.chdir("/")
    job = next(job for job in _jobs(found, config) if job.method == CONFIGURED)
    assert measure(job, found)["status"] == "done"


@pytest.mark.parametrize("name", ["policy.toml", "public.csv", "own_model.py"])
def test_another_content_of_a_named_file_has_another_digest(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that `--resume` goes on with keeps no result of an old file."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_model", raising=False)
    plain = files(tmp_path).model_dump(mode="json", exclude_unset=True)
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "public.csv").write_bytes((tmp_path / "north.csv").read_bytes())
    (tmp_path / "own_model.py").write_text(MODEL)
    plain["federation"] = {"model": "own_model:small", "rounds": 2}
    plain["budget"] |= {"policy": "policy.toml"}
    if name == "public.csv":
        del plain["federation"]
        plain["privacy"] = {"mechanism": "grouped"}
        plain["budget"] |= {
            "allocation": "multiplier",
            "importance_from": "public:public.csv",
        }
    config = from_mapping(plain)
    first = prepared(config, tmp_path / "copy", tmp_path)
    assert prepared(config, tmp_path / "copy", tmp_path).digest == first.digest
    text = (tmp_path / name).read_text()
    end = "" if name == "public.csv" else "# another\n"
    (tmp_path / name).write_text(text.replace("\n20,f", "\n21,f") + end)
    assert (tmp_path / name).read_text() != text
    assert prepared(config, tmp_path / "copy", tmp_path).digest != first.digest


def test_modules_and_folders_are_named_with_what_is_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "own_package"
    (package / "deep").mkdir(parents=True)
    for name in ("__init__.py", "nets.py", "deep/__init__.py"):
        (package / name).write_text("")
    run = tmp_path / "bought"
    run.mkdir()
    (run / "claim.json").write_text("1")
    config = hospital(federation={"model": "own_package.nets:small"})
    budget = config.budget.model_copy(update={"importance_from": "paid:bought"})
    config = config.model_copy(update={"budget": budget})
    found = [referenced_content(config, tmp_path)]
    (package / "deep" / "__init__.py").write_text("x = 1")
    found.append(referenced_content(config, tmp_path))
    (run / "claim.json").write_text("2")
    found.append(referenced_content(config, tmp_path))
    changed = [
        {name for name in after if after[name] != before[name]}
        for before, after in itertools.pairwise(found)
    ]
    assert changed == [
        {"model own_package.nets:small"},
        {"importance_from paid:bought"},
    ]


@pytest.mark.parametrize("unit", ["record", "client"])
def test_a_network_without_noise_takes_the_same_steps(
    unit: str, tmp_path: Path
) -> None:
    steps: dict[str, Any] = {"model": "mlp:4", "rounds": 3, "learning_rate": 0.05}
    budget: dict[str, Any] = {"caps": {}}
    if unit == "client":
        steps["local_steps"] = 2
        budget |= {"unit": unit, "delta": 1e-2}
    config = hospital(federation=steps, privacy={"mechanism": "uniform"}, budget=budget)
    found = prepared(config, tmp_path)
    assert own_methods(found)["none"]["federation"] == steps
    rounds = [
        measure(job, found)["values"]["rounds"]
        for job in _jobs(found, config)
        if job.kind == "train" and job.method in ("none", CONFIGURED)
    ]
    assert rounds[0] == rounds[1]
    assert 3 <= rounds[0] <= 4  # one of them may release statistics


def _jobs(found: Dataset, config: Config) -> list[Job]:
    return [job for one in questions(found, config, 1).tables for job in one.jobs]


def test_claims_are_audited_and_sites_trained_alone(tmp_path: Path) -> None:
    """A true claim is refuted with probability 5 % / 8 at most, per bound."""
    config = hospital()
    found = prepared(config, tmp_path)
    jobs = _jobs(found, config)
    audit = next(job for job in jobs if job.kind == "audit")
    few = replace(audit, setting={**audit.setting, "canaries": 100})
    values = measure(few, found)["values"]
    assert values["record_claimed"] == pytest.approx(2.0, rel=0.01)
    assert values["special_claimed"] <= 0.5
    assert values["record_found"] < values["record_claimed"]
    assert values["refuted"] == 0.0
    alone = measure(next(job for job in jobs if job.method == "local"), found)
    assert "every site alone" in alone["note"]
    assert alone["values"]["attribute_epsilon"] <= 0.5
    free = measure(next(job for job in jobs if job.method == "none"), found)
    assert free["values"]["auc"] > alone["values"]["auc"]


def test_an_age_that_is_missing_is_in_no_band(tmp_path: Path) -> None:
    config = files(tmp_path)
    path = tmp_path / "north.csv"
    path.write_text(path.read_text().replace("\n20,", "\n,", 1))
    frame = pd.read_csv(prepared(config, tmp_path / "copy", tmp_path).folder / FILE)
    assert frame["age_band"].isna().sum() == frame["years_age"].isna().sum() == 1


def test_a_number_has_no_attribute_inference(tmp_path: Path) -> None:
    source = {"source": "sklearn:diabetes", "sites": {"count": 2}, "generator": {}}
    config = hospital(data=source, budget={"caps": {}}, federation={"model": "linear"})
    found = prepared(config, tmp_path)
    asked = questions(found, config, 1)
    assert "attribute-inference" not in {one.name for one in asked.tables}
    assert (
        "number" in {one.part: one.why for one in asked.left_out}["Attribute inference"]
    )
    job = next(job for job in asked.tables[0].jobs if job.method == CONFIGURED)
    assert 0.0 < measure(job, found)["values"]["rmse"] < 1.0


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"budget": {"profiles": {"few": STRICT}}}, "budgets of their own"),
        ({"privacy": {"trust": "distributed", "accountant": "rdp"},
          "federation": {"engine": "inprocess"}}, "several sites"),
    ],
)  # fmt: skip
def test_policies_that_take_all_sites_have_no_site_alone(
    changed: dict[str, Any], words: str, tmp_path: Path
) -> None:
    config = hospital(**changed)
    asked = questions(prepared(config, tmp_path), config, 1)
    assert words in {one.part: one.why for one in asked.left_out}["Every site alone"]
    assert "local" not in {job.method for job in asked.tables[0].jobs}


def test_classes_and_importances_are_those_of_the_policy(tmp_path: Path) -> None:
    strict = [{"name": "old", "where": "age >= 80", "epsilon": 1.0}]
    config = hospital(
        privacy={"mechanism": "grouped"},
        budget={
            "classes": strict,
            "allocation": "multiplier",
            "importance": {"age": 2.0},
            "caps": {},
        },
        data={"sites": {"count": 3}},
    )
    population = rows_of(prepared(config, tmp_path), own_case(config)).population
    (old,) = population.classes
    assert (old.name, old.epsilon) == ("old", 1.0)
    assert population.importance.values == {"age": 2.0}
    assert all(site.train.members is not None for site in population.sites)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"privacy": {"mechanism": "none"}}, "nothing is protected"),
        ({"data": {"test_size": 0}}, "no test rows"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(
    changed: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=words):
        prepared(hospital(**changed), tmp_path)


def test_more_than_two_classes_are_refused(tmp_path: Path) -> None:
    config = files(tmp_path)
    for name in ("north", "south"):
        path = tmp_path / f"{name}.csv"
        frame = pd.read_csv(path)
        frame["ill"] = [f"{n % 3}" for n in range(len(frame))]
        frame.to_csv(path, index=False)
    plain = config.model_dump(mode="json", exclude_unset=True)
    plain["data"]["columns"]["ill"] = {"kind": "category", "values": ["0", "1", "2"]}
    with pytest.raises(DataError, match="3 classes"):
        prepared(from_mapping(plain), tmp_path / "copy", tmp_path)
