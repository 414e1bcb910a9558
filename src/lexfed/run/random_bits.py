# SPDX-License-Identifier: Apache-2.0
"""Where the random bits of a run come from."""

from lexfed.federation.site import Sources
from lexfed.randomness import SecureSource, SeededSource
from lexfed.run.planning import Priced


def sources_of(priced: Priced) -> Sources:
    """Return secure bits, or seeded ones for a run that is stamped as not private."""
    if priced.config.run.test:
        seed = priced.config.run.seed
        return lambda purpose: SeededSource(seed, purpose)
    secure = SecureSource()
    return lambda _: secure
