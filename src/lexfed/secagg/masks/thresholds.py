# SPDX-License-Identifier: Apache-2.0
"""Thresholds against a server that may lie, and the graph of who masks with whom.

A malicious server may tell some sites that a victim is present and others that it is
gone, to collect shares of both of its secrets. With c of n sites colluding it needs 2t
<= (n - c) + 2c for that, so 2t > n + c keeps every update masked [BIK+17]. There is no
weaker variant for servers that only listen: nobody can check that.

Up to 60 sites all mask with all. Above, sites are put on a circle in a random order,
and each is joined to the k/2 nearest on both sides [BBG+20].
docs/theory/secure-aggregation.md has the bounds on sites outvoted, split or lost. The
order comes from a hash of the signed list of keys: whoever tries many lists draws anew
with every try.
"""

from dataclasses import dataclass
from hashlib import sha256
from math import exp, lgamma
from typing import Self

from lexfed.checks import in_range
from lexfed.errors import ConfigError, Problem

COMPLETE_UP_TO = 60
BREACH = 2.0**-128
LOSS = 1e-6
SEED_BYTES = 32


@dataclass(frozen=True)
class Threshold:
    """Number of shares, one a site, that open a secret, and the collusion it bears."""

    sites: int
    colluders: int
    shares: int

    @classmethod
    def malicious(cls, sites: int, colluders: int, dropouts: int = 0) -> Self:
        """Return the smallest threshold against a lying server, or refuse dropouts.

        Guarantees:
            2t > sites + colluders, and no smaller t has it.
            At least two honest sites are in every sum that can be opened.
        """
        in_range(0, sites, colluders=colluders, dropouts=dropouts)
        if sites - colluders < 2:
            raise _refused(
                f"{_count(colluders, 'colluder')} among {_count(sites, 'site')} would "
                "leave no two honest ones, and a sum of one is that one",
                f"ask for at most {_count(max(sites - 2, 0), 'colluder')}",
            )
        shares = (sites + colluders) // 2 + 1
        if sites - shares < dropouts:
            raise _refused(_survives(sites, dropouts), "ask for less, or enrol more")
        return cls(sites, colluders, shares)

    @property
    def dropouts(self) -> int:
        """Most sites that may be lost: n - t."""
        return self.sites - self.shares

    @property
    def honest(self) -> int:
        """Fewest honest sites in every sum that can be opened: t - c."""
        return self.shares - self.colluders


def _survives(sites: int, dropouts: int) -> str:
    # n - t >= d with t = floor((n + c) / 2) + 1 says c <= n - 2d - 1.
    colluders = sites - 2 * dropouts - 1
    if colluders < 0:
        limit = _count((sites - 1) // 2, "dropout")
        return f"{_count(sites, 'site')} survive at most {limit}, without a colluder"
    among = _count(colluders, "colluder")
    bound = f"at most {among}" if colluders else "no colluder"
    lost = _count(dropouts, "dropout")
    return f"{_count(sites, 'site')} survive {lost} only with {bound}"


def _count(number: int, noun: str) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
    name = words[number] if number < len(words) else str(number)
    return f"{name} {noun}" if number == 1 else f"{name} {noun}s"


def _refused(problem: str, hint: str) -> ConfigError:
    return ConfigError([Problem("secure aggregation", problem, hint)])


@dataclass(frozen=True)
class Density:
    """Number of neighbours, the threshold of a neighbourhood, and most dropouts."""

    sites: int
    degree: int
    threshold: Threshold
    dropouts: int

    @property
    def complete(self) -> bool:
        """True if all are joined to all."""
        return self.degree == self.sites - 1


def density(sites: int, colluders: int, dropouts: int) -> Density:
    """Return the smallest degree that withstands a malicious server.

    Guarantees:
        Outvoted or split with probability at most 2^-128, lost with at most 10^-6.
        Up to 60 sites, or where no sparser graph is enough: complete, and certain.
    """
    certain = Threshold.malicious(sites, colluders, dropouts)
    if sites > COMPLETE_UP_TO:
        # With k <= d the server could cut a site off by what it may declare missing.
        for degree in range(dropouts // 2 * 2 + 2, sites - 1, 2):
            among = most_colluders(sites, colluders, degree)
            if (
                among >= degree
                or split_bound(sites, colluders, dropouts, degree) > BREACH / 2
            ):
                continue
            threshold = Threshold.malicious(degree + 1, among)
            if loss_bound(sites, dropouts, degree, threshold.shares) <= LOSS:
                return Density(sites, degree, threshold, dropouts)
    return Density(sites, sites - 1, certain, dropouts)


def most_colluders(sites: int, colluders: int, degree: int) -> int:
    """Return the smallest c' that no site's neighbours exceed, but for half 2^-128."""
    among = 0
    while (
        sites * hypergeometric_tail(sites - 1, colluders, degree, among + 1)
        > BREACH / 2
    ):
        among += 1
    return among


def split_bound(sites: int, colluders: int, dropouts: int, degree: int) -> float:
    """Return the bound on honest sites falling apart."""
    tail = hypergeometric_tail(sites, colluders, degree, degree - dropouts)
    return sites**2 / 2 * tail


def loss_bound(sites: int, dropouts: int, degree: int, shares: int) -> float:
    """Return the bound on a round that cannot be opened."""
    return sites * hypergeometric_tail(sites - 1, dropouts, degree, degree - shares + 1)


def hypergeometric_tail(population: int, marked: int, drawn: int, least: int) -> float:
    """Return P[Hyp >= least], that many marked ones among those drawn."""
    lowest = max(least, 0, drawn - (population - marked))
    total = _log_choose(population, drawn)
    rest = population - marked
    logarithms = (
        _log_choose(marked, hits) + _log_choose(rest, drawn - hits) - total
        for hits in range(lowest, min(marked, drawn) + 1)
    )
    return sum(map(exp, logarithms))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def neighbours(sites: int, seed: bytes, degree: int) -> tuple[tuple[int, ...], ...]:
    """Return each site's neighbours, by places from 0, sorted, from a public seed.

    Guarantees:
        Each has `degree` neighbours and is its neighbours' neighbour.
        The graph is connected.
        The same for everybody who has the same seed.
    """
    in_range(1, sites - 1, degree=degree)
    if len(seed) != SEED_BYTES:
        raise ValueError(f"expected a seed of {SEED_BYTES} bytes")
    if degree == sites - 1:
        places = range(sites)
        return tuple(tuple(x for x in places if x != site) for site in places)
    if degree % 2:
        raise ValueError(f"expected an even `degree` below {sites - 1}, got: {degree}")
    domain = b"lexfed secagg graph" + seed
    drawn = [sha256(domain + at.to_bytes(8, "big")).digest() for at in range(sites)]
    circle = sorted(range(sites), key=drawn.__getitem__)
    steps = [step for step in range(-degree // 2, degree // 2 + 1) if step]
    joined: dict[int, tuple[int, ...]] = {}
    for place, site in enumerate(circle):
        near = (circle[(place + step) % sites] for step in steps)
        joined[site] = tuple(sorted(near))
    return tuple(joined[site] for site in range(sites))
