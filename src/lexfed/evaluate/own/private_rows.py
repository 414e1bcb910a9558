# SPDX-License-Identifier: Apache-2.0
"""The folder of private rows while an evaluation of own data runs, and its removal.

A folder with a new name is made for them, so that nothing of anybody else can be in
it, under it or behind it. At the end, however the evaluation ends, the one file that
was written there is removed, and the folder if it is empty. Only a kill that no program
can answer leaves them; then the next evaluation in the same place says so.
"""

import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from lexfed.errors import LexfedError, RunFolderError, system_reason
from lexfed.evaluate.own.csv_copy import FILE

PREFIX = ".rows-"
_ENDS = (signal.SIGTERM, signal.SIGHUP)
Warn = Callable[[str, str], None]
"""Tells a person what is wrong, and what to do about it."""


class LeftoverRows(LexfedError):
    """A copy of private rows could not be removed."""

    exit_code = 1


@contextmanager
def private_files() -> Iterator[None]:
    """Let nobody else read what is written inside."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def rows_folder(out: Path, warn: Warn) -> Iterator[Path]:
    """Lend a new folder for `FILE`, and remove both.

    Guarantees:
        What this call did not make is neither written nor removed.
        Nobody else may enter the folder.
        The rows are removed after success, after an error, after Ctrl-C, and in the
        main thread after SIGTERM and SIGHUP, also where the folder was moved meanwhile.
        What cannot be removed is named by `warn`, and the exit code is not 0.

    Raises:
        RunFolderError: if the folder cannot be made.
        LeftoverRows: if all went well, but something cannot be removed.
    """
    for left in sorted(out.glob(f"{PREFIX}*")):
        warn(f"`{left}` has rows of an evaluation that was killed", "remove it")
    folder = out / f"{PREFIX}{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o700)
        # By its handle the folder is found again, whatever has its name by then.
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        what = system_reason(error)
        raise RunFolderError(f"cannot write `{out}`: {what}") from error
    gone = False
    try:
        with _before_the_end(lambda: _removed(folder, handle, warn)):
            yield folder
    finally:
        gone = _removed(folder, handle, warn)
        os.close(handle)
    if not gone:
        raise LeftoverRows(f"`{folder}` is left, see above", "remove it by hand")


def _removed(folder: Path, handle: int, warn: Warn) -> bool:
    """Remove the rows and their folder; say loudly what is left of them."""
    with suppress(OSError):
        os.unlink(FILE, dir_fd=handle)
    with suppress(OSError):
        folder.rmdir()
    rows = FILE in os.listdir(handle)
    if not rows and not os.path.lexists(folder):
        return True
    what = "A COPY OF PRIVATE ROWS IS LEFT" if rows else "not empty, so it stays"
    warn(f"`{folder}`: {what}", "remove it by hand")
    return False


@contextmanager
def _before_the_end(act: Callable[[], object]) -> Iterator[None]:
    """Act before a signal ends this process, since Python would run no `finally`.

    A signal that is ignored (`nohup`), or that somebody else answers, is left alone.
    """

    def end(number: int, _frame: FrameType | None) -> None:
        act()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    # Python lets no other thread answer signals.
    main = threading.current_thread() is threading.main_thread()
    ours = [each for each in _ENDS if main and signal.getsignal(each) is signal.SIG_DFL]
    for each in ours:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in ours:
            signal.signal(each, signal.SIG_DFL)
