# SPDX-License-Identifier: Apache-2.0
"""A fault at every system call of a change: nothing acknowledged is ever lost.

Rows 13 and 14 of the fault table. strace kills the writer before a system call, or
makes the call fail; then the log must read, extend what was acknowledged before, and
go on. A judge that shares no code with us reads it too.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from lexfed.audit.storage.blobs import Blobs
from lexfed.audit.storage.durable_store import Store
from lexfed.audit.storage.reader import read_log
from lexfed.audit.tree.merkle import verify_consistency
from lexfed.errors import AuditError
from support.log.faults import (
    ACKNOWLEDGED,
    KILLED,
    REFUSED,
    Calls,
    Server,
    injected,
    record,
)
from support.log.folders import (
    KEYS,
    ORIGIN,
    SIGNER,
    entries,
    grow,
    make_log,
    memory_folder,
    tree_of,
)
from support.log.judge import Judge

pytestmark = pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is not installed"
)
FAULTS = ["signal=SIGKILL", "error=EIO", "error=ENOSPC", "error=EINTR"]


@dataclass(frozen=True)
class Case:
    """A log, what is done to it, and the sizes before and after."""

    sizes: tuple[int, ...]
    job: str
    after: int

    @property
    def before(self) -> int:
        return self.sizes[-1]


CASES = {
    "append": Case((1, 2, 3), "append 5", 5),
    "first": Case((0,), "append 1", 1),
    # Fills a tile, starts the next level, and removes partial tiles.
    "fill": Case((254, 255), "append 257", 257),
    "cosign": Case((3,), "cosign", 3),
}


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in memory: the faults are not the disk's."""
    with memory_folder() as folder:
        yield folder


def copy(base: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    if base.exists():
        shutil.copytree(base, folder)
    return folder


def check_log(judge: Judge, folder: Path, before: int, after: int) -> int:
    """The log reads, extends what was acknowledged, and is one of the two."""
    view = read_log(folder, KEYS)
    assert view.size in (before, after)
    assert list(view.entries) == entries(0, view.size)
    if before:
        old, new = tree_of(before).root(), view.signed.checkpoint.root
        proof = view.tree.consistency_proof(before, view.size)
        verify_consistency(before, old, view.size, new, proof)
    verdict = judge.run("log", folder, *(key.vkey for key in KEYS))
    assert verdict.returncode == 0, verdict.stdout
    return view.size


def check_restart(judge: Judge, folder: Path, before: int, after: int) -> None:
    """A new writer goes on, and nothing is there twice."""
    with Store.open(folder, SIGNER) as store:
        assert store.size in (before, after)
        grow(store, store.size + 1)
        size = store.size
    assert check_log(judge, folder, size, size) == size
    assert not (folder / "stage").exists()


def sweep(
    folder: Path,
    judge: Judge,
    base: Path,
    case: Case,
    fault: str,
    choose: Callable[[Calls], list[tuple[str, int]]] = Calls.faults,
) -> list[int]:
    """Inject a fault at each chosen call, judge each log, and return the sizes."""
    work = folder / "work"
    calls = record(folder / "calls", copy(base, work), case.job)
    faults = choose(calls)
    sizes = []
    ends = {KILLED} if fault == "signal=SIGKILL" else {ACKNOWLEDGED, REFUSED}
    with Server(folder / "faults", calls, fault) as server:
        for call, number in faults:
            copy(base, work)
            status = server.fail(work, case.job, call, number)
            assert status in ends, (call, number, status)
            size = check_log(judge, work, case.before, case.after)
            if status == ACKNOWLEDGED:
                assert size == case.after, (call, number)
            check_restart(judge, work, case.before, case.after)
            sizes.append(size)
    assert injected(folder / "faults") == len(faults)
    return sizes


def one_of_each(calls: Calls) -> list[tuple[str, int]]:
    return [(name, (count + 1) // 2) for name, count in sorted(calls.change.items())]


def every_change(calls: Calls) -> list[tuple[str, int]]:
    """Every call that changes something, and one of each that only reads."""
    changing = {"fsync", "linkat", "mkdirat", "renameat", "unlinkat", "write"}
    changes = [fault for fault in calls.faults() if fault[0] in changing]
    return sorted({*changes, *one_of_each(calls)})


def test_killed_at_one_of_each_call(place: Path, judge: Judge) -> None:
    case = CASES["append"]
    base = make_log(place / "base", *case.sizes)
    sweep(place, judge, base, case, FAULTS[0], one_of_each)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", sorted(CASES))
def test_fault_at_every_call(place: Path, judge: Judge, name: str, fault: str) -> None:
    case = CASES[name]
    base = make_log(place / "base", *case.sizes)
    choose = every_change if name == "fill" else Calls.faults
    sizes = sweep(place, judge, base, case, fault, choose)
    # Control: the faults did reach both sides of the publication.
    assert set(sizes) == {case.before, case.after}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", ["renameat", "linkat"])
def test_fault_at_every_call_of_a_recovery(
    place: Path, judge: Judge, call: str, fault: str
) -> None:
    # Killed when the stage is on disk, or when all is but the publication.
    case = CASES["append"]
    base = make_log(place / "base", *case.sizes)
    calls = record(place / "calls", copy(base, place / "work"), case.job)
    with Server(place / "first", calls, FAULTS[0]) as server:
        assert server.fail(base, case.job, call, min(2, calls.change[call])) == KILLED
    assert (base / "stage").exists()
    again = Case(case.sizes, "open", case.after)
    sweep(place, judge, base, again, fault, every_change)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_at_every_call_of_a_creation(
    place: Path, judge: Judge, fault: str
) -> None:
    calls = record(place / "calls", place / "work", "create")
    with Server(place / "faults", calls, fault) as server:
        for call, number in calls.faults():
            work = copy(place / "nothing", place / "work")
            status = server.fail(work, "create", call, number)
            assert status in (ACKNOWLEDGED, REFUSED, KILLED), (call, number)
            if status == ACKNOWLEDGED or (work / "checkpoint").exists():
                check_log(judge, work, 0, 0)
            else:
                Store.create(work, SIGNER, ORIGIN).close()
            check_restart(judge, work, 0, 0)
    assert injected(place / "faults") == len(calls.faults())


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("job", ["put", "erase"])
def test_fault_at_every_call_of_a_blob(place: Path, job: str, fault: str) -> None:
    content = b"blob 1"
    digest = sha256(content).hexdigest()
    calls = record(place / "calls", place / "work", f"{job} 1")
    with Server(place / "faults", calls, fault) as server:
        for call, number in calls.faults():
            work = copy(place / "nothing", place / "work")
            status = server.fail(work, f"{job} 1", call, number)
            assert status in (ACKNOWLEDGED, REFUSED, KILLED), (call, number)
            blobs = Blobs(work / "blobs/sha256")
            if status == ACKNOWLEDGED:
                assert blobs.has(digest) == (job == "put")
            if blobs.has(digest):
                assert blobs.get(digest) == content
            if job == "erase":
                blobs.erase(digest)  # again, or at last
                with pytest.raises(AuditError, match="was erased"):
                    blobs.get(digest)
                assert [path.name for path in (work / "blobs/sha256").iterdir()] == [
                    f"{digest}.erased"
                ]
            else:
                assert blobs.put(content) == digest
                assert blobs.get(digest) == content
    assert injected(place / "faults") == len(calls.faults())


@pytest.mark.parametrize("limit", [0, 60, 120, 180, 240, 300, 360])
def test_disk_that_fills_within_a_write(place: Path, judge: Judge, limit: int) -> None:
    # A limit on file sizes cuts the write short, and then refuses the rest, as a full
    # disk does.
    case = CASES["append"]
    base = make_log(place / "base", *case.sizes)
    with Server(place / "trace") as server:
        status = server.do(base, f"{case.job} {limit}")
    # The stage, the longest of the files, has some 320 bytes.
    assert status == (ACKNOWLEDGED if limit == 360 else REFUSED)
    check_log(judge, base, case.before, case.after)
    check_restart(judge, base, case.before, case.after)
