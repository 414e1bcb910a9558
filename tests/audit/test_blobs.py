# SPDX-License-Identifier: Apache-2.0
"""Blobs: the bytes of the digest or an error, durable, and gone once erased."""

import fcntl
import os
from hashlib import sha256
from pathlib import Path

import pytest

from lexfed.audit.storage import blobs as module
from lexfed.audit.storage.blobs import Blobs
from lexfed.errors import AuditError, RunFolderError

CONTENT = b"some content"
DIGEST = sha256(CONTENT).hexdigest()
OTHER = sha256(b"other").hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "blobs" / "sha256"


@pytest.fixture
def blobs(folder: Path) -> Blobs:
    blobs = Blobs(folder)
    assert blobs.put(CONTENT) == DIGEST
    return blobs


def test_content_comes_back_under_its_digest(blobs: Blobs, folder: Path) -> None:
    assert blobs.get(DIGEST) == CONTENT
    assert blobs.has(DIGEST)
    assert not blobs.has(OTHER)
    assert blobs.put(b"other") == OTHER
    assert blobs.put(CONTENT) == DIGEST
    assert blobs.digests() == tuple(sorted([DIGEST, OTHER]))
    assert blobs.put(b"") == sha256(b"").hexdigest()
    assert blobs.get(sha256(b"").hexdigest()) == b""
    assert sorted(path.name for path in folder.iterdir()) == list(blobs.digests())


def test_nothing_is_there_before_the_first(folder: Path) -> None:
    assert Blobs(folder).digests() == ()
    for use in (Blobs(folder).get, Blobs(folder).erase):
        with pytest.raises(AuditError, match=f"{DIGEST}` is missing"):
            use(DIGEST)
    assert not folder.exists()


@pytest.mark.parametrize("at", range(len(CONTENT)))
def test_changed_content_is_refused(blobs: Blobs, folder: Path, at: int) -> None:
    changed = CONTENT[:at] + bytes([CONTENT[at] ^ 1]) + CONTENT[at + 1 :]
    for content in (changed, CONTENT[:at], CONTENT + b"\n"):
        (folder / DIGEST).write_bytes(content)
        with pytest.raises(AuditError, match=f"{DIGEST}` does not have the digest"):
            blobs.get(DIGEST)
        with pytest.raises(AuditError, match="was changed"):
            blobs.put(CONTENT)
        assert [path.name for path in folder.iterdir()] == [DIGEST]


def test_missing_and_erased_are_told_apart(blobs: Blobs, folder: Path) -> None:
    (folder / DIGEST).unlink()
    with pytest.raises(AuditError, match="missing, and nothing says it was erased"):
        blobs.get(DIGEST)
    with pytest.raises(AuditError, match="missing"):
        blobs.erase(DIGEST)
    blobs.put(CONTENT)
    blobs.erase(DIGEST)
    blobs.erase(DIGEST)
    with pytest.raises(AuditError, match=f"blob `{DIGEST}` was erased"):
        blobs.get(DIGEST)
    assert not blobs.has(DIGEST)
    assert [path.name for path in folder.iterdir()] == [f"{DIGEST}.erased"]


def test_erased_content_is_not_taken_in_again(blobs: Blobs) -> None:
    blobs.erase(DIGEST)
    with pytest.raises(AuditError, match="was erased"):
        blobs.put(CONTENT)


def test_half_written_copies_are_erased_too(blobs: Blobs, folder: Path) -> None:
    (folder / "part").write_bytes(CONTENT[:5])
    assert blobs.digests() == (DIGEST,)
    blobs.erase(DIGEST)
    assert CONTENT[:5] not in [path.read_bytes() for path in folder.iterdir()]


def test_crash_between_mark_and_removal(blobs: Blobs, folder: Path) -> None:
    (folder / f"{DIGEST}.erased").touch()
    assert not blobs.has(DIGEST)
    with pytest.raises(AuditError, match="was erased"):
        blobs.get(DIGEST)
    blobs.erase(DIGEST)
    assert not (folder / DIGEST).exists()


@pytest.mark.parametrize(
    "digest",
    ["", "x", "../checkpoint", DIGEST.upper(), DIGEST[:-1], f"{DIGEST}\n", "a/" * 32],
)
def test_names_that_are_no_digest(blobs: Blobs, digest: str) -> None:
    for use in (blobs.get, blobs.has, blobs.erase):
        with pytest.raises(AuditError, match="not a SHA-256 in hexadecimal"):
            use(digest)


@pytest.mark.parametrize("name", ["x", f"{OTHER}.erase", f"{OTHER}.erased.erased"])
def test_strange_names_in_the_folder(blobs: Blobs, folder: Path, name: str) -> None:
    (folder / name).touch()
    with pytest.raises(AuditError, match="which is no blob"):
        blobs.digests()


def test_links_and_folders_are_refused(blobs: Blobs, folder: Path) -> None:
    secret = folder.parent / "secret"
    secret.write_bytes(b"other")
    (folder / OTHER).symlink_to(secret)
    for use in (blobs.get, blobs.erase):
        with pytest.raises(AuditError, match="link, a special file"):
            use(OTHER)
    with pytest.raises(AuditError, match="link, a special file"):
        blobs.put(b"other")
    assert secret.read_bytes() == b"other"
    (folder / OTHER).unlink()
    (folder / OTHER).mkdir()
    with pytest.raises(AuditError, match="which is no blob"):
        blobs.digests()
    folder.rename(folder.parent / "moved")
    folder.symlink_to(folder.parent / "moved")
    with pytest.raises(AuditError, match="link, a special file"):
        blobs.get(DIGEST)


def test_content_that_is_too_long(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = Blobs(folder)
    blobs.put(CONTENT)
    monkeypatch.setattr(module, "MAX_BLOB", len(CONTENT) - 1)
    with pytest.raises(AuditError, match="blob has 12 bytes, more than 11"):
        blobs.put(CONTENT)
    with pytest.raises(AuditError, match="more than 11 bytes"):
        blobs.get(DIGEST)


def test_content_is_on_disk_when_put_returns(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Blobs(folder).put(CONTENT)
    synced: list[str] = []
    fsync = os.fsync

    def watch(handle: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watch)
    Blobs(folder).put(CONTENT)
    assert synced[-1] == "sha256"  # the name, also of content that was there
    assert "part" in synced


def test_folder_that_cannot_be_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.parent.mkdir()
    folder.touch()
    with pytest.raises(RunFolderError, match="cannot create"):
        Blobs(folder).put(CONTENT)
    with pytest.raises(AuditError, match="a special file"):
        Blobs(folder).digests()
    too_long = Blobs(folder.with_name("x" * 300))
    with pytest.raises(RunFolderError, match="file name too long"):
        too_long.get(DIGEST)
    folder.unlink()

    def refuse(handle: int, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(RunFolderError, match="cannot lock"):
        Blobs(folder).put(CONTENT)
