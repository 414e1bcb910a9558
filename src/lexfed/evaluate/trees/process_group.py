# SPDX-License-Identifier: Apache-2.0
"""Processes that train together, one for each site, and are gone afterwards.

They are joined to this process alone, by pipes. It passes on what they send each other
and looks at nothing but the end of a process.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from io import BytesIO
from tempfile import TemporaryFile
from threading import Event, Timer
from typing import IO, Any, cast

import numpy as np

from lexfed.arrays import Floats
from lexfed.errors import LexfedError
from lexfed.evaluate.trees.network import read_blocks, write_blocks


class SiteProcessError(LexfedError):
    """The processes of the sites came to no model."""

    exit_code = 1


@dataclass(frozen=True)
class SiteRows:
    """The rows of one process: inputs [rows, columns] and a target for each row."""

    inputs: Floats
    targets: Floats


def train_together(
    sites: Sequence[SiteRows],
    bins: Floats,
    categories: Sequence[int],
    settings: Mapping[str, Any],
    seconds: float,
) -> str:
    """Return the model that the sites train within some seconds, as LightGBM's text.

    The values of the rows in `bins` say where bins are; they are made from
    declarations. `categories` are the places of columns that are categories.

    Guarantees:
        Each process is given the rows of one site and opens no socket. When this
        returns or raises, none of them runs any more.

    Raises:
        SiteProcessError: if a process fails or they take too long.
    """
    with ExitStack() as stack:
        words = stack.enter_context(TemporaryFile())
        started = []
        for place in range(len(sites)):
            started.append(_Site(place, _process(words)))
            stack.callback(_reap, started[-1].process)
        late = _killed_after(seconds, started, stack)
        order = {"settings": dict(settings), "categories": list(categories)}
        try:
            for one, rows in zip(started, sites, strict=True):
                numbers = {"sites": len(sites), "site": one.place}
                one.tell({**order, **numbers}, (bins, rows.inputs, rows.targets))
            return _relayed(started)
        except _Ended as ended:
            status = ended.site.process.wait()
            if late.is_set():
                what = "the processes of the sites did not end in time"
                hint = "free cores of this machine, or use fewer sites"
                raise SiteProcessError(what, hint) from None
            what = f"the process of site {ended.site.place + 1} ended with {status}"
            raise SiteProcessError(f"{what}{_last(words)}") from None


@dataclass(frozen=True)
class _Site:
    place: int
    process: subprocess.Popen[bytes]

    def tell(self, order: Mapping[str, Any], arrays: Sequence[Floats]) -> None:
        body = BytesIO()
        np.savez(body, *arrays, allow_pickle=False)
        self.send([json.dumps(order).encode(), body.getvalue()])

    def send(self, blocks: Sequence[bytes]) -> None:
        try:
            # Popen always has it where a pipe was asked for.
            write_blocks(cast(IO[bytes], self.process.stdin), blocks)
        except BrokenPipeError:
            raise _Ended(self) from None

    def receive(self) -> list[bytes]:
        try:
            return read_blocks(cast(IO[bytes], self.process.stdout))
        except EOFError:
            raise _Ended(self) from None


class _Ended(Exception):
    """The process of a site is gone though it is needed."""

    def __init__(self, site: _Site) -> None:
        super().__init__(site)
        self.site = site


def _relayed(started: Sequence[_Site]) -> str:
    """Pass blocks on until the sites are done, and return the model of the first."""
    # All are always at the same step, so none waits for what another does not send.
    while True:
        given = [one.receive() for one in started]
        # For the others they have a block each; alone stands the model.
        if len(given[0]) == 1:
            return given[0][0].decode()
        for one in started:
            one.send([blocks[one.place] for blocks in given])


def _process(words: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "lexfed.evaluate.trees.site"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=words,
    )


def _killed_after(seconds: float, started: Sequence[_Site], stack: ExitStack) -> Event:
    """Return an event that is set when time is over and the processes are killed."""
    late = Event()

    def end() -> None:
        late.set()
        for one in started:
            # Whatever waits for it, to read or to write, hears of its end.
            one.process.kill()

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
    stack.callback(timer.cancel)
    return late


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in filter(None, (process.stdin, process.stdout)):
        # What it did not read is still in the buffer.
        with suppress(BrokenPipeError):
            pipe.close()


def _last(words: IO[bytes]) -> str:
    """Return the last line that a site wrote, to be put behind a message."""
    words.seek(0)
    lines = words.read().decode(errors="replace").split("\n")
    written = [line.strip() for line in lines if line.strip()]
    return f": {written[-1]}" if written else ""
