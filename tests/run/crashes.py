# SPDX-License-Identifier: Apache-2.0
"""Run a configuration in processes that kill themselves (SIGKILL) at chosen moments.

    python crashes.py CONFIG FOLDER POINTS      print one JSON line per crash

Data are read and priced once; every attempt is a forked process that dies before its
n-th durable operation (fsync, rename, link, unlink, truncate) or in the middle of its
n-th write, just as `kill -9` from outside would stop it there. POINTS is a JSON list of
lists: the moments of one attempt after the other in the same folder. After the last
crash the run is continued to its end.
"""

import builtins
import io
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from lexfed import durable
from lexfed.config import loads
from lexfed.errors import LexfedError
from lexfed.run import Priced, load_population, measured, price, resume, start
from lexfed.run import train as train_rounds


class Countdown:
    """Counts durable operations and dies at one of them."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    def due(self) -> bool:
        """Say whether this operation is the last one."""
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


def attempt(priced: Priced, folder: Path, text: str, at: int) -> int:
    """Start or continue the run in a process of its own; return how it ended."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    countdown = Countdown(at)
    for name in ("fsync", "replace", "rename", "link", "unlink", "truncate"):
        setattr(os, name, countdown.before(getattr(os, name)))
    vars(durable)["open"] = countdown.open
    vars(measured)["open"] = countdown.open
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


def main(config: Path, folder: Path, sequences: list[list[int]]) -> None:
    """Crash as told, continue to the end, and print what is left."""
    torch.set_num_threads(1)
    text = config.read_text()
    parsed = loads(text)
    priced = price(parsed, load_population(parsed, config.parent))
    priced.ledger()
    for number, points in enumerate(sequences):
        place = folder / str(number) / "run"
        place.parent.mkdir(parents=True)
        ends = [attempt(priced, place, text, at) for at in [*points, 0]]
        operations = int((place.parent / "operations").read_text())
        row = {"ends": ends, "operations": operations, "run": str(place)}
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]))
