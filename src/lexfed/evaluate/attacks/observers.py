# SPDX-License-Identifier: Apache-2.0
"""What the rounds of a run tell about one value, to whoever knows everything else.

**The observers.** Both know the programme, every question and every other person's
record; of one person they know all but one column. Such an *informed* attacker is the
one that a guarantee is about [BCH22].

    round     sees what every round releases: sums with noise
    central   sees the sums themselves, as the coordinator does that is trusted with
              adding the noise; no guarantee speaks about it

**The game.** A fair coin decides for every person which of two values the column
holds; then the product trains. Values are so independent of everything else, and what
an attack finds is told by the release, not guessed from other columns.

**The attack.** Taking the others' contributions off a release leaves the person's own,
c(v), plus noise. The likelihood ratio of both values is then the best test there is,
by the lemma of Neyman and Pearson:

    score = sum over rounds of (|y - c(low)|^2 - |y - c(high)|^2) / 2 sigma^2.

It knows everybody else, so scores of two people of one run hold each other's secret:
they are compared across runs only, and the bound is that of fixed thresholds.

A round whose tower does not read the column has c(low) = c(high), to the bit, and adds
nothing: the isolation of Theorem C, seen from outside.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import torch

from lexfed.data.table import Floats, Ints
from lexfed.evaluate.attacks.attacked import (
    Attacked,
    Bools,
    across_releases,
)
from lexfed.evaluate.attacks.bounds import of_tier
from lexfed.evaluate.attacks.sensitive import Sensitive
from lexfed.federation import sums
from lexfed.federation.cohort import Cohort, SiteData
from lexfed.federation.contribute import contribute
from lexfed.federation.coordinator import Coordinator
from lexfed.federation.engines import Simulation
from lexfed.federation.learner import Learner
from lexfed.federation.messages import Query, Reply
from lexfed.federation.programme import Programme, Stage
from lexfed.federation.site import Sources
from lexfed.randomness import RandomSource, SecureSource, SeededSource
from lexfed.run.planning import Priced

Observer = Literal["round", "central"]


@dataclass(frozen=True)
class Seen:
    """One round: what was asked, what was added up, and what was released."""

    query: Query
    exact: Floats
    released: Floats


def watched_run(priced: Priced, sources: Sources | None = None) -> list[Seen]:
    """Train once in memory and write down every round, nobody being charged.

    Args:
        priced: the run.
        sources: of coins and noise; secure ones by default.

    Raises:
        ValueError: if units are sampled, or sites add the noise themselves: then the
            sums that an informed observer takes off are not those that were added.
    """
    programme = priced.programme
    if programme.trust != "central" or any(
        s.sampling_rate < 1 for s in programme.stages
    ):
        raise ValueError("expected central trust and no sampling")
    learner, secure = Learner(programme), SecureSource()
    drawn: Sources = sources or (lambda _: secure)
    coordinator = Coordinator(
        programme, learner, priced.ledger(), drawn, learner.start()
    )
    engine = Simulation(programme, priced.population.sites, drawn)
    rounds = []
    while (asked := coordinator.next()) is not None:
        answers = engine.ask(asked.query, asked.participants)
        stage = programme.stages[asked.query.stage]
        totals = [answer.total for answer in answers if isinstance(answer, Reply)]
        exact = sums.descale(sums.exact_sum(totals), stage)
        released = coordinator.receive(asked.query, answers).update
        rounds.append(Seen(asked.query, exact, sums.descale(released, stage)))
    return rounds


def plant(
    sites: Sequence[SiteData], about: Sensitive, high: Bools
) -> tuple[SiteData, ...]:
    """Return the sites with a column's values decided by coins.

    Args:
        sites: with their training units.
        about: the column.
        high: of each training unit, one site after the other, whether all its rows
            hold the wanted value rather than its rival.
    """
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


def attack_rounds(
    priced: Priced,
    about: Sensitive,
    observer: Observer,
    *,
    people: int = 5,
    runs: int = 40,
    seed: int = 0,
) -> Attacked:
    """Run the game, and say how well an informed observer tells values apart.

    Args:
        priced: the run that is attacked; fresh coins and fresh noise every time.
        about: the column.
        observer: what is seen.
        people: whom it is tried on in each run, at most.
        runs: how many.
        seed: of coins, noise and who is tried: data are public, results repeatable.

    Guarantees:
        The bound of `round` is that of the column's tier (Theorem C.2).
    """
    begun = time.perf_counter()
    generator = np.random.default_rng([seed, 0x0B5E])
    population = priced.population
    everybody = sum(len(site.train) for site in population.sites)
    chosen = min(people, everybody)
    scores: list[Floats] = []
    truth: list[Bools] = []
    for run in range(runs):
        high = generator.random(everybody) < 0.5
        tried = np.sort(generator.choice(everybody, chosen, replace=False))
        sites = plant(population.sites, about, high)
        there = replace(priced, population=replace(population, sites=sites))
        rounds = watched_run(there, partial(_seeded, seed, run))
        own = [
            _score(priced.programme, rounds, unit, place, about, bool(coin), observer)
            for (unit, place), coin in zip(
                _units(sites, tried), high[tried], strict=True
            )
        ]
        scores.append(np.array(own))
        truth.append(high[tried])
    value = across_releases(scores, truth)
    bound = 1.0
    if observer == "round" and priced.private:
        tier = population.encoding.tiers[about.column]
        charges, config = priced.programme.charges(), priced.config
        sites_per_person = config.data.sites_per_person
        by = config.privacy.accountant
        bound = of_tier(charges, tier, by, sites_per_person).auc
    return Attacked(
        f"value from updates, {observer} observer",
        value.value,
        value.low,
        value.high,
        bound,
        runs * chosen,
        time.perf_counter() - begun,
    )


def _seeded(seed: int, run: int, purpose: str) -> RandomSource:
    return SeededSource(seed, f"attacked/{run}/{purpose}")


def _units(sites: Sequence[SiteData], tried: Ints) -> list[tuple[Cohort, int]]:
    """Return each person tried as a cohort of one, with the place of their site."""
    whole = Cohort.of([site.train for site in sites])
    ends = np.cumsum(whole.sites)
    return [
        (whole.between(u, u + 1), int(np.searchsorted(ends, u, side="right")))
        for u in tried.tolist()
    ]


def _score(
    programme: Programme,
    rounds: Sequence[Seen],
    unit: Cohort,
    place: int,
    about: Sensitive,
    is_high: bool,
    observer: Observer,
) -> float:
    """Return the log likelihood ratio of the wanted value over its rival."""
    score = 0.0
    for seen in rounds:
        if seen.query.kind == "metrics":
            continue
        stage = programme.stages[seen.query.stage].at(seen.query.step)
        high, low = (
            _contribution(programme, stage, seen.query, changed, place)
            for changed in (
                _with(unit, about, about.wanted),
                _with(unit, about, about.rival),
            )
        )
        sight = seen.exact if observer == "central" else seen.released
        # What the others did not add: the person's own contribution and the noise.
        left = sight - (seen.exact - (high if is_high else low))
        deviation = np.ones(stage.dimension)
        if seen.query.release is not None:
            groups = zip(stage.blocks, seen.query.release.groups, strict=True)
            for block, group in groups:
                deviation[block.start : block.stop] = group.sigma
        further = np.square((left - low) / deviation).sum()
        nearer = np.square((left - high) / deviation).sum()
        score += 0.5 * float(further - nearer)
    return score


def _with(unit: Cohort, about: Sensitive, candidate: int) -> Cohort:
    inputs = about.filled(unit.inputs.numpy(), candidate)
    inputs[unit.weights.numpy() == 0] = 0.0
    return replace(unit, inputs=torch.from_numpy(inputs))


def _contribution(
    programme: Programme, stage: Stage, query: Query, unit: Cohort, place: int
) -> Floats:
    weights = torch.tensor([stage.factors[place]], dtype=torch.float64)
    dtype = programme.precision
    typed = replace(unit, inputs=unit.inputs.to(dtype))
    return contribute(query, programme, typed, weights, (place,)).numpy()
