# SPDX-License-Identifier: Apache-2.0
"""Private keys on disk, and the signers that hold them.

A key is Ed25519, PKCS#8 in PEM without a password (a password in a script would guard
nothing), beside its public half:

    keys/            mode 0700
      log.pem        mode 0600, created once, never overwritten
      log.pub.pem    mode 0644, SubjectPublicKeyInfo, as `openssl pkeyutl` reads it

A key that others can read proves nothing about who signed, so such a file is refused.
"""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from lexfed.durable import sync_folder
from lexfed.errors import RunFolderError, system_reason
from lexfed.plain_files import plain
from lexfed.signing.notes import (
    ED25519,
    ED25519_COSIGNER,
    NoteSignature,
    VerifierKey,
    check_name,
)

_MAX_FILE = 16_384


@dataclass(frozen=True, repr=False)
class Signer:
    """A private key and the name it signs under."""

    name: str
    private: Ed25519PrivateKey

    def __post_init__(self) -> None:
        check_name(self.name)

    def __repr__(self) -> str:
        return f"Signer({self.name!r})"

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes."""
        return self.private.public_key().public_bytes_raw()

    @property
    def verifier(self) -> VerifierKey:
        """The key that checks notes this signer signs."""
        return VerifierKey(self.name, ED25519, self.public)

    @property
    def cosigner(self) -> VerifierKey:
        """The key that checks cosignatures of this signer, if it is a witness."""
        return VerifierKey(self.name, ED25519_COSIGNER, self.public)

    @property
    def fingerprint(self) -> str:
        """The key id in an envelope."""
        return fingerprint(self.public)

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte Ed25519 signature [RFC 8032]."""
        return self.private.sign(message)

    def note_signature(self, body: bytes) -> NoteSignature:
        """Return the signature line under a note with this text."""
        return NoteSignature(self.name, self.verifier.key_id, self.sign(body))


def fingerprint(public: bytes) -> str:
    """Return the key id in an envelope: SHA-256 of the raw public key, in hex."""
    return sha256(public).hexdigest()


def public_path(path: Path) -> Path:
    """Return the path of a key's public half: `log.pem` -> `log.pub.pem`."""
    return path.with_name(path.name.removesuffix(".pem") + ".pub.pem")


def create_key(path: Path) -> Ed25519PrivateKey:
    """Make a new key and its two files.

    Guarantees:
        The folder has mode 0700 and the key 0600, whatever the umask.
        An existing file is never overwritten, nor is a link followed.
        On return both files are on disk; on failure neither is there.
    """
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    written: list[Path] = []
    try:
        with suppress(FileExistsError):
            path.parent.mkdir(mode=0o700, parents=True)
            path.parent.chmod(0o700)  # the umask may have taken bits away
        _check_closed(path.parent, os.stat(path.parent), "700")
        _write_once(path, private, 0o600, written)
        _write_once(public_path(path), public, 0o644, written)
        sync_folder(path.parent)
        sync_folder(path.parent.parent)  # it may be new
    except OSError as error:
        for file in written:
            with suppress(OSError):
                file.unlink()
        if isinstance(error, FileExistsError):
            raise RunFolderError(
                f"`{error.filename}` exists; a key is never overwritten",
                "use the key that is there, or choose another folder",
            ) from error
        raise _unusable(path, error) from error
    return key


def _write_once(path: Path, content: bytes, mode: int, written: list[Path]) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    written.append(path)
    with open(handle, "wb") as file:
        os.fchmod(handle, mode)
        file.write(content)
        file.flush()
        os.fsync(handle)


def load_key(path: Path) -> Ed25519PrivateKey:
    """Read a private key.

    Guarantees:
        A key that others may read, in a folder that others may enter, is refused.
        A link, a device or a pipe in place of the file is refused without waiting.
    """
    data = _read(path, private=True)
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _not_a_key(path, "private key without a password") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _not_a_key(path, "private key")
    return key


def load_public(path: Path) -> bytes:
    """Read a public key file and return the 32 raw bytes."""
    data = _read(path, private=False)
    try:
        key = serialization.load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _not_a_key(path, "public key") from error
    if not isinstance(key, Ed25519PublicKey):
        raise _not_a_key(path, "public key")
    return key.public_bytes_raw()


def _read(path: Path, *, private: bool) -> bytes:
    try:
        with open(path, "rb", opener=plain) as file:
            if private:
                _check_closed(path, os.fstat(file.fileno()), "600")
                _check_closed(path.parent, os.stat(path.parent), "700")
            data = file.read(_MAX_FILE + 1)
    except OSError as error:
        raise _unusable(path, error) from error
    if len(data) > _MAX_FILE:
        raise _not_a_key(path, "key")
    return data


def _check_closed(path: Path, status: os.stat_result, mode: str) -> None:
    if status.st_mode & 0o077:
        raise RunFolderError(
            f"`{path}` is open to other users (mode {stat.S_IMODE(status.st_mode):o})",
            f"`chmod {mode} {path}`, and make a new key if others may have read it",
        )


def _not_a_key(path: Path, what: str) -> RunFolderError:
    return RunFolderError(
        f"`{path}` is not an Ed25519 {what} in PEM",
        "restore the file from your key backup",
    )


def _unusable(path: Path, error: OSError) -> RunFolderError:
    return RunFolderError(
        f"cannot use key `{path}`: {system_reason(error)}",
        "a key is a regular file, not a link, that you may read",
    )
