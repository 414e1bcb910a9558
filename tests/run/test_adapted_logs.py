# SPDX-License-Identifier: Apache-2.0
"""Logs and claims of real runs whose noise adapts, with profiles and classes."""

from pathlib import Path

import pytest

import lexfed
from lexfed.audit.entries import BudgetPlan
from lexfed.audit.log.evidence import read_evidence
from lexfed.report.documents.run_documents import ReportSource, make_report
from support.audit.two_verifiers import compared, failed
from support.configurations import configuration

PROFILE = '[budget.profiles.eu]\nsites = ["{site}"]\ncaps = {{ special = 0.5 }}\n'
CLASS = '[[budget.classes]]\nname = "elders"\nwhere = "age >= 80"\nepsilon = 1.0\n'
CASES = {
    "F0": ("pld", "envelope", 1.0, CLASS),
    "F1": ("rdp", "filter", 0.3, CLASS),
    "F2": ("gdp", "filter", 1.0, CLASS),
}


def _adapted(accountant: str, guarantee: str, rate: float) -> str:
    changes = {
        "run": {"name": "small", "seed": 3},
        "privacy.accountant": accountant,
        "federation": {"engine": "inprocess", "rounds": 6, "learning_rate": 0.5},
        "federation.sampling_rate": rate,
        "adapt": {"noise": "convergence", "guarantee": guarantee},
    }
    return configuration(changes)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_adapted_runs_are_logged_claimed_verified_and_reported(
    name: str, tmp_path: Path
) -> None:
    accountant, guarantee, rate, parts = CASES[name]
    path = tmp_path / "lexfed.toml"
    path.write_text(_adapted(accountant, guarantee, rate) + parts)
    run = lexfed.train(path)
    rows = compared(run.folder)
    assert failed(rows) == []
    assert f"within the plan ({name})" in rows["round events"]["detail"]
    assert not any("NOT RECOMPUTED" in row["detail"] for row in rows.values())
    assert run.claim is not None
    assert run.claim.accountant.filter == name
    assert run.claim.classes["elders"].epsilon <= 1.0
    plan = read_evidence(run.folder).last(BudgetPlan)
    assert plan is not None
    assert plan.filter == name
    assert list(plan.classes) == ["elders"]
    make_report(ReportSource(run.folder))
    page = (run.folder / "report.html").read_text()
    assert f"(filter {name})" in page
    assert "σ planned" in page
    assert "Class elders" in page


def test_profiles_are_logged_and_proven(tmp_path: Path) -> None:
    path = tmp_path / "lexfed.toml"
    parts = PROFILE.format(site="hospital-01")
    path.write_text(_adapted("pld", "envelope", 1.0) + parts)
    run = lexfed.train(path)
    rows = compared(run.folder)
    assert failed(rows) == []
    assert run.claim is not None
    profile = run.claim.profiles["eu"]
    assert profile.sites == 1
    assert profile.tiers["special"] <= 0.5 < run.claim.tiers["special"].epsilon
    plan = read_evidence(run.folder).last(BudgetPlan)
    assert plan is not None
    assert plan.profiles is not None
