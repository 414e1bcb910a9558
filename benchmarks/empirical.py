# SPDX-License-Identifier: Apache-2.0
"""How often an audit catches a broken mechanism, and how often it accuses a sound one.

    PYTHONPATH=tests python -m benchmarks.empirical [--runs 20] [--canaries 5000]
        [--variant NAME]...

A made-up register of 200 personal and 200 special columns, two sites, the cascade with
the default rule, record epsilon 2 and at most .3 for an attribute of the special tier,
delta 1e-5. Wide, because then a hundred canaries fit in one game. Runs are what
`lexfed audit-privacy` does, for the claims that are named here; the bounds of two
claims hold together with confidence .95. All randomness is fresh each time.

    sound            the code as it is, record and special: must never be accused
    sigma/3          noise of a third of the charged deviation; the record
    no clip          contributions summed as they are; the record
    leaking tower    the lower tower reads special columns; the special tier

Prints a table on stderr and one JSON line on stdout.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from lexfed.config import Config, from_mapping
from lexfed.evaluate.empirical import ClaimAudit, audit
from lexfed.run import PricedRun, price, seeded_population
from lexfed.tiers import Tier
from support.evaluation import broken_mechanisms

WIDTH = 200
ROWS = 4000
ERROR = 0.05


def configuration() -> Config:
    """Return the register's configuration."""
    tiers = {
        **{f"p{k}": "personal" for k in range(WIDTH)},
        **{f"s{k}": "special" for k in range(WIDTH)},
    }
    number = {"kind": "number", "range": [-1.0, 1.0], "missing": False}
    made_up = {"reason": "made up"}
    return from_mapping(
        {
            "version": 1,
            "run": {"name": "empirical"},
            "data": {
                "source": "table.csv",
                "target": "y",
                "units": ROWS,
                "sites": {"count": 2, "partition": "iid"},
                "columns": {
                    **dict.fromkeys(tiers, number),
                    "y": {"kind": "flag", "missing": False},
                },
            },
            "law": {
                "columns": {
                    name: {"tier": tier, **made_up}
                    for name, tier in {**tiers, "y": "special"}.items()
                }
            },
            "budget": {"epsilon": 2.0, "delta": 1e-5, "caps": {"special": 0.3}},
            "federation": {"rounds": 2},
        }
    )


def priced_register() -> PricedRun:
    """Write the register's table, and price its run."""
    generator = np.random.default_rng(0)
    header = [f"{tier}{k}" for tier in "ps" for k in range(WIDTH)]
    rows = np.column_stack(
        [
            generator.uniform(-1.0, 1.0, (ROWS, 2 * WIDTH)),
            generator.integers(2, size=ROWS),
        ]
    )
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(
            Path(folder, "table.csv"),
            rows,
            fmt="%.3g",
            delimiter=",",
            header=",".join([*header, "y"]),
            comments="",
        )
        config = configuration()
        return price(config, seeded_population(config, Path(folder)))


@dataclass(frozen=True)
class Variant:
    """Code that is audited, and the claims that are attacked."""

    claims: tuple[str, ...]
    apply: Callable[[pytest.MonkeyPatch], None]


def variants(priced: PricedRun) -> Mapping[str, Variant]:
    """Return what is audited, by name."""
    special = priced.population.encoding.slots_of(Tier.SPECIAL).tolist()
    leak = broken_mechanisms.leaking_tower(special)
    return {
        "sound": Variant(("record", "special"), lambda _: None),
        "sigma/3": Variant(("record",), broken_mechanisms.a_third_of_the_noise),
        "no clip": Variant(("record",), broken_mechanisms.no_clip),
        "leaking tower": Variant(("special",), leak),
    }


def main() -> None:
    """Audit every variant many times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--canaries", type=int, default=5000)
    parser.add_argument("--variant", action="append")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    priced = priced_register()
    found: dict[str, object] = {}
    for name, variant in variants(priced).items():
        if asked.variant and name not in asked.variant:
            continue
        # Each bound is as strict as where two claims are attacked.
        confidence = 1.0 - ERROR * len(variant.claims) / 2
        start = time.perf_counter()
        with pytest.MonkeyPatch.context() as patch:
            variant.apply(patch)
            runs = [
                audit(
                    priced, asked.canaries, only=variant.claims, confidence=confidence
                )
                for _ in range(asked.runs)
            ]
        seconds = (time.perf_counter() - start) / asked.runs
        found[name] = summary(runs, seconds)
        print(f"{name:14} {found[name]}", file=sys.stderr, flush=True)
    print(json.dumps({"canaries": asked.canaries, "runs": asked.runs, **found}))


def summary(runs: list[tuple[ClaimAudit, ...]], seconds: float) -> dict[str, object]:
    """Return in how many runs a claim was refuted, and the median lower bounds."""
    return {
        "refuted": sum(any(one.refuted for one in run) for run in runs),
        "seconds": round(seconds, 1),
        **{
            claims[0].claim: {
                "claim": round(claims[0].epsilon, 3),
                "one_run": round(statistics.median(c.one_run for c in claims), 3),
                "gaussian": round(
                    statistics.median(c.gaussian or 0.0 for c in claims), 3
                ),
            }
            for claims in zip(*runs, strict=True)
        },
    }


if __name__ == "__main__":
    main()
