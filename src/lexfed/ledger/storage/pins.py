# SPDX-License-Identifier: Apache-2.0
"""Pins: the last row we wrote of a ledger, and its sums, kept away from the file.

    <state>/<id of the ledger>.json

A ledger that was put back from a backup is sound: every row follows the one above. Only
something that remembers more can tell. The pin is written after the change is on disk
and before it is acknowledged. So it may be behind the file and is never ahead of one
that lost nothing; and everything that was acknowledged is in its sums, which is what
`restore` charges when rows are gone.

The state folder is `$XDG_STATE_HOME/lexfed/ledgers`, `~/.local/state/lexfed/ledgers` by
default: one for all projects of a site, and not part of what a backup of a project puts
back.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexfed.durable import FileLock, write_atomically
from lexfed.errors import LedgerError, RunFolderError, system_reason
from lexfed.ledger.bookkeeping.book import Book, CeilingBalance
from lexfed.ledger.bookkeeping.rows import Head
from lexfed.ledger.storage.database import VERSION
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain

_FIELDS = {
    *("ledger", "site", "data_set", "path"),
    *("sequence", "hash", "committed", "limits", "version"),
}


class BrokenPin(LedgerError):
    """A pin that says nothing any more."""


@dataclass(frozen=True)
class Pin:
    """A ledger's place, last row, committed amounts by meter, and ceilings by scope."""

    ledger: str
    site: str
    data_set: str
    path: str
    head: Head
    committed: Mapping[str, int]
    limits: Mapping[str, CeilingBalance]
    version: int = VERSION

    @classmethod
    def of(
        cls, identity: tuple[str, str, str], path: Path, head: Head, book: Book
    ) -> "Pin":
        """Return the pin of a ledger with that head and those sums."""
        paid = {name: sums.committed for name, sums in book.meters.items()}
        return cls(*identity, str(path.resolve()), head, paid, dict(book.limits))

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        plain = {
            "ledger": self.ledger,
            "site": self.site,
            "data_set": self.data_set,
            "path": self.path,
            "sequence": self.head.sequence,
            "hash": self.head.hash.hex(),
            "committed": {name: str(cost) for name, cost in self.committed.items()},
            "limits": limits_json(self.limits),
            "version": self.version,
        }
        return (json.dumps(plain, indent=2) + "\n").encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> "Pin":
        """Return the stored pin; raises KeyError, TypeError or ValueError."""
        plain = json.loads(content)
        plain.setdefault("version", 1)  # which the first version did not say
        if set(plain) != _FIELDS:
            raise ValueError("not the fields of a pin")
        limits = {
            scope: CeilingBalance.from_json(stated)
            for scope, stated in plain["limits"].items()
        }
        committed = {name: int(cost) for name, cost in plain["committed"].items()}
        head = Head(int(plain["sequence"]), bytes.fromhex(plain["hash"]))
        ledger, site = str(plain["ledger"]), str(plain["site"])
        data_set, path = str(plain["data_set"]), str(plain["path"])
        version = int(plain["version"])
        return cls(ledger, site, data_set, path, head, committed, limits, version)


def limits_json(limits: Mapping[str, CeilingBalance]) -> dict[str, Any]:
    """Return ceilings and what is counted against them, as pins and rows hold them."""
    return {scope: limit.to_json() for scope, limit in limits.items()}


def default_state() -> Path:
    """Return the state folder of this user."""
    named = os.environ.get("XDG_STATE_HOME", "")
    try:
        base = Path(named) if named else Path.home() / ".local" / "state"
    except RuntimeError as error:
        raise LedgerError(
            "there is no folder for the pins of ledgers: this user has no home",
            "set XDG_STATE_HOME to a folder that stays",
        ) from error
    return base / "lexfed" / "ledgers"


def read_pin(state: Path, ledger: str) -> Pin | None:
    """Return the pin of a ledger, or None; another content is a `BrokenPin`."""
    path = state / f"{ledger}.json"
    try:
        content = read_plain(path, MOST_OF_A_DOCUMENT)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        pin = Pin.from_bytes(content)
        if pin.ledger != ledger:
            raise ValueError("the pin of another ledger")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BrokenPin(
            f"`{path}` is not the pin of this ledger",
            "`lexfed ledger restore` goes on without it, and counts every ceiling as "
            "used up",
        ) from error
    return pin


def pin_of_file(state: Path, path: Path) -> Pin | None:
    """Return the pin of a ledger that was at a path, for when the file is gone."""
    wanted = str(path.resolve())
    for file in sorted(state.glob("*.json")):
        pin = read_pin(state, file.stem)
        if pin is not None and pin.path == wanted:
            return pin
    return None


def write_pin(state: Path, pin: Pin, back: bool = False) -> None:
    """Pin the head of a ledger; on return it is on disk.

    With `back`, for `restore` only, it takes the place of any other.

    Guarantees:
        Without `back` a pin never moves back.
    """
    with _alone(state):
        old = None if back else read_pin(state, pin.ledger)
        if old is None or old.head.sequence < pin.head.sequence:
            try:
                write_atomically(state / f"{pin.ledger}.json", pin.to_bytes())
            except RunFolderError as error:
                raise LedgerError(
                    f"{error.message}: what was changed in the ledger stays, and is "
                    "found when it is asked again",
                    "free some space, or fix the folder's permissions",
                ) from error


@contextmanager
def _alone(state: Path) -> Iterator[None]:
    # Between reading the old pin and writing the new one nobody else may write.
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock.on_folder(state)
    except OSError as error:
        raise _unusable(state, error) from error
    with lock:
        yield


def _unusable(path: Path, error: OSError) -> LedgerError:
    return LedgerError(
        f"cannot use pin `{path}`: {system_reason(error)}",
        "fix its permissions, or name another state folder",
    )
