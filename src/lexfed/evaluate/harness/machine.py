# SPDX-License-Identifier: Apache-2.0
"""The machine of an evaluation: how it is named, and whether its memory is enough.

A training that runs out of memory is killed without a word, so the need of the largest
job is estimated from public sizes before anything runs, times the processes that run at
once, and compared with what the machine has left.
"""

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lexfed.errors import ConfigError, Problem
from lexfed.evaluate.datasets import Dataset
from lexfed.version import __version__

LIBRARIES = (
    *("numpy", "torch", "scikit-learn", "dp-accounting"),
    *("interpret-core", "lightgbm"),
)
PROCESS = 450 * 2**20
"""A process with torch and pandas loaded, before it reads anything: measured."""
CSV_FACTOR = 6.0
"""Bytes in memory for each byte of a CSV file while it is read and encoded."""
NUMBER = 8
COPIES = 20.0
"""Copies of the encoded rows that live at once: kept splits, residuals, clipped rows.

Measured: a process that trains on diabetes130 (101,766 rows) takes 3.5 to 4.5 GiB."""
_GIB = 2**30


def machine() -> str:
    """Return processor, cores and memory of the machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    cores = len(os.sched_getaffinity(0))
    return f"{_processor()}, {cores} cores, {memory:.0f} GiB"


@cache
def software(libraries: tuple[str, ...] = LIBRARIES) -> str:
    """Return the versions that a result depends on."""
    versions = [f"lexfed {__version__}", f"Python {platform.python_version()}"]
    for name in libraries:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} not installed")
    return ", ".join(versions)


def today() -> str:
    """Return the date, the same everywhere."""
    return datetime.now(UTC).date().isoformat()


def _processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    named = _stated(cpuinfo, "model name")
    return platform.machine() if named is None else named


def _stated(file: Path, key: str) -> str | None:
    """Return what a file of Linux states under a key; None where there is neither."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return None
    found = (line.partition(":")[2] for line in lines if line.startswith(key))
    return next((value.strip() for value in found), None)


@dataclass(frozen=True)
class MemoryNeed:
    """The bytes of the largest process, and how many processes run at once."""

    process: int
    processes: int

    @property
    def total(self) -> int:
        """Bytes of all processes, each with the largest job."""
        return self.process * self.processes

    def __str__(self) -> str:
        """The estimate as a person reads it."""
        return (
            f"about {self.total / _GIB:.1f} GiB "
            f"({self.processes} x {self.process / _GIB:.1f} GiB)"
        )


def memory_need(datasets: Iterable[Dataset], processes: int) -> MemoryNeed:
    """Estimate what the largest of some tables takes, in each of the processes."""
    return MemoryNeed(PROCESS + max(map(_bytes_of, datasets), default=0), processes)


def _bytes_of(dataset: Dataset) -> int:
    path = dataset.folder / "table.csv"
    with path.open("rb") as file:
        blocks = iter(lambda: file.read(2**20), b"")
        rows = sum(block.count(b"\n") for block in blocks)
    encoded = rows * slots(dataset) * NUMBER * COPIES
    return int(path.stat().st_size * CSV_FACTOR + encoded)


def slots(dataset: Dataset) -> int:
    """Return how many numbers the declared columns of a row become."""
    count = 0
    for name, column in dataset.tables["data"]["columns"].items():
        if name != dataset.target and column["kind"] != "text":
            count += len(column.get("values", ())) or 1
            count += bool(column.get("missing", True))
    return count


def require_memory(needed: MemoryNeed, available: int) -> None:
    """Refuse before anything runs."""
    if needed.total > available:
        what = (
            f"too little memory: the evaluation takes {needed}, "
            f"{available / _GIB:.1f} GiB are free"
        )
        hint = "fewer processes need less: `--jobs 1`; or choose smaller tables"
        raise ConfigError([Problem("", what, hint)])


def available_memory(root: Path = Path("/")) -> int:
    """Return the bytes that this process and its children may still take.

    The smaller of what the machine has free and what its control group leaves.
    """
    return min(_free(root / "proc/meminfo"), _left(root / "sys/fs/cgroup"))


def _free(meminfo: Path) -> int:
    free = _stated(meminfo, "MemAvailable:")
    if free is None:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(free.split()[0]) * 1024


def _left(group: Path) -> int:
    unlimited = 2**62
    try:
        limit = (group / "memory.max").read_text().strip()
        used = (group / "memory.current").read_text().strip()
    except OSError:
        return unlimited
    return unlimited if limit == "max" else max(0, int(limit) - int(used))
