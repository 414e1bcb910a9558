# SPDX-License-Identifier: Apache-2.0
"""The sources of a run's random bits."""

from lexfed.federation.site.data_holder import Sources
from lexfed.randomness import SecureSource, SeededSource
from lexfed.run.pricing.priced_run import PricedRun


def sources_of(priced: PricedRun) -> Sources:
    """Return secure bits, or seeded ones for a run that is stamped as not private."""
    if priced.config.run.test:
        seed = priced.config.run.seed
        return lambda purpose: SeededSource(seed, purpose)
    secure = SecureSource()
    return lambda _: secure
