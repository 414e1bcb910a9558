# SPDX-License-Identifier: Apache-2.0
"""CPU seconds of LiRA with 16 shadow models on 10,000 records, training included.

    python -m benchmarks.lira

What attacks find is measured by `lexfed evaluate --table membership` and its siblings;
this is their speed alone. Prints one JSON line.
"""

import json
import time

import numpy as np

from benchmarks.shadow_models import FittedLogistic, ShadowPopulation
from lexfed.evaluate.attacks.membership import attack_membership


def lira_seconds(records: int = 10_000, slots: int = 60) -> float:
    """Return the CPU seconds of LiRA with 16 shadows, training included."""
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(records, slots))
    chance = 1 / (1 + np.exp(-inputs[:, 0]))
    people = ShadowPopulation(
        inputs, (generator.random(records) < chance).astype(np.float64)
    )
    begun = time.process_time()
    attack_membership(FittedLogistic(people), None)
    return time.process_time() - begun


def main() -> None:
    """Measure the time."""
    print(json.dumps({"benchmark": "lira", "lira_cpu_s": lira_seconds()}))


if __name__ == "__main__":
    main()
