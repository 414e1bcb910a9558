# SPDX-License-Identifier: Apache-2.0
"""Deployments on this machine: kits, and processes that always end."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from lexfed.federation.flare.kit.enrolment import enrol, install_roster, write_roster
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit
from lexfed.federation.flare.new_kits import provision

LEXFED = [sys.executable, "-c", "from lexfed.cli import main; main()"]


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def deployment(folder: Path, sites: Sequence[str]) -> dict[str, Kit]:
    """Make kits on this machine, enrolled, with the roster in each."""
    kits = provision(folder, f"127.0.0.1:{free_port()}", sites)
    for name in sites:
        enrol(kits[name])
    write_roster(kits[COORDINATOR], [kits[name].enrolment for name in sites])
    for name in sites:
        install_roster(kits[name], kits[COORDINATOR].roster)
    return kits


@contextmanager
def running(*words: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a command of `lexfed` in a session of its own; end all of it afterwards."""
    process = subprocess.Popen(
        [*LEXFED, *words],
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)


def until(happened: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something that happens in another process, at most so long."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)


def logged(kit: Kit, words: str) -> bool:
    """Whether FLARE's log of a kit has these words."""
    path = kit.flare_folder / "log.txt"
    return path.exists() and words in path.read_text(errors="replace")
