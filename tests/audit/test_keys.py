# SPDX-License-Identifier: Apache-2.0
"""Key files: made once, read only if nobody else could."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from lexfed.errors import AuditError, LexfedError, RunFolderError
from lexfed.signing.keys import (
    Signer,
    create_key,
    fingerprint,
    load_key,
    load_public,
    public_path,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "log.pem"


def mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):o}"


def test_a_key_comes_back_from_its_file(path: Path) -> None:
    created = create_key(path)
    assert load_key(path).private_bytes_raw() == created.private_bytes_raw()
    assert load_public(public_path(path)) == created.public_key().public_bytes_raw()
    assert public_path(path).name == "log.pub.pem"


@pytest.mark.parametrize("umask", ["000", "022", "077", "777"])
def test_modes_do_not_depend_on_the_umask(tmp_path: Path, umask: str) -> None:
    """In a process of its own: the umask belongs to all threads of one."""
    folder = tmp_path / "keys"
    program = (
        "import os, sys; from pathlib import Path; "
        "from lexfed.signing.keys import create_key; "
        "os.umask(int(sys.argv[2], 8)); create_key(Path(sys.argv[1]) / 'log.pem')"
    )
    subprocess.run([sys.executable, "-c", program, str(folder), umask], check=True)
    assert mode(folder) == "700"
    assert mode(folder / "log.pem") == "600"
    assert mode(folder / "log.pub.pem") == "644"


def test_a_key_is_never_overwritten(path: Path) -> None:
    create_key(path)
    before = {each: each.read_bytes() for each in path.parent.iterdir()}
    with pytest.raises(RunFolderError, match="exists; a key is never overwritten"):
        create_key(path)
    assert {each: each.read_bytes() for each in path.parent.iterdir()} == before


def test_a_stray_public_key_is_not_overwritten_and_nothing_is_left(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    public_path(path).write_text("mine")
    with pytest.raises(RunFolderError, match=r"log\.pub\.pem` exists"):
        create_key(path)
    assert [each.name for each in path.parent.iterdir()] == ["log.pub.pem"]
    assert public_path(path).read_text() == "mine"


@pytest.mark.parametrize("name", ["log.pem", "log.pub.pem"])
def test_no_link_is_followed_when_a_key_is_made(path: Path, name: str) -> None:
    path.parent.mkdir(mode=0o700)
    target = path.parent.parent / "target"
    (path.parent / name).symlink_to(target)
    with pytest.raises(RunFolderError):
        create_key(path)
    assert not target.exists()


@pytest.mark.parametrize("folder_mode", [0o750, 0o701, 0o777])
def test_a_folder_open_to_others_is_refused(path: Path, folder_mode: int) -> None:
    path.parent.mkdir()
    path.parent.chmod(folder_mode)
    with pytest.raises(RunFolderError, match="open to other users") as caught:
        create_key(path)
    assert f"chmod 700 {path.parent}" in caught.value.hint
    assert list(path.parent.iterdir()) == []
    path.parent.chmod(0o700)
    create_key(path)
    path.parent.chmod(folder_mode)
    with pytest.raises(RunFolderError, match="open to other users"):
        load_key(path)


@pytest.mark.parametrize("file_mode", [0o640, 0o604, 0o660, 0o777, 0o610])
def test_a_key_that_others_may_use_is_refused(path: Path, file_mode: int) -> None:
    create_key(path)
    path.chmod(file_mode)
    with pytest.raises(RunFolderError, match=f"mode {file_mode:o}") as caught:
        load_key(path)
    assert f"chmod 600 {path}" in caught.value.hint
    path.chmod(0o400)
    load_key(path)


def test_a_link_in_place_of_a_key_is_refused(path: Path) -> None:
    create_key(path)
    link = path.with_name("link.pem")
    link.symlink_to(path)
    with pytest.raises(RunFolderError, match="cannot use key"):
        load_key(link)


def test_a_pipe_in_place_of_a_key_is_refused_without_waiting(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    os.mkfifo(path, 0o600)
    with pytest.raises(RunFolderError, match="not a plain file"):
        load_key(path)


def test_a_folder_in_place_of_a_key_is_refused(path: Path) -> None:
    path.mkdir(parents=True, mode=0o700)
    path.parent.chmod(0o700)
    with pytest.raises(RunFolderError):
        load_key(path)


def test_a_missing_key_is_named(path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"log\.pem`: no such file"):
        load_key(path)


def other_keys() -> dict[str, bytes]:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    plain = serialization.NoEncryption()
    own = ed25519.Ed25519PrivateKey.generate()
    curve = ec.generate_private_key(ec.SECP256R1())
    locked = serialization.BestAvailableEncryption(b"secret")
    right = own.private_bytes(encoding, form, plain)
    return {
        "empty": b"",
        "text": b"not a key",
        "binary": bytes(range(256)),
        "other-curve": curve.private_bytes(encoding, form, plain),
        "with-password": own.private_bytes(encoding, form, locked),
        "cut": right[: len(right) // 2],
        "public-half": own.public_key().public_bytes(
            encoding, serialization.PublicFormat.SubjectPublicKeyInfo
        ),
        "too-large": right + b"\n" * 20_000,
    }


@pytest.mark.parametrize("name", other_keys())
def test_any_other_content_is_not_a_key(path: Path, name: str) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_bytes(other_keys()[name])
    path.chmod(0o600)
    with pytest.raises(RunFolderError, match="is not an Ed25519"):
        load_key(path)


@pytest.mark.parametrize("content", [b"", b"text"])
def test_any_other_content_is_not_a_public_key(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_bytes(content)
    with pytest.raises(RunFolderError, match="is not an Ed25519 public key"):
        load_public(path)


def test_a_public_key_of_another_kind_is_refused(path: Path) -> None:
    curve = ec.generate_private_key(ec.SECP256R1()).public_key()
    path.parent.mkdir(mode=0o700)
    path.write_bytes(
        curve.public_bytes(
            serialization.Encoding.PEM,
            serialization.PublicFormat.SubjectPublicKeyInfo,
        )
    )
    with pytest.raises(RunFolderError, match="is not an Ed25519 public key"):
        load_public(path)


@pytest.mark.parametrize("call", ["fchmod", "fsync"])
@pytest.mark.parametrize("after", range(4))
def test_nothing_is_left_when_the_disk_fails(
    path: Path, monkeypatch: pytest.MonkeyPatch, call: str, after: int
) -> None:
    calls = 0
    real: Callable[..., None] = getattr(os, call)

    def failing(*args: int) -> None:
        nonlocal calls
        calls += 1
        if calls > after:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(*args)

    monkeypatch.setattr(os, call, failing)
    if call == "fchmod" and after > 1:
        create_key(path)  # two files, so a third call never comes
        return
    with pytest.raises(RunFolderError, match="no space left on device"):
        create_key(path)
    assert list(path.parent.iterdir()) == []


def test_the_first_failure_is_reported_even_if_cleaning_up_fails(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    monkeypatch.setattr(Path, "unlink", failing)
    with pytest.raises(RunFolderError, match="input/output error"):
        create_key(path)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("")
    with pytest.raises(LexfedError):
        create_key(tmp_path / "keys" / "log.pem")


def test_a_signer_shows_its_name_and_never_its_key() -> None:
    private = ed25519.Ed25519PrivateKey.from_private_bytes(b"s" * 32)
    one = Signer("audit.example.org/run-1", private)
    assert repr(one) == "Signer('audit.example.org/run-1')"
    assert one.fingerprint == fingerprint(one.public)
    assert len(one.sign(b"message")) == 64
    assert (one.verifier.algorithm, one.cosigner.algorithm) == (1, 4)
    with pytest.raises(AuditError, match="not a key name"):
        Signer("two words", private)
