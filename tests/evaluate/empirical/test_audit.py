# SPDX-License-Identifier: Apache-2.0
"""Whole audits: sound code is not accused, broken code is, and refusals are in words.

Sources are seeded, so every test either always passes or never does. With other seeds
sound code would be accused with probability at most .05 in each test; how often broken
code is missed depends on the number of canaries, and is measured for 5,000 of them by
benchmarks/empirical.py.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lexfed.config import from_mapping
from lexfed.errors import ConfigError, Refused
from lexfed.evaluate.empirical.claim_audit import (
    MOST,
    ClaimAudit,
    audit,
    canaries_per_game,
    count_guesses,
    secure_generator,
)
from lexfed.evaluate.empirical.game import Arena, contributions
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.site import data_holder
from lexfed.federation.site.contributions import contribute
from lexfed.federation.site.data_holder import Sources
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.randomness import RandomSource, SeededSource
from lexfed.run import PricedRun, price, seeded_population
from lexfed.tiers import Tier
from support.evaluation import broken_mechanisms
from support.mutant import Patch


def priced(**tables: Mapping[str, Any]) -> PricedRun:
    config = from_mapping(
        {
            "version": 1,
            "run": {"name": "audited"},
            "data": {
                "source": "synthetic:hospital",
                "generator": {"patients": 600, "sites": 3},
                **tables.pop("data", {}),
            },
            "budget": {"epsilon": 1.0, "delta": 1e-5, **tables.pop("budget", {})},
            "federation": {
                "rounds": 2,
                "engine": "inprocess",
                **tables.pop("federation", {}),
            },
            **tables,
        }
    )
    return price(config, seeded_population(config, Path()))


def seeded(name: str) -> RandomSource:
    return SeededSource(8, name)


def one(
    run: PricedRun, claim: str, canaries: int, sources: Sources = seeded
) -> ClaimAudit:
    [found] = audit(run, canaries, only=(claim,), sources=sources)
    return found


@pytest.mark.parametrize(
    "tables",
    [
        {},
        {"budget": {"neighbours": "replace-one"}},
        {"privacy": {"mechanism": "uniform"}, "federation": {"learning_rate": 1.0}},
        {"privacy": {"mechanism": "grouped"}, "federation": {"learning_rate": 1.0}},
        {"privacy": {"trust": "local"}},
        {"privacy": {"trust": "distributed", "accountant": "rdp"}},
    ],
    ids=["cascade", "replace-one", "uniform", "grouped", "local", "distributed"],
)
def test_sound_code_is_not_accused(tables: dict[str, Any]) -> None:
    run = priced(**tables)
    found = one(run, "record", 300)
    assert not found.refuted
    assert found.canaries == 300
    assert found.guesses == 60
    claim = run.claim(run.programme.rounds)
    assert claim is not None
    assert found.lower <= found.epsilon == claim.epsilon
    shares = "distributed" in str(tables)
    assert (found.gaussian is None) == shares


def strict() -> PricedRun:
    """Return a run that protects the special tier far better than the record."""
    return priced(budget={"epsilon": 2.0, "caps": {"special": 0.3}})


def of_numbers() -> PricedRun:
    """Return plain descent on thirty numbers: their ends exceed the clip by far.

    Of the register above, mostly categories, hardly anybody's contribution is cut, and
    a clip that is missing moves little.
    """
    return priced(
        data={
            "source": "sklearn:breast_cancer",
            "generator": {},
            "sites": {"count": 2, "partition": "iid"},
        },
        privacy={"mechanism": "uniform"},
        federation={"learning_rate": 1.0},
    )


BROKEN: Mapping[str, tuple[Callable[[], PricedRun], str, int]] = {
    "a_third_of_the_noise": (priced, "record", 3000),
    "no_clip": (of_numbers, "record", 3000),
    "leaking_tower": (strict, "special", 2000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_broken_code_is_caught_and_the_same_code_unbroken_is_not(
    name: str, monkeypatch: Patch
) -> None:
    world, claim, canaries = BROKEN[name]
    run = world()
    assert not one(run, claim, canaries).refuted
    apply: Any = getattr(broken_mechanisms, name)
    if name == "leaking_tower":
        apply = apply(run.population.encoding.slots_of(Tier.SPECIAL).tolist())
    apply(monkeypatch)
    assert one(run, claim, canaries).refuted


def test_a_third_of_the_noise_shows_in_few_canaries(monkeypatch: Patch) -> None:
    """With 800 canaries of epsilon 1: no proof yet, but the figure has moved."""
    run = priced()
    before = one(run, "record", 800)
    broken_mechanisms.a_third_of_the_noise(monkeypatch)
    after = one(run, "record", 800)
    assert after.correct > before.correct + 20


def test_every_claim_is_attacked_and_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    run = priced()
    found = audit(run, 120, sources=seeded, on_game=lambda *one: told.append(one))
    assert [each.claim for each in found] == [
        "record",
        "non_personal",
        "personal",
        "special",
    ]
    assert [each.neighbours for each in found] == ["add-remove", *["attribute"] * 3]
    assert {claim for claim, done, of in told if done == of == 120} == {
        each.claim for each in found
    }


def test_where_sites_sample_there_is_no_gaussian_figure() -> None:
    run = priced(
        privacy={"mechanism": "uniform"},
        federation={"learning_rate": 1.0, "sampling_rate": 0.5},
    )
    found = one(run, "record", 100)
    assert found.gaussian is None
    assert found.lower == found.one_run


def test_a_person_at_two_sites_is_there_twice() -> None:
    run = priced(data={"sites_per_person": 2})
    arena = Arena(run)
    assert len(arena.hosts) == 2
    assert not one(run, "record", 100).refuted


def test_records_in_classes_do_not_stop_an_audit() -> None:
    stricter = {"name": "elderly", "where": "age >= 65", "epsilon": 0.5}
    run = priced(budget={"classes": [stricter]})
    assert not one(run, "record", 100).refuted


def test_without_privacy_there_is_nothing_to_audit() -> None:
    with pytest.raises(ConfigError, match="nothing is claimed"):
        audit(priced(privacy={"mechanism": "none"}))


def test_canaries_are_no_sites() -> None:
    run = priced(
        budget={"unit": "client"},
        privacy={"mechanism": "uniform"},
        federation={"learning_rate": 1.0},
    )
    with pytest.raises(ConfigError, match="canaries are synthetic people"):
        audit(run)


def test_contributions_add_up_to_what_the_site_sums() -> None:
    """One by one they are the site's own sum, for every kind of stage."""
    plain = {"learning_rate": 1.0}
    for run in (
        priced(),
        priced(privacy={"mechanism": "uniform"}, federation=plain),
    ):
        programme, arena = run.programme, Arena(run)
        rows = arena.stock.in_or_out(7, np.random.default_rng(1)).heads
        cohort = UnitBatch.of([arena.stock.units(rows)], programme.precision)
        learner = Learner(programme)
        coordinator = Coordinator(
            programme, learner, run.ledger(), secure_generator, learner.start()
        )
        while (asked := coordinator.next()) is not None:
            query = asked.query
            weights = torch.ones(1, dtype=torch.float64)
            whole = contribute(query, programme, cohort, weights, (0,))
            apart = contributions(query, programme, cohort, 0)
            assert np.allclose(apart.sum(axis=0), whole.numpy(), atol=1e-9)
            coordinator.lost(query)


def test_a_site_that_refuses_ends_an_audit(monkeypatch: Patch) -> None:
    monkeypatch.setattr(data_holder.Site, "_agreed", lambda *_: False)
    with pytest.raises(Refused, match="not the one that was agreed on"):
        one(priced(), "record", 100)


def test_games_are_larger_where_noise_is_louder() -> None:
    quiet, loud = (priced(budget={"epsilon": e}) for e in (8.0, 0.01))
    assert (
        1
        <= canaries_per_game(quiet)
        < canaries_per_game(priced())
        < canaries_per_game(loud)
        == MOST
    )


def test_the_farthest_scores_are_guessed() -> None:
    coins = np.array([False, True, True, False, True, False, True, True, False, True])
    assert count_guesses(coins, np.arange(10.0)) == (2, 2)
    assert count_guesses(~coins, np.arange(10.0)) == (2, 0)


def test_secure_sources_are_private() -> None:
    assert secure_generator("anything").private
