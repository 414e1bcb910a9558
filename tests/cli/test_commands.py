# SPDX-License-Identifier: Apache-2.0
"""From a table to predictions, as a user goes, and what the screens say."""

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dp_accounting
import numpy as np
import pandas as pd
import pytest
from dp_accounting.pld import PLDAccountant

from lexfed.privacy.accountants.composition import epsilon
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.accountants.gdp import epsilon_from as gdp_epsilon

Lexfed = Callable[..., Any]
Edit = Callable[..., None]
Expected = Callable[[str, str], None]


def complete(text: str) -> str:
    """Replace every "?" of a scaffold, as a person would."""
    ranges = {"age": "[18, 100]", "bmi": "[10, 60]"}
    values = {
        "ward": '["a", "b"]',
        "diagnosis": '["none", "cardiac"]',
        "hospital": '["x"]',
    }
    tiers = {
        "patient": "identifier",
        "age": "personal",
        "smoker": "personal",
        "bmi": "special",
        "diagnosis": "special",
        "readmitted": "special",
    }
    lines = []
    for line in text.splitlines():
        name = line.split(" ")[0]
        line = line.replace('target = "?"', 'target = "readmitted"')
        line = line.replace('units = "?"', "units = 200")
        line = line.replace(
            'sites = "?"',
            'sites = { column = "hospital", names = ["north", "south", "west"] }',
        )
        line = line.replace('range = "?"', f"range = {ranges.get(name)}")
        line = line.replace('values = "?"', f"values = {values.get(name)}")
        tier = tiers.get(name, "non_personal")
        line = line.replace('tier = "?"', f'tier = "{tier}"')
        lines.append(line.replace('reason = "?"', 'reason = "because"'))
    done = "\n".join(lines).replace('# person = "patient_id"', 'person = "patient"')
    return done.replace('hospital = { kind = "category", values = ["x"] }',
                        'hospital = { kind = "text" }')  # fmt: skip


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_from_a_table_to_predictions(
    lexfed: Lexfed, place: Path, table: pd.DataFrame, suffix: str
) -> None:
    (place / "conf").mkdir()
    table.to_parquet("patients.parquet")
    said = lexfed("init", f"patients.{suffix}", "--out", "conf/lexfed.toml")
    assert said.code == 0
    path = place / "conf" / "lexfed.toml"
    text = path.read_text()
    assert tomllib.loads(text)["data"]["source"] == f"../patients.{suffix}"
    left = lexfed("check", "conf/lexfed.toml")
    assert left.code == 2
    assert left.err.count("is not decided yet") == text.count('= "?"')
    path.write_text(complete(text))
    assert "no problems" in lexfed("check", "conf/lexfed.toml").err
    assert "nothing was spent" in lexfed("plan", "conf/lexfed.toml").out
    assert lexfed("run", "conf/lexfed.toml").code == 0
    run = "conf/runs/patients"
    scores = lexfed("predict", run, f"patients.{suffix}")
    assert scores.out.splitlines()[0] == "p_yes"
    assert len(scores.out.splitlines()) == 201
    # Columns above the tier need not even be in the file.
    table[["age", "smoker", "ward"]].to_csv("low.csv", index=False)
    table[["ward"]].to_csv("free.csv", index=False)
    for tier, file in (("personal", "low.csv"), ("non_personal", "free.csv")):
        said = lexfed("predict", run, file, "--tiers", tier)
        assert said.code == 0
        values = np.array(said.out.splitlines()[1:], dtype=float)
        assert len(values) == 200
        assert ((values > 0) & (values < 1)).all()
    refused = lexfed("predict", run, "low.csv")
    assert refused.code == 2
    assert "column `bmi`: is not in this file" in refused.err
    assert "`--tiers personal` leaves it out" in refused.err


def test_inputs_that_do_not_fit_are_counted_where_scores_are_made(
    lexfed: Lexfed, place: Path, table: pd.DataFrame
) -> None:
    assert lexfed("run").code == 0
    clean = lexfed("predict", "runs/visits", "patients.csv")
    assert "column" not in clean.err
    odd = table.head(5).assign(
        age=[12, 30, 130, 40, 50], ward=["a", "zz", "b", "a", "b"]
    )
    odd.to_csv("odd.csv", index=False)
    said = lexfed("predict", "runs/visits", "odd.csv")
    assert said.code == 0
    assert len(said.out.splitlines()) == 6
    assert "column `age`: 2 values of 5 outside the declared range, clamped" in said.err
    assert (
        "column `ward`: 1 value of 5 not in the declared list, taken as missing"
        in said.err
    )
    assert "zz" not in said.err
    assert "130" not in said.err
    plain = json.loads(lexfed("predict", "runs/visits", "odd.csv", "--json").out)
    assert plain["columns"] == ["p_yes"]
    assert (plain["clamped"], plain["undeclared"]) == ({"age": 2}, {"ward": 1})
    rows = [float(line) for line in said.out.splitlines()[1:]]
    assert [row[0] for row in plain["values"]] == pytest.approx(rows, rel=1e-5)
    # Columns that are not read are not counted.
    few = lexfed("predict", "runs/visits", "odd.csv", "--tiers", "non_personal")
    assert "`age`" not in few.err
    assert "`ward`" in few.err


def test_what_a_run_says(
    lexfed: Lexfed, place: Path, expected: Expected, rounded: Callable[[str], str]
) -> None:
    expected("plan.txt", rounded(lexfed("plan").out))
    said = lexfed("run")
    assert said.code == 0
    expected("run.txt", rounded(said.err))
    finished = lexfed("run", "--resume", "--json")
    assert finished.code == 0
    expected("finished.txt", rounded(finished.err))
    assert json.loads(finished.out)["rounds"] == 7


def test_a_finished_run_of_another_configuration(
    lexfed: Lexfed, place: Path, edit: Edit
) -> None:
    assert lexfed("run").code == 0
    edit(("epsilon = 8.0", "epsilon = 7.0"))
    said = lexfed("run", "--resume")
    assert said.code == 2
    assert "was started with another configuration" in said.err


def test_the_fields_of_a_plan_are_fixed(lexfed: Lexfed, place: Path) -> None:
    plan = json.loads(lexfed("plan", "--json").out)
    fields = ["mechanism", "neighbours", "groups", "claims", "cap", "signals"]
    assert list(plan) == fields
    for group in plan["groups"]:
        assert {"name", "clip", "sigma", "sampling_rate", "rounds"} <= set(group)
        assert all(isinstance(group[k], float) for k in ("clip", "sigma"))
        assert isinstance(group["rounds"], int)
    assert set(plan["claims"]) == {"record", "tiers", "label", "profiles"}
    record = plan["claims"]["record"]
    assert set(record) == {"epsilon", "delta", "neighbours", "accountant"}
    assert set(plan["claims"]["tiers"]) == {"non_personal", "personal", "special"}
    for claim in plan["claims"]["tiers"].values():
        assert set(claim) == {"epsilon", "delta", "neighbours"}
    result = json.loads(lexfed("run", "--json").out)
    assert result["claims"] == plan["claims"]
    assert result["groups"] == plan["groups"]
    assert result["cap"] is plan["cap"] is None
    assert [s["tier"] for s in plan["signals"]] == list(plan["claims"]["tiers"])
    tested = [{**s, "p_value": None} for s in result["signals"]]
    assert tested == [{**s, "p_value": None} for s in plan["signals"]]
    assert all(0.0 <= s["p_value"] <= 1.0 for s in result["signals"])
    assert result["stamp"] == "NOT PRIVATE"
    assert result["folder"] == "runs/visits"
    assert set(result["metrics"]) == {"auc", "accuracy"}
    assert (result["rounds"], result["stopped"], result["notes"]) == (7, "", [])


def releases(plan: dict[str, Any]) -> list[Step]:
    """Compose a plan's groups by release: groups of one release share their batch."""
    found: dict[str, list[dict[str, Any]]] = {}
    for group in plan["groups"]:
        found.setdefault(group["release"], []).append(group)
    return [
        Step(
            sum((g["clip"] / g["sigma"]) ** 2 for g in groups) ** -0.5,
            groups[0]["sampling_rate"],
            groups[0]["rounds"],
        )
        for groups in found.values()
    ]


PLANS = {
    "cascade": "",
    "uniform": '[privacy]\nmechanism = "uniform"\n',
    "grouped": '[privacy]\nmechanism = "grouped"\n',
    "paid": '[evaluation]\nmetrics = "paid"\n',
}


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("rate", [1.0, pytest.param(0.2, marks=pytest.mark.slow)])
def test_printed_epsilons_can_be_recomputed(
    lexfed: Lexfed, place: Path, edit: Edit, name: str, rate: float
) -> None:
    edit(("rounds = 1", f"rounds = 2\nsampling_rate = {rate}"), add=PLANS[name])
    plan = json.loads(lexfed("plan", "--json").out)
    steps, claim = releases(plan), plan["claims"]["record"]
    printed, delta = claim["epsilon"], claim["delta"]
    assert printed <= 8.0
    ours = epsilon(steps, delta, "add-remove", "pld")
    assert printed == pytest.approx(ours, rel=1e-3)
    if rate == 1.0:
        # The sampler's own delta is paid first, so a hair above exact is right.
        mu = sum(s.count / s.noise_multiplier**2 for s in steps) ** 0.5
        exact = gdp_epsilon(mu, delta)
        assert exact <= printed * (1 + 1e-9)
        assert printed == pytest.approx(exact, abs=1e-6)
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    for step in steps:
        event: dp_accounting.DpEvent = dp_accounting.GaussianDpEvent(
            float(step.noise_multiplier)
        )
        if step.sampling_rate < 1:
            event = dp_accounting.PoissonSampledDpEvent(step.sampling_rate, event)
        accountant.compose(event, step.count)
    reference = accountant.get_epsilon(delta)
    # dp_accounting rounds up by its grid, so it is above the exact value where q = 1.
    lowest = 1 - 1e-3 if rate == 1.0 else 1.0
    assert lowest <= printed / reference <= 1.01


METRICS = {
    "outside-guarantee": ("on test rows that the guarantee does not cover", True),
    "public": ("on public test rows", False),
    "paid": ("paid for from the budget, noised", False),
}


@pytest.mark.parametrize("choice", METRICS)
def test_every_screen_says_what_metrics_cost(
    lexfed: Lexfed, place: Path, edit: Edit, choice: str
) -> None:
    words, gap = METRICS[choice]
    edit(add=f'[evaluation]\nmetrics = "{choice}"\n')
    plan = lexfed("plan")
    assert f"metrics  {words}" in plan.out
    assert ("\n  metrics   " in plan.out) == (choice == "paid")  # a group of its own
    said = lexfed("run", "--json")
    assert f"metrics  {words}" in said.err
    assert f"({words})" in said.err
    result = json.loads(said.out)
    assert any(line.startswith("test rows") for line in result["not_covered"]) == gap
    measured = (place / "runs/visits/metrics.csv").read_text().splitlines()
    names = "round,stage" if choice == "paid" else "round,stage,auc,accuracy"
    assert measured[0] == names
    assert len(measured) == 1 + result["rounds"]


HEAD = 'version = 1\n[run]\nname = "x"\ntest = true\n'
SOURCES = {
    "breast": '[data]\nsource = "sklearn:breast_cancer"\nsites = { count = 3 }\n',
    "diabetes": '[data]\nsource = "sklearn:diabetes"\nsites = { count = 3 }\n',
    "bank": '[data]\nsource = "synthetic:bank"\n'
    "[data.generator]\nclients = 300\nsites = 3\n",
}


@pytest.mark.parametrize("engine", ["simulation", "inprocess"])
@pytest.mark.parametrize("name", SOURCES)
def test_built_in_sources(lexfed: Lexfed, place: Path, name: str, engine: str) -> None:
    model = "linear" if name == "diabetes" else "logistic"
    Path("x.toml").write_text(
        HEAD + SOURCES[name] + "[budget]\nepsilon = 8.0\ndelta = 1e-5\n[federation]\n"
        f'rounds = 1\nengine = "{engine}"\nmodel = "{model}"\n'
    )
    said = lexfed("run", "x.toml", "--json")
    assert said.code == 0, said.err
    metrics = json.loads(said.out)["metrics"]
    assert next(iter(metrics)) == ("r2" if name == "diabetes" else "auc")


def test_three_classes(
    lexfed: Lexfed, place: Path, edit: Edit, table: pd.DataFrame
) -> None:
    grades = np.array(["low", "mid", "high"])[np.arange(200) % 3]
    table.assign(readmitted=grades).to_csv("patients.csv", index=False)
    edit(
        ('readmitted = { kind = "flag" }',
         'readmitted = { kind = "category", values = ["low", "mid", "high"] }'),
    )  # fmt: skip
    assert lexfed("run").code == 0
    rows = lexfed("predict", "runs/visits", "patients.csv").out.splitlines()
    assert rows[0] == "p_low,p_mid,p_high"
    sums = np.array([line.split(",") for line in rows[1:]], dtype=float).sum(axis=1)
    assert sums == pytest.approx(np.ones(200), abs=1e-4)


def test_regression_predicts_in_its_own_unit(
    lexfed: Lexfed, place: Path, edit: Edit, table: pd.DataFrame
) -> None:
    table.assign(readmitted=table["age"] * 2.0).to_csv("patients.csv", index=False)
    edit(
        ('readmitted = { kind = "flag" }',
         'readmitted = { kind = "number", range = [0, 200] }'),
        ("rounds = 1", 'rounds = 2\nmodel = "linear"'),
    )  # fmt: skip
    assert lexfed("run").code == 0
    rows = lexfed("predict", "runs/visits", "patients.csv").out.splitlines()
    assert rows[0] == "readmitted"
    assert 50 < np.array(rows[1:], dtype=float).mean() < 180


def test_a_model_of_ones_own_and_its_note(
    lexfed: Lexfed, place: Path, edit: Edit
) -> None:
    (place / "own_model.py").write_text(
        "from torch import nn\n"
        "def make(slots, outputs):\n"
        "    return nn.Sequential(nn.Linear(slots, 4), nn.LayerNorm(4),"
        " nn.Linear(4, outputs))\n"
    )
    edit(("rounds = 1", 'rounds = 1\nlearning_rate = 0.5\nmodel = "own_model:make"'))
    note = "a model of your own has no closed form"
    assert note in lexfed("plan").out
    said = lexfed("run", "--json")
    assert said.code == 0, said.err
    assert said.err.count(note) == 1
    notes = json.loads(said.out)["notes"]
    assert len(notes) == 1
    assert note in notes[0]
    events = Path("runs/visits/events.jsonl").read_text().splitlines()
    assert json.loads(events[1]) == {"type": "note", "text": notes[0]}
    assert lexfed("predict", "runs/visits", "patients.csv").code == 0
    sys.modules.pop("own_model")


def test_no_privacy_is_stamped(lexfed: Lexfed, place: Path, edit: Edit) -> None:
    edit(add='[privacy]\nmechanism = "none"\n')
    assert "NOT PRIVATE" in lexfed("plan").out
    said = lexfed("run", "--json")
    assert "NOT PRIVATE" in said.err
    result = json.loads(said.out)
    assert (result["claims"], result["stamp"]) == (None, "NOT PRIVATE")
    assert lexfed("run", "--resume", "--json").out == said.out


def test_plan_of_other_rounds(lexfed: Lexfed, place: Path) -> None:
    plan = json.loads(lexfed("plan", "--rounds", "5", "--json").out)
    towers = [g for g in plan["groups"] if g["name"].startswith("tower")]
    assert {group["rounds"] for group in towers} == {5}


def test_a_plan_says_what_noise_in_shares_assumes(lexfed: Lexfed, edit: Edit) -> None:
    shares = '\n[privacy]\ntrust = "distributed"\naccountant = "rdp"\n'
    edit(("rounds = 1", 'rounds = 1\nengine = "inprocess"\ndropouts = 1'), add=shares)
    planned = lexfed("plan", "lexfed.toml")
    assert (
        "  shares   3 sites, of which 0 may collude and 1 drop out: noise sized for 2 "
        "honest, 1.225 x the charged deviation when all are present"
    ) in planned.out
    edit(("dropouts = 1", "dropouts = 1\ncolluders = 1"))
    refused = lexfed("plan", "lexfed.toml")
    assert refused.code == 2
    assert "three sites survive one dropout only with no colluder" in refused.err
