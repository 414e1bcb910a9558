# SPDX-License-Identifier: Apache-2.0
"""The right to write a log, which ends with the first error.

After a failed fsync the kernel may have dropped what it could not write and report
success the next time, so nobody can say any more what is on disk. After a failed rename
or a full disk we could, but one rule is easier to trust than several: whatever goes
wrong while writing ends the session. The next one reads what is there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lexfed.audit.storage.held_folder import Folder
from lexfed.audit.storage.writer_lock import WriterLock
from lexfed.errors import RunFolderError


class WriteSession:
    """A folder held open and locked.

    Guarantees:
        Ends, and gives folder and lock back, with the first exception in `writing`.
        Once it has ended, `check` and `writing` refuse.
    """

    def __init__(self, path: Path) -> None:
        """Open the folder and take its lock.

        Raises:
            RunFolderError: if it cannot be opened, or somebody else writes it.
        """
        self.folder = Folder(path)
        self._ended = ""
        try:
            self._lock = WriterLock(self.folder)
        except BaseException:
            self.folder.close()
            raise

    def check(self) -> None:
        """Raise `RunFolderError` if the session has ended."""
        if self._ended:
            raise RunFolderError(
                f"the log in `{self.folder.path}` {self._ended}", "open it again"
            )

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock for a change; any exception inside ends the session."""
        self.check()
        try:
            self._lock.check()
            yield
        except BaseException as error:
            self.end(f"was closed by an error ({type(error).__name__})")
            raise

    def end(self, how: str = "was closed") -> None:
        """Give folder and lock back; does nothing the second time."""
        if not self._ended:
            self._ended = how
            self.folder.close()
            self._lock.close()
