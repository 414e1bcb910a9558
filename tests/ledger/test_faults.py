# SPDX-License-Identifier: Apache-2.0
"""Real faults: the site refuses work in clear words and loses nothing."""

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.conftest import Place, release
from lexfed.errors import LedgerError
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.storage.database import Database
from lexfed.ledger.verification import verify_ledger

HOLDER = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
held.execute("COMMIT")
"""


def in_a_child(work: Callable[[], object]) -> str:
    """Do something in a process of its own; return the message of its LedgerError."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        message = ""
        try:
            work()
        except LedgerError as error:
            message = error.message
        except BaseException as error:
            message = f"not in our words: {error!r}"
        os.write(writing, message.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:
        text = answer.read().decode()
    os.waitpid(child, 0)
    return text


def filled(place: Place, count: int = 40) -> None:
    """Make a ledger with some rows, and close it."""
    ledger = place.open()
    for number in range(1, count + 1):
        ledger.commit("a", number, release(), "record", neighbours="add-remove")
    ledger.close()


def test_locked_by_another_process(place: Place, ledger: LastingLedger) -> None:
    impatient = place.open(wait=0.0)
    before = ledger.head()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(place.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LedgerError, match="another process is writing it"):
            impatient.commit("a", 1, release(), "record", neighbours="add-remove")
        assert impatient.head() == before  # reading goes on
    impatient.commit(
        "a", 1, release(), "record", neighbours="add-remove"
    )  # and so does writing, once it is free
    assert impatient.head().sequence == before.sequence + 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(where=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255))
def test_a_damaged_byte(place: Place, where: float, change: int) -> None:
    sound = place.folder / "sound"
    if not sound.exists():
        filled(place)
        shutil.copy(place.path, sound)
    content = bytearray(sound.read_bytes())
    content[int(where * len(content))] ^= change
    place.path.write_bytes(content)
    try:
        ledger = place.open()
    except LedgerError:
        return
    try:
        verify_ledger(ledger.database)
    except LedgerError:
        return
    # Pages hold bytes that mean nothing; then everything is still there.
    assert len(ledger.rows()) == 41
    ledger.close()


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9])
def test_a_truncated_file(place: Place, share: float) -> None:
    filled(place)
    os.truncate(place.path, int(share * place.path.stat().st_size))
    with pytest.raises(LedgerError):
        place.open()


def test_a_lost_write_ahead_log(place: Place) -> None:
    filled(place, 3)
    ledger = place.open()
    ledger.commit("a", 4, release(), "record", neighbours="add-remove")
    aside = place.folder / "aside"
    shutil.copy(place.path, aside)  # as if only this file had been saved
    ledger.database.close()
    shutil.copy(aside, place.path)
    with pytest.raises(LedgerError, match="was rolled back: it has 4 rows, 5 were"):
        place.open()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
@pytest.mark.parametrize("what", ["file", "folder", "state"])
def test_read_only(place: Place, what: str) -> None:
    filled(place, 2)
    before = place.path.read_bytes()
    for path in (place.folder, place.state, place.path, *place.state.iterdir()):
        os.chown(path, 65534, 65534)
    target = {"file": place.path, "folder": place.folder, "state": place.state}[what]
    target.chmod(0o444 if what == "file" else 0o555)

    def work() -> None:
        os.setgid(65534)
        os.setuid(65534)
        place.open().commit("a", 3, release(), "record", neighbours="add-remove")

    message = in_a_child(work)
    assert message.startswith(("cannot use ledger", "cannot write"))
    assert message.count("not in our words") == 0
    target.chmod(0o700)
    ledger = place.open()
    assert len(ledger.rows()) == (4 if what == "state" else 3)
    if what != "state":
        assert place.path.read_bytes()[:4096] == before[:4096]
    verify_ledger(ledger.database)


@pytest.mark.parametrize("kilobytes", [1, 20, 45, 60, 100, 130])
def test_a_full_disk(place: Place, kilobytes: int) -> None:
    # A limit on file sizes refuses what does not fit any more, as a full disk does.
    filled(place, 2)
    reached = place.folder / "reached"

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        ledger = place.open()
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, most))
        for number in range(3, 200):
            ledger.commit("a", number, release(), "record", neighbours="add-remove")
            os.write(handle, b".")

    handle = os.open(reached, os.O_CREAT | os.O_WRONLY)
    message = in_a_child(work)
    os.close(handle)
    assert message.startswith(f"cannot use ledger `{place.path}`")
    acknowledged = 2 + reached.stat().st_size
    ledger = place.open()
    book = verify_ledger(ledger.database)
    numbers = {row.body["round"] for row in ledger.rows() if row.kind == "commit"}
    assert numbers >= set(range(1, acknowledged + 1))
    assert len(numbers) <= acknowledged + 1
    assert book.meters["record:gdp"].reserved == 0
    ledger.commit("a", acknowledged + 1, release(), "record", neighbours="add-remove")


def test_no_room_for_another_page(place: Place, ledger: LastingLedger) -> None:
    [[pages]] = ledger.database.query("PRAGMA page_count")
    ledger.database.query(f"PRAGMA max_page_count = {pages + 1}")

    def fill() -> None:
        for number in range(1, 100):
            ledger.commit("a", number, release(), "record", neighbours="add-remove")

    with pytest.raises(LedgerError, match="the disk is full"):
        fill()
    # Whatever was written last, nobody goes on with it in this session.
    with pytest.raises(LedgerError, match="was closed by an error"):
        ledger.head()
    verify_ledger(place.open().database)


def test_replaced_while_it_is_open(place: Place, ledger: LastingLedger) -> None:
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    aside = place.path.with_name("aside")
    place.path.rename(aside)
    with pytest.raises(LedgerError, match="was replaced while it was open"):
        ledger.commit("a", 2, release(), "record", neighbours="add-remove")
    with pytest.raises(LedgerError, match="was replaced while it was open"):
        ledger.head()


def test_a_fault_without_words_of_its_own(place: Place) -> None:
    database = Database(place.path, 0.0, durable=True)
    with (
        pytest.raises(LedgerError, match="no such table: absent"),
        database.reading(),
    ):
        database.query("SELECT * FROM absent")


def test_a_pin_that_cannot_be_written(place: Place, ledger: LastingLedger) -> None:
    part = place.state / f"{ledger.id}.json.part"
    part.mkdir()
    with pytest.raises(LedgerError, match="what was changed in the ledger stays"):
        ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    part.rmdir()
    assert (
        ledger.commit("a", 1, release(), "record", neighbours="add-remove") == 2
    )  # not twice
    assert len(ledger.rows()) == 2


def test_no_lock_to_be_had(
    place: Place, ledger: LastingLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as patch:
        patch.setattr("fcntl.flock", no_locks)
        with pytest.raises(LedgerError, match=r"cannot use pin .* no locks available"):
            ledger.commit("a", 1, release(), "record", neighbours="add-remove")
        with pytest.raises(LedgerError, match=r"cannot use ledger .* no locks"):
            place.open()
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    assert len(ledger.rows()) == 2


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_nothing_is_left_behind_when_closed(place: Place) -> None:
    filled(place, 2)
    assert files(place.folder) == {"north.ledger", "state"}


def test_a_file_where_nobody_can_write_is_read(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = place.open()
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    real = os.statvfs

    class ReadOnly:
        f_flag = os.ST_RDONLY

    monkeypatch.setattr(
        os, "statvfs", lambda path: ReadOnly() if path == place.path else real(path)
    )
    # Its last rows are in the write-ahead log, which must not be left out.
    assert len(place.open().rows()) == 2
    place.close()
    before = sorted(file.name for file in place.folder.iterdir())
    still = place.open()
    verify_ledger(still.database)
    assert len(still.rows()) == 2
    with pytest.raises(LedgerError, match="cannot be written"):
        still.commit("a", 2, release(), "record", neighbours="add-remove")
    still.database.close()
    assert sorted(file.name for file in place.folder.iterdir()) == before
