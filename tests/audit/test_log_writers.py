# SPDX-License-Identifier: Apache-2.0
"""Several processes at one log: row 16 of the fault table."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lexfed.audit.storage import held_folder
from lexfed.audit.storage.durable_store import Store
from lexfed.audit.storage.held_folder import (
    Folder,
    WriterLock,
    mount_type,
    network_type,
)
from lexfed.audit.storage.reader import read_log
from lexfed.errors import RunFolderError
from support.log.folders import KEYS, SIGNER, entries, grow, make_log, memory_folder
from support.log.judge import Judge

WRITER = Path(__file__).with_name("log_writer.py")


@pytest.fixture
def place() -> Iterator[Path]:
    with memory_folder() as folder:
        yield folder


def start(folder: Path, count: int, *names: str) -> "subprocess.Popen[bytes]":
    """Start a writing process for every name."""
    return subprocess.Popen([sys.executable, WRITER, folder, str(count), *names])


def test_six_processes_lose_and_repeat_nothing(place: Path, judge: Judge) -> None:
    log = make_log(place / "log")
    names = [f"writer-{number}" for number in range(6)]
    assert start(log, 10, *names).wait(timeout=60) == 0
    found = read_log(log, KEYS).entries
    assert len(found) == len(set(found)) == 60
    for name in names:
        own = [each for each in found if each.startswith(f"{name} ".encode())]
        assert own == [f"{name} {count}".encode() for count in range(10)]
    assert judge.accepts("log", log, KEYS[0].vkey)


def test_a_reader_beside_a_writer_sees_whole_logs(place: Path) -> None:
    # The writer fills a tile on the way and removes partial ones.
    log = make_log(place / "log", 230)
    sizes = []
    with start(log, 40, "writer") as writer:
        while writer.poll() is None:
            view = read_log(log, KEYS)
            assert view.entries[:230] == entries(0, 230)
            sizes.append(view.size)
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 2  # control: they were at work at the same time
    assert read_log(log, KEYS).size == 270


def test_second_store_of_a_folder_is_refused(place: Path) -> None:
    log = make_log(place / "log", 1)
    first = Store.open(log, SIGNER)
    with pytest.raises(RunFolderError, match="held by another process"):
        Store.open(log, SIGNER)
    first.close()
    Store.open(log, SIGNER).close()


CHILD = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from lexfed.audit.storage.durable_store import Store
from lexfed.errors import RunFolderError
from support.log.folders import SIGNER, grow
store = Store.open(Path(sys.argv[2]), SIGNER)
"""
FORK = """
child = os.fork()
if not child:
    try:
        grow(store, 2)
    except RunFolderError as error:
        os._exit(7 if "of which this one is a copy" in error.message else 8)
    os._exit(9)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
grow(store, 2)
"""


def run_child(folder: Path, code: str) -> int:
    """Run code in a process that has a log open, and return how it ended."""
    tests = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", CHILD + code, tests, folder])
    return done.returncode


def test_lock_of_a_killed_process_is_free(place: Path) -> None:
    log = make_log(place / "log", 1)
    assert run_child(log, "os.kill(os.getpid(), 9)") == -9
    Store.open(log, SIGNER).close()


def test_copy_of_a_process_may_not_write(place: Path) -> None:
    log = make_log(place / "log", 1)
    assert run_child(log, FORK) == 0
    assert read_log(log, KEYS).size == 2


def test_lock_of_another_process_does_not_count(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Folder(make_log(place / "log")) as folder:
        held = WriterLock(folder)
        monkeypatch.setattr(os, "getpid", lambda: 1)
        with pytest.raises(RunFolderError, match="of which this one is a copy"):
            held.check()
        held.close()


@pytest.mark.parametrize("again", [True, False], ids=["replaced", "removed"])
def test_lock_that_somebody_took_away(place: Path, again: bool) -> None:
    log = make_log(place / "log", 1)
    store = Store.open(log, SIGNER)
    (log / "lock").unlink()
    if again:
        Store.open(log, SIGNER).close()
    with pytest.raises(RunFolderError, match=r"/lock`.*(replaced|no such file)"):
        grow(store, 2)
    with pytest.raises(RunFolderError, match="was closed by an error"):
        grow(store, 2)
    assert read_log(log, KEYS).size == 1


def test_lock_replaced_while_it_is_taken(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = make_log(place / "log", 1)
    flock = fcntl.flock

    def slow(handle: int, how: int) -> None:
        (log / "lock").unlink()
        (log / "lock").touch()
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", slow)
    with Folder(log) as folder, pytest.raises(RunFolderError, match="was replaced"):
        WriterLock(folder)


def test_lock_that_cannot_be_taken(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = make_log(place / "log", 1)

    def refuse(handle: int, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(RunFolderError, match=r"cannot lock `.*: no locks available"):
        Store.open(log, SIGNER)


def test_checkpoint_that_somebody_else_changed(place: Path) -> None:
    log = make_log(place / "log", 1)
    with Store.open(log, SIGNER) as store:
        path = log / "checkpoint"
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        with pytest.raises(RunFolderError, match="changed by somebody else"):
            grow(store, 2)
        path.write_bytes(content)
    assert read_log(log, KEYS).size == 1


MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:25 / /data rw - nfs4 server:/export rw,vers=4.2
31 30 0:26 / /data/my\\040disk rw - ext4 /dev/vdb rw
32 22 0:27 / /mnt rw - ext4 /dev/vdc rw
33 22 0:28 / /mnt rw master:2 - fuse.sshfs host:/ rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/home/x", "ext4"),
        ("/data", "nfs4"),
        ("/data/log", "nfs4"),
        ("/database", "ext4"),
        ("/data/my disk/log", "ext4"),
        ("/mnt/log", "fuse.sshfs"),
    ],
)
def test_type_of_a_mount(path: str, kind: str) -> None:
    assert mount_type(path, MOUNTS) == kind


def test_network_file_system_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = make_log(place / "log", 1)
    table = place / "mounts"
    table.write_text(f"30 22 0:25 / {os.path.realpath(place)} rw - nfs4 server:/x rw\n")
    monkeypatch.setattr(held_folder, "_MOUNTS", table)
    with pytest.raises(
        RunFolderError, match=r"network file system \(nfs4\)"
    ) as refused:
        Store.open(log, SIGNER)
    assert "local disk" in refused.value.hint
    assert read_log(log, KEYS).size == 1  # reading is fine there


def test_a_machine_without_a_table_of_mounts(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_folder, "_MOUNTS", place / "nothing")
    assert network_type(place) is None
