# SPDX-License-Identifier: Apache-2.0
"""The SQLite file: one writer at a time, on disk before we go on, faults in words.

Write-ahead log, `BEGIN IMMEDIATE`: a process that decides holds the write lock from
before it reads until its decision is on disk, so two processes cannot spend the same
room, as they could if they read first and locked later. With `synchronous = FULL` a
commit returns after its fsync.

After a failed write nobody can say what is on disk (a failed fsync may report success
the next time), so the first error ends the session; the next one reads what is there.

The file must be on a local disk: the write-ahead log needs memory that all processes
share, which network file systems do not give.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lexfed.durable import FileLock
from lexfed.errors import LedgerError, system_reason

APPLICATION = 0x4C464C47
"""`LFLG`: marks a file as a ledger of lexfed."""

VERSION = 2
"""Version of the tables. The first had no `runs.open`, and its rows no relation."""

_SCHEMA = """
CREATE TABLE rows (
    sequence INTEGER PRIMARY KEY,
    text TEXT NOT NULL,
    hash BLOB NOT NULL
) STRICT;
CREATE TABLE meters (
    name TEXT PRIMARY KEY,
    amounts TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE limits (
    scope TEXT PRIMARY KEY,
    ceiling TEXT NOT NULL,
    period INTEGER NOT NULL,
    counted TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE runs (
    run TEXT PRIMARY KEY,
    until INTEGER,
    amounts TEXT NOT NULL,
    open INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX open_reservations ON runs (until) WHERE until IS NOT NULL;
CREATE TABLE commits (
    run TEXT NOT NULL,
    round INTEGER NOT NULL,
    release TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (run, round)
) STRICT, WITHOUT ROWID;
"""


class Database:
    """An open ledger file.

    Guarantees:
        A file of another program or of a newer version is never written to; nor is
        one with statements of its own that SQLite would run (triggers, views).
        A change is on disk, whole, when `writing` ends; or it is not there at all.
        At most one `writing` at a time, in all processes of the machine.
        The first error ends the session: nothing is written after it.
    """

    def __init__(self, path: Path, wait: float, durable: bool) -> None:
        """Open or make the file; if not `durable`, power failures may undo changes."""
        self.path = path
        self._owner = os.getpid()
        self._ended = ""
        still = _is_still(path)
        try:
            if not still:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?immutable=1" if still else path,
                timeout=wait,
                isolation_level=None,
                check_same_thread=False,
                uri=still,
            )
        except (OSError, sqlite3.Error) as error:
            raise unusable_file(path, error) from error
        try:
            with self._in_words():
                if still:
                    self._check_kind()
                else:
                    with _alone(path.parent):
                        self._check_kind()
                        self.query("PRAGMA journal_mode = WAL")
                        sync = "FULL" if durable else "OFF"
                        self.query(f"PRAGMA synchronous = {sync}")
                self._file = os.stat(path)
        except BaseException:
            self.close()
            raise

    def _check_kind(self) -> None:
        # Another process may make the tables just now: if they are there, so is the
        # mark, which is read after them.
        [[tables]] = self.query("SELECT count(*) FROM sqlite_schema")
        [[application]] = self.query("PRAGMA application_id")
        [[version]] = self.query("PRAGMA user_version")
        if application == 0 and tables == 0:
            return  # new
        if application != APPLICATION:
            raise LedgerError(
                f"`{self.path}` is not a ledger", "name a file that lexfed has made"
            )
        if version > VERSION:
            raise LedgerError(
                f"`{self.path}` was written by a newer version of lexfed (tables "
                f"{version}, this one knows {VERSION})",
                "use that version; nothing was changed",
            )
        [[programs]] = self.query(
            "SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')"
        )
        if programs:
            raise LedgerError(
                f"`{self.path}` holds triggers or views, which change what is read "
                "from a ledger or written to it; no ledger has any",
                "keep the file as evidence, and put back the newest sound copy",
            )

    def version(self) -> int:
        """Version of the file's tables."""
        with self._in_words():
            [[found]] = self.query("PRAGMA user_version")
            return int(found)

    def upgrade(self) -> None:
        """Bring tables of the first version up to this one; within `writing`."""
        self.query("ALTER TABLE runs ADD COLUMN open INTEGER")
        self.query(f"PRAGMA user_version = {VERSION}")

    def is_new(self) -> bool:
        """Return True if the file has no tables yet."""
        with self._in_words():
            return self.query("PRAGMA application_id") == [(0,)]

    def create(self) -> None:
        """Make the tables; within `writing`."""
        for statement in _SCHEMA.split(";\n"):
            self.query(statement)
        self.query(f"PRAGMA user_version = {VERSION}")
        self.query(f"PRAGMA application_id = {APPLICATION}")

    def query(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Run a statement and return its rows; call within `reading` or `writing`."""
        return self._connection.execute(statement, values).fetchall()

    def each(self, statement: str, values: tuple[Any, ...] = ()) -> Iterator[Any]:
        """Run a statement and return its rows one by one."""
        return iter(self._connection.execute(statement, values))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read one state of the file."""
        yield from self._transaction("BEGIN")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Change the file; whatever is raised inside changes nothing."""
        yield from self._transaction("BEGIN IMMEDIATE")

    def _transaction(self, begin: str) -> Iterator[None]:
        self._check()
        with self._in_words():
            self.query(begin)
            try:
                yield
                self._check_file()
                self.query("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self.query("ROLLBACK")
                raise

    def _check(self) -> None:
        if self._ended:
            raise LedgerError(f"`{self.path}` {self._ended}", "open it again")
        if os.getpid() != self._owner:
            raise LedgerError(
                f"`{self.path}` was opened by process {self._owner}, of which this "
                "one is a copy",
                "open the ledger in the process that uses it",
            )

    def _check_file(self) -> None:
        """Refuse to write into a file that was replaced meanwhile."""
        try:
            same = os.path.samestat(os.stat(self.path), self._file)
        except OSError:
            same = False
        if not same:
            self.close("was replaced while it was open")
            self._check()

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            if not _is_busy(error):
                self.close(f"was closed by an error ({error})")
            raise unusable_file(self.path, error) from error

    def close(self, how: str = "is closed") -> None:
        """Give the file back; does nothing the second time."""
        if not self._ended:
            self._ended = how
            with suppress(sqlite3.Error):
                self._connection.close()


def _is_still(path: Path) -> bool:
    """Return True if a file is where nobody can write, as on a read-only mount.

    It can be read as it is. Rows that are only in its write-ahead log would be left
    out then, so such a file is opened as all others, which fails in words.
    """
    log = path.with_name(path.name + "-wal")
    try:
        read_only = os.statvfs(path).f_flag & os.ST_RDONLY
        return bool(read_only) and not (log.exists() and log.stat().st_size)
    except OSError:  # not there yet, or not to be looked at
        return False


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    # Two that turn on the write-ahead log of a new file at once would not wait.
    with FileLock.on_folder(folder) as lock:
        yield
        os.fsync(lock.handle)  # the file's name is on disk, too


def _is_busy(error: OSError | sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


_FREE = "free some space; nothing was lost, and the same command can be given again"
_ALLOW = "fix the permissions of the file and of its folder"
_PUT_BACK = "put back the newest sound copy, then run `lexfed ledger restore`"
_WORDS = {
    sqlite3.SQLITE_BUSY: (
        "another process is writing it",
        "wait until it has ended; nothing was charged",
    ),
    sqlite3.SQLITE_READONLY: ("it cannot be written", _ALLOW),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", _ALLOW),
    sqlite3.SQLITE_FULL: ("the disk is full", _FREE),
    sqlite3.SQLITE_IOERR: ("reading or writing it failed", _FREE),
    sqlite3.SQLITE_NOTADB: (
        "it is not a ledger, or its first bytes are damaged",
        _PUT_BACK,
    ),
    sqlite3.SQLITE_CORRUPT: ("it is damaged", _PUT_BACK),
}


def unusable_file(path: Path, error: OSError | sqlite3.Error) -> LedgerError:
    """Return the words for what went wrong with the file."""
    if isinstance(error, OSError):
        what = system_reason(error)
        return LedgerError(
            f"cannot use ledger `{path}`: {what}",
            "fix its folder; nothing was lost, and the same can be asked again",
        )
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    what, hint = _WORDS.get(code, (str(error), "run `lexfed ledger verify`"))
    return LedgerError(f"cannot use ledger `{path}`: {what}", hint)
