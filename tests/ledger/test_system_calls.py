# SPDX-License-Identifier: Apache-2.0
"""A fault at every system call of a change: nothing acknowledged is ever lost.

strace kills the process before a call, or makes the call fail. Then the ledger must
open, verify, hold what was acknowledged, and go on; and nothing is paid twice.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ledger.conftest import START, Place, release
from lexfed.ledger.verification import verify_ledger
from support.log.faults import (
    ACKNOWLEDGED,
    KILLED,
    REFUSED,
    Calls,
    Server,
    injected,
    record,
)
from support.log.folders import memory_folder

pytestmark = pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is not installed"
)
PROGRAM = Path(__file__).parent / "fault_server.py"
FAULTS = ["signal=SIGKILL", "error=EIO", "error=ENOSPC", "error=EINTR"]
JOBS = {"commit": "commit", "reserve": "reserve", "open": "commit"}


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder in memory: the faults are not the disk's."""
    with memory_folder() as folder:
        yield folder


def made(folder: Path) -> Path:
    """A ledger with one paid round, not closed: its write-ahead log is in use."""
    place = Place(folder / "source")
    place.folder.mkdir()
    ledger = place.open()
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    shutil.copytree(place.folder, folder / "base")
    place.close()
    return folder / "base"


def copied(base: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base, folder)
    # Where the file was when it was pinned, so that it is found there if it is gone.
    return folder


def check(folder: Path, job: str, acknowledged: bool) -> bool:
    """The ledger is sound and goes on; return whether the change is in it."""
    place = Place(folder)
    ledger = place.open()
    verify_ledger(ledger.database)
    kinds = [row.kind for row in ledger.rows()]
    assert kinds[:2] == ["open", "commit"]
    assert len(kinds) <= 3
    there = len(kinds) == 3
    assert there or not acknowledged or job == "open"
    ledger.commit("a", 2, release(), "record", again=True, neighbours="add-remove")
    ledger.reserve("b", [(release(), 2)], START + 1, "record", neighbours="add-remove")
    again = sorted(row.kind for row in ledger.rows())
    assert again == ["commit", "commit", "open", "reserve"]
    place.close()
    return there


def sweep(
    scratch: Path,
    job: str,
    fault: str,
    choose: Callable[[Calls], list[tuple[str, int]]],
) -> set[bool]:
    base, work = made(scratch), scratch / "work"
    calls = record(scratch / "calls", copied(base, work), job, PROGRAM)
    faults = choose(calls)
    ends = {KILLED} if fault == "signal=SIGKILL" else {ACKNOWLEDGED, REFUSED}
    found = set()
    with Server(scratch / "faults", calls, fault, PROGRAM) as server:
        for call, number in faults:
            copied(base, work)
            status = server.fail(work, job, call, number)
            assert status in ends, (call, number, status)
            found.add(check(work, job, status == ACKNOWLEDGED))
    assert injected(scratch / "faults") == len(faults)
    return found


def one_of_each(calls: Calls) -> list[tuple[str, int]]:
    return [(name, (count + 1) // 2) for name, count in sorted(calls.change.items())]


@pytest.mark.parametrize("fault", FAULTS[:2])
def test_one_of_each_call(scratch: Path, fault: str) -> None:
    sweep(scratch, "commit", fault, one_of_each)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("job", sorted(JOBS))
def test_every_call(scratch: Path, job: str, fault: str) -> None:
    found = sweep(scratch, job, fault, Calls.faults)
    # Control: the faults did reach both sides of the commit.
    assert found == ({False} if job == "open" else {False, True})
