# SPDX-License-Identifier: Apache-2.0
"""Budgets of sites, from the configuration to the claim and the sites' ledgers."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import lexfed
from lexfed.audit.standalone import verify as standalone
from lexfed.audit.verify import verify_run
from lexfed.config import loads
from lexfed.errors import ConfigError
from lexfed.privacy.claim.proof import dump_claim, load_claim
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.run import PricedRun
from lexfed.run.pricing.site_budgets import site_budgets
from lexfed.tiers import Tier
from support.configurations import configuration

PLAIN = configuration(
    {
        "data.generator.sites": 4,
        "budget.caps": {"special": 1.0},
        "federation.engine": "inprocess",
    }
)
PROFILES = """
[budget.profiles.eu]
sites = ["hospital-01", "hospital-02"]
caps = { special = 0.1 }

[budget.profiles.small]
sites = ["hospital-04"]
epsilon = 0.5
"""
CONFIG = PLAIN + PROFILES
CLIENTS = """
[budget.clients]
total = 4.0
gamma = 1.0
low = 0.2
high = 2.0

[budget.clients.gammas]
hospital-03 = 3.0
"""
SHARED = PLAIN + CLIENTS

Price = Callable[[str], PricedRun]


def test_profiles_are_claimed_for_from_their_own_releases(priced_of: Price) -> None:
    priced = priced_of(CONFIG)
    claim = priced.claim(priced.programme.rounds)
    assert claim is not None
    assert set(claim.profiles) == {"eu", "small"}
    assert claim.profiles["eu"].sites == 2
    assert claim.profiles["eu"].tiers["special"] == pytest.approx(0.1, rel=1e-6)
    assert claim.profiles["small"].epsilon == pytest.approx(0.5, rel=1e-6)
    assert claim.epsilon == pytest.approx(3.0, rel=1e-6)
    assert load_claim(dump_claim(claim)) == claim


def test_a_claim_of_a_profile_that_says_less_is_refused(priced_of: Price) -> None:
    priced = priced_of(CONFIG)
    claim = priced.claim(1)
    assert claim is not None
    plain = dump_claim(claim)
    plain["profiles"]["small"]["epsilon"] = 0.4
    with pytest.raises(lexfed.errors.ClaimError, match=r"profiles\.small\.epsilon"):
        load_claim(plain)


def test_claims_and_logs_name_profiles_never_sites(priced_of: Price) -> None:
    claim = priced_of(CONFIG).claim(1)
    assert claim is not None
    assert "hospital-0" not in json.dumps(dump_claim(claim))


def test_every_site_has_a_ledger_of_its_own_budget(priced_of: Price) -> None:
    priced = priced_of(CONFIG)
    for site, epsilon, cap in (
        ("hospital-01", 3.0, 0.1),
        ("hospital-03", 3.0, 1.0),
        ("hospital-04", 0.5, 1.0),
    ):
        ledger = priced.site_ledger(site)
        assert ledger is not None
        assert ledger.limits.epsilon == epsilon
        assert dict(ledger.limits.caps) == {Tier.SPECIAL: cap}
        assert record_epsilon(ledger.plan, 1e-5, "add-remove") <= epsilon
        assert tier_epsilon(ledger.plan, Tier.SPECIAL, 1e-5) <= cap


def test_a_run_with_profiles_is_the_same_in_both_engines_and_verifies(
    tmp_path: Path,
) -> None:
    found = {}
    for engine in ("inprocess", "simulation"):
        path = tmp_path / engine / "lexfed.toml"
        path.parent.mkdir()
        path.write_text(CONFIG.replace("inprocess", engine))
        result = lexfed.train(path)
        found[engine] = result.metrics
        assert verify_run(result.folder).ok
        assert standalone.verify(str(result.folder), None, None)["ok"]
    assert found["inprocess"] == pytest.approx(found["simulation"], abs=1e-3)
    ledgers = sorted((tmp_path / "inprocess/runs/small/sites").glob("*.jsonl"))
    clips = [
        json.loads(path.read_text().splitlines()[-1])["groups"][0]["clip"]
        for path in ledgers
    ]
    assert clips[2] == 1.0
    assert clips[0] == clips[1] < 1.0
    assert clips[3] < 1.0


def test_sites_share_a_total_where_it_gains_most(priced_of: Price) -> None:
    priced = priced_of(SHARED)
    assert [profile.name for profile in priced.profiles] == ["client-1", "client-2"]
    few, many = priced.profiles
    assert few.sites == ("hospital-03",)
    assert few.budget.epsilon < many.budget.epsilon
    spent = sum(len(p.sites) * p.budget.epsilon for p in priced.profiles)
    assert spent <= 4.0
    assert spent == pytest.approx(4.0, abs=1e-6)
    assert priced.budget.epsilon == many.budget.epsilon
    claim = priced.claim(1)
    assert claim is not None
    for profile in priced.profiles:
        stated = claim.profiles[profile.name].epsilon
        assert stated <= profile.budget.epsilon * (1 + 1e-6)
        assert stated == pytest.approx(profile.budget.epsilon, rel=1e-6)


def test_caps_of_profiles_hold_beside_a_total(priced_of: Price) -> None:
    capped = PROFILES.replace("epsilon = 0.5", "caps = { special = 0.2 }")
    priced = priced_of(PLAIN + capped + CLIENTS)
    by_name = {profile.name: profile for profile in priced.profiles}
    assert set(by_name) == {"eu-1", "small-1", "client-1"}
    assert by_name["eu-1"].budget.caps[Tier.SPECIAL] == 0.1
    assert by_name["client-1"].budget.caps[Tier.SPECIAL] == 1.0


def test_a_part_of_the_budget_is_a_part_of_every_profiles(priced_of: Price) -> None:
    priced = priced_of(CONFIG)
    config = priced.config
    whole = replace(priced.budget, epsilon=1.5, caps={Tier.SPECIAL: 0.5})
    _, profiles = site_budgets(config, priced.programme.sites, whole, 0.5)
    assert [p.budget.epsilon for p in profiles] == [1.5, 0.25]
    assert profiles[0].budget.caps == {Tier.SPECIAL: 0.05}
    shared = loads(SHARED)
    _, halves = site_budgets(shared, priced.programme.sites, whole, 0.5)
    assert math.fsum(len(p.sites) * p.budget.epsilon for p in halves) <= 2.0


def test_a_profile_saves_as_it_says(priced_of: Price) -> None:
    text = CONFIG.replace("epsilon = 0.5", "epsilon = 0.5\nsave = 0.2")
    priced = priced_of(text.replace("rounds = 1", "rounds = 4"))
    tower = next(s for s in priced.programme.stages if s.kind == "residuals")
    assert [phase.until for phase in tower.phases] == [2]
    assert tower.at(1).weights[3] == pytest.approx(0.2 * tower.weights[3])
    assert tower.at(1).weights[:3] == tower.weights[:3]
    claim = priced.claim(1)
    assert claim is not None
    assert claim.profiles["small"].epsilon == pytest.approx(0.5, rel=1e-6)


def test_where_all_sites_are_stricter_so_is_the_plan(priced_of: Price) -> None:
    everybody = [f"hospital-0{number}" for number in (1, 2, 3, 4)]
    text = CONFIG.replace('["hospital-04"]', json.dumps(everybody[2:]))
    priced = priced_of(text.replace("caps = { special = 0.1 }", "epsilon = 1.0"))
    assert priced.budget.epsilon == 1.0
    claim = priced.claim(1)
    assert claim is not None
    assert claim.epsilon == pytest.approx(1.0, rel=1e-6)


def test_without_profiles_there_are_none(priced_of: Price) -> None:
    priced = priced_of(PLAIN)
    assert priced.profiles == ()
    claim = priced.claim(1)
    assert claim is not None
    assert claim.profiles == {}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"hospital-04"', '"hospital-4"', "no site `hospital-4`"),
        ('"hospital-04"', '"elsewhere"', "no site `elsewhere`"),
        (PROFILES, CLIENTS.replace("hospital-03", "x"), "no site `x`"),
        (PROFILES, CLIENTS.replace("total = 4.0", "total = 0.5"), "4 sites with at"),
    ],
)
def test_what_only_the_data_can_tell_is_refused_then(
    priced_of: Price, old: str, new: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        priced_of(CONFIG.replace(old, new + "\n"))


def test_a_person_counts_by_declared_numbers_only(priced_of: Price) -> None:
    hidden = priced_of(CONFIG).programme.stages[-1]
    text = CONFIG.replace("delta = 1e-5", 'delta = 1e-5\nneighbours = "replace-one"')
    known = priced_of(text)
    sizes = [len(site.train) for site in known.population.sites]
    for stage in known.programme.stages:
        expected = sum(w * size for w, size in zip(stage.weights, sizes, strict=True))
        assert stage.divisor == pytest.approx(expected)
    mean = sum(hidden.weights) / 4
    units = priced_of(CONFIG).population.units
    assert hidden.divisor == pytest.approx(units * mean)
