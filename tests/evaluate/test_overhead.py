# SPDX-License-Identifier: Apache-2.0
"""What parts cost: time is divided, not invented, and messages are counted."""

import time
from pathlib import Path

import pytest

from lexfed.evaluate.methods.case import configuration
from lexfed.evaluate.overhead import PARTS, VARIANTS, measured, message_bytes
from lexfed.evaluate.sampled import OTHER, Sampled
from lexfed.privacy.calibrate import mu_from
from lexfed.run.planning import price
from lexfed.run.population import load_population
from support.small_dataset import small_case, small_dataset


def test_time_counts_for_the_innermost_part() -> None:
    with Sampled({"accounting": ("privacy/",)}, {"here": ("privacy/",)}) as watched:
        begun = time.perf_counter()
        while time.perf_counter() - begun < 0.3:
            mu_from(1.0, 1e-5)
    parts = watched.seconds
    assert sum(parts.values()) == pytest.approx(watched.total)
    assert parts["accounting"] > parts[OTHER]
    assert watched.sides["here"] == pytest.approx(parts["accounting"])


def test_messages_grow_with_rounds(tmp_path: Path) -> None:
    dataset = small_dataset(tmp_path, rows=400)
    found = []
    for rounds in (2, 4):
        keys = {
            **VARIANTS["cascade"],
            "federation": {"rounds": rounds, "learning_rate": 1.0},
        }
        config = configuration(dataset, small_case(), keys)
        priced = price(config, load_population(config, tmp_path), tmp_path)
        found.append(message_bytes(priced))
    assert found[1][0] > found[0][0] > 0
    assert found[1][1] > found[0][1] > 0


@pytest.mark.slow
def test_whole_runs_are_measured(tmp_path: Path) -> None:
    dataset = small_dataset(tmp_path, rows=400)
    found = measured(dataset, small_case(equal="attribute"), "cascade, noise in shares")
    parts = [f"{part}_seconds" for part in (*PARTS, OTHER)]
    assert sum(found[part] for part in parts) == pytest.approx(found["seconds"])
    assert found["folder_bytes"] > 0
    assert found["sent_bytes"] > 0
