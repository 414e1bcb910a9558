# SPDX-License-Identifier: Apache-2.0
"""Weights of sites whose persons are at other sites too.

A person at two sites is learned from twice. With d_i the part of a site's persons that
are seen elsewhere, a site counts

    f_i = 1 - d_i / 2,

because then persons at two sites count as one: the sites hold n_1 + n_2 rows of
n_1 + n_2 - J persons, and n_1 f_1 + n_2 f_2 is n_1 + n_2 - J as d_i n_i = J. A site
never counts less than half. Later sketches move a factor half of the way.

What a site's sum is multiplied by is its factor over the largest one. So it is at most
1, a contribution is no longer than the clip that is charged for, and nobody pays more
because of it. As d_i is taken at the lower end of its interval, noise alone moves
nothing; and as it enters between 0 and 1, a sketch that somebody made up moves a site
between the whole and a half, no further.
"""

import numpy as np

from lexfed.arrays import Floats

COUNTED_OFF = 0.5
"""Weight that is taken off a site whose persons are all seen elsewhere."""

LEAST = 1.0 - COUNTED_OFF
"""The smallest weight; sites refuse to be given a smaller one."""

MEMORY = 0.5
"""Part of a factor that the next sketch keeps."""


def overlap_factors(duplicated: Floats, before: Floats | None = None) -> Floats:
    """Return the weight of each site.

    Args:
        duplicated: part of each site's persons that are at other sites, at least.
        before: factors so far; None before the first sketch.

    Guarantees:
        Each is in [LEAST, 1], whatever was released; what is not finite counts as 0.
    """
    known = np.where(np.isfinite(duplicated), duplicated, 0.0)
    wanted = 1.0 - COUNTED_OFF * np.clip(known, 0.0, 1.0)
    if before is not None:
        wanted = MEMORY * before + (1.0 - MEMORY) * wanted
    return np.asarray(np.clip(wanted, LEAST, 1.0))


def site_weights(factors: Floats) -> Floats:
    """Return the factor on the sum of each site.

    Guarantees:
        Each is in [LEAST, 1], and the largest is 1.
    """
    return np.asarray(factors / factors.max())
