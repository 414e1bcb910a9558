# SPDX-License-Identifier: Apache-2.0
"""Faults at chosen system calls of a change to a log, injected by strace.

    calls = record(trace, folder, job)              the calls a job makes
    with Server(trace, calls, "error=EIO") as server:
        status = server.fail(folder, job, "fsync", 3)

strace counts the calls of every process by itself, so one strace serves many faults:
each forked process first makes as many calls in vain as are missing (`fault_server`).
"""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

SERVER = Path(__file__).parents[2] / "audit" / "fault_server.py"
ACKNOWLEDGED, REFUSED, KILLED = 0, 3 << 8, 9
"""How the process ended, as wait(2) has it."""

MARGIN = 24
"""More calls than a job makes after a fault, when it cleans up or tries otherwise."""

_MARK = "getppid"
_NO_FAULT = {_MARK, "mmap"}
_CALL = re.compile(r"^\d+ +(\w+)\(", re.MULTILINE)


@dataclass(frozen=True)
class Calls:
    """System calls of a job: those that prepare it, and those of the change."""

    before: Counter[str]
    change: Counter[str]

    def faults(self) -> list[tuple[str, int]]:
        """Return every call of the change as its name and its number."""
        return [
            (name, number)
            for name, count in sorted(self.change.items())
            for number in range(1, count + 1)
        ]

    def trigger(self, name: str) -> int:
        """Return the number of a call that no job reaches without help."""
        return self.before[name] + self.change[name] + MARGIN


class Server:
    """The program that does jobs, under strace; `fault` as in `-e inject`."""

    def __init__(
        self,
        trace: Path,
        calls: Calls | None = None,
        fault: str = "",
        program: Path = SERVER,
    ) -> None:
        self.trace = trace
        self.calls = calls
        options = ["-e", f"trace=%file,%desc,{_MARK}"]
        if calls:
            options = ["-e", f"trace={','.join(calls.change)}"]
            for name in calls.change:
                at = calls.trigger(name)
                options += ["-e", f"inject={name}:{fault}:when={at}"]
        self._server = subprocess.Popen(
            [sys.executable, str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._answer()
        self._strace = subprocess.Popen(
            ["strace", "-f", "-o", trace, *options, "-p", str(self._server.pid)],
            stderr=subprocess.PIPE,
        )
        line = self._strace.stderr.readline() if self._strace.stderr else b""
        if b"attached" not in line:
            raise RuntimeError(f"strace did not attach: {line!r}")

    def do(self, folder: Path, job: str, call: str = "close", times: int = 0) -> int:
        """Do a job in a process of its own and return how that ended."""
        if self._server.stdin:
            request = json.dumps([str(folder), job, call, times]).encode()
            self._server.stdin.write(request + b"\n")
            self._server.stdin.flush()
        return int(self._answer())

    def fail(self, folder: Path, job: str, call: str, number: int) -> int:
        """Do a job with the fault at one call of its change."""
        count = self.calls.change[call] if self.calls else 0
        return self.do(folder, job, call, count - number + MARGIN)

    def _answer(self) -> str:
        pipe = self._server.stdout
        return pipe.readline().decode().strip() if pipe else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in (self._server, self._strace):
            with process:  # closes the pipes, upon which the server ends; waits
                pass


def record(trace: Path, folder: Path, job: str, program: Path = SERVER) -> Calls:
    """Do a job undisturbed and return its system calls."""
    with Server(trace, program=program) as server:
        status = server.do(folder, job)
    if status != ACKNOWLEDGED:
        raise RuntimeError(f"`{job}` ended with {status}")
    names = _CALL.findall(trace.read_text())
    first = names.index(_MARK)
    last = names.index(_MARK, first + 1)
    before = Counter(names[:first])
    change = Counter(name for name in names[first:last] if name not in _NO_FAULT)
    return Calls(before, change)


def injected(trace: Path) -> int:
    """Return how many faults strace has injected."""
    text = trace.read_text()
    return text.count("(INJECTED)") + text.count("+++ killed by SIGKILL +++")
