# SPDX-License-Identifier: Apache-2.0
"""Peaks of memory are those of the process itself, from where they begin."""

import subprocess
import sys
from pathlib import Path

import pytest

from lexfed.errors import ConfigError
from lexfed.evaluate.measurement import probes

BIG = 200 * 2**20
CHILD = """
import resource, runpy, sys
found = runpy.run_path(sys.argv[1])
rusage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(found["begin_peak"](), found["peak"](), rusage)
"""


def test_a_large_parent_does_not_show() -> None:
    hog = bytearray(b"x") * BIG
    said = subprocess.run(
        [sys.executable, "-c", CHILD, probes.__file__],
        capture_output=True,
        text=True,
        check=True,
    )
    begun, found, rusage = map(int, said.stdout.split())
    assert len(hog) == BIG
    assert begun <= found < BIG
    # What was measured before does show it.
    assert rusage >= BIG


def test_a_peak_begins_anew() -> None:
    first = bytearray(b"x") * BIG
    high = probes.peak()
    del first
    begun = probes.begin_peak()
    assert begun <= high - BIG // 2
    second = bytearray(b"x") * (BIG // 2)
    assert probes.peak() - begun >= len(second) // 2


def test_other_systems_are_refused(tmp_path: Path) -> None:
    probes.require_linux()
    with pytest.raises(ConfigError, match="on Linux only"):
        probes.require_linux(tmp_path / "status")
