# SPDX-License-Identifier: Apache-2.0
"""Coins are independent, noise has its charged size, and attacks stay below claims.

Every statistical check states its error probability in `support.federation.checks`, and
every one has a negative control here or in `tests/mutants`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lexfed.budget.noise_plan import Budget
from lexfed.federation.engines import clear_sums
from lexfed.federation.programme import integer_sums
from lexfed.federation.site.unit_batch import flip_coins
from lexfed.privacy.accountants.gdp import mu_from
from lexfed.privacy.noise.gaussian import rounded_gaussian
from lexfed.privacy.scopes import tier_epsilon
from lexfed.randomness import SeededSource, bernoulli
from lexfed.tiers import Tier
from support.federation import checks
from support.federation.worlds import World, play, world


@pytest.fixture(scope="module")
def sampled() -> World:
    return world(
        sizes=(900, 600),
        sampling_rate=0.2,
        rounds=4,
        model="mlp:2",
        accountant="rdp",
        declared=1500,
    )


@pytest.fixture(scope="module")
def wide() -> World:
    return world(sizes=(8, 7), model="mlp:128,64", rounds=3)


def test_coins_are_independent_over_towers_rounds_and_units(sampled: World) -> None:
    checks.check_coins(sampled)


def test_shared_coins_are_caught(
    sampled: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shared(_: Any, sites: Any, rates: Any) -> Any:
        return bernoulli(SeededSource(1, "all rounds"), rates[0], sum(sites))

    monkeypatch.setattr(clear_sums, "flip_coins", shared)
    with pytest.raises(AssertionError):
        checks.check_coins(sampled)


def test_a_wrong_rate_is_caught(
    sampled: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        clear_sums,
        "flip_coins",
        lambda s, n, r: flip_coins(s, n, [min(1.0, 1.2 * rate) for rate in r]),
    )
    with pytest.raises(AssertionError):
        checks.check_coins(sampled)


@pytest.mark.parametrize("seed", [1, 2])
def test_noise_has_the_variance_that_is_charged(wide: World, seed: int) -> None:
    checks.check_noise(wide, seed)


@pytest.mark.parametrize("part", [1 / 3, 0.9, 1.1])
def test_less_noise_is_caught(
    wide: World, part: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        integer_sums,
        "rounded_gaussian",
        lambda s, scale, n: rounded_gaussian(s, part * scale, n),
    )
    with pytest.raises(AssertionError):
        checks.check_noise(wide)


def test_local_noise_adds_up_over_sites() -> None:
    """With local trust every site adds the full noise: the sum has m variances."""
    of = world(sizes=(8, 7, 6), model="mlp:128,64", rounds=2, trust="local")
    quiet = replace(of, programme=replace(of.programme, trust="central"))
    noised, plain = play(of), play(quiet)
    place = 1
    stage = of.programme.stages[1]
    release = stage.releases[0]
    assert release is not None
    noise = (noised.totals[place] - plain.totals[place]) * stage.blocks[0].grid.step
    square = float((noise**2).mean()) / release.groups[0].sigma ** 2
    # Standard error sqrt(2/n) of a mean square, at 6.11 of them.
    assert abs(square / 3.0 - 1.0) < 6.11 * (2.0 / len(noise)) ** 0.5


# Audits: canaries against the aggregator.


@pytest.fixture(scope="module")
def audited() -> World:
    budget = Budget(12.0, 1e-6, "add-remove", {Tier.SPECIAL: 8.0})
    return world(sizes=(25, 20), budget=budget, rounds=1)


def test_no_attack_beats_the_claim_of_a_tier(audited: World) -> None:
    found = checks.audit_attribute(audited, Tier.SPECIAL)
    charges = audited.programme.charges()
    claimed = tier_epsilon(charges, Tier.SPECIAL, audited.budget.delta)
    # A claim that no attack comes near would make the control below worthless.
    assert 0.1 < found <= mu_from(claimed, audited.budget.delta)


def test_the_attribute_audit_catches_a_third_of_the_noise(
    audited: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        integer_sums,
        "rounded_gaussian",
        lambda s, scale, n: rounded_gaussian(s, scale / 3, n),
    )
    with pytest.raises(AssertionError):
        checks.check_attribute_audit(audited, Tier.SPECIAL)


def test_the_record_audit_passes_and_catches_a_third_of_the_noise(
    wide: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks.check_record_audit(wide, "tower special")
    monkeypatch.setattr(
        integer_sums,
        "rounded_gaussian",
        lambda s, scale, n: rounded_gaussian(s, scale / 3, n),
    )
    with pytest.raises(AssertionError):
        checks.check_record_audit(wide, "tower special")


def test_the_bound_of_an_audit_holds_and_is_near() -> None:
    """On a plain Gaussian of mu = 1 the bound lies below 1 and above 0.7."""
    generator = np.random.default_rng(0)
    outs, ins = generator.normal(size=40_000), generator.normal(1.0, 1.0, 40_000)
    assert 0.7 < checks.mu_lower(ins, outs) <= 1.0
    assert checks.mu_lower(outs, outs) <= 0.0 + 1e-9
    assert checks.mu_lower(outs - 99, outs + 99) == 0.0
