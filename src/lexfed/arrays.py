# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays by the type of their elements, for annotations.

Unsigned arrays have no name here: each (`ItemKeys`, `Residues`, `RingWords`, ...) means
something of its own and is named where it is made.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]
Texts = NDArray[np.str_]
