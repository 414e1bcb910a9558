# SPDX-License-Identifier: Apache-2.0
"""Matrix products modulo 2^32, by floating point that does not round.

Words are cut into limbs of 16 bits, x = l + 2^16 h. Modulo 2^32

    x y = l l' + 2^16 (l h' + h l'),

so three products of limbs are enough. Each is below 2^32, and sums of 2^14 of them are
below 2^46: whole numbers in float64, in whatever order a library adds them.
"""

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats

Words32 = NDArray[np.uint32]

# 2^32 times this is far below 2^53; limbs of a block of 100 rows take 13 MB.
_BLOCK = 1 << 14


def product(left: Words32, right: Words32) -> Words32:
    """Return left @ right modulo 2^32.

    Guarantees:
        Exact for all words and all lengths.
        Memory beyond the factors grows with rows and columns, not with the length.

    Raises:
        ValueError: if the factors are no matrices of words that fit together.
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
