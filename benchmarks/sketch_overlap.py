# SPDX-License-Identifier: Apache-2.0
"""Overlap and distance of real sites, from noised sketches, against the truth.

Every site builds a Count-Sketch and releases it with noise; pairs are compared by
whoever has the tables. Hashes and noise are new in every turn. What is reported for a
table is how often a 95 % interval holds the truth, and how wide it is.

    heart, eICU     hospitals and regions as they are; nobody is at two of them
    Taiwan          five banks by credit limit; a part of each bank's clients is also
                    at the next one; once by sketches with noise, once by what two
                    aggregators count under secret sharing
"""

import itertools
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks import sketch_common
from benchmarks.sketch_common import counted
from lexfed.evaluate.datasets.source_folder import data_folder
from lexfed.privacy.accountants import gdp
from lexfed.privacy.run_ledger import Ledger, Limits
from lexfed.randomness import SecureSource
from lexfed.sketch.estimates.intervals import Estimate
from lexfed.sketch.estimates.noised_cells import (
    NoisedCells,
    best_cells,
    distance,
    inner_product,
)
from lexfed.sketch.releases.noised_sketch import (
    Contribution,
    GaussianColumn,
    NoisePlan,
    release_sketch,
)
from lexfed.sketch.tables.counts import CountSketch
from lexfed.sketch.tables.domains import BinDomain, TextDomain
from lexfed.sketch.tables.shape import SketchKind, SketchShape, string_keys
from lexfed.tiers import Tier

Keys = NDArray[np.uint64]

DELTA = 1e-6
DEPTH = 5
LEAST_WIDTH = 64
BANKS = 5
PLANTED = 0.2
"""Part of a bank's clients that the next bank has too."""


def read(name: str) -> pd.DataFrame:
    """Return a table as it was published."""
    folder = data_folder() / name
    schema = json.loads((folder / "schema.json").read_text())
    return pd.read_csv(folder / schema["file"], low_memory=False)


def by_site(frame: pd.DataFrame, column: str) -> dict[str, pd.DataFrame]:
    """Return the rows of every site."""
    return {str(name): rows for name, rows in frame.groupby(column)}


def banks() -> dict[str, pd.DataFrame]:
    """Return Taiwan's clients by five bands of credit limit."""
    frame = read("taiwan_default")
    band = pd.qcut(frame["LIMIT_BAL"].rank(method="first"), BANKS, labels=False)
    return {f"bank{at}": frame[band == at] for at in range(BANKS)}


def planted(sites: dict[str, pd.DataFrame], part: float) -> dict[str, pd.DataFrame]:
    """Give each site a part of the persons of the one before it, too."""
    names = list(sites)
    found = {}
    for at, name in enumerate(names):
        before = sites[names[at - 1]]
        taken = before.iloc[: round(part * len(before))]
        found[name] = pd.concat([sites[name], taken])
    return found


def persons(sites: dict[str, pd.DataFrame], column: str | None) -> dict[str, Keys]:
    """Return the keys of each site's persons, everybody once."""
    found = {}
    for name, frame in sites.items():
        keys = frame[column] if column else frame.index
        found[name] = np.unique(string_keys([str(key) for key in keys]))
    return found


@dataclass(frozen=True)
class Comparison:
    """Answers about one pair of sites, in one turn."""

    truth: float
    found: Estimate

    @property
    def held(self) -> bool:
        """Whether the interval holds the truth."""
        return self.found.low <= self.truth <= self.found.high


def noised(shape: SketchShape, keys: Keys, epsilon: float, people: int) -> NoisedCells:
    """Return a site's table with noise, charged to a ledger of its own."""
    person = Contribution(shape.depth, signed=True)
    sigma = math.sqrt(shape.depth) / gdp.mu_from(epsilon, DELTA)
    column = GaussianColumn("keys", Tier.PERSONAL, person, shape.width, sigma)
    plan = NoisePlan("keys", (column,), people)
    ledger = Ledger.planned(Limits(epsilon * (1 + 1e-9), DELTA), [(plan.event(), 1)])
    exact = CountSketch.build(shape, keys).cells
    (table,) = release_sketch(plan, [exact], ledger, SecureSource()).tables
    return NoisedCells(table.cells, table.variance, signed=True)


def width_for(sizes: Iterable[int], epsilon: float) -> int:
    """Return the columns by the rule m* = 2 rho |f||g|, as a power of two."""
    rho = gdp.mu_from(epsilon, DELTA) ** 2 / 2.0
    norm = math.sqrt(float(np.mean(list(sizes))))
    cells = best_cells(rho, norm, norm)
    return max(LEAST_WIDTH, 1 << round(math.log2(max(1.0, cells / DEPTH))))


def overlaps(sites: dict[str, Keys], epsilon: float, turns: int) -> list[Comparison]:
    """Compare all pairs of sites by the persons that both have."""
    width = width_for(map(len, sites.values()), epsilon)
    people = sum(map(len, sites.values()))
    found = []
    for turn in range(turns):
        shape = SketchShape(
            SketchKind.COUNT_SKETCH,
            DEPTH,
            width,
            seed=turn,
            bins=TextDomain(100).digest,
        )
        tables = {n: noised(shape, keys, epsilon, people) for n, keys in sites.items()}
        for one, other in itertools.combinations(sites, 2):
            truth = len(np.intersect1d(sites[one], sites[other]))
            answer = inner_product(tables[one], tables[other])
            found.append(Comparison(float(truth), answer))
    return found


def counted_overlaps(
    sites: dict[str, Keys], places: int, turns: int
) -> list[Comparison]:
    """Compare all pairs by what two aggregators count, at `sketch_common.EPSILON`."""
    keys = [(own >> np.uint64(2)).view(np.int64) for own in sites.values()]
    found = []
    for turn in range(turns):
        bits = counted(keys, places, seed=turn)
        for one, other in itertools.combinations(range(len(keys)), 2):
            truth = len(np.intersect1d(keys[one], keys[other]))
            answer = bits.overlap(bits.sites[one], bits.sites[other])
            found.append(Comparison(float(truth), answer))
    return found


def distances(
    sites: dict[str, NDArray[np.float64]], bins: BinDomain, epsilon: float, turns: int
) -> list[Comparison]:
    """Compare the distributions of a column at all pairs of sites."""
    keys = {name: bins.keys(values) for name, values in sites.items()}
    people = sum(map(len, sites.values()))
    counts = {n: np.unique_counts(found) for n, found in keys.items()}
    parts = {
        name: dict(zip(each.values, each.counts / len(keys[name]), strict=True))
        for name, each in counts.items()
    }
    found = []
    for turn in range(turns):
        shape = SketchShape(
            SketchKind.COUNT_SKETCH, DEPTH, LEAST_WIDTH, seed=turn, bins=bins.digest
        )
        tables = {n: noised(shape, each, epsilon, people) for n, each in keys.items()}
        for one, other in itertools.combinations(sites, 2):
            f, g = parts[one], parts[other]
            truth = sum((f.get(k, 0.0) - g.get(k, 0.0)) ** 2 for k in f | g)
            totals = [_public(len(keys[name])) for name in (one, other)]
            answer = distance(tables[one], tables[other], *totals)
            found.append(Comparison(float(truth), answer))
    return found


def _public(total: int) -> Estimate:
    return Estimate(float(total), 0.0, float(total), float(total))


def summary(found: Sequence[Comparison], digits: int = 0) -> dict[str, Any]:
    """Return coverage, its standard error, and how wide intervals are."""
    held = np.array([each.held for each in found])
    reach = [(each.found.high - each.found.low) / 2.0 for each in found]
    truths = [each.truth for each in found]
    seen = [each.found.low > 0 for each in found if each.truth > 0]
    return {
        "intervals": len(found),
        "held": round(float(held.mean()), 3),
        "seen_where_there": round(float(np.mean(seen)), 3) if seen else None,
        "truth": [round(min(truths), digits), round(max(truths), digits)],
        "mean_half_width": round(float(np.mean(reach)), digits),
        "median_error": round(
            float(np.median([abs(e.found.value - e.truth) for e in found])), digits
        ),
    }


def measure(epsilon: float, turns: int) -> dict[str, Any]:
    """Measure everything at one epsilon per site."""
    heart = by_site(read("heart_uci4"), "site")
    eicu = by_site(read("eicu_demo"), "region")
    ages = {
        name: frame["age"].dropna().to_numpy(np.float64)
        for name, frame in heart.items()
    }
    five = BinDomain(tuple(np.arange(20.0, 91.0, 5.0)))
    doubled = persons(planted(banks(), PLANTED), "ID")
    return {
        "epsilon": epsilon,
        "heart": summary(overlaps(persons(heart, None), epsilon, turns)),
        "eicu": summary(overlaps(persons(eicu, "uniquepid"), epsilon, turns)),
        "taiwan": summary(overlaps(doubled, epsilon, turns)),
        "taiwan_two_aggregators": {
            "epsilon": sketch_common.EPSILON,
            **summary(counted_overlaps(doubled, 2, turns)),
        },
        "heart_ages": summary(distances(ages, five, epsilon, turns), 4),
    }
