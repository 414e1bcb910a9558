# SPDX-License-Identifier: Apache-2.0
"""The estimate of memory refuses before anything runs."""

from pathlib import Path

import pytest

from lexfed.errors import ConfigError
from lexfed.evaluate.harness.machine import (
    PROCESS,
    MemoryNeed,
    available_memory,
    memory_need,
    require_memory,
    slots,
)
from support.evaluation.results import dataset_of


def test_the_largest_table_counts_in_every_process(tmp_path: Path) -> None:
    small, large = dataset_of(tmp_path / "s", 10), dataset_of(tmp_path / "l", 5000)
    one, two = memory_need([small, large], 1), memory_need([large], 2)
    assert one.process == two.process > PROCESS
    assert two.total == 2 * one.total
    assert memory_need([], 1).process == PROCESS


def test_slots_count_values_and_gaps_but_not_the_target(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path)
    assert slots(dataset) == 2
    dataset.tables["data"]["columns"]["ward"] = {
        "kind": "category",
        "values": ["a", "b", "c"],
        "missing": False,
    }
    dataset.tables["data"]["columns"]["note"] = {"kind": "text"}
    assert slots(dataset) == 5


def test_too_little_memory_is_refused_with_the_estimate() -> None:
    with pytest.raises(ConfigError, match="too little memory") as caught:
        require_memory(MemoryNeed(2**30, 4), 3 * 2**30)
    text = str(caught.value)
    assert "about 4.0 GiB (4 x 1.0 GiB)" in text
    assert "3.0 GiB are free" in text
    assert "--jobs 1" in caught.value.hint
    require_memory(MemoryNeed(2**30, 3), 3 * 2**30)


def test_what_is_free_is_what_machine_and_group_leave(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 4 kB\n")
    assert available_memory(tmp_path) == 4096
    (group / "memory.max").write_text("3000\n")
    (group / "memory.current").write_text("1000\n")
    assert available_memory(tmp_path) == 2000
    (group / "memory.max").write_text("max\n")
    assert available_memory(tmp_path) == 4096


def test_elsewhere_than_on_linux_the_whole_memory_counts(tmp_path: Path) -> None:
    assert available_memory(tmp_path) > 2**20
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9 kB\n")
    assert available_memory(tmp_path) > 2**20
