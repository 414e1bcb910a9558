# SPDX-License-Identifier: Apache-2.0
"""Users' models that try to mix people, through whole runs on neighbouring files.

    PYTHONPATH=tests python -m benchmarks.own_models [--models 200] [--control]

Every model is trained by `lexfed.train` with every person in each round, once on a file
and again, with the same releases, on files in which one person is missing or has other
values (one site, where sites are protected). The integers that are noised may differ by
the charged clip. Prints one JSON line: how many models were refused and how many ran,
and the largest difference as a part of the charge, which must not exceed 1. With
`--control` models run as they came, on all rows at once, and some must exceed it.
"""

import argparse
import json
import tempfile
import time
import warnings
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from support.run.adversarial_models import adversary, realised, whole_batches


def measured(models: int, *, control: bool) -> dict[str, Any]:
    """Return what became of so many models."""
    shares: dict[int, float] = {}
    reasons: Counter[str] = Counter()
    start = time.time()
    with whole_batches() if control else nullcontext():
        for seed in range(models):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    found = realised(Path(folder) / str(seed), adversary(seed))
                except RuntimeError:
                    if not control:
                        raise
                    # As it came, a model may break where autograd finds out.
                    found = ":factory`: failed in its run"
            if isinstance(found, str):
                what = found.partition(":factory`: ")[2]
                reasons[what.partition(" (")[0].partition(": ")[0]] += 1
            else:
                shares[seed] = found
    return {
        "models": models,
        "control": control,
        "refused": sum(reasons.values()),
        "ran": len(shares),
        "above the charge": [seed for seed, share in shares.items() if share > 1.0],
        "largest realised over charged": round(max(shares.values()), 6),
        "reasons": dict(reasons.most_common()),
        "seconds": round(time.time() - start),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--control", action="store_true")
    given = parser.parse_args()
    # Models of the control warn about what they do.
    warnings.simplefilter("ignore")
    print(json.dumps(measured(given.models, control=given.control)))


if __name__ == "__main__":
    main()
