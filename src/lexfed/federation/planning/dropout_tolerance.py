# SPDX-License-Identifier: Apache-2.0
"""The dropouts and colluders that sites withstand, before anything is planned.

Noise in shares needs an honest share in every sum (`privacy.distributed`); masks need
two honest sites in it, and enough answers to open it (`secagg.thresholds`).
"""

from lexfed.errors import ConfigError, Problem
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.secagg.masks.thresholds import Threshold


def noise_cohort(sites: int, colluders: int, dropouts: int) -> NoiseCohort:
    """Return the sites that add shares of noise behind masks.

    Raises:
        ConfigError: if so few sites cannot withstand that much, with words why.
    """
    if sites < 2:
        what = "one site has nobody to add up with"
        raise ConfigError([Problem("secure aggregation", what, "let more take part")])
    # Beyond all sites is as impossible as all of them, and has the same words.
    cohort = NoiseCohort(sites, min(colluders, sites), min(dropouts, sites))
    Threshold.malicious(sites, colluders, dropouts)
    return cohort
