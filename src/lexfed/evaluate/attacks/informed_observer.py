# SPDX-License-Identifier: Apache-2.0
"""The leak of one value through the rounds of a run, to one who knows all else.

Two observers know the programme, every question and every other person's record; of one
person they know all but one column. A guarantee is about such an *informed* attacker
[BCH22]. `round` sees the release of every round: sums with noise. `central` sees the
sums themselves, as the coordinator does that is trusted with adding the noise; no
guarantee speaks about it. A fair coin decides for every person which of two values the
column holds, so that findings come from the release, not from guesses by other columns.

**The attack.** Taking the others' contributions off a release leaves the person's own,
c(v), plus noise. The likelihood ratio of both values is then the best test there is, by
the lemma of Neyman and Pearson:

    score = sum over rounds of (|y - c(low)|^2 - |y - c(high)|^2) / 2 sigma^2.

It knows everybody else, so scores of two people of one run hold each other's secret:
they are compared across runs only, and the bound is that of fixed thresholds. A round
whose tower does not read the column has c(low) = c(high), to the bit, and adds nothing:
the isolation of Theorem C, seen from outside.

**What chance hides.** If the noise is what it should be, the best observer of a person
has an AUC of Phi(mu/sqrt(2)) with

    mu^2 = sum over rounds of |c(high) - c(low)|^2 / sigma^2.

The largest of these is the *surest* AUC. It has no chance in it: one person above the
bound refutes the proof, or a clip. Its one premise is measured beside it: the noise of
all rounds together, in deviations of the plan, has a mean square of 1.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from scipy.stats import norm

from lexfed.arrays import Bools, Floats, Integers
from lexfed.data.people.unit_blocks import SiteData
from lexfed.evaluate.attacks.auc_intervals import (
    CONFIDENCE,
    AttackResult,
    across_releases,
)
from lexfed.evaluate.attacks.product_runs import (
    ObservedRound,
    Observer,
    deviations,
    noise_of,
    observe_run,
    trade_off_of,
)
from lexfed.evaluate.attacks.target_value import TargetValue
from lexfed.federation.programme.messages import Query
from lexfed.federation.programme.sequence import Programme
from lexfed.federation.site.contributions import contribute
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.randomness import RandomSource, SeededSource
from lexfed.run.pricing.priced_run import PricedRun


def plant_values(
    sites: Sequence[SiteData], about: TargetValue, high: Bools
) -> tuple[SiteData, ...]:
    """Return the sites with a column's values decided by coins of training units."""
    planted, start = [], 0
    for site in sites:
        coins = high[start : start + len(site.train)]
        inputs = np.where(
            coins[:, None, None],
            about.filled(site.train.inputs, about.wanted),
            about.filled(site.train.inputs, about.rival),
        )
        inputs[site.train.weights == 0] = 0.0
        planted.append(replace(site, train=replace(site.train, inputs=inputs)))
        start += len(coins)
    return tuple(planted)


@dataclass(frozen=True)
class ObserverGames:
    """Games about one column of one run.

    Attributes:
        high: whether their coins gave them the wanted value.
        surest: the largest AUC of the best observer, of all people tried.
        noise: that was added, its root mean square in planned deviations.
        bound: the largest AUC that the guarantee allows; 1 without one.
    """

    scores: tuple[Floats, ...]
    high: tuple[Bools, ...]
    surest: float
    noise: float
    bound: float
    seconds: float


def play_games(
    priced: PricedRun,
    about: TargetValue,
    observer: Observer,
    *,
    people: int = 5,
    runs: int = 40,
    seed: int = 0,
) -> ObserverGames:
    """Play games about a column of a run, each with fresh coins and fresh noise.

    It is tried on at most so many `people` in each game. The seed is that of coins,
    noise and persons: data are public, results repeatable.

    Guarantees:
        The bound of `round` is that of the column's tier (Theorem C.2).
        What is surest to `round` is at most the bound, whatever the coins.
    """
    begun = time.perf_counter()
    generator = np.random.default_rng([seed, 0x0B5E])
    population = priced.population
    everybody = sum(len(site.train) for site in population.sites)
    scores: list[Floats] = []
    truth: list[Bools] = []
    strongest, squares, numbers = 0.0, 0.0, 0
    for run in range(runs):
        high = generator.random(everybody) < 0.5
        tried = np.sort(
            generator.choice(everybody, min(people, everybody), replace=False)
        )
        sites = plant_values(population.sites, about, high)
        planted = replace(priced, population=replace(population, sites=sites))
        rounds = observe_run(planted, partial(_seeded, seed, run))
        found = [
            _score(priced.programme, rounds, unit, place, about, bool(coin), observer)
            for (unit, place), coin in zip(
                _units(sites, tried), high[tried], strict=True
            )
        ]
        scores.append(np.array([score for score, _ in found]))
        truth.append(high[tried])
        strongest = max(strongest, *(signal for _, signal in found))
        noise = noise_of(priced.programme, rounds)
        squares, numbers = squares + float(noise @ noise), numbers + len(noise)
    bound, surest = 1.0, 1.0
    tier = population.encoding.tiers[about.column]
    proven = trade_off_of(priced, tier) if observer == "round" else None
    if proven is not None:
        bound, surest = proven.auc, float(norm.cdf(math.sqrt(strongest / 2.0)))
    seconds = time.perf_counter() - begun
    drawn = math.sqrt(squares / numbers)
    return ObserverGames(tuple(scores), tuple(truth), surest, drawn, bound, seconds)


def observer_result(
    played: Sequence[ObserverGames], observer: Observer, confidence: float = CONFIDENCE
) -> AttackResult:
    """Return an observer's success in telling values apart, over all games."""
    scores = [one for each in played for one in each.scores]
    truth = [one for each in played for one in each.high]
    value = across_releases(scores, truth, confidence)
    name, n = f"value from updates, {observer} observer", sum(map(len, truth))
    bound = max(each.bound for each in played)
    return AttackResult.of(name, value, bound, n, sum(one.seconds for one in played))


def _seeded(seed: int, run: int, purpose: str) -> RandomSource:
    return SeededSource(seed, f"attacked/{run}/{purpose}")


def _units(sites: Sequence[SiteData], tried: Integers) -> list[tuple[UnitBatch, int]]:
    """Return each person tried as a cohort of one, with the place of their site."""
    whole = UnitBatch.of([site.train for site in sites])
    ends = np.cumsum(whole.sites)
    return [
        (whole.between(u, u + 1), int(np.searchsorted(ends, u, side="right")))
        for u in tried.tolist()
    ]


def _score(
    programme: Programme,
    rounds: Sequence[ObservedRound],
    unit: UnitBatch,
    place: int,
    about: TargetValue,
    is_high: bool,
    observer: Observer,
) -> tuple[float, float]:
    """Return the log likelihood ratio of the wanted value over its rival, and mu^2."""
    score, signal, own = 0.0, 0.0, unit.inputs.numpy()
    for seen in rounds:
        if seen.query.kind == "metrics":
            continue
        high, low = (
            _contribution(programme, seen.query, unit, place, about.filled(own, value))
            for value in (about.wanted, about.rival)
        )
        sight = seen.exact if observer == "central" else seen.released
        # Less the others' sum: the person's own contribution and the noise.
        left = sight - (seen.exact - (high if is_high else low))
        deviation = deviations(programme, seen.query)
        further = np.square((left - low) / deviation).sum()
        nearer = np.square((left - high) / deviation).sum()
        score += 0.5 * float(further - nearer)
        signal += float(np.square((high - low) / deviation).sum())
    return score, signal


def _contribution(
    programme: Programme, query: Query, unit: UnitBatch, place: int, inputs: Floats
) -> Floats:
    """Return the contribution of a person at a site, with these inputs."""
    stage = programme.stages[query.stage].at(query.step)
    weights = torch.tensor([stage.factors[place]], dtype=torch.float64)
    inputs[unit.weights.numpy() == 0] = 0.0
    typed = torch.from_numpy(inputs).to(programme.precision)
    held = replace(unit, inputs=typed)
    return contribute(query, programme, held, weights, (place,)).numpy()
