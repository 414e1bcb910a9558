# SPDX-License-Identifier: Apache-2.0
"""Products of shared matrices by one triple, and a test that what is shared are bits.

Two parties hold X = X_0 + X_1 modulo 2^32, a row for each site, and shares of a triple
that a dealer made without any data (Beaver 1991):

    A uniform,    C = A A^T,    S = A o A (place by place).

They open D = X - A, which is uniform. Then X = D + A, and each computes alone

    X X^T  =  D D^T + D A^T + (D A^T)^T + C          one product of matrices
    X o X  =  D o D + 2 D o A + S

with what is public, D D^T and D o D, on one side only. The shares of C and S are
uniform, so shares of results tell nothing but their sum.

**Bits.** x (x - 1) = 0 modulo 2^32 for x = 0 and x = 1 only, since one of x and x - 1
is odd. So a row is one of bits if z = x o x - x is zero. The parties open z R for a
matrix R of 64 uniform columns that comes out of D, when rows cannot change any more.
It is zero for bits, so it tells nothing about honest sites. For any other row a column
is zero with probability 1/2 at most: if 2^v is the largest power that divides z, it is
2^(v - 32). All 64 are with probability 2^-64 at most.

Both parties follow this, though each may be curious. One that sends another D adds to
X what it likes, bits or not.
"""

from dataclasses import dataclass

import numpy as np

from lexfed.arrays import Bools
from lexfed.sketch.sharing.word_products import Words32, product

TESTS = 64


@dataclass(frozen=True)
class TripleShare:
    """One party's part of a triple.

    Attributes:
        mask: of A, [sites, width].
        gram: of A A^T, [sites, sites].
        squares: of A o A, [sites, width].
    """

    mask: Words32
    gram: Words32
    squares: Words32

    def of(self, seats: list[int]) -> "TripleShare":
        """Return the share of a triple for some of the sites."""
        return TripleShare(
            self.mask[seats], self.gram[np.ix_(seats, seats)], self.squares[seats]
        )


def completed_share(first: TripleShare, mask: Words32) -> TripleShare:
    """Return the second party's share, from its mask and all of the first's.

    Guarantees:
        Both shares together are A, A A^T and A o A for A the sum of the masks.
    """
    whole = first.mask + mask
    gram = product(whole, np.ascontiguousarray(whole.T))
    return TripleShare(mask, gram - first.gram, whole * whole - first.squares)


def gram_share(opened: Words32, triple: TripleShare, first: bool) -> Words32:
    """Return a party's share of X X^T; the `first` party adds what is public."""
    crossed = product(opened, np.ascontiguousarray(triple.mask.T))
    share = crossed + crossed.T + triple.gram
    if first:
        share += product(opened, np.ascontiguousarray(opened.T))
    return share


def bits_share(
    opened: Words32, rows: Words32, triple: TripleShare, first: bool, columns: Words32
) -> Words32:
    """Return a party's share of (x o x - x) R for every row x.

    Args:
        opened: D.
        rows: the party's share of X.
        triple: the party's.
        first: whether it is the party that adds what is public.
        columns: R, [width, TESTS], drawn after all rows were fixed.
    """
    odd = np.uint32(2) * opened * triple.mask + triple.squares - rows
    if first:
        odd += opened * opened
    return product(odd, columns)


def all_bits(shares: tuple[Words32, Words32]) -> Bools:
    """Return the rows that passed the test, from both parties' shares."""
    found: Bools = ((shares[0] + shares[1]) == 0).all(axis=1)
    return found
