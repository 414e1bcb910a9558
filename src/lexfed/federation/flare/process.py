# SPDX-License-Identifier: Apache-2.0
"""`python -m lexfed.federation.flare.process KIND ...`: FLARE's programs, hardened.

Every process of FLARE, also of a job, begins here: the kit is checked and the rules of
`hardening` are put in force before FLARE's own program opens a socket.

No variable of the environment changes FLARE's settings: those that it listens to are
dropped before the first process starts, and the others inherit what is left.
"""

import contextlib
import os
import runpy
import signal
import sys
from collections.abc import Mapping
from types import FrameType
from typing import NoReturn

from lexfed.durable import FileLock
from lexfed.errors import RunFolderError
from lexfed.federation.flare import connections, notices
from lexfed.federation.flare.hardening.limits import bound_audit, forget_jobs, rotate
from lexfed.federation.flare.kit.folder import Kit

PROGRAMS: Mapping[str, str] = {
    "coordinator": "nvflare.private.fed.app.server.server_train",
    "coordinator-job": "nvflare.private.fed.app.server.runner_process",
    "site": "nvflare.private.fed.app.client.client_train",
    "site-job": "nvflare.private.fed.app.client.worker_process",
}
"""FLARE's program for each kind of process."""

_LOCK_VARIABLE = "LEXFED_LOCK"
_TERMINAL_VARIABLE = "LEXFED_TERMINAL"
_HERE = "lexfed.federation.flare.process"
_FLARE_VARIABLES = ("NVFL", "FL_LOG_LEVEL")


def through_here(command: str) -> str:
    """Return the command line of a job's process, with its program started here."""
    for kind, program in PROGRAMS.items():
        if f"-m {program} " in command:
            return command.replace(f"-m {program} ", f"-m {_HERE} {kind} ", 1)
    raise ValueError("the command of a job does not start a program of FLARE")


def command_of(kit: Kit) -> list[str]:
    """Return the command line of the process that takes part for a kit."""
    name, more = "fed_client.json", [f"uid={kit.name}"]
    if kit.role == "coordinator":
        name, more = "fed_server.json", []
    return [
        *(sys.executable, "-m", _HERE, kit.role),
        *("-m", str(kit.flare_folder), "-s", name),
        *("--set", "secure_train=true", *more, "org=lexfed", "config_folder=config"),
    ]


def environment_of(kit: Kit, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of that process; nothing in it changes a setting."""
    kept = {
        name: value
        for name, value in inherited.items()
        if not name.upper().startswith(_FLARE_VARIABLES)
    }
    return {**kept, **kit.environment(), "PYTHONSAFEPATH": "1"}


def start(kit: Kit, lock: FileLock) -> NoReturn:
    """Become the process that takes part for a kit, with the lock from `take`.

    Guarantees:
        FLARE's output stays in the kit; the terminal gets `notices` alone.
        The lock is held until the process ends, however it ends.
    """
    os.umask(0o077)
    rotate(kit.flare_folder / "console.txt")
    console = os.open(
        kit.flare_folder / "console.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
    )
    sys.stdout.flush()
    sys.stderr.flush()
    terminal = os.dup(2)
    for stream in (1, 2):
        os.dup2(console, stream)
    for kept in (lock.handle, terminal):
        os.set_inheritable(kept, True)
    command = command_of(kit)
    environment = environment_of(kit, os.environ)
    environment |= {_TERMINAL_VARIABLE: str(terminal), _LOCK_VARIABLE: str(lock.handle)}
    os.execve(command[0], command, environment)  # noqa: S606


def is_running(kit: Kit) -> bool:
    """Return True if a process takes part for this kit now, on this machine."""
    try:
        take(kit).close()
    except RunFolderError:
        return True
    return False


def take(kit: Kit) -> FileLock:
    """Take the right to take part for a kit, which one process at a time holds."""
    handle = os.open(kit.flare_folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        return FileLock(handle)
    except BlockingIOError as error:
        raise RunFolderError(
            f"`{kit.folder}` is in use: a process takes part with it already",
            "stop that one first; two with the same keys would disturb each other",
        ) from error


def main() -> None:
    """Check the kit, put the rules in force, then run FLARE's program."""
    from lexfed.federation.flare.hardening.limits import (
        confine,
        limit_commands,
        limit_intake,
    )
    from lexfed.federation.flare.hardening.tls13 import enforce
    from lexfed.federation.flare.startup_check import check_kit

    os.umask(0o077)
    kind = sys.argv.pop(1)
    program = PROGRAMS[kind]
    kit = Kit.of_process()
    check_kit(kit)  # again for every job: a kit may have changed since the start
    enforce(kit)
    confine(kit)
    limit_intake()
    if kit.role == "site":
        limit_commands()
    bound_audit()
    if kind == kit.role:  # the process that lives between jobs
        connections.watched = kit
        forget_jobs(kit)
    notices.terminal = _own_descriptor(_TERMINAL_VARIABLE)
    _own_descriptor(_LOCK_VARIABLE)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    runpy.run_module(program, run_name="__main__", alter_sys=True)


def _own_descriptor(name: str) -> int | None:
    """Take a descriptor out of the environment, so that no job inherits it."""
    number = os.environ.pop(name, None)
    if number is None:
        return None
    os.set_inheritable(int(number), False)
    return int(number)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    """End at once, with the processes of jobs: all that matters is on disk already."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
    os._exit(128 + number)


if __name__ == "__main__":
    main()
