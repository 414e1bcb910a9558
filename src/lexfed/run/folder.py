# SPDX-License-Identifier: Apache-2.0
"""The run folder: plain files, each whole or absent, from which a run can continue.

    config.toml          the configuration as given; its hash is in the first event
    tags.json            every column with tier, articles and reason
    plan.json            what the run will release, at which price
    events.jsonl         one line per event, on disk before what it speaks of
    state.safetensors    the released state after the last durable round
    metrics.csv          what was measured after each round
    model.safetensors    the trained model
    claim.json           what is guaranteed about it
    sites/*.jsonl        each site's own ledger (engine `inprocess`)

A round is charged in `events.jsonl` before anybody computes (write-ahead) and exists
once `state.safetensors` holds it. After a crash between the two the round is run again
under the same charge if nothing of it was written, and counts as spent otherwise.
"""

import fcntl
import json
from pathlib import Path
from typing import Any, Protocol

from lexfed.durable import JsonLines, part_of, write_atomically
from lexfed.errors import RunFolderError
from lexfed.federation.learner import Progress
from lexfed.federation.messages import Query
from lexfed.models import cascade
from lexfed.privacy.events import Release


class EventSink(Protocol):
    """Where events go before what they speak of may leave the process."""

    def append(self, row: dict[str, Any]) -> None:
        """Return only when the event is durable."""
        ...


class RunFolder:
    """One run on disk; one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events = JsonLines(path / "events.jsonl")
        self._lock()

    @classmethod
    def create(cls, path: Path, files: dict[str, bytes]) -> "RunFolder":
        """Make a new run folder; an existing one is never overwritten."""
        if path.exists() and any(path.iterdir() if path.is_dir() else [path]):
            raise RunFolderError(
                f"`{path}` already exists",
                "continue it with `--resume`, or choose another `run.out`",
            )
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunFolderError(
                f"cannot create `{path}`: {(error.strerror or str(error)).lower()}",
                "choose another `run.out`",
            ) from error
        for name, content in files.items():
            write_atomically(path / name, content)
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Open an existing run folder to continue it."""
        if not (path / "plan.json").is_file():
            raise RunFolderError(
                f"`{path}` holds no run to continue",
                "start it without `--resume`",
            )
        return cls(path)

    def _lock(self) -> None:
        self._lock_file = open(self.path / "lock", "w")  # noqa: SIM115 - held open
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RunFolderError(
                f"`{self.path}` is in use by another process"
            ) from error

    # Writing

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON file for people and programs."""
        text = json.dumps(value, indent=2, allow_nan=False) + "\n"
        write_atomically(self.path / name, text.encode())

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a file whole."""
        write_atomically(self.path / name, content)

    def charge(self, query: Query) -> None:
        """Put the round's event on disk, ahead of the round."""
        self.events.append(
            {
                "type": "charge",
                "round": query.round,
                "release": None if query.release is None else query.release.to_json(),
            }
        )

    def release(self, progress: Progress) -> None:
        """Put what a round released on disk; from here on the round exists."""
        content = cascade.to_bytes(
            progress.model, {"done": progress.done}, progress.memory
        )
        write_atomically(self.path / "state.safetensors", content)

    # Reading

    def progress(self, start: Progress) -> Progress:
        """Return the state after the last durable round; `start` before the first."""
        state = self.path / "state.safetensors"
        if not state.exists():
            return start
        model, head, memory = cascade.from_bytes(state.read_bytes())
        return Progress(head["done"], model, memory)

    def charges(self) -> list[tuple[int, Release | None]]:
        """Return round and release of everything charged so far."""
        return [
            (
                row["round"],
                None if row["release"] is None else Release.from_json(row["release"]),
            )
            for row in self.events.rows
            if row["type"] == "charge"
        ]

    def take_partial_release(self) -> bool:
        """Say whether a part of a release reached the disk, and remove it."""
        part = part_of(self.path / "state.safetensors")
        found = part.exists()
        part.unlink(missing_ok=True)
        return found

    def close(self) -> None:
        """Close the files; everything acknowledged is on disk."""
        self.events.close()
        self._lock_file.close()
