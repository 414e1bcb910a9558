# SPDX-License-Identifier: Apache-2.0
"""One process at a time writes the state of a site."""

import fcntl
from typing import IO, Self

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
            self._file: IO[str] = open(path, "a")  # noqa: SIM115 - held open
        except OSError as error:
            reason = system_reason(error)
            raise RunFolderError(f"cannot write `{path}`: {reason}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise SiteBusy(
                f"`{path}` is held by another process of this site",
                "wait until it has ended",
            ) from error

    def close(self) -> None:
        """Let others write."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SiteBusy(RunFolderError):
    """Another process of the site is at work."""
