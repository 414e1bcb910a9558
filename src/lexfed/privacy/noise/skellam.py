# SPDX-License-Identifier: Apache-2.0
"""Skellam noise: integers whose sum over sites is again Skellam.

The difference of two independent Poisson variables of mean L is Skellam with variance
2 L. Poisson variables add up, so **Skellam variables add up**: shares of variance 2 L
from H sites are, in sum, exactly the Skellam variable of variance 2 L H. Rounded or
discrete Gaussians have no such property, which is why each needs a correction when
the noise comes in shares. Here the price of the sum is that of one mechanism: Theorem D
of `distributed`.

**Sampler.** A share is within 2^-88 of its law, twice the distance of a Poisson value
and four times that of a rounded Gaussian: a `Release` counts each of its values, over
all sites, as four.
"""

from lexfed import checks
from lexfed.arrays import Integers
from lexfed.privacy.noise import poisson
from lexfed.randomness import RandomSource

TOTAL_VARIATION = 2.0 * poisson.TOTAL_VARIATION
"""Distance per value between what is drawn and the Skellam law."""


def skellam(source: RandomSource, half: int, count: int) -> Integers:
    """Draw independent Skellam values of variance 2 `half`.

    Args:
        source: of random bits.
        half: half of the variance, an integer from 1 to 2^60.
        count: of values.

    Guarantees:
        Each value is within total variation 2^-88 of the Skellam law.
        The same seeded source gives the same values.
        The values of a secure source do not repeat.

    Raises:
        ValueError: if `half` or `count` is out of range.
    """
    checks.in_range(0, 2**39, count=count)
    both = poisson.centred_poisson(source, half, 2 * count)
    return both[:count] - both[count:]
