# SPDX-License-Identifier: Apache-2.0
"""Bounds on the rounding error of a clipped sum, which the accounting charges.

Write u for the unit round-off and gamma_n = n u / (1 - n u): a sum of n exact products,
taken in any order, is off by at most gamma_n times the sum of their absolute values
[Hig02, Eq. 3.5]. Two consequences, both stated in units of the clip C:

*Sum.* A site's B clipped vectors are summed in chunks, and the chunks in float64: with
chunks of c units the error is at most gamma_c B C in L2 norm, and a little for float64.
Chunks are cut so that c B <= 2^14, which makes that 2^-10 C in float32; sites with more
than `FLOAT32_UNITS` units would need too small chunks and are summed in float64. Where
several sites are summed in one program, two of them with at most 192 units together are
one chunk: half as many products, for 192² 2^-24 C = 2.2e-3 C. That also covers a pair
that one person more turns into two sites (2^15 2^-24 C). Other pairs' sums are the same
to the bit with and without a person, so their errors cancel.

*Norm.* A computed norm may be too small. It is therefore enlarged before it is used:
norm² + κ S², where S is the sum of the norms of a unit's terms (one term: S = norm).
For κ above the rounding of the norm itself, the clipped vector is no longer than C in
exact arithmetic. The same κ bounds cancellation: S <= C / sqrt(κ) after clipping, so
terms that cancel inside a unit cannot bring their own large rounding into the sum.
"""

import math
from typing import Protocol

import numpy as np

from lexfed.checks import positive

FLOAT32_UNITS = 256
PAIR_UNITS = 192
_PRODUCT = 2**14
WIDE_CHUNK = 256
_CANCELLATION = 2.0**-26


class FloatType(Protocol):
    """A type of floating-point numbers, of NumPy or torch."""

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        ...


_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_ROUNDOFF = {4: 2.0**-24, 8: 2.0**-53}
"""Largest relative error of one operation, by the bytes of a number."""


def chunk_size(units: int) -> int:
    """Return the most units that one product may sum, of a site with `units` units."""
    if units > FLOAT32_UNITS:
        return WIDE_CHUNK
    most = min(units, _PRODUCT // units)
    # As equal as possible: a product over few units costs nearly as much as a full one.
    return -(-units // -(-units // most))


def gamma(terms: int, dtype: FloatType) -> float:
    """Bound the relative error of a sum of `terms` products [Hig02, Eq. 3.4]."""
    spread = terms * _ROUNDOFF[dtype.itemsize]
    return spread / (1 - spread)


def norm_slack(width: int, layers: int, terms: int, dtype: FloatType) -> float:
    """Give κ, the part of S² by which squared norms are enlarged.

    `width` is fan-in plus fan-out of the widest layer, `layers` the number of layers
    whose norms are added, `terms` a unit's records times positions of a convolution.
    """
    # Two sums of squares, their product, the sum over layers, square root, division
    # and the scaling itself; each is one rounding or less per operation.
    needed = gamma(width + layers + 16, dtype)
    return needed if terms == 1 else max(2 * needed * terms, _CANCELLATION)


def summation_error(
    units: int, dtype: FloatType, *, terms: int = 1, sites: int = 1
) -> float:
    """Bound the rounding error of a clipped sum, as a multiple of the clip.

    It is e for at most `units` units of all `sites` summed in one program, of inputs of
    a type, with records times positions of a convolution as `terms`. With clip C,
    |computed sum - exact sum| <= e C in every group's L2 norm, but for errors of other
    pairs of sites, which neighbouring batches share. Those thus differ by at most C + 2
    e C.

    Guarantees:
        - For float32 inputs with one record per unit, up to 10^6 units, at most 1e-3,
          or 2.3e-3 with several sites.
        - Never below the error measured against exact arithmetic.
    """
    positive(units=units, terms=terms, sites=sites)
    reach = 1.0 if terms == 1 else 1 / math.sqrt(_CANCELLATION)
    products = gamma(WIDE_CHUNK * terms, _DOUBLE) * reach * units
    if dtype.itemsize == 4 and terms == 1:
        narrow = min(units, FLOAT32_UNITS)
        most = min(narrow**2, _PRODUCT)
        if sites > 1:
            most = max(most, min(units, PAIR_UNITS) ** 2)
        products += gamma(most, _SINGLE)
    # Other pairs' products are constants for a neighbour, to the bit; it is the float64
    # additions of all chunks that see them.
    chunks = units // (_PRODUCT // FLOAT32_UNITS) + sites
    return products + gamma(chunks, _DOUBLE) * (1 + products) * units
