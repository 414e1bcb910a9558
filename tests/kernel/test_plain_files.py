# SPDX-License-Identifier: Apache-2.0
"""Pipes, devices, links and endless files are refused at once, wherever one is read."""

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lexfed.durable import JsonLines, read_lines, write_atomically
from lexfed.errors import RunFolderError
from lexfed.plain_files import plain, plain_or_link, read_plain, require_length


def pipe(path: Path) -> None:
    os.mkfifo(path)


def zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


def link(path: Path) -> None:
    target = path.with_name("target")
    target.write_bytes(b"elsewhere")
    path.symlink_to(target)


def nowhere(path: Path) -> None:
    path.symlink_to("/nowhere/at/all")


STRANGE = [pipe, zeros, folder, nowhere]
Make = Callable[[Path], None]


@pytest.mark.parametrize("make", STRANGE)
@pytest.mark.parametrize("links", [True, False])
def test_what_is_not_a_plain_file_is_refused_at_once(
    tmp_path: Path, make: Make, links: bool
) -> None:
    make(tmp_path / "file")
    begin = time.monotonic()
    with pytest.raises(OSError, match=r".") as refused:
        read_plain(tmp_path / "file", 10, links=links)
    assert time.monotonic() - begin < 1.0
    assert refused.value.strerror


def test_a_link_is_followed_only_where_users_name_files(tmp_path: Path) -> None:
    link(tmp_path / "file")
    assert read_plain(tmp_path / "file", 9, links=True) == b"elsewhere"
    with pytest.raises(OSError, match="it is a link") as refused:
        read_plain(tmp_path / "file", 9)
    assert refused.value.errno == errno.ELOOP


def test_no_more_is_read_than_expected(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_plain(path, 5) == b"12345"
    with pytest.raises(OSError, match="it has more than 4 bytes"):
        read_plain(path, 4)
    os.truncate(path, 1 << 40)  # a hole: as good as without an end
    with pytest.raises(OSError, match="more than 1000 bytes"):
        read_plain(path, 1000)
    with path.open("rb") as file, pytest.raises(OSError, match="more than 7 bytes"):
        require_length(file.fileno(), 7, path)


@pytest.mark.parametrize("opener", [plain, plain_or_link])
def test_nothing_stays_open_after_a_refusal(
    tmp_path: Path, opener: Callable[[str, int], int]
) -> None:
    pipe(tmp_path / "pipe")
    before = os.listdir("/proc/self/fd")
    for _ in range(5):
        with pytest.raises(OSError, match="not a plain file"):
            opener(str(tmp_path / "pipe"), os.O_RDONLY)
    assert len(os.listdir("/proc/self/fd")) == len(before)


@pytest.mark.parametrize("make", [*STRANGE, link])
def test_nothing_is_written_through_what_was_planted(
    tmp_path: Path, make: Make
) -> None:
    make(tmp_path / "state.part")
    with pytest.raises(RunFolderError, match="cannot write"):
        write_atomically(tmp_path / "state", b"ours")
    if make is link:
        assert (tmp_path / "target").read_bytes() == b"elsewhere"


@pytest.mark.parametrize("make", [*STRANGE, link])
def test_a_journal_is_a_plain_file(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "lines.jsonl")
    with pytest.raises(RunFolderError, match="cannot write"):
        JsonLines(tmp_path / "lines.jsonl")
    with pytest.raises(RunFolderError, match="cannot read"):
        read_lines(tmp_path / "lines.jsonl")
    assert read_lines(tmp_path / "none.jsonl") == ()
