# SPDX-License-Identifier: Apache-2.0
"""Content beside the log: too large for an entry, or to be erased one day.

    blobs/sha256/<64 hex digits>           the content with that SHA-256
    blobs/sha256/<64 hex digits>.erased    empty: it was there and was erased

An entry carries the digest, so the content cannot be changed unnoticed, and it can be
erased without changing the log. Content with little entropy, such as a name or a date,
can be guessed from its digest: it belongs behind a commitment with a random salt, and
the salt here.
"""

import re
from hashlib import sha256
from pathlib import Path

from lexfed.audit.storage.held_folder import PART, Folder, make_folder, unusable
from lexfed.durable import take_lock
from lexfed.errors import AuditError, RunFolderError
from lexfed.terms import DIGEST

MAX_BLOB = 2**28
"""Bytes of the longest blob."""

_ERASED = ".erased"
_DIGEST = re.compile(DIGEST)


class Blobs:
    """Content by its SHA-256.

    Guarantees:
        `get` returns the bytes of that digest or raises; never other bytes.
        On return from `put` the content is on disk, also if it was there before.
        On return from `erase` content and half-written copies of it are gone, and the
        mark is on disk.
        Erased content is not taken in again.
        Names that are no digest, links and special files are refused.
    """

    def __init__(self, folder: Path) -> None:
        """Use `blobs/sha256` of a log; the folder is made by the first `put`."""
        self._path = folder

    def put(self, content: bytes) -> str:
        """Store content and return its digest in hexadecimal."""
        if len(content) > MAX_BLOB:
            raise AuditError(f"blob has {len(content)} bytes, more than {MAX_BLOB}")
        digest = sha256(content).hexdigest()
        make_folder(self._path)
        with Folder(self._path) as folder:
            self._lock(folder)
            if self._is_erased(folder, digest):
                raise _erased(digest)
            folder.write_part(content)
            is_new = folder.link_part(digest)
            folder.remove(PART)
            if not is_new:
                self._read(folder, digest)
            # Also if it was there: who wrote it may have died before its name was
            # on disk.
            folder.sync()
        return digest

    def get(self, digest: str) -> bytes:
        """Return the content of a digest."""
        with self._reading(digest) as folder:
            if self._is_erased(folder, digest):
                raise _erased(digest)
            return self._read(folder, digest)

    def has(self, digest: str) -> bool:
        """Return True if content is there, not erased; `get` says if it is sound."""
        _check(digest)
        return digest in self.digests()

    def digests(self) -> tuple[str, ...]:
        """Return the digests of all that is there and was not erased."""
        folder = self._open()
        if folder is None:
            return ()
        with folder:
            names = folder.listing("")
        names.pop(PART, None)
        for name, is_folder in names.items():
            if is_folder or not _DIGEST.fullmatch(name.removesuffix(_ERASED)):
                raise AuditError(
                    f"`{self._path}` holds {name[-100:]!a}, which is no blob",
                    "keep other files elsewhere",
                )
        return tuple(
            name
            for name in names
            if not name.endswith(_ERASED) and name + _ERASED not in names
        )

    def erase(self, digest: str) -> None:
        """Remove content and leave the mark of it."""
        with self._reading(digest) as folder:
            self._lock(folder)
            if not self._is_erased(folder, digest):
                if folder.read(digest, MAX_BLOB) is None:
                    raise self._missing(digest)
                # The mark first: after a crash the content is refused, not lost.
                folder.write_part(b"")
                folder.rename_part(digest + _ERASED)
                folder.sync()
            folder.remove(PART)
            folder.remove(digest)
            folder.sync()

    def _open(self) -> Folder | None:
        try:
            return Folder(self._path)
        except RunFolderError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def _reading(self, digest: str) -> Folder:
        _check(digest)
        folder = self._open()
        if folder is None:
            raise self._missing(digest)
        return folder

    def _lock(self, folder: Folder) -> None:
        # One writer at a time: `part` is one file. Closing the folder frees it.
        try:
            take_lock(folder.handle, wait=True)
        except OSError as error:
            raise unusable("lock", self._path, error) from error

    def _is_erased(self, folder: Folder, digest: str) -> bool:
        return folder.read(digest + _ERASED, MAX_BLOB) is not None

    def _read(self, folder: Folder, digest: str) -> bytes:
        content = folder.read(digest, MAX_BLOB)
        if content is None:
            raise self._missing(digest)
        if sha256(content).hexdigest() != digest:
            raise AuditError(
                f"blob `{self._path / digest}` does not have the digest in its "
                "name: it was changed",
                "restore it from a copy",
            )
        return content

    def _missing(self, digest: str) -> AuditError:
        return AuditError(
            f"blob `{self._path / digest}` is missing, and nothing says it was erased",
            "restore it from a copy",
        )


def _check(digest: str) -> None:
    if not _DIGEST.fullmatch(digest):
        raise AuditError(f"not a SHA-256 in hexadecimal: {digest[:100]!a}")


def _erased(digest: str) -> AuditError:
    return AuditError(f"blob `{digest}` was erased")
