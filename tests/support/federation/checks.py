# SPDX-License-Identifier: Apache-2.0
"""Checks of the privacy core. Each raises `AssertionError` if a promise is broken.

They are used twice: the tests assert that they pass, and `tests/mutants` that they fail
once the core has been broken on purpose. They look functions up where the package does,
so that a patched function is the one they see.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats

from lexfed.federation.engines import clear_sums
from lexfed.federation.programme import integer_sums
from lexfed.federation.programme.messages import Query
from lexfed.federation.site import contributions
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.privacy.accountants.gdp import mu_from
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.tiers import Tier
from support.federation.worlds import (
    EngineName,
    Floats,
    World,
    play,
    seeded,
    with_slots,
)

ERROR = 1e-9
"""Probability that a statistical check fails although nothing is wrong."""


# Sensitivity

ODD_VALUES = (math.nan, math.inf, -math.inf, 1e308, -1e308, 1e30, 1e-320)


def sum_of(of: World, query: Query, cohort: UnitBatch) -> NDArray[np.int64]:
    """Return what one site of weight 1 would send before noise."""
    stage = of.programme.stages[query.stage]
    weights = torch.ones(len(cohort.sites), dtype=torch.float64)
    # Odd values overflow on purpose; what matters is what they contribute.
    places = range(len(cohort.sites))
    with np.errstate(all="ignore"):
        total = contributions.contribute(query, of.programme, cohort, weights, places)
        return integer_sums.to_grid(total, stage)


def cohort_of(of: World, query: Query) -> UnitBatch:
    """Return the units of the first site that a query is about."""
    site = of.sites[0]
    return UnitBatch.of([site.test if query.kind == "metrics" else site.train])


def check_sensitivity(of: World, seed: int = 0, persons: int = 3) -> None:
    """One person less, or other values, move a sum by at most one or two clips."""
    generator = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        queries = {query.stage: query for query in play(of).queries}
    for query in queries.values():
        if query.release is None:
            continue
        cohort = cohort_of(of, query)
        whole = sum_of(of, query, cohort)
        for _ in range(persons):
            gone = int(generator.integers(len(cohort)))
            for other in _neighbours(cohort, gone, generator):
                clips = 1.0 if len(other) < len(cohort) else 2.0
                moved = whole - sum_of(of, query, other)
                within(of, query, moved, clips)


def within(of: World, query: Query, moved: NDArray[np.int64], clips: float) -> None:
    """In every group a difference of integer sums is at most that many clips."""
    stage = of.programme.stages[query.stage]
    assert query.release is not None
    for group, block in zip(query.release.groups, stage.blocks, strict=True):
        part = moved[block.start : block.stop].astype(np.float64) * block.grid.step
        assert float(np.linalg.norm(part)) <= clips * group.clip


def _neighbours(
    cohort: UnitBatch, gone: int, generator: np.random.Generator
) -> Iterator[UnitBatch]:
    kept = np.ones(len(cohort), dtype=bool)
    kept[gone] = False
    yield cohort.take(kept)
    slots = cohort.inputs.shape[-1]
    for value in (*ODD_VALUES, None):
        inputs = cohort.inputs.clone()
        if value is None:
            inputs[gone] = torch.from_numpy(generator.uniform(-9, 9, slots))
        else:
            inputs[gone, ..., int(generator.integers(slots))] = value
        yield replace(cohort, inputs=inputs)
    yield replace(cohort, targets=_other_label(cohort.targets, gone))


def _other_label(targets: torch.Tensor, gone: int) -> torch.Tensor:
    changed = targets.clone()
    changed[gone] = 1.0 - changed[gone].clamp(0.0, 1.0)
    return changed


def check_client_sensitivity(of: World) -> None:
    """A whole site moves a sum by at most one clip in every group."""
    for query in {query.stage: query for query in play(of).queries}.values():
        stage = of.programme.stages[query.stage]
        cohort = cohort_of(of, query)
        empty = np.zeros(stage.dimension, dtype=np.int64)
        within(of, query, sum_of(of, query, cohort) - empty, 1.0)
        wild = replace(cohort, inputs=1e4 * cohort.inputs)
        within(of, query, sum_of(of, query, wild) - empty, 1.0)


# Isolation


def edits(seed: int = 0) -> dict[str, Callable[[Floats], Floats]]:
    """Return ways to change the values of a tier's slots."""
    generator = np.random.default_rng(seed)
    return {
        "random": lambda values: generator.uniform(-1, 1, values.shape),
        "missing": np.zeros_like,
        "flagged": np.ones_like,
        "huge": lambda values: np.full_like(values, 1e308),
        "nan": lambda values: np.full_like(values, np.nan),
        "infinite": lambda values: np.full_like(values, -np.inf),
        "some nan": lambda values: np.where(
            generator.random(values.shape) < 0.3, np.nan, values
        ),
    }


TIERS_AND_ENGINES = pytest.mark.parametrize(
    ("tier", "engine"),
    [
        (Tier.SPECIAL, "inprocess"),
        (Tier.PERSONAL, "simulation"),
        pytest.param(Tier.SPECIAL, "simulation", marks=pytest.mark.slow),
        pytest.param(Tier.PERSONAL, "inprocess", marks=pytest.mark.slow),
    ],
)
"""Both tiers that are worth hiding and both engines; the other pairs are slow."""


def check_isolation(
    of: World, tier: Tier, engine: EngineName, changes: Iterable[str]
) -> None:
    """Nothing that a lower tower asks, sends or releases depends on the tier.

    Args:
        of: what is run.
        tier: whose values are changed.
        engine: what runs it.
        changes: names of `edits`, each tried on its own.
    """
    slots = [int(place) for place in of.encoding.slots_of(tier)]
    reads = [shape.tier for shape in of.programme.shapes]
    tower = next((k for k, read in enumerate(reads) if read >= tier), len(reads))
    before = play(of, engine)
    one = before.below(of.programme, tower)
    assert len(before.queries) == of.programme.rounds
    for change in changes:
        with np.errstate(all="ignore"):
            after = play(with_slots(of, slots, edits()[change]), engine)
        assert len(after.queries) == of.programme.rounds, change
        assert before.participants == after.participants, change
        other = after.below(of.programme, tower)
        assert one.keys() == other.keys(), change
        for name, content in one.items():
            message = f"{name} depends on tier {tier.label}: {change}"
            assert other[name] == content, message


# Randomness


@contextmanager
def watched_coins(log: list[NDArray[np.bool_]]) -> Iterator[None]:
    """Write down every round's coins of the simulation."""
    # Whatever stands there now, a mutant included.
    real = vars(clear_sums)["flip_coins"]

    def watch(
        sources: Any, sites: Sequence[int], rates: Sequence[float]
    ) -> NDArray[np.bool_]:
        coins: NDArray[np.bool_] = real(sources, sites, rates)
        if max(rates) < 1.0:
            log.append(coins)
        return coins

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clear_sums, "flip_coins", watch)
        yield


def check_coins(of: World) -> None:
    """Coins are independent over rounds, towers and units and have their rate.

    Correlations of n fair-sized samples are N(0, 1/n); 7 standard errors have
    probability 3e-12, over at most 300 pairs below 1e-9. The rate is tested at 6.11.
    """
    log: list[NDArray[np.bool_]] = []
    with watched_coins(log):
        play(of, "simulation")
    coins = np.stack(log).astype(np.float64)
    rounds, units = coins.shape
    rate = of.choices.sampling_rate
    spread = math.sqrt(rate * (1 - rate) / coins.size)
    assert abs(coins.mean() - rate) <= 6.11 * spread
    # Constant coins of a round have no correlation: they would give NaN.
    assert (coins.std(axis=1) > 0).all()
    between = np.atleast_2d(np.corrcoef(coins))[np.triu_indices(rounds, 1)]
    assert np.abs(between).max() <= 7.0 / math.sqrt(units)
    # Neighbouring units of one round.
    left, right = coins[:, :-1].ravel(), coins[:, 1:].ravel()
    assert abs(float(np.atleast_2d(np.corrcoef(left, right))[0, 1])) <= 7.0 / math.sqrt(
        left.size
    )
    # A unit's luck over the rounds spreads like independent coins.
    luck = coins.mean(axis=0)
    ratio = luck.var() / (rate * (1 - rate) / rounds)
    assert abs(ratio - 1.0) <= 7.0 * math.sqrt(2.0 / units) + 7.0 / units


def check_noise(of: World, seed: int = 1) -> None:
    """The released noise of every tower has the variance that was charged for.

    sum (noise/sigma)² over n values is chi-square; its two-sided interval at 1e-9 per
    tower, widened by the variance of rounding to the release grid.
    """
    seen = play(of, "simulation", seed)
    noises: dict[tuple[int, str], list[Floats]] = {}
    for place, query in enumerate(seen.queries):
        stage = of.programme.stages[query.stage]
        assert query.release is not None
        released, total = seen.released[place], seen.totals[place]
        for group, block in zip(query.release.groups, stage.blocks, strict=True):
            part = slice(block.start, block.stop)
            noise = released[part] - total[part] * block.grid.step
            noises.setdefault((stage.tower, group.name), []).append(noise / group.sigma)
    tested = 0
    for parts in noises.values():
        values = np.concatenate(parts)
        if len(values) < 1000:
            continue
        tested += 1
        low, high = stats.chi2.ppf([ERROR / 2, 1 - ERROR / 2], len(values))
        assert low <= float((values**2).sum()) <= high * (1 + 1e-6)
        # Fresh in every round: equal values would be a reused draw.
        for first in range(len(parts)):
            for second in range(first):
                same = parts[first].shape == parts[second].shape
                assert not same or (parts[first] == parts[second]).mean() < 0.1
    assert tested


# Audits


def mu_lower(ins: Floats, outs: Floats, error: float = ERROR) -> float:
    """Return a lower confidence bound on mu from scores with and without a canary.

    Half of each sample chooses the threshold, the other half is counted. With
    Clopper-Pearson bounds on both rates, mu >= z(true positive) - z(false positive)
    [DRS22, Thm. 2.10]. Wrong with probability at most `error`.
    """
    half = len(ins) // 2, len(outs) // 2
    cut = (np.median(ins[: half[0]]) + np.median(outs[: half[1]])) / 2.0
    hits = int((ins[half[0] :] > cut).sum())
    false = int((outs[half[1] :] > cut).sum())
    trials, blanks = len(ins) - half[0], len(outs) - half[1]
    power = stats.beta.ppf(error / 2, hits, trials - hits + 1) if hits else 0.0
    size = stats.beta.ppf(1 - error / 2, false + 1, blanks - false)
    if not power or not size < 1.0:
        return 0.0
    return float(stats.norm.ppf(power) - stats.norm.ppf(size))


def audit_attribute(of: World, tier: Tier, trials: int = 4000) -> float:
    """Return a lower bound on mu of one person's values of a tier.

    A canary has its slots of the tier at one end or at the other; everything else is
    fixed. The score is the likelihood ratio of all releases of the run, at the
    released models of one run.
    """
    queries = play(of).queries
    ends = [_with_canary(of, tier, value) for value in (1.0, -1.0)]
    ins, outs = np.zeros(trials), np.zeros(trials)
    for query in queries:
        stage = of.programme.stages[query.stage]
        high, low = (sum_of(world, query, cohort_of(world, query)) for world in ends)
        assert query.release is not None
        direction = np.zeros(stage.dimension)
        for group, block in zip(query.release.groups, stage.blocks, strict=True):
            part = slice(block.start, block.stop)
            gap = (high - low)[part].astype(np.float64)
            direction[part] = gap * (block.grid.step / group.sigma) ** 2
        if not direction.any():
            continue
        for trial in range(trials):
            for name, total, scores in (("in", high, ins), ("out", low, outs)):
                source = seeded(trial)(f"{name}/{query.round}")
                noisy = integer_sums.add_noise(total, stage, query.release, source)
                scores[trial] += float(noisy @ direction)
    return mu_lower(ins, outs)


def _with_canary(of: World, tier: Tier, value: float) -> World:
    train = of.sites[0].train
    inputs = train.inputs.copy()
    targets = train.targets.copy()
    slots = [
        int(place)
        for place in of.encoding.slots_of(tier)
        if of.encoding.slots[place].kind == "number"
    ]
    inputs[0, 0] = 0.0
    inputs[0, 0, slots] = value
    targets[0] = 1.0
    block = replace(train, inputs=inputs, targets=targets)
    first = replace(of.sites[0], train=block)
    return replace(of, sites=(first, *of.sites[1:]))


def check_attribute_audit(of: World, tier: Tier) -> None:
    """No attack on a person's values of a tier beats what is claimed for it."""
    claimed = tier_epsilon(of.programme.charges(), tier, of.budget.delta)
    assert audit_attribute(of, tier) <= mu_from(claimed, of.budget.delta)


def audit_record(of: World, stage_name: str) -> float:
    """Return a lower bound on mu of one release, by canaries on the aggregator.

    Every coordinate carries one canary of norm `clip` or nothing, by a coin; their
    noises are independent, so each coordinate is a trial of its own.
    """
    stage = next(s for s in of.programme.stages if s.name == stage_name)
    release = stage.releases[0]
    assert release is not None
    generator = np.random.default_rng(5)
    ins: list[Floats] = []
    outs: list[Floats] = []
    block, group = stage.blocks[0], release.groups[0]
    for trial in range(12):
        here = generator.random(stage.dimension) < 0.5
        canary = round(group.clip / block.grid.step)
        source = seeded(trial)("audit")
        total = here.astype(np.int64) * canary
        noisy = integer_sums.add_noise(total, stage, release, source)
        ins.append(noisy[here].astype(np.float64))
        outs.append(noisy[~here].astype(np.float64))
    return mu_lower(np.concatenate(ins), np.concatenate(outs))


def check_record_audit(of: World, stage_name: str) -> None:
    """No attack on a release beats its own price."""
    stage = next(s for s in of.programme.stages if s.name == stage_name)
    release = stage.releases[0]
    assert release is not None
    epsilon = record_epsilon([(release, 1)], of.budget.delta, "add-remove")
    assert audit_record(of, stage_name) <= mu_from(epsilon, of.budget.delta)
