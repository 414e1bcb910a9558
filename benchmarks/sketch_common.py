# SPDX-License-Identifier: Apache-2.0
"""Weights of sites from overlaps that two aggregators count, for a small epsilon.

Filters of all sites are multiplied under secret sharing, and noise is added before the
counts are opened (`federation.shared_overlaps`); runs do not do this by themselves yet.
What is computed here is what that protocol opens: common bits, and both aggregators'
noise. The overlaps cost epsilon `EPSILON` and half of delta, training the rest of both
(basic composition), so that the total is that of every other run.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lexfed.budget.sites import overlap_factors, site_weights
from lexfed.config import Config
from lexfed.federation.planning.training_programme import plan_training
from lexfed.privacy.accountants.composition import epsilon
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.noise.shares import draw_share
from lexfed.randomness import SecureSource
from lexfed.run import Population, price
from lexfed.run.intake.public_facts import public_facts
from lexfed.run.pricing.policy_terms import choices_of, stated_budget
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.sketch.queries.duplicates import reach
from lexfed.sketch.sharing.overlap_plan import CommonBits, OverlapPlan, width_for
from lexfed.sketch.tables.counts import BloomFilter
from lexfed.sketch.tables.domains import IntegerDomain
from lexfed.sketch.tables.shape import SketchKind, SketchShape

EPSILON = 0.1
DELTA = 5e-6
Floats = NDArray[np.float64]
Keys = NDArray[np.int64]

KEYS = IntegerDomain(0, 2**62)


def plan_for(keys: Sequence[Keys], places: int, seed: int) -> OverlapPlan:
    """Return the plan whose price is EPSILON at DELTA."""
    width = width_for(max(map(len, keys)))
    shape = SketchShape(SketchKind.BLOOM, 1, width, seed, KEYS.digest)
    unit = OverlapPlan("overlaps", len(keys), shape, sigma=100.0, places=places)
    least = unit.event().noise_multiplier / 100.0
    low, high = 1.0, 1e6
    for _ in range(60):
        middle = math.sqrt(low * high)
        price_of = epsilon([Step(middle)], DELTA, "add-remove", "rdp")
        low, high = (low, middle) if price_of <= EPSILON else (middle, high)
    return replace(unit, sigma=high / least)


def counted(keys: Sequence[Keys], places: int, seed: int) -> CommonBits:
    """Return what two aggregators open."""
    asked = plan_for(keys, places, seed)
    rows = [BloomFilter.build(asked.shape, KEYS.keys(own)).bits for own in keys]
    bits = np.stack(rows).astype(np.float64)
    noise = sum(
        draw_share(SecureSource(), [asked.half], [len(keys) ** 2]) for _ in range(2)
    )
    loud = np.triu(np.asarray(noise).reshape(len(keys), len(keys)))
    counts = bits @ bits.T + loud + np.triu(loud, 1).T
    names = tuple(f"site{at}" for at in range(len(keys)))
    return CommonBits(names, counts, asked.variance, asked.shape.width, (), True)


def duplicated(found: CommonBits) -> Floats:
    """Return the part of each site's persons who are elsewhere, at least.

    As `sketch.duplicates`: below the truth at all sites at once with 95 %.
    """
    values, variances = found.overlaps()
    sizes, loud = np.diagonal(values), np.diagonal(variances)
    far = reach(len(sizes))
    common = values.sum(axis=1) - sizes
    spread = np.sqrt(variances.sum(axis=1) - loud)
    return np.asarray((common - far * spread) / (sizes + far * np.sqrt(loud)))


def weighed(
    config: Config, population: Population, seed: int
) -> tuple[PricedRun, Floats]:
    """Price a run whose sites are weighed by their overlaps, both within its budget."""
    keys = [np.unique(_keys(site.train.keys)) for site in population.sites]
    places = config.data.sites_per_person
    found = counted(keys, places, seed)
    weights = site_weights(overlap_factors(duplicated(found)))
    # Sizes were released with the overlaps: sums are divided by what is in them.
    sizes = np.array([max(1.0, found.size(name).value) for name in found.sites])
    rest = config.budget.model_copy(
        update={
            "epsilon": config.budget.epsilon - EPSILON,
            "delta": config.budget.delta - DELTA,
        }
    )
    left = config.model_copy(update={"budget": rest})
    priced = price(left, population)
    stated = stated_budget(left, population, Path())
    facts = public_facts(left, population, ())
    choices = choices_of(left, stated.terms, {})
    told = tuple(float(weight) for weight in weights)
    divisor = facts.units * float(weights @ sizes / sizes.sum())
    facts = replace(facts, site_weights=told, divisor=divisor)
    programme = plan_training(facts, priced.budget, choices)
    return replace(priced, programme=programme), weights


def _keys(keys: Keys | None) -> Keys:
    assert keys is not None
    return keys
