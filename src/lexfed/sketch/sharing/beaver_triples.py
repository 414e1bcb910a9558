# SPDX-License-Identifier: Apache-2.0
"""Products of shared matrices by one triple, and a test that shares are of bits.

Two parties hold X = X_0 + X_1 modulo 2^32, a row for each site, and shares of a triple
that a dealer made without any data (Beaver 1991): A uniform, C = A A^T, S = A o A,
place by place. They open D = X - A, which is uniform, and each computes alone

    X X^T  =  D D^T + D A^T + (D A^T)^T + C          one product of matrices
    X o X  =  D o D + 2 D o A + S

with the public parts, D D^T and D o D, on one side only. The shares of C and S are
uniform, so shares of results reveal nothing but their sum. A row is one of bits if z =
x o x - x is zero. The parties open z R for 64 uniform columns drawn when rows cannot
change any more: all are zero for any other row with 2^-64 at most, since one is with
2^(v - 32), 2^v the largest power that divides z, and v < 32.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Bools, Floats

TESTS = 64

Words32 = NDArray[np.uint32]

# 2^32 times this is far below 2^53; limbs of a block of 100 rows take 13 MB.
_BLOCK = 1 << 14


@dataclass(frozen=True)
class TripleShare:
    """One party's part of a triple: of A, A A^T and A o A."""

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
    """Return a party's share of X X^T; the `first` party adds the public part."""
    crossed = product(opened, np.ascontiguousarray(triple.mask.T))
    share = crossed + crossed.T + triple.gram
    if first:
        share += product(opened, np.ascontiguousarray(opened.T))
    return share


def bits_share(
    opened: Words32, rows: Words32, triple: TripleShare, first: bool, columns: Words32
) -> Words32:
    """Return a party's share of (x o x - x) R for every row x.

    `opened` is D, `rows` the party's share of X, `columns` R [width, TESTS], drawn
    after all rows were fixed; the `first` party adds the public part.
    """
    odd = np.uint32(2) * opened * triple.mask + triple.squares - rows
    if first:
        odd += opened * opened
    return product(odd, columns)


def all_bits(shares: tuple[Words32, Words32]) -> Bools:
    """Return the rows that passed the test, from both parties' shares."""
    passed: Bools = ((shares[0] + shares[1]) == 0).all(axis=1)
    return passed


def product(left: Words32, right: Words32) -> Words32:
    """Return left @ right modulo 2^32, by limbs x = l + 2^16 h in float64.

    x y = l l' + 2^16 (l h' + h l') modulo 2^32; products of limbs are below 2^32 and
    sums of 2^14 of them below 2^46: whole numbers, in whatever order a library adds
    them.

    Guarantees:
        Exact for all words and all lengths.
        Memory beyond the factors grows with rows and columns, not with the length.
    """
    if left.dtype != np.uint32 or right.dtype != np.uint32:
        raise ValueError("expected words of 32 bits")
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
        raise ValueError("expected matrices [n, m] and [m, k]")
    total = np.zeros((left.shape[0], right.shape[1]), dtype=np.uint64)
    for start in range(0, left.shape[1], _BLOCK):
        end = start + _BLOCK
        low, high = _limbs(left[:, start:end])
        other_low, other_high = _limbs(right[start:end])
        total += (low @ other_low).astype(np.uint64)
        mixed = (low @ other_high).astype(np.uint64)
        mixed += (high @ other_low).astype(np.uint64)
        total += mixed << np.uint64(16)
    return total.astype(np.uint32)  # modulo 2^32


def _limbs(words: Words32) -> tuple[Floats, Floats]:
    low, high = words & np.uint32(0xFFFF), words >> np.uint32(16)
    return low.astype(np.float64), high.astype(np.float64)
