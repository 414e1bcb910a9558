# SPDX-License-Identifier: Apache-2.0
"""The copy of private rows: nobody else's file is touched, and no row stays."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lexfed.cli import talk
from lexfed.errors import RunFolderError
from lexfed.evaluate.own.csv_copy import FILE
from lexfed.evaluate.own.private_rows import (
    PREFIX,
    LeftoverRows,
    private_files,
    rows_folder,
)

WAITING = """
import signal, sys
from pathlib import Path
from lexfed.evaluate.own.private_rows import rows_folder
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever ran the tests may ignore it
with rows_folder(Path(sys.argv[1]), print) as rows:
    (rows / "table.csv").write_text("a,b")
    print(rows, flush=True)
    while True:
        signal.pause()
"""


@pytest.mark.parametrize("ends", [True, False])
def test_what_was_there_stays_and_what_was_made_goes(
    ends: bool, tmp_path: Path
) -> None:
    for name in ("data/people.csv", f"data/{FILE}", FILE):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("the only copy")
    before = sorted(tmp_path.rglob("*"))
    try:
        with rows_folder(tmp_path, talk.warn) as rows:
            assert rows.stat().st_mode & 0o777 == 0o700
            (rows / FILE).write_text("a,b")
            if not ends:
                raise ValueError
    except ValueError:
        assert not ends
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_rows_go_before_a_signal_ends_the_process(
    number: signal.Signals, tmp_path: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITING, str(tmp_path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        rows = Path(process.stdout.readline().decode().strip())
        assert (rows / FILE).exists()
        process.send_signal(number)
        assert process.wait() == -number
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with rows_folder(tmp_path, talk.warn):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_rows_of_a_folder_that_was_replaced_go_and_others_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody moves the folder and puts a link with its name in its place."""
    other, moved, out = (tmp_path / name for name in ("other", "moved", "out"))
    for folder in (other, out):
        folder.mkdir()
    (other / FILE).write_text("the only copy")

    def replaced(rows: Path) -> None:
        (rows / FILE).write_text("a,b")
        rows.rename(moved)
        rows.symlink_to(other)

    with pytest.raises(LeftoverRows) as caught, rows_folder(out, talk.warn) as rows:
        replaced(rows)
    assert caught.value.exit_code == 1
    assert "stays" in capsys.readouterr().err
    assert list(moved.iterdir()) == []
    assert (other / FILE).read_text() == "the only copy"


def test_what_cannot_be_removed_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(LeftoverRows), rows_folder(tmp_path, talk.warn) as rows:
        (rows / "mine.txt").write_text("put there by somebody")
    assert f"`{rows}`: not empty" in capsys.readouterr().err
    assert os.listdir(rows) == ["mine.txt"]
    with pytest.raises(LeftoverRows), rows_folder(tmp_path, talk.warn) as second:
        (second / FILE).mkdir()  # nothing that `unlink` removes
    told = capsys.readouterr().err
    assert f"`{rows}` has rows of an evaluation that was killed" in told
    assert f"`{second}`: A COPY OF PRIVATE ROWS IS LEFT" in told


def test_an_error_is_told_though_rows_are_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:

    def fails(rows: Path) -> None:
        (rows / FILE).mkdir()
        raise ValueError("first")

    with (
        pytest.raises(ValueError, match="first"),
        rows_folder(tmp_path, talk.warn) as rows,
    ):
        fails(rows)
    assert "A COPY OF PRIVATE ROWS IS LEFT" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    with (
        pytest.raises(RunFolderError, match="cannot write"),
        rows_folder(tmp_path / "missing", talk.warn),
    ):
        pass


def test_another_thread_answers_no_signals(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)

    def held() -> bool:
        with rows_folder(tmp_path, talk.warn) as rows:
            (rows / FILE).write_text("a,b")
            return signal.getsignal(signal.SIGTERM) is before

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(held).result()
    assert list(tmp_path.iterdir()) == []


def test_files_are_private_inside_only(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with private_files():
            (tmp_path / "inside").write_text("")
        (tmp_path / "outside").write_text("")
    finally:
        os.umask(before)
    modes = {each.name: each.stat().st_mode & 0o777 for each in tmp_path.iterdir()}
    assert modes == {"inside": 0o600, "outside": 0o644}


def test_names_are_new_each_time(tmp_path: Path) -> None:
    with (
        rows_folder(tmp_path, talk.warn) as first,
        rows_folder(tmp_path, talk.warn) as second,
    ):
        assert first != second
        assert first.name.startswith(PREFIX)
