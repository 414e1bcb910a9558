# SPDX-License-Identifier: Apache-2.0
"""Run a configuration in processes that kill themselves (SIGKILL) at chosen moments.

    python crashes.py CONFIG FOLDER POINTS [importance]

prints one JSON line per crash; with the last word the run buys importances.

Data are read and priced once; every attempt is a forked process that dies before its
n-th durable operation (fsync, rename, link, unlink, truncate) or in the middle of its
n-th write, just as `kill -9` from outside would stop it there. POINTS is a JSON list of
lists: the moments of one attempt after the other in the same folder. After the last
crash the run is continued to its end.

What a killed process has written stays in the page cache, so a sync is counted and may
be the end, but the disk is not waited for: it would take nine tenths of the time. What
a loss of power does is tested on the log itself.
"""

import builtins
import gc
import io
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from lexfed import durable
from lexfed.audit.entries.envelopes import RecordedEntry
from lexfed.audit.log.audit_log import AuditLog, KeyedEntry
from lexfed.config import loads
from lexfed.errors import LexfedError
from lexfed.run import PricedRun, load_population, price, resume, start
from lexfed.run import train as train_rounds
from lexfed.run.purchases.importance_purchase import priced_importance
from lexfed.run.results import metrics


class Countdown:
    """Counts durable operations and dies at one of them."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    def due(self) -> bool:
        """Return True if this operation is the last one."""
        self.count += 1
        return self.count == self.at

    def before(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        """Return the operation, which dies when it is due."""

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if self.due():
                os.kill(os.getpid(), signal.SIGKILL)
            return operation(*args, **kwargs)

        return wrapped

    def open(self, *args: Any, **kwargs: Any) -> Any:
        """Open a file whose writes may end in the middle."""
        file = builtins.open(*args, **kwargs)  # noqa: SIM115 - the caller closes it
        if not isinstance(file, io.BufferedWriter):
            return file
        return _Fragile(file, self)


class _Fragile:
    """A file that may die after half of a write reached the disk."""

    def __init__(self, file: io.BufferedWriter, countdown: Countdown) -> None:
        self._file = file
        self._countdown = countdown

    def write(self, content: bytes) -> int:
        if self._countdown.due():
            self._file.write(content[: len(content) // 2])
            self._file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        return self._file.write(content)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "_Fragile":
        return self

    def __exit__(self, *args: object) -> None:
        self._file.close()


def note_acknowledged(file: Path, countdown: Countdown) -> None:
    """Write down every entry that an append has acknowledged, and at which operation.

    One line each: index, leaf hash, key, operations so far.
    """
    real = AuditLog.append_all

    def append_all(
        log: AuditLog, entries: Sequence[KeyedEntry]
    ) -> tuple[RecordedEntry, ...]:
        records = real(log, entries)
        with builtins.open(file, "a") as noted:
            for each in records:
                row = (each.index, each.leaf.hex(), each.key, countdown.count)
                noted.write(" ".join(map(str, row)) + "\n")
        return records

    setattr(AuditLog, "append_all", append_all)  # noqa: B010 - in this process only


def attempt(priced: PricedRun, folder: Path, text: str, at: int) -> int:
    """Start or continue the run in a process of its own; return how it ended."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    countdown = Countdown(at)
    vars(os)["fsync"] = lambda _: None
    for name in ("fsync", "replace", "rename", "link", "unlink", "truncate"):
        setattr(os, name, countdown.before(getattr(os, name)))
    note_acknowledged(folder.parent / "acknowledged", countdown)
    vars(durable)["open"] = countdown.open
    vars(metrics)["open"] = countdown.open
    code = 0
    try:
        begun = (folder / "events.jsonl").exists()
        opened = (resume if begun else start)(priced, folder, text)
        train_rounds(priced, opened)
    except LexfedError as error:
        sys.stderr.write(f"{error.message}\n")
        code = error.exit_code
    (folder.parent / "operations").write_text(str(countdown.count))
    os._exit(code)


def main(config: Path, folder: Path, sequences: list[list[int]], what: str) -> None:
    """Crash as told, continue to the end, and print what is left."""
    torch.set_num_threads(1)
    text = config.read_text()
    parsed = loads(text)
    if what == "importance":
        priced = priced_importance(parsed, config.parent, 1.0)
    else:
        priced = price(parsed, load_population(parsed, config.parent))
    # One whole run here: what is imported and priced on the way, children inherit.
    train_rounds(priced, start(priced, folder / "first" / "run", text))
    gc.freeze()  # a collection in a child would copy what it shares with us
    for number, points in enumerate(sequences):
        place = folder / str(number) / "run"
        place.parent.mkdir(parents=True)
        ends = [attempt(priced, place, text, at) for at in [*points, 0]]
        operations = int((place.parent / "operations").read_text())
        row = {"ends": ends, "operations": operations, "run": str(place)}
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    wanted = "".join(sys.argv[4:])
    main(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]), wanted)
