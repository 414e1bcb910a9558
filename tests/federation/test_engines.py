# SPDX-License-Identifier: Apache-2.0
"""Both engines release the same numbers, for every mechanism, unit and trust."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from lexfed.budget.noise_plan import Budget
from lexfed.budget.noise_schedule import NoiseSchedule
from lexfed.budget.sites import BudgetProfile
from lexfed.budget.tower_steering import Adaptation
from lexfed.federation.engines.clear_sums import Simulation
from lexfed.federation.programme import integer_sums
from lexfed.federation.programme.messages import Refusal, Reply
from lexfed.federation.site import contributions
from lexfed.federation.site.contributions import contribute
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.tiers import Tier
from support.federation.worlds import BUDGET, World, play, seeded, world

PLAIN = Budget(8.0, 1e-6, "add-remove")
STRICTER = (
    BudgetProfile("eu", ("site1",), replace(BUDGET, caps={Tier.SPECIAL: 0.5})),
    BudgetProfile("small", ("site2",), replace(BUDGET, epsilon=1.5)),
)
SAVING = tuple(replace(one, save=0.25, save_until=0.5) for one in STRICTER)

CASES: dict[str, dict[str, Any]] = {
    "cascade by the rule": {},
    "uniform by the rule": {"mechanism": "uniform"},
    "additive": {"model": "additive", "declared": 10**5},
    "additive softmax": {"model": "additive", "declared": 10**5, "loss": "softmax"},
    "additive local": {"model": "additive", "declared": 10**5, "trust": "local"},
    "cascade mlp": {"model": "mlp:8,4", "rounds": 3},
    "uniform mlp": {"mechanism": "uniform", "model": "mlp:8,4", "rounds": 3},
    "cascade cnn": {"model": "cnn", "rounds": 2},
    "grouped": {"mechanism": "grouped", "rounds": 3, "clip": {Tier.SPECIAL: 0.2}},
    "grouped mlp": {"mechanism": "grouped", "model": "mlp:6", "rounds": 3},
    "none": {"mechanism": "none", "rounds": 4},
    "none mlp": {"mechanism": "none", "model": "mlp:6", "rounds": 3},
    "local trust": {"trust": "local"},
    "local trust mlp": {"trust": "local", "model": "mlp:6", "rounds": 2},
    "client": {"unit": "client", "rounds": 3, "local_steps": 3, "batch_size": 8},
    "client mlp": {"unit": "client", "model": "mlp:6", "rounds": 2, "momentum": 0.5},
    "client grouped": {
        "unit": "client",
        "mechanism": "grouped",
        "rounds": 3,
        "clip": {Tier.SPECIAL: 0.1},
    },
    "client sampled": {
        "unit": "client",
        "rounds": 4,
        "sampling_rate": 0.5,
        "accountant": "rdp",
        "mechanism": "uniform",
    },
    "sampled": {"rounds": 3, "sampling_rate": 0.3, "accountant": "rdp"},
    "sampled mlp": {
        "rounds": 3,
        "sampling_rate": 0.2,
        "model": "mlp:6",
        "accountant": "rdp",
    },
    "nobody sampled": {
        "rounds": 2,
        "sampling_rate": 0.001,
        "model": "mlp:6",
        "accountant": "rdp",
        "mechanism": "uniform",
    },
    "networks by the rule": {
        "model": "mlp:4",
        "rounds": 2,
        "by_rule": True,
        "declared": 10**6,
    },
    "persons": {"places": 3},
    "persons mlp": {"places": 3, "model": "mlp:6", "rounds": 3},
    "persons local sampled": {
        "places": 3,
        "rounds": 2,
        "trust": "local",
        "sampling_rate": 0.4,
        "accountant": "rdp",
    },
    "weights": {"weights": (1.0, 0.5, 0.25)},
    "weights mlp": {"weights": (1.0, 0.5, 0.25), "model": "mlp:6", "rounds": 2},
    "softmax": {"loss": "softmax"},
    "softmax mlp": {"loss": "softmax", "model": "mlp:6", "rounds": 2},
    "squared": {"loss": "squared", "model": "linear"},
    "squared mlp": {"loss": "squared", "model": "mlp:6", "rounds": 2},
    "paid metrics": {"paid_metrics": True},
    "paid metrics softmax": {"paid_metrics": True, "loss": "softmax"},
    "paid metrics squared": {
        "paid_metrics": True,
        "loss": "squared",
        "model": "linear",
    },
    "geometric": {"schedule": NoiseSchedule("geometric"), "rounds": 4},
    "saving": {"schedule": NoiseSchedule("time-adaptive"), "rounds": 4},
    "saving sampled": {
        "schedule": NoiseSchedule("time-adaptive", save=0.25),
        "rounds": 4,
        "sampling_rate": 0.4,
        "accountant": "rdp",
        "model": "mlp:6",
    },
    "profiles": {"profiles": STRICTER},
    "profiles mlp": {"profiles": STRICTER, "model": "mlp:6", "rounds": 3},
    "profiles that adapt": {
        "profiles": SAVING,
        "learning_rate": 0.5,
        "rounds": 5,
        "adapting": Adaptation("feedback", clip="quantile"),
    },
    "profiles that save": {"profiles": SAVING, "model": "mlp:6", "rounds": 4},
    "profiles that save by the rule": {"profiles": SAVING, "rounds": 3},
    "clients that save": {"profiles": SAVING, "unit": "client", "rounds": 4},
    "profiles that save by sampling": {
        "profiles": SAVING,
        "rounds": 4,
        "sampling_rate": 0.3,
        "accountant": "rdp",
        "realise": "sampling",
        "model": "mlp:6",
    },
    "profiles of clients": {"profiles": STRICTER, "unit": "client", "rounds": 3},
    "profiles local": {"profiles": STRICTER, "trust": "local"},
    "profiles sampled": {
        "profiles": STRICTER,
        "rounds": 3,
        "sampling_rate": 0.3,
        "accountant": "rdp",
        "model": "mlp:6",
    },
    "profiles by sampling": {
        "profiles": STRICTER,
        "rounds": 3,
        "sampling_rate": 0.3,
        "accountant": "rdp",
        "realise": "sampling",
    },
    "clients by sampling": {
        "profiles": STRICTER,
        "unit": "client",
        "rounds": 4,
        "sampling_rate": 0.5,
        "accountant": "rdp",
        "realise": "sampling",
    },
    "an empty site": {"sizes": (30, 0, 20)},
}


def build(case: str) -> World:
    options = dict(CASES[case])
    if options.get("sampling_rate"):
        options.setdefault("budget", PLAIN)
    return world(**options)


def total_of(answers: Sequence[Reply | Refusal], size: int) -> NDArray[np.int64]:
    totals = [answer.total for answer in answers if isinstance(answer, Reply)]
    assert len(totals) == len(answers)
    return np.asarray(np.sum([np.zeros(size, dtype=np.int64), *totals], axis=0))


@pytest.mark.no_cover
@pytest.mark.parametrize("case", CASES)
def test_engines_agree_within_one_release_step(case: str) -> None:
    """Both engines answer the same queries; the same noise is added to both sums."""
    of = build(case)
    seen = play(of, "inprocess")
    assert len(seen.queries) == of.programme.rounds
    other = Simulation(of.programme, of.sites, seeded(1))
    for place, query in enumerate(seen.queries):
        stage = of.programme.stages[query.stage]
        answers = other.ask(query, seen.participants[place])
        total = total_of(answers, stage.dimension)
        if of.programme.trust == "central":
            source = seeded(1)(f"noise/{query.round}")
            total = integer_sums.add_noise(total, stage, query.release, source)
        gap = np.abs(integer_sums.descale(total, stage) - seen.released[place])
        for block in stage.blocks:
            assert gap[block.start : block.stop].max() <= block.grid.release_step
    assert play(of, "simulation").participants == seen.participants


@pytest.mark.parametrize("case", ["cascade by the rule", "sampled mlp", "client"])
@pytest.mark.parametrize("engine", ["inprocess", "simulation"])
def test_the_same_seed_gives_the_same_bytes(case: str, engine: Any) -> None:
    of = build(case)
    one, other = play(of, engine), play(of, engine)
    assert [q.to_bytes() for q in one.queries] == [q.to_bytes() for q in other.queries]
    assert all(map(np.array_equal, one.released, other.released))
    differs = play(of, engine, seed=2)
    assert not np.array_equal(one.released[0], differs.released[0])


def test_noise_is_fresh_in_every_round() -> None:
    of = world(mechanism="uniform", model="mlp:6", rounds=6)
    seen = play(of)
    noises = []
    for place, query in enumerate(seen.queries):
        stage = of.programme.stages[query.stage]
        if query.kind == "gradient":
            grid = stage.blocks[0].grid
            noises.append(seen.released[place] - seen.totals[place] * grid.step)
    assert len(noises) == 6
    for first in range(6):
        for second in range(first):
            # Equal coordinates of fresh noise: chance below 2^-13 each.
            assert (noises[first] == noises[second]).mean() < 0.1


def test_participants_follow_the_sampling_rate() -> None:
    """Of 60 x 12 coins at 1/2, outside [0.386, 0.614] has probability 1e-9."""
    of = world(
        sizes=(4,) * 12,
        unit="client",
        mechanism="uniform",
        rounds=60,
        sampling_rate=0.5,
        accountant="rdp",
        budget=PLAIN,
    )
    seen = play(of, "simulation")
    rounds = [
        names
        for names, query in zip(seen.participants, seen.queries, strict=True)
        if query.kind == "update"
    ]
    share = sum(map(len, rounds)) / (60 * 12)
    assert abs(share - 0.5) < 6.11 * 0.5 / (60 * 12) ** 0.5
    assert len(set(rounds)) > 30


@pytest.mark.parametrize("model", ["logistic", "mlp:6"])
def test_a_sum_is_weighted_by_public_weights(model: str) -> None:
    """Without noise the released sum is the weighted sum of the sites' own sums."""
    weights = (1.0, 0.5, 0.25)
    of = world(weights=weights, mechanism="none", model=model, rounds=1)
    even = world(mechanism="none", model=model, rounds=1)
    seen = play(of, rounds=2)
    query = seen.queries[1]
    grid = of.programme.stages[1].blocks[0].grid
    parts = np.zeros(grid.dimension)
    for site, weight in zip(even.sites, weights, strict=True):
        cohort = UnitBatch.of([site.train])
        one = torch.ones(1, dtype=torch.float64)
        parts += weight * contribute(query, even.programme, cohort, one, (0,)).numpy()
    assert np.abs(parts - seen.released[1]).max() <= grid.release_step


def test_the_mean_is_the_sum_over_a_public_divisor() -> None:
    options: dict[str, Any] = {"mechanism": "none", "model": "logistic", "rounds": 1}
    one, twice = play(world(**options)), play(world(declared=192, **options))
    assert np.array_equal(one.released[0], twice.released[0])
    start = one.queries[1].model.towers[0].parameters
    assert one.progress is not None
    moved = one.progress.model.towers[0].parameters - start
    np.testing.assert_allclose(moved, -one.released[1] / 96.0, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"places": 2}])
def test_sums_are_the_same_to_the_bit_whatever_the_slices(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    of = world(sizes=(700, 20), **options)
    whole = play(of)
    monkeypatch.setattr(contributions, "_NUMBERS", 1)
    sliced = play(of)
    for one, other in zip(whole.totals, sliced.totals, strict=True):
        assert np.array_equal(one, other)
