# SPDX-License-Identifier: Apache-2.0
"""The run folder: plain files, each whole or absent, from which a run can continue.

`docs/reference/run-folder.md` has the content of each file. A round is charged in
`events.jsonl`, the journal of this process, before anybody computes (write-ahead). Its
release is staged, its entry in the log made durable, and only then does
`state.safetensors` hold it. `resumption.py` has the consequence of a crash at each
moment.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from lexfed.durable import (
    FileLock,
    JsonLines,
    part_path,
    publish_file,
    stage_file,
    write_atomically,
)
from lexfed.errors import FolderTaken, RunFolderError, system_reason
from lexfed.federation.coordinator.progress import Progress
from lexfed.federation.programme.messages import Query
from lexfed.plain_files import MOST_OF_A_DOCUMENT, MOST_OF_A_MODEL, plain, read_plain

STATE = "state.safetensors"
EVENTS = "events.jsonl"
LOG = "log"
PARTIES = "parties.json"
SEALED = "sealed"
SITES = "sites"
FOLDERS = (LOG, SEALED, SITES)
COINS = "coins"
METRICS = "metrics.csv"
ADAPTATION = "adaptation.csv"
OPENING = ("config.toml", "tags.json", "encoding.json", "plan.json", LOG, PARTIES)
"""Files that are written before the first event."""

ENDING = ("model.safetensors", "claim.json", "result.json")
"""Files written after the last round."""

REPORTS = (
    "report.html", "report.pdf", "dpia.md", "record-of-processing.csv",
    "model-card.md", "privacy-statement.json", "evidence.zip",
)  # fmt: skip
"""Files that `lexfed report` writes beside the run's own."""

OLD_COPY = (
    "go on with the newest folder of this run, as it was left; if it is lost, start "
    "another run: what was released stays released, and paid"
)
"""The way on with a folder that is not what its run left; never an older copy of it."""

_SLACK = 1 << 21
"""Bytes beside the state that a round writes: journal, log, ledgers, metrics."""


class RunFolder:
    """One run on disk; one process at a time.

    Guarantees:
        The lock is held before anything is read or cut off. A folder with anything else
        in it is never written to. A charge is on disk when `charge` returns, a release
        when `publish_file` returns.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = self._take_lock()
        try:
            self.events = JsonLines(path / EVENTS)
        except BaseException:
            self._lock.close()
            raise

    @classmethod
    def create(cls, path: Path) -> "RunFolder":
        """Make a new run folder, or take one whose run never began."""
        try:
            if path.exists() and not never_began(path):
                raise _occupied(path)
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunFolderError(
                f"cannot create `{path}`: {system_reason(error)}",
                "choose another folder with `--out`",
            ) from error
        folder = cls(path)
        if folder.events.rows:  # another process was faster
            folder.close()
            raise _occupied(path)
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Open an existing run folder to continue it."""
        if not (path / EVENTS).is_file():
            raise RunFolderError(
                f"`{path}` holds no run to continue", "start it without `--resume`"
            )
        return cls(path)

    def _take_lock(self) -> FileLock:
        try:
            handle = plain(str(self.path / "lock"), os.O_WRONLY | os.O_CREAT)
        except OSError as error:
            raise RunFolderError(
                f"cannot write to `{self.path}`: {system_reason(error)}",
                "fix the folder's permissions, or choose another one with `--out`",
            ) from error
        try:
            return FileLock(handle)
        except OSError as error:
            raise FolderTaken(
                f"`{self.path}` is in use by another process",
                "wait for it to end, or choose another folder with `--out`",
            ) from error

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON file for people and programs."""
        text = json.dumps(value, indent=2, allow_nan=False) + "\n"
        write_atomically(self.path / name, text.encode())

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a file whole."""
        write_atomically(self.path / name, content)

    def charge(self, query: Query) -> None:
        """Put the round's event on disk, ahead of the round.

        A round is not paid if the disk has no room for its release.
        """
        # Beside the parameters a state may hold a velocity and the last release.
        needed = (
            3 * sum(tower.parameters.nbytes for tower in query.model.towers) + _SLACK
        )
        if shutil.disk_usage(self.path).free < needed:
            raise RunFolderError(
                f"no space left on the disk of `{self.path}`; round {query.round} "
                "was not begun",
                "free some space, then continue with `lexfed run --resume`",
            )
        self.events.append(
            {
                "type": "charge",
                "round": query.round,
                "stage": query.stage,
                "step": query.step,
                "release": None if query.release is None else query.release.to_json(),
            }
        )

    def stage(self, progress: Progress) -> bytes:
        """Put what a round would release on disk, not yet as the state; return it."""
        from lexfed.models import towers

        names = ("done", "stage", "step")
        head = {name: getattr(progress, name) for name in names}
        content = towers.to_bytes(progress.model, head, progress.memory)
        stage_file(self.path / STATE, content)
        return content

    def publish(self) -> None:
        """Make what was staged the state; from here on the round exists."""
        publish_file(self.path / STATE)

    def state(self) -> Progress | None:
        """Return the state after the last durable round; None before the first."""
        from lexfed.models import towers

        path = self.path / STATE
        try:
            content = read_plain(path, MOST_OF_A_MODEL)
            model, head, memory = towers.from_bytes(content)
            return Progress(head["done"], model, memory, head["stage"], head["step"])
        except FileNotFoundError:
            return None
        except Exception as error:
            raise RunFolderError(f"`{path}` is damaged", OLD_COPY) from error

    @property
    def partial_release(self) -> Path:
        """Where a release is while it is being written."""
        return part_path(self.path / STATE)

    @property
    def finished(self) -> bool:
        """True if the run came to its end."""
        return any(row.get("type") == "end" for row in self.events.rows)

    def close(self) -> None:
        """Close the files; everything acknowledged is on disk."""
        self.events.close()
        self._lock.close()


def _occupied(path: Path) -> RunFolderError:
    if (path / EVENTS).is_file():
        hint = "continue it with `--resume`, or choose another folder with `--out`"
        return FolderTaken(f"`{path}` already contains a run", hint)
    what = f"`{path}` exists and is not a run folder; it is left as it is"
    kind = FolderTaken if path.is_dir() else RunFolderError
    return kind(what, "choose another folder with `--out`")


def is_run_file(path: Path) -> bool:
    """Say whether a file or folder is one that runs write, by its name."""
    other = {"lock", SITES, SEALED, COINS, EVENTS, STATE, METRICS, ADAPTATION}
    names = other.union(OPENING, ENDING, REPORTS)
    return path.name.removesuffix(".part") in names


def never_began(path: Path) -> bool:
    """Say whether a folder is empty, or was left before its first event."""
    if not path.is_dir():
        return False
    ours = {"lock", COINS, EVENTS, *OPENING}
    if any(entry.name.removesuffix(".part") not in ours for entry in path.iterdir()):
        return False
    events = path / EVENTS
    try:
        return b"\n" not in read_plain(events, MOST_OF_A_DOCUMENT)
    except FileNotFoundError:
        return (path / "lock").exists() or not any(path.iterdir())
