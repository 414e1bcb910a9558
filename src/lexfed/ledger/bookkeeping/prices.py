# SPDX-License-Identifier: Apache-2.0
"""The cost of a release to each scope, as an exact integer.

A cost is counted in units of 2^-60 and rounded up once, when it is computed; after
that only integers are added, so the sum of all charges equals the ledger exactly.

Measures:

* `gdp`: mu^2 = s^2 sum_g (C_g/sigma_g)^2, with s = 1 under add/remove and 2 under
  replace-one. Clips and sigmas are floats, which are fractions: nothing is lost.
* `rdp`: the Rényi divergence at one order, for ceilings of that kind only.
* `shares`: the same squares as `gdp`, of releases with noise in shares. These have no
  mu: what is known is that at every integer order a their divergence is at most a/2
  times the square (Theorem D of `lexfed.privacy.noise.shares`). So they are counted
  apart, ceilings by `rdp` take them, and ceilings by `gdp` refuse them.

**Sampled releases under `gdp`** are charged as if nobody had been left out. *Proof.*
The hockey-stick divergence is jointly convex, so (qP + (1-q)Z, qQ + (1-q)Z) lies at
every epsilon at most at q times (P, Q): the sampled pair is dominated by the other. []

Scopes, by Theorem C of `lexfed.privacy.scopes`: `record` (add/remove), `label`
(replace-one) and every tier (the releases that may read it, replace-one). Where a
whole site is the unit, one record more changes the site's contribution from one vector
of norm C to another, so `record` then pays as under replace-one.

**Relations.** A run under replace-one divides by the exact number of records and signs
a programme that changes with it. One record more or less is then seen for certain, so
no number bounds what the run costs `record`: such releases are counted apart (`told`),
and a ceiling of `record` refuses them. The other way round there is a price: an
add/remove run is R-GDP, two of its steps lead from a record to another, so under
replace-one it is 2R-GDP. `label` and the tiers charge every run that. As `label` pays
for all releases, it is also the scope of the whole record under replace-one.
"""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from lexfed.canonical import digest
from lexfed.privacy.accountants import rdp
from lexfed.privacy.accountants.gdp import sensitivity
from lexfed.privacy.releases import Release
from lexfed.privacy.scopes import CountedRelease, steps_of
from lexfed.terms import Neighbours, Unit
from lexfed.tiers import Tier

SCALE = 2**60
"""Units of cost in 1."""

Counting = Literal["gdp", "rdp", "shares", "told", "unsaid"]
"""Measures of a meter: squares, divergences, squares of noise in shares; or releases
that have no price under add/remove, because they tell the number of records (`told`) or
because their row does not say whether they do (`unsaid`: rows of the first version)."""

Costs = Mapping[str, int]
"""Cost by meter: `special:gdp` is what the tier `special` pays, in squares of mu."""

RECORD, LABEL = "record", "label"
SCOPES = (RECORD, LABEL, *(tier.label for tier in Tier))


def meter(scope: str, counting: Counting) -> str:
    """Return the name of the meter that counts a scope's cost in a measure."""
    return f"{scope}:{counting}"


def tells_records(unit: Unit, neighbours: Neighbours) -> bool:
    """Return True if a run tells everybody the exact number of records."""
    return unit == "record" and neighbours == "replace-one"


def concerned_scopes(
    release: Release, unit: Unit, neighbours: Neighbours
) -> dict[str, Neighbours]:
    """Return the scopes that have a price for a release, each with its relation."""
    scopes: dict[str, Neighbours] = {LABEL: "replace-one"}
    if not tells_records(unit, neighbours):
        scopes[RECORD] = "add-remove" if unit == "record" else "replace-one"
    for tier in Tier:
        if release.reads is not None and release.reads >= tier:
            scopes[tier.label] = "replace-one"
    return scopes


def costs_of(
    releases: Iterable[CountedRelease],
    unit: Unit,
    orders: Mapping[str, int],
    neighbours: Neighbours,
) -> dict[str, int]:
    """Return the cost of releases by meter.

    `orders` has the order of the Rényi divergence by scope, where a ceiling asks for
    one; the relation is the one that the run was planned under.

    Guarantees:
        Never below the exact cost, and above it by less than 2^-60 a release (plus
        the error of `lexfed.privacy.accountants.rdp` for sampled releases under `rdp`).
        The cost of two lists is the sum of their costs.
    """
    asked = tuple(sorted(orders.items()))
    total: dict[str, int] = {}
    for release, count in releases:
        for name, cost in _costs(release, unit, neighbours, asked):
            total[name] = total.get(name, 0) + count * cost
    return total


@lru_cache(maxsize=4096)
def mark_of(release: Release, unit: Unit) -> str:
    """Return the hash of a release and its unit, which tells rounds of a run apart."""
    return digest({"release": release.to_json(), "unit": unit})


@lru_cache(maxsize=4096)
def _costs(
    release: Release,
    unit: Unit,
    neighbours: Neighbours,
    orders: tuple[tuple[str, int], ...],
) -> tuple[tuple[str, int], ...]:
    scopes = concerned_scopes(release, unit, neighbours)
    squares: Counting = "gdp" if release.noise == "gaussian" else "shares"
    costs = [
        (meter(scope, squares), _up(_square(release, relation)))
        for scope, relation in scopes.items()
    ]
    costs += [
        (meter(scope, "rdp"), _up(_divergence(release, scopes[scope], order)))
        for scope, order in orders
        if scope in scopes
    ]
    if tells_records(unit, neighbours):
        costs.append((meter(RECORD, "told"), 1))
    return tuple(costs)


def _square(release: Release, neighbours: Neighbours) -> Fraction:
    """Return mu^2 of the release as if it were not sampled, exactly."""
    if release.sampling_rate == 0.0:  # nobody takes part
        return Fraction(0)
    ratios = [Fraction(group.clip) / Fraction(group.sigma) for group in release.groups]
    return Fraction(sensitivity(neighbours)) ** 2 * sum(r * r for r in ratios)


def _divergence(release: Release, neighbours: Neighbours, order: int) -> Fraction:
    square = _square(release, neighbours)
    whole = order * square / 2
    # Far beyond any budget sampling gains nothing, and its floats overflow.
    if release.sampling_rate == 1.0 or square > SCALE:
        return whole
    steps = steps_of([(release, 1)])
    return min(whole, Fraction(float(rdp.curve(steps, neighbours, (order,))[0])))


def _up(cost: Fraction) -> int:
    return math.ceil(cost * SCALE)
