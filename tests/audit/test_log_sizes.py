# SPDX-License-Identifier: Apache-2.0
"""Logs of every size at which the layout changes: row 22 of the fault table."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lexfed.audit.storage.durable_store import Store
from lexfed.audit.storage.reader import read_log
from support.log.folders import KEYS, ORIGIN, SIGNER, memory_folder
from support.log.judge import Judge

SMALL = (0, 1, 2, 3, 7, 8, 255, 256, 257, 511, 512, 513)
LARGE = (65_535, 65_536, 65_537, 70_000)


@pytest.fixture
def place() -> Iterator[Path]:
    with memory_folder() as folder:
        yield folder


def grow_and_judge(folder: Path, judge: Judge, sizes: tuple[int, ...]) -> None:
    with Store.create(folder, SIGNER, ORIGIN) as store:
        for size in sizes:
            store.append([b"entry %d" % number for number in range(store.size, size)])
            view = read_log(folder, KEYS)
            assert view.size == size
            assert view.tree.root() == store.root
            verdict = judge.run("log", folder, KEYS[0].vkey)
            assert verdict.returncode == 0, (size, verdict.stdout)
    with Store.open(folder, SIGNER) as store:
        assert store.size == sizes[-1]


def test_small_sizes(place: Path, judge: Judge) -> None:
    grow_and_judge(place / "log", judge, SMALL)


@pytest.mark.parametrize("size", SMALL)
def test_each_size_in_one_step(place: Path, judge: Judge, size: int) -> None:
    grow_and_judge(place / "log", judge, (size,))


@pytest.mark.slow
def test_large_sizes(place: Path, judge: Judge) -> None:
    grow_and_judge(place / "log", judge, (*SMALL, *LARGE))
    tiles = {path.name for path in (place / "log" / "tile").iterdir()}
    assert tiles == {"entries", "0", "1", "2"}
