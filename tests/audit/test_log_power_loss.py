# SPDX-License-Identifier: Apache-2.0
"""Power loss at every moment of a change: row 15 of the fault table.

Every system call is recorded, and every state that a disk may then be in is built
(`support.log.power_loss`). In each the log must be readable, hold all acknowledged
entries and take further ones.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from lexfed.audit.storage.blobs import Blobs
from lexfed.audit.storage.durable_store import Store
from lexfed.audit.storage.reader import read_log
from lexfed.audit.tree.checkpoint import cosign
from lexfed.errors import AuditError, LexfedError
from lexfed.signing.notes import parse_note
from support.log.folders import (
    KEYS,
    ORIGIN,
    OTHER,
    SIGNER,
    entries,
    grow,
    make_log,
    memory_folder,
    write_files,
)
from support.log.judge import Judge
from support.log.power_loss import Recorder, State


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in memory: the disk is a model here."""
    with memory_folder() as folder:
        yield folder


class Disks:
    """The states a disk may be in, each with the size that was acknowledged by then."""

    def __init__(self) -> None:
        self.acknowledged: dict[State, int] = {}

    def add(self, states: set[State], size: int) -> None:
        for state in states:
            self.acknowledged[state] = max(size, self.acknowledged.get(state, 0))

    def items(self) -> list[tuple[State, int]]:
        return [
            (state, self.acknowledged[state]) for state in in_order(self.acknowledged)
        ]


def in_order(states: Iterable[State]) -> list[State]:
    return sorted(states, key=sorted)


def appending(folder: Path, sizes: tuple[int, ...], lie: str = "") -> Disks:
    """Let a log grow to each of the sizes; return the disks there may be."""
    recorder = Recorder(folder, lie)
    disks = Disks()
    with pytest.MonkeyPatch.context() as patch:
        recorder.install(patch)
        with Store.open(folder, SIGNER) as store:
            assert not recorder.moments  # opening a sound log changes nothing
            for size in sizes:
                before = store.size
                grow(store, size)
                for states in recorder.moments[:-1]:
                    disks.add(states, before)
                # What may be on disk when the append returns.
                disks.add(recorder.moments[-1], size)
                recorder.moments.clear()
    return disks


def check(folder: Path, state: State, least: int, sizes: set[int]) -> int:
    """Judge one disk and return the size of the log on it."""
    return check_log(write_files(folder, dict(state)), least, sizes)


def check_log(folder: Path, least: int, sizes: set[int]) -> int:
    view = read_log(folder, KEYS)
    assert view.size >= least
    assert view.size in sizes
    assert list(view.entries) == entries(0, view.size)
    with Store.open(folder, SIGNER) as store:
        assert store.size in sizes
        assert store.size >= view.size
        grow(store, store.size + 1)
        size = store.size
    assert list(read_log(folder, KEYS).entries) == entries(0, size)
    return view.size


@pytest.mark.parametrize("before", [0, 3])
def test_power_loss_at_every_moment(place: Path, before: int) -> None:
    after = before + 2
    disks = appending(make_log(place / "log", before), (after,))
    sizes = {
        check(place / "disk", state, least, {before, after})
        for state, least in disks.items()
    }
    assert sizes == {before, after}  # control: both sides were reached


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(257,), (256, 513)], ids=str)
def test_power_loss_while_tiles_fill(
    place: Path, judge: Judge, sizes: tuple[int, ...]
) -> None:
    disks = appending(make_log(place / "log", 254, 255), sizes).items()
    assert len(disks) > 100
    for number, (state, least) in enumerate(disks):
        check(place / "disk", state, least, {255, *sizes})
        if number % 20 == 0:
            assert judge.accepts("log", place / "disk", KEYS[0].vkey)


@pytest.mark.slow
def test_power_loss_while_the_last_one_is_repaired(place: Path) -> None:
    first = appending(make_log(place / "log", 3), (5,)).items()
    found = 0
    for state, least in first[::3]:
        disk = write_files(place / "first", dict(state))
        recorder = Recorder(disk)
        with pytest.MonkeyPatch.context() as patch:
            recorder.install(patch)
            Store.open(disk, SIGNER).close()
        for again in in_order(set().union(*recorder.moments)):
            found += 1
            check(place / "disk", again, least, {3, 5})
    assert found > 100


@pytest.mark.parametrize("lie", ["file", "folder"])
def test_a_disk_that_lies_about_syncs_is_noticed_here(place: Path, lie: str) -> None:
    # Control: without the fsyncs of files, or of folders, something must be lost.
    disks = appending(make_log(place / "log", 3), (5,), lie)
    lost = 0
    for state, least in disks.items():
        try:
            check(place / "disk", state, least, {3, 5})
        except (AssertionError, LexfedError):
            lost += 1
    assert lost > 0


def test_power_loss_while_a_cosignature_is_added(place: Path) -> None:
    log = make_log(place / "log", 3)
    recorder = Recorder(log)
    with Store.open(log, SIGNER) as store:
        plain = store.checkpoint
        mark = cosign(parse_note(plain).body, OTHER, 1)
    with pytest.MonkeyPatch.context() as patch:
        recorder.install(patch)
        with Store.open(log, SIGNER) as store:
            store.add_signatures([mark])
            cosigned = store.checkpoint
    for state in set().union(*recorder.moments):
        assert dict(state)["checkpoint"] in (plain, cosigned)
        check(place / "disk", state, 3, {3})
    assert {dict(state)["checkpoint"] for state in recorder.moments[-1]} == {cosigned}


def test_power_loss_while_a_log_is_created(place: Path) -> None:
    folder = place / "log"
    folder.mkdir()
    recorder = Recorder(folder)
    with pytest.MonkeyPatch.context() as patch:
        recorder.install(patch)
        Store.create(folder, SIGNER, ORIGIN).close()
    for state in set().union(*recorder.moments):
        disk = write_files(place / "disk", dict(state))
        if "checkpoint" not in dict(state):
            Store.create(disk, SIGNER, ORIGIN).close()
        check_log(disk, 0, {0})
    assert all("checkpoint" in dict(state) for state in recorder.moments[-1])


def test_power_loss_while_a_blob_is_put_and_erased(place: Path) -> None:
    folder = place / "sha256"
    folder.mkdir()
    content = b"content " * 9
    digest = sha256(content).hexdigest()
    recorder = Recorder(folder)
    with pytest.MonkeyPatch.context() as patch:
        recorder.install(patch)
        Blobs(folder).put(content)
        put, recorder.moments = recorder.moments, []
        Blobs(folder).erase(digest)
    for number, states in enumerate([*put, *recorder.moments]):
        for state in states:
            blobs = Blobs(write_files(place / "disk", dict(state)))
            if blobs.has(digest):
                assert blobs.get(digest) == content
            else:
                with pytest.raises(AuditError, match=r"missing|erased"):
                    blobs.get(digest)
            if number == len(put) - 1:
                assert blobs.has(digest)
            if states is recorder.moments[-1]:
                assert dict(state) == {f"{digest}.erased": b""}
