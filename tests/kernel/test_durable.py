# SPDX-License-Identifier: Apache-2.0
"""Files are whole or not there, and lines are on disk before we go on."""

import errno
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lexfed.durable import FileLock, JsonLines, part_path, write_atomically
from lexfed.errors import RunFolderError

Patch = pytest.MonkeyPatch


def full_disk(*_: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert not part_path(path).exists()


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file(
    tmp_path: Path, monkeypatch: Patch, call: str
) -> None:
    path = tmp_path / "state"
    write_atomically(path, b"old")
    monkeypatch.setattr(os, call, full_disk)
    with pytest.raises(RunFolderError, match="no space left") as caught:
        write_atomically(path, b"new")
    assert "--resume" in caught.value.hint
    assert path.read_bytes() == b"old"
    assert part_path(path).read_bytes() == b"new"


def test_the_folder_is_synced_after_the_name(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    order: list[str] = []
    real_sync, real_replace = os.fsync, os.replace

    def noted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*parts: Any) -> Any:
            order.append(name)
            return real(*parts)

        return call

    monkeypatch.setattr(os, "fsync", noted("sync", real_sync))
    monkeypatch.setattr(os, "replace", noted("replace", real_replace))
    write_atomically(tmp_path / "state", b"x")
    assert order == ["sync", "replace", "sync"]


def test_a_missing_folder_is_an_error_of_the_run_folder(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="cannot write"):
        write_atomically(tmp_path / "gone" / "state", b"x")
    with pytest.raises(RunFolderError, match="cannot write"):
        JsonLines(tmp_path / "gone" / "events.jsonl")


def test_lines_survive_and_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = JsonLines(path)
    assert lines.rows == ()
    lines.append({"b": 1, "a": "é\n"})
    lines.append({})
    lines.close()
    again = JsonLines(path)
    assert again.rows == ({"b": 1, "a": "é\n"}, {})
    again.append({"c": 2.5})
    again.close()
    last = JsonLines(path)
    assert len(last.rows) == 3
    last.close()


@pytest.mark.parametrize("torn", [b'{"b"', b'{"b": 2}', b"\x00", "é".encode()[:1]])
def test_a_line_without_its_newline_was_never_written(
    tmp_path: Path, torn: bytes
) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"a": 1}\n' + torn)
    lines = JsonLines(path)
    assert lines.rows == ({"a": 1},)
    lines.append({"a": 2})
    lines.close()
    assert path.read_bytes() == b'{"a": 1}\n{"a": 2}\n'


@pytest.mark.parametrize(
    ("line", "said"), [(b"nonsense", "2: not a JSON line"), (b"[1]", "2: expected a")]
)
def test_a_damaged_line_is_an_error_with_its_number(
    tmp_path: Path, line: bytes, said: str
) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"{}\n" + line + b"\n{}\n")
    with pytest.raises(RunFolderError, match=said):
        JsonLines(path)


def test_a_number_that_json_does_not_know_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = JsonLines(path)
    with pytest.raises(ValueError, match="JSON"):
        lines.append({"epsilon": float("nan")})
    assert lines.rows == ()
    lines.close()
    assert path.read_bytes() == b""


def test_a_line_that_cannot_be_synced_is_taken_back(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    path = tmp_path / "events.jsonl"
    lines = JsonLines(path)
    lines.append({"a": 1})
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full_disk)
        with pytest.raises(RunFolderError, match="no space left"):
            lines.append({"a": 2})
    assert lines.rows == ({"a": 1},)
    lines.append({"a": 3})
    lines.close()
    assert path.read_bytes() == b'{"a": 1}\n{"a": 3}\n'


def test_a_line_that_cannot_be_flushed_is_taken_back(tmp_path: Path) -> None:
    """A device that is always full: what stays buffered must not come later."""
    path = tmp_path / "events.jsonl"
    lines = JsonLines(path)
    real = lines._file

    class Full:
        def fileno(self) -> int:
            return real.fileno()

        write = flush = close = staticmethod(full_disk)

    lines._file = Full()  # type: ignore[assignment] # a file that is full
    with pytest.raises(RunFolderError, match="no space left"):
        lines.append({"a": 1})
    real.close()
    lines.append({"a": 2})
    lines.close()
    assert path.read_bytes() == b'{"a": 2}\n'


def test_a_lock_keeps_others_out_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = FileLock(os.open(path, os.O_RDWR | os.O_CREAT))
    refused = os.open(path, os.O_RDWR)
    with pytest.raises(BlockingIOError):
        FileLock(refused)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(refused)
    held.close()
    FileLock(os.open(path, os.O_RDWR)).close()


def test_a_lock_that_nobody_refers_to_is_free(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    FileLock(os.open(path, os.O_RDWR | os.O_CREAT))
    with FileLock(os.open(path, os.O_RDWR)) as held:
        assert held.handle >= 0


def test_closing_a_lock_twice_closes_no_other_file(tmp_path: Path) -> None:
    held = FileLock(os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT))
    held.close()
    other = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT)
    held.close()
    os.fstat(other)
    os.close(other)


def test_who_wants_the_lock_of_a_folder_waits_for_it(tmp_path: Path) -> None:
    held = FileLock.on_folder(tmp_path)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(FileLock.on_folder, tmp_path)
        with pytest.raises(TimeoutError):
            second.result(timeout=0.05)
        held.close()
        second.result(timeout=5).close()
