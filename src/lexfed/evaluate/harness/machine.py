# SPDX-License-Identifier: Apache-2.0
"""What a figure was measured on and with, in a line: no names, no paths."""

import os
import platform
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lexfed.version import __version__

LIBRARIES = (
    *("numpy", "torch", "scikit-learn", "dp-accounting"),
    *("interpret-core", "lightgbm"),
)


def machine() -> str:
    """Return processor, cores and memory of the machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return f"{_processor()}, {cores} cores, {memory:.0f} GiB"


@cache
def software(libraries: tuple[str, ...] = LIBRARIES) -> str:
    """Return the versions that a result depends on."""
    found = [f"lexfed {__version__}", f"Python {platform.python_version()}"]
    for name in libraries:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    return ", ".join(found)


def today() -> str:
    """Return the date, the same everywhere."""
    return datetime.now(UTC).date().isoformat()


def _processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    try:
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.machine()
