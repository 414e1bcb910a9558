# SPDX-License-Identifier: Apache-2.0
"""Processes that train together, one for each site, and are gone afterwards."""

import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from multiprocessing.connection import wait
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, Any, cast

import numpy as np

from lexfed.errors import LexfedError
from lexfed.evaluate.outcome import Floats
from lexfed.evaluate.tree_site import PORT_TAKEN

# Below the ports that systems give to outgoing connections: the sites' own connections
# would otherwise take one that a later site wants to listen at.
_PORTS = range(20_000, 32_000)
_ATTEMPTS = 5


class SitesFailed(LexfedError):
    """The processes of the sites came to no model."""

    exit_code = 1


@dataclass(frozen=True)
class SiteRows:
    """What one process is given: inputs [rows, columns] and a target for each row."""

    inputs: Floats
    targets: Floats


def trained_together(
    sites: Sequence[SiteRows],
    bins: Floats,
    categories: Sequence[int],
    settings: Mapping[str, Any],
    seconds: float,
) -> str:
    """Return the model that the sites train, as LightGBM's text.

    Guarantees:
        Each process is given the rows of one site. When this returns or raises, none
        of them runs any more.

    Args:
        sites: their training rows.
        bins: rows whose values say where the bins are; made from declarations.
        categories: places of the columns that are categories.
        settings: LightGBM's, the same for all.
        seconds: how long they may take.

    Raises:
        SitesFailed: if a process fails or they take too long.
    """
    for _ in range(_ATTEMPTS):
        ports = free_ports(len(sites))
        orders = [
            {
                "settings": {**settings, **_network(ports, port)},
                "categories": list(categories),
                "answers": place == 0,
            }
            for place, port in enumerate(ports)
        ]
        model = _attempt(sites, bins, orders, seconds)
        if model is not None:
            return model
    what = f"found no {len(sites)} free ports in {_ATTEMPTS} attempts"
    raise SitesFailed(what, "let other programs end first, or use fewer sites")


def free_ports(count: int) -> list[int]:
    """Return so many different ports of this machine at which nobody listens."""
    # Not from the seed of a run: runs at the same time must not choose the same.
    drawn = random.SystemRandom().sample(_PORTS, len(_PORTS))
    return list(islice(filter(_free, drawn), count))


def _free(port: int) -> bool:
    with socket.socket() as trial:
        try:
            trial.bind(("", port))
        except OSError:
            return False
    return True


def _network(ports: Sequence[int], own: int) -> dict[str, Any]:
    if len(ports) == 1:
        return {}
    return {
        "tree_learner": "data",
        "pre_partition": True,
        "machines": ",".join(f"127.0.0.1:{port}" for port in ports),
        "num_machines": len(ports),
        "local_listen_port": own,
    }


def _attempt(
    sites: Sequence[SiteRows],
    bins: Floats,
    orders: Sequence[Mapping[str, Any]],
    seconds: float,
) -> str | None:
    """Return the model, or None if a port was taken in the meantime."""
    command = [sys.executable, "-m", "lexfed.evaluate.tree_site"]
    with ExitStack() as stack:
        words = stack.enter_context(TemporaryFile())
        started = []
        for _ in sites:
            one = subprocess.Popen(  # noqa: S603 (our own module)
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
            )
            started.append(one)
            stack.callback(_reap, one)
        for one, rows, order in zip(started, sites, orders, strict=True):
            # A process that is gone already is found below.
            with suppress(BrokenPipeError):
                _tell(one, order, (bins, rows.inputs, rows.targets))
        model, failed = _ended(started, monotonic() + seconds)
        if failed == PORT_TAKEN:
            return None
        if failed is not None:
            raise SitesFailed(
                f"the process of a site ended with {failed}{_last(words)}"
            )
        return model


def _tell(
    process: subprocess.Popen[bytes], order: Mapping[str, Any], arrays: Sequence[Floats]
) -> None:
    # Popen always has it where a pipe was asked for.
    source = cast(IO[bytes], process.stdin)
    body = BytesIO()
    np.savez(body, *arrays, allow_pickle=False)
    head = {**order, "bytes": len(body.getvalue())}
    source.write(json.dumps(head).encode() + b"\n" + body.getvalue())
    # It stays open: its end tells the site that nobody waits for it any more.
    source.flush()


def _ended(
    started: Sequence[subprocess.Popen[bytes]], deadline: float
) -> tuple[str, int | None]:
    """Return the model once all have ended, or the status of the first that failed."""
    running = {one.stdout.fileno(): one for one in started if one.stdout is not None}
    parts = []
    while running:
        ready = wait(list(running), max(0.0, deadline - monotonic()))
        if not ready:
            what = "the processes of the sites did not end in time"
            raise SitesFailed(what, "free cores of this machine, or use fewer sites")
        for pipe in running.keys() & ready:
            part = os.read(pipe, 1 << 16)
            parts.append(part)
            if not part and (status := running.pop(pipe).wait()) != 0:
                return "", status
    return b"".join(parts).decode(), None


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
    said = [line.strip() for line in lines if line.strip()]
    return f": {said[-1]}" if said else ""
