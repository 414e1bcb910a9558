# SPDX-License-Identifier: Apache-2.0
"""Folders held open: no link is followed, nothing waits, no `OSError` leaves."""

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from lexfed.audit.storage.held_folder import Folder, make_folder
from lexfed.errors import AuditError, LexfedError, RunFolderError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "in" / "side").mkdir(parents=True)
    (folder / "file").write_bytes(b"content")
    (folder / "in" / "side" / "file").write_bytes(b"deep")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(b"secret")
    return folder


def test_reads_what_is_there_and_no_more(root: Path) -> None:
    with Folder(root) as folder:
        assert folder.read("file", 7) == b"content"
        assert folder.read("in/side/file", 100) == b"deep"
        assert folder.read("nothing", 7) is None
        assert folder.read("no/thing", 7) is None
        with pytest.raises(AuditError, match="root/file` has more than 6 bytes"):
            folder.read("file", 6)


def test_lists_in_order(root: Path) -> None:
    with Folder(root) as folder:
        assert list(folder.listing("").items()) == [("file", False), ("in", True)]
        assert folder.listing("in/side") == {"file": False}
        assert folder.listing("nothing") == {}


def link_file(path: Path) -> None:
    path.symlink_to(path.parent.parent / "outside" / "file")


def link_folder(path: Path) -> None:
    path.symlink_to(path.parent.parent / "outside")


def link_nowhere(path: Path) -> None:
    path.symlink_to("nowhere")


def link_loop(path: Path) -> None:
    path.symlink_to(path.name)


def bind_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(path.parent)  # the name of a socket must be short
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


@pytest.mark.parametrize(
    "plant",
    [link_file, link_folder, link_nowhere, link_loop, os.mkfifo, bind_socket],
    ids=lambda plant: plant.__name__,
)
def test_links_and_special_files_are_refused(
    root: Path, plant: Callable[[Path], None]
) -> None:
    plant(root / "odd")
    with Folder(root) as folder:
        for use in (
            lambda: folder.read("odd", 100),
            lambda: folder.read("odd/file", 100),
            lambda: folder.listing("odd"),
            lambda: folder.listing(""),
            lambda: folder.rename_part("odd/file"),
            lambda: folder.link_part("odd/file"),
            lambda: folder.remove("odd/file"),
        ):
            folder.write_part(b"changed")
            with pytest.raises(LexfedError, match="root/odd"):
                use()
    assert (root.parent / "outside" / "file").read_bytes() == b"secret"


def test_folder_that_is_a_link_is_refused(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root)
    with pytest.raises(AuditError, match="link` is a link"):
        Folder(link)


def test_folder_that_is_missing_or_a_file(root: Path) -> None:
    with pytest.raises(RunFolderError, match=r"cannot open `.*nothing`: no such file"):
        Folder(root / "nothing")
    with pytest.raises(AuditError, match="file` is a link, a special file"):
        Folder(root / "file")


def test_folder_in_place_of_a_file(root: Path) -> None:
    with Folder(root) as folder:
        with pytest.raises(AuditError, match="root/in` is a link, a special file"):
            folder.read("in", 100)
        folder.write_part(b"x")
        with pytest.raises(AuditError, match="root/in` is a link, a special file"):
            folder.rename_part("in")


def test_link_in_place_of_the_spare_file_is_removed(root: Path) -> None:
    outside = root.parent / "outside" / "file"
    (root / "part").symlink_to(outside)
    with Folder(root) as folder:
        folder.write_part(b"new")
        folder.rename_part("file")
        folder.sync()
    assert outside.read_bytes() == b"secret"
    assert (root / "file").read_bytes() == b"new"


def test_spare_file_with_two_names_is_not_cut_short(root: Path) -> None:
    with Folder(root) as folder:
        folder.write_part(b"first")
        assert folder.link_part("kept")
        assert not folder.link_part("kept")
        folder.write_part(b"second")
        assert not folder.link_part("kept")
        folder.rename_part("other")
        folder.sync()
    assert (root / "kept").read_bytes() == b"first"
    assert (root / "other").read_bytes() == b"second"


def test_short_writes_are_continued(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:3]))
    with Folder(root) as folder:
        folder.write_part(b"a long content")
        folder.rename_part("file")
    assert (root / "file").read_bytes() == b"a long content"


def test_file_that_grows_while_it_is_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = os.read
    turns = iter(range(3))

    def growing(handle: int, count: int) -> bytes:
        if next(turns) < 2:
            with open(root / "file", "ab") as file:
                file.write(b"!")
        return read(handle, count)

    monkeypatch.setattr(os, "read", growing)
    with Folder(root) as folder:
        assert folder.read("file", 100) == b"content!!"


def test_a_disk_that_fails_while_a_file_is_read_is_reported(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(handle: int, count: int) -> bytes:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(os, "read", failing)
    with Folder(root) as folder, pytest.raises(RunFolderError, match="cannot read"):
        folder.read("file", 100)


def test_folders_on_the_way_are_made_and_synced_once(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def watch(handle: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watch)
    with Folder(root) as folder:
        for name in ("in/new/a", "in/new/b"):
            folder.write_part(b"x")
            folder.rename_part(name)
            folder.sync()
    # `in` is synced although it was there: who made it may not have lived to do so.
    assert synced == ["part", "root", "in", "new", "part", "new"]


def test_removed_folders_are_made_again(root: Path) -> None:
    with Folder(root) as folder:
        for _ in range(2):
            folder.write_part(b"x")
            folder.rename_part("in/new/a")
            folder.remove_folder("in/new")
            assert not (root / "in" / "new").exists()
        folder.remove_folder("in/new")
        folder.remove("in/nothing")
        folder.sync()


def test_folder_with_folders_in_it_is_not_removed(root: Path) -> None:
    with Folder(root) as folder, pytest.raises(LexfedError, match="root/in"):
        folder.remove_folder("in")
    assert (root / "in" / "side" / "file").exists()


def test_closed_folder_is_refused(root: Path) -> None:
    folder = Folder(root)
    folder.write_part(b"x")
    folder.rename_part("in/file")
    folder.close()
    folder.close()
    with pytest.raises(RunFolderError, match="bad file descriptor"):
        folder.read("file", 100)


def test_making_a_folder(root: Path) -> None:
    make_folder(root / "a" / "b" / "c")
    make_folder(root / "a" / "b" / "c")
    assert (root / "a" / "b" / "c").is_dir()
    with pytest.raises(RunFolderError, match=r"cannot create `.*file/x`: not a dir"):
        make_folder(root / "file" / "x")
