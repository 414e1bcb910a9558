# SPDX-License-Identifier: Apache-2.0
"""Noise in shares: enough of it although sites drop out and some collude.

A share is Skellam (`poisson`): integers that add up exactly. What protects a unit is
the noise that the adversary does not know: the shares of sites that are honest *and*
whose answers are in the sum, H = sites - dropouts - colluders. Each share has 1/H of
the variance that the plan wants (Theorem D below), so whatever set of at least H honest
sites is in the sum, its noise is at least the charged one; the rest is more noise, that
is, post-processing. Below `sites - dropouts` answers a round must be given up, and it
is the sites that must see to it: a server that lies would open a sum of fewer.

A colluder is a site that tells the adversary its share or leaves it out; one that looks
at the released model knows its own share. With `colluders = 0` the claim is one against
the server and the public, not against any site.

**Masks.** Against a server that lies about which sites answer, unmasking takes t
answers with 2 t > sites + colluders [BIK+17]; so at most sites - t may drop out. Three
sites survive one dropout only with no colluder.

**Theorem D.** Let v be an integer vector and m >= s^2 + 5/2. Then independent Skellam
noise of variance m on every coordinate, with and without v added, has at every integer
order a >= 2 a Rényi divergence of at most a |v|^2/(2 s^2): that of N(0, s^2 I).

*Proof*: guarantees, section 10, from the bound of [AKL21, Thm. 3.5].
So a sum with shares is charged as the Gaussian `Release` of its sigma, for the record,
every tier and the label, whatever v is: in Rényi accounting, at integer orders, and
without sampling. That is all that `noise = "skellam"` allows.

**Ring.** The sum of `units` contributions and of n shares of variance 2 L is below
B = units clip/step + 8 sqrt(2 L n) on every coordinate, unless the noise exceeds 8
deviations: with m = 2 L n that has probability at most 2 exp(-32/(1 + 8/(3 sqrt(m)))),
by Bernstein's inequality with the logarithmic moment m (cosh h - 1). A ring of b bits
holds the sum if 2^b > 2 B. A wrap is a failed round; it is no loss of privacy.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lexfed import checks
from lexfed.arrays import Integers
from lexfed.errors import ConfigError, Problem
from lexfed.privacy.noise.grids import LEAST_FINENESS, Grid
from lexfed.privacy.noise.poisson import LARGEST_MEAN, skellam
from lexfed.randomness import RandomSource

RING_BITS = (16, 24, 32)
"""The rings of masked sums; the same as in `secagg`, which is built on top of this."""

_CORRECTION = Fraction(5, 2)  # Theorem D: variance above the Gaussian's
_DEVIATIONS = 8.0


@dataclass(frozen=True)
class NoiseCohort:
    """The sites of a round, with the assumptions about them.

    `colluders` of them may work with the adversary, and `dropouts` may be missing from
    a sum before it is given up. Assumptions that no protocol meets are refused.

    Guarantees:
        At least one honest site is in every sum (`honest` >= 1).
        Unmasking has enough answers after `dropouts` (`threshold`).
    """

    sites: int
    colluders: int = 0
    dropouts: int = 0

    def __post_init__(self) -> None:
        checks.in_range(2, 2**20, sites=self.sites)
        checks.in_range(0, self.sites, colluders=self.colluders, dropouts=self.dropouts)
        if self.honest < 1:
            raise _impossible(
                f"of {self.sites} sites, {_many(self.dropouts, 'dropout')} and "
                f"{_many(self.colluders, 'colluder')} leave no honest one in the sum: "
                "nobody's noise would be secret"
            )
        left = self.sites - self.threshold
        if self.dropouts > left:
            three = ": three sites survive one dropout only with no colluder"
            why = three if self.sites == 3 else ""
            raise _impossible(
                f"{self.sites} sites with {_many(self.colluders, 'colluder')} survive "
                f"{_many(left, 'dropout')}, not {self.dropouts}, because unmasking "
                f"takes {self.threshold} answers{why}"
            )

    @property
    def honest(self) -> int:
        """Least number of honest sites in a sum."""
        return self.sites - self.dropouts - self.colluders

    @property
    def least(self) -> int:
        """Answers below which a round is given up."""
        return self.sites - self.dropouts

    @property
    def threshold(self) -> int:
        """Smallest t with 2 t > sites + colluders."""
        return (self.sites + self.colluders) // 2 + 1

    @property
    def inflation(self) -> float:
        """Deviation of the noise with everybody present, over the charged one."""
        return math.sqrt(self.sites / self.honest)

    def __str__(self) -> str:
        """One line for people."""
        return (
            f"{self.sites} sites, of which {self.colluders} may collude and "
            f"{self.dropouts} drop out: noise sized for {self.honest} honest, "
            f"{self.inflation:.3f} x the charged deviation when all are present"
        )


def half_variance(sigma: float, step: float, cohort: NoiseCohort) -> int:
    """Return half of the variance of one site's share, in grid units.

    `sigma` is the deviation of the Gaussian that is charged, in units of the data.

    Guarantees:
        The shares of `cohort.honest` sites have in sum at least the variance of
        Theorem D; with one less here they would not.
    """
    checks.finite_positive(sigma=sigma, step=step)
    # Fractions: rounding must not leave the variance below the wanted one.
    variance = (Fraction(sigma) / Fraction(step)) ** 2 + _CORRECTION
    half = math.ceil(variance / (2 * cohort.honest))
    if half > LARGEST_MEAN:
        raise _impossible(
            f"noise of deviation {sigma:g} is too much for a grid of {step:g}",
            "ask for less noise, or a coarser grid",
        )
    return half


def draw_share(
    source: RandomSource, halves: Sequence[int], dimensions: Sequence[int]
) -> Integers:
    """Draw one site's noise for groups that follow each other in one vector.

    Guarantees:
        Every value is drawn afresh, within 2^-88 of Skellam with variance 2 `half` of
        its group.
    """
    drawn = [
        skellam(source, half, dimension)
        for half, dimension in zip(halves, dimensions, strict=True)
    ]
    return np.concatenate([np.zeros(0, dtype=np.int64), *drawn])


def sum_bound(grid: Grid, half: int, cohort: NoiseCohort) -> int:
    """Return the bound on every coordinate of a sum, but for `wrap_probability`.

    The grid's `units` are the public bound on who is in the sum; every site of the
    cohort may add a share of variance 2 `half`.
    """
    # A site's rounding is paid for by its clip, so `clip` bounds a rounded unit.
    contributions = grid.units * math.ceil(grid.clip / grid.step)
    return contributions + math.ceil(_DEVIATIONS * _loudest(half, cohort))


def ring_bits(bounds: Iterable[int]) -> int:
    """Return the smallest ring that holds signed sums up to each of the bounds."""
    bound = max(bounds)
    for bits in RING_BITS:
        if 2**bits > 2 * bound:
            return bits
    raise _impossible(
        f"sums up to {bound} need {(2 * bound).bit_length()} bits, "
        f"and a ring has at most {RING_BITS[-1]}",
        "let fewer units enter one sum, ask for less noise, or make the "
        f"grid coarser, down to a fineness of {LEAST_FINENESS:g}",
    )


def wrap_probability(
    halves: Sequence[int], dimensions: Sequence[int], cohort: NoiseCohort
) -> float:
    """Return a bound on the probability that noise leaves `sum_bound` in a round.

    Half-variances of one site's share and dimensions are given by group.
    """
    each = (
        2.0 * dimension * math.exp(-_exponent(_loudest(half, cohort)))
        for half, dimension in zip(halves, dimensions, strict=True)
    )
    return min(1.0, math.fsum(each))


def _exponent(deviation: float) -> float:
    return _DEVIATIONS**2 / 2.0 / (1.0 + _DEVIATIONS / (3.0 * deviation))


def _loudest(half: int, cohort: NoiseCohort) -> float:
    """Return the deviation with all sites present, in grid units."""
    checks.in_range(1, LARGEST_MEAN, half=half)
    return math.sqrt(2 * half * cohort.sites)


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


_FEWER = "expect fewer colluders or dropouts, or let more sites take part"


def _impossible(problem: str, hint: str = _FEWER) -> ConfigError:
    return ConfigError([Problem("secure aggregation", problem, hint)])
