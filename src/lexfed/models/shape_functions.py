# SPDX-License-Identifier: Apache-2.0
"""Shape functions of numbers: bins, paid histograms, and a basis for each column.

An additive tower gives every number a function of its own. The declared range, mapped
to [-1, 1], has `BINS` equal bins; a function has one value at the centre of each, is
interpolated between them and constant beyond the outer ones.

The functions that a tower may learn come from a paid histogram P of the column. With
the mid-CDF u of each bin, and its centre x standardised under P and cut at
`LONGEST_TAIL`,

    K = (x x' + 2 B / sum P B(b, b)) / 3,      B(b, b') = -|u(b) - u(b')| / 2, centred

is a prior covariance of functions: a third of it linear, the rest as rough as a random
walk over the ranks, so that outlying values do not stretch it. K has trace 1 under P.
Its eigenfunctions under P, times the roots of their eigenvalues, are the inputs that
take the column's place: uncorrelated under P, with the eigenvalues as variances.

Everything here is public or a function of released values, but for `bin_numbers`
and `basis_values`, which look at one record at a time.
"""

import numpy as np

from lexfed.arrays import Floats, Integers

BINS = 32
FUNCTIONS = 6
"""Most functions of a column; a tower reserves room for as many."""

EXPECTED_FUNCTIONS = 3
"""Functions that a column is expected to need, before its histogram is known."""

LONGEST_TAIL = 6.0
"""Standard deviations at which a value is cut before its linear function is taken."""

ROUGHNESS = 2.0
"""Weight of the rough part of the prior against the linear one."""

CONCENTRATION = 0.5
"""Of the public prior of a histogram: it is trusted like that many records."""

ALIKE = 3.0
"""Distance in bins over which the prior of a histogram is alike."""

CENTRES: Floats = np.linspace(1.0 / BINS - 1.0, 1.0 - 1.0 / BINS, BINS)


def bin_numbers(values: Floats) -> Integers:
    """Return the bin of values in [-1, 1]; values beyond count in the outer bins."""
    places = np.nan_to_num((values + 1.0) * (BINS / 2.0))
    return np.clip(np.floor(places), 0, BINS - 1).astype(np.intp)


def basis_values(values: Floats, basis: Floats) -> Floats:
    """Return interpolated functions at values: [..., columns, functions].

    `values` are [..., columns], `basis` is [columns, BINS, functions].
    """
    left, part = _between(values)
    column = np.arange(basis.shape[0])
    low, high = basis[column, left], basis[column, left + 1]
    return np.asarray(low + part[..., None] * (high - low))


def _between(values: Floats) -> tuple[Integers, Floats]:
    places = np.clip((values + 1.0) * (BINS / 2.0) - 0.5, 0.0, BINS - 1.0)
    # A value that is no number has a function that is none either.
    left = np.minimum(np.nan_to_num(places).astype(np.intp), BINS - 2)
    return left, np.asarray(places - left)


def public_shares(tail: float) -> Floats:
    """Return the guess of a histogram: a broad hump away from the longer tail."""
    hump = np.exp(-0.5 * ((CENTRES + 0.3 * tail) / 0.35) ** 2)
    return np.asarray(0.7 * hump / hump.sum() + 0.3 / BINS)


def learned_shares(counts: Floats, noise: float, guess: Floats) -> Floats:
    """Return a histogram from noised shares of records, with the variance of the noise.

    It is the mean of a normal posterior: shares lie around the guess, neighbouring bins
    in much the same way, and add up to 1. Where the noise is large, whole regions are
    told apart and single bins are not. What is negative then is set to 0 by the
    projection on the simplex, which never moves them further from any histogram.
    """
    doubt = np.sqrt(guess * (1.0 - guess) / (CONCENTRATION + 1.0))
    away = np.abs(np.arange(BINS)[:, None] - np.arange(BINS))
    prior = np.outer(doubt, doubt) * np.exp(-away / ALIKE)
    column = prior.sum(axis=1)
    prior = prior - np.outer(column, column) / column.sum()
    trust = np.linalg.solve(prior + noise * np.eye(BINS), prior).T
    return on_simplex(np.asarray(guess + trust @ (counts - guess)))


def on_simplex(values: Floats) -> Floats:
    """Return the nearest shares that are not negative and add up to 1."""
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, len(values) + 1)
    kept = np.flatnonzero(falling > excess)[-1]
    return np.asarray(np.maximum(values - excess[kept], 0.0))


def column_basis(shares: Floats, least: float) -> tuple[Floats, Floats, Floats]:
    """Return a column's functions, their variances, and the linear function in them.

    The functions are [BINS, FUNCTIONS], the others [FUNCTIONS]; functions whose
    eigenvalue is not above `least` are zero. A column that is almost surely in one bin
    has none.
    """
    functions = np.zeros((BINS, FUNCTIONS))
    variances, slope = np.zeros(FUNCTIONS), np.zeros(FUNCTIONS)
    line = _standard_line(shares)
    if line is None:
        return functions, variances, slope
    kernel = _kernel(shares, line)
    root = np.sqrt(shares)
    values, vectors = np.linalg.eigh(root[:, None] * kernel * root)
    order = np.argsort(values)[::-1][:FUNCTIONS]
    order = order[values[order] > least]
    for place, index in enumerate(order):
        # Bins without records get the function's value there by its own equation.
        function = kernel @ (root * vectors[:, index]) / np.sqrt(values[index])
        function *= 1.0 if function[np.argmax(np.abs(function))] > 0.0 else -1.0
        functions[:, place] = function
        variances[place] = values[index]
        slope[place] = shares @ (line * function) / values[index]
    return functions, variances, slope


def _standard_line(shares: Floats) -> Floats | None:
    mean = shares @ CENTRES
    variance = shares @ (CENTRES - mean) ** 2
    if variance < 1e-9:
        return None
    line = np.clip((CENTRES - mean) / np.sqrt(variance), -LONGEST_TAIL, LONGEST_TAIL)
    line = line - shares @ line
    return np.asarray(line / np.sqrt(shares @ line**2))


def _kernel(shares: Floats, line: Floats) -> Floats:
    ranks = np.cumsum(shares) - shares / 2.0
    rough = -np.abs(ranks[:, None] - ranks) / 2.0
    means = rough @ shares
    rough = rough - means[:, None] - means + shares @ means
    size = shares @ np.diag(rough)
    mixed = np.outer(line, line) + ROUGHNESS * rough / size
    return np.asarray(mixed / (1.0 + ROUGHNESS))
