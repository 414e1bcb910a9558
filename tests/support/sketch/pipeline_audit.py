# SPDX-License-Identifier: Apache-2.0
"""Attacks on sketches from the first key to the last answer, on neighbouring inputs.

Hash seeds are public, so an attacker can choose persons whose keys share no cell with
each other. Each of these **canaries** is a trial of its own: the noise of its cells is
independent of that of all others. One pipeline runs without them and one with them;
the attacker knows everything else, subtracts it, and takes the answer of the query
layer, whose mean over rows is the likelihood ratio of a Gaussian.

Against a mechanism with parameter mu, rates of errors obey z(true) - z(false) <= mu
[DRS22, Thm. 2.10]. The threshold is half of what a canary adds, fixed beforehand, and
both rates are bounded by Clopper and Pearson: `lower_mu` exceeds the true mu with
probability at most ERROR. Its epsilon is compared with what the ledger states.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from lexfed.arrays import Integers
from lexfed.privacy.accountants import gdp
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.privacy.run_ledger import Ledger, Limits
from lexfed.randomness import SeededSource
from lexfed.secagg.primitives.ring import Ring
from lexfed.secagg.shares.aggregator import AggregatorSession, open_sum, propose_list
from lexfed.secagg.shares.schemes import AdditiveSharing
from lexfed.secagg.shares.site import OperatorTerms, SharingSite
from lexfed.sketch.estimates.noised_cells import NoisedCells, counts
from lexfed.sketch.releases import noised_sketch
from lexfed.sketch.releases.noised_sketch import (
    Contribution,
    GaussianColumn,
    NoisedSketch,
    NoisePlan,
    person_moves,
)
from lexfed.sketch.sharing import sum_plan
from lexfed.sketch.sharing.sum_plan import MaskedPlan
from lexfed.sketch.tables import domains
from lexfed.sketch.tables.counts import CountSketch
from lexfed.sketch.tables.domains import IntegerDomain as IntegerItems
from lexfed.sketch.tables.shape import ItemKeys, SketchKind, SketchShape
from lexfed.tiers import Tier
from support.secagg.operator_sums import agreed, operators
from support.secagg.secure_sums import MODEL, Epoch, identity, names, setting

Floats = NDArray[np.float64]

ERROR = 1e-6
DELTA = 1e-6
MOST = 4
"""Items that a person may have; canaries try twice as many, all of them one key."""

ITEMS = IntegerItems(0, 2**40)
SHAPE = SketchShape(SketchKind.COUNT_SKETCH, 3, 2**16, seed=11, bins=ITEMS.digest)
PERSON = Contribution(SHAPE.depth, items=MOST, signed=True)
SIGMA = person_moves([PERSON], "add-remove").l2  # mu = 1
COHORT = NoiseCohort(sites=3, dropouts=1)
PRESENT = COHORT.least
"""As many sites as must be there: the least noise that is ever opened."""

World = tuple[CountSketch, ...]
Pipeline = Callable[[World, str], tuple[NoisedSketch, Ledger]]


@cache
def canaries() -> ItemKeys:
    """Return keys of which no two share a cell in any row."""
    tried = ITEMS.keys(np.arange(16_000) + 10**9)
    alone = np.ones(len(tried), dtype=np.bool_)
    for row in SHAPE.rows.columns(tried):
        alone &= np.bincount(row, minlength=SHAPE.width)[row] == 1
    return tried[alone]


def world(there: bool) -> World:
    """Return the tables of all sites; the canaries are at the first."""
    found = []
    for site in range(PRESENT):
        owners = np.repeat(np.arange(300), 2) + 10**6 * site
        keys = ITEMS.keys(7 * np.arange(600) + 10**8 * site)
        if there and site == 0:
            extra = np.repeat(canaries(), 2 * MOST)
            owners = np.append(owners, np.repeat(-np.arange(len(canaries())), 2 * MOST))
            keys = np.append(keys, extra)
        found.append(
            CountSketch.build(SHAPE, domains.bounded_items(owners, keys, MOST))
        )
    return tuple(found)


def plan() -> NoisePlan:
    """Return one table whose charge is worked out anew, so that mutants are charged."""
    return NoisePlan(
        "codes",
        (GaussianColumn("code", Tier.SPECIAL, PERSON, SHAPE.width, SIGMA),),
        20_000,
    )


def _paid_by(plan_: NoisePlan | MaskedPlan, times: int = 1) -> Ledger:
    return Ledger.planned(Limits(1000.0, DELTA), [(plan_.event(), times)], "rdp")


def central(tables: World, seed: str) -> tuple[NoisedSketch, Ledger]:
    """Add the tables, and noise the sum."""
    total = tables[0]
    for table in tables[1:]:
        total = total.add(table)
    ledger = _paid_by(plan())
    source = SeededSource(0, seed)
    return noised_sketch.release_sketch(plan(), [total.cells], ledger, source), ledger


def _shares(tables: World, seed: str) -> tuple[MaskedPlan, list[Integers], Ledger]:
    masked = MaskedPlan(plan(), COHORT)
    ledgers = [_paid_by(masked) for _ in tables]
    shares = [
        sum_plan.noised_share(masked, [table.cells], ledger, SeededSource(site, seed))
        for site, (table, ledger) in enumerate(zip(tables, ledgers, strict=True))
    ]
    return masked, shares, ledgers[0]


@dataclass
class _Epoch(Epoch):
    """An epoch whose sites send what they are given."""

    values: tuple[Integers, ...] = ()

    def vector(self, name: str, round_number: int) -> Integers:  # noqa: ARG002 - one
        return self.values[list(self.sites).index(name)]


def under_masks(tables: World, seed: str) -> tuple[NoisedSketch, Ledger]:
    """Noise at the sites, mask, and open the sum; one of three sites is lost."""
    masked, shares, ledger = _shares(tables, seed)
    epoch = _Epoch(
        setting(
            COHORT.sites, least=COHORT.least, bits=masked.ring(), length=SHAPE.cells
        ),
        values=tuple(shares),
    )
    total = epoch.round(epoch.set_up(), names(COHORT.sites)[:PRESENT])
    return sum_plan.opened_sketch(masked, total, PRESENT, private=False), ledger


def among_aggregators(tables: World, seed: str) -> tuple[NoisedSketch, Ledger]:
    """Noise at the sites, and give additive shares to three aggregators."""
    masked, shares, ledger = _shares(tables, seed)
    scheme = AdditiveSharing(3, Ring(masked.ring()), SHAPE.cells)
    terms = OperatorTerms(scheme, COHORT.least, masked.bound())
    agreement = replace(agreed(scheme, COHORT.sites, least=COHORT.least), terms=terms)
    held = [AggregatorSession(identity(name), agreement) for name in operators(3)]
    keys = [session.announce() for session in held]
    for session in held:
        session.start(1, MODEL)
    for name, share in zip(names(COHORT.sites), shares, strict=False):
        dealt = SharingSite(identity(name), agreement, keys).deal(1, MODEL, share)
        for session, message in zip(held, dealt.values(), strict=True):
            session.take(message)
    listed = propose_list(agreement, 1, MODEL, [session.held() for session in held])
    signed = [session.sign(listed) for session in held]
    sums = [session.add(signed) for session in held]
    total = open_sum(agreement, 1, MODEL, signed, sums).values
    return sum_plan.opened_sketch(masked, total, PRESENT, private=False), ledger


def released_twice(tables: World, seed: str) -> tuple[NoisedSketch, Ledger]:
    """Noise the same sum twice, as two releases, and answer from their mean."""
    total = tables[0].add(tables[1])
    ledger = _paid_by(plan(), times=2)
    both = [
        noised_sketch.release_sketch(
            plan(), [total.cells], ledger, SeededSource(turn, seed)
        )
        for turn in range(2)
    ]
    (first,), (second,) = (sketch.tables for sketch in both)
    mean = noised_sketch.NoisedTable(
        first.name, (first.cells + second.cells) / 2.0, first.variance / 2.0
    )
    return noised_sketch.NoisedSketch((mean,), both[0].event, private=False), ledger


def _answers(sketch: NoisedSketch, known: Floats) -> Floats:
    """Return what the query layer says of each canary, less what was there before."""
    (table,) = sketch.tables
    cells = NoisedCells(table.cells, table.variance, signed=True)
    found = counts(cells, SHAPE.rows, canaries())
    return np.array([each.value for each in found]) - known


def _known(tables: World) -> Floats:
    total = sum(table.cells.astype(np.float64) for table in tables)
    exact = NoisedCells(np.asarray(total), 0.0, signed=True)
    found = counts(exact, SHAPE.rows, canaries())
    return np.array([each.value for each in found])


def lower_mu(without: Floats, there: Floats, cut: float) -> float:
    """Return a lower confidence bound on the parameter of the mechanism."""
    false, hits = int((without > cut).sum()), int((there > cut).sum())
    size = stats.beta.ppf(1 - ERROR / 2, false + 1, len(without) - false)
    power = stats.beta.ppf(ERROR / 2, hits, len(there) - hits + 1)
    return float(stats.norm.ppf(power) - stats.norm.ppf(size))


@dataclass(frozen=True)
class Audited:
    """What an attack shows, and what was stated.

    Attributes:
        mu: lower bound on the parameter.
        charged: the parameter that was charged.
        epsilon: lower bound, at DELTA.
        stated: by the ledger, at DELTA.
    """

    mu: float
    charged: float
    epsilon: float
    stated: float


def audit(pipeline: Pipeline) -> Audited:
    """Run a pipeline on neighbouring inputs, and attack its answers."""
    without, there = world(there=False), world(there=True)
    known = _known(without)
    outs, ledger = pipeline(without, "without")
    ins, _ = pipeline(there, "there")
    found = lower_mu(_answers(outs, known), _answers(ins, known), MOST / 2.0)
    return audited(found, ledger)


def audited(found: float, ledger: Ledger) -> Audited:
    """Set a lower bound on mu beside what a ledger was charged."""
    squares = sum(event.noise_multiplier**-2.0 for event in ledger.events())
    return Audited(
        found,
        float(np.sqrt(squares)),
        gdp.epsilon_from(max(found, 0.0), DELTA),
        ledger.spent().record,
    )
