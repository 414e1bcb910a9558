# SPDX-License-Identifier: Apache-2.0
"""One process at a time writes the state of a site."""

import os
from typing import Self

from lexfed.durable import FileLock
from lexfed.errors import RunFolderError, system_reason
from lexfed.federation.flare.kit.folder import Kit


class SiteLock:
    """Holds the lock of a site's state; the system frees it when a process ends.

    Raises:
        RunFolderError: if another process holds it, or the state cannot be written.
    """

    def __init__(self, kit: Kit, name: str = "lock") -> None:
        path = kit.state / name
        try:
            kit.state.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            reason = system_reason(error)
            raise RunFolderError(f"cannot write `{path}`: {reason}") from error
        try:
            self._lock = FileLock(handle)
        except OSError as error:
            raise SiteBusy(
                f"`{path}` is held by another process of this site",
                "wait until it has ended",
            ) from error

    def close(self) -> None:
        """Let others write."""
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SiteBusy(RunFolderError):
    """Another process of the site is at work."""
