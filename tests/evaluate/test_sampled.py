# SPDX-License-Identifier: Apache-2.0
"""Processor time is divided, not invented, and belongs to the innermost frame."""

import time

import pytest

from lexfed.evaluate.measurement.probes import CpuSampler, _first
from lexfed.privacy.accountants.gdp import mu_from


def test_time_counts_for_the_innermost_part_and_adds_up() -> None:
    parts, sides = (
        {"accounting": ("privacy/",)},
        {"here": ("privacy/accountants/gdp.py:mu_from",)},
    )
    with CpuSampler(parts, sides, rest=("other", "elsewhere")) as watched:
        begun = time.thread_time()
        while time.thread_time() - begun < 0.3:
            mu_from(1.0, 1e-5)
    accounting, other = watched.seconds("accounting"), watched.seconds("other")
    assert watched.total >= 0.3
    assert accounting + other == pytest.approx(watched.total)
    assert accounting > other
    # Whoever is inside of `mu_from` is in `privacy/` too.
    assert 0 < watched.seconds("here") <= accounting
    both = watched.seconds("here") + watched.seconds("elsewhere")
    assert both == pytest.approx(watched.total)


def test_a_site_that_training_asks_is_the_client() -> None:
    stack = [
        "models/gradients/clipping.py:f",
        "federation/site/data_holder.py:Site.answer",
        "run/driver/training_loop.py:f",
    ]
    both = {"coordinator": ("run/",), "client": ("federation/site/data_holder.py",)}
    assert _first(stack, both) == "client"
    # Read from the outside, as it must not be, everything is the coordinator's.
    assert _first(stack[::-1], both) == "coordinator"
    assert _first(stack[:1], both) == ""
