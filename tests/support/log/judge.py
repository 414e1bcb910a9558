# SPDX-License-Identifier: Apache-2.0
"""A judge nobody here wrote the cryptography of: golang.org/x/mod behind a program.

The program lies in `tests/audit/judge`; this module builds and calls it. Tests take it
as the fixture `judge`.
"""

import base64
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parents[2] / "audit" / "judge"
DEBIAN = "/usr/share/gocode"
"""Where Debian's golang-golang-x-mod-dev puts its sources."""


class NoJudge(Exception):
    """The program cannot be built here; the message says why."""


@dataclass(frozen=True)
class Judge:
    """The built program."""

    program: Path

    def run(self, *args: str | Path) -> "subprocess.CompletedProcess[str]":
        """Run it; exit code 0 and `OK` if all is sound, 1 and `FAIL` if not."""
        return subprocess.run(
            [self.program, *args],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def accepts(self, *args: str | Path) -> bool:
        """Whether it finds everything sound; wrong usage is an error of the test."""
        done = self.run(*args)
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr)
        return done.returncode == 0

    def batch(self, cases: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return `OK`, `SPELLING` or `FAIL` for each case; see `testCase` in Go."""
        lines = "".join(json.dumps(_encoded(case)) + "\n" for case in cases)
        done = subprocess.run(
            [self.program, "batch"],
            input=lines,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        answers = [line.split()[0] for line in done.stdout.splitlines()]
        if len(answers) != len(cases):
            raise RuntimeError(done.stdout[-2000:])
        return answers


def _encoded(value: Any) -> Any:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            return {name: _encoded(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_encoded(inner) for inner in value]
    return value


def build(folder: Path) -> Judge:
    """Build the program, once for all processes that share the folder."""
    go = shutil.which("go")
    if go is None:
        raise NoJudge("go is not installed")
    own = subprocess.run([go, "env", "GOPATH"], capture_output=True, text=True)
    paths = [*own.stdout.strip().split(os.pathsep), DEBIAN]
    paths = [path for path in paths if (Path(path) / "src/golang.org/x/mod").is_dir()]
    if not paths:
        raise NoJudge("golang.org/x/mod is not installed (golang-golang-x-mod-dev)")
    sources = sorted(SOURCES.glob("*.go"))
    content = b"".join(path.read_bytes() for path in sources)
    program = folder / f"judge-{hashlib.sha256(content).hexdigest()[:16]}"
    environment = dict(
        os.environ,
        GO111MODULE="off",
        GOPATH=os.pathsep.join(paths),
        GOFLAGS="",
        GOCACHE=str(folder / "go-cache"),
        CGO_ENABLED="0",
    )
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            subprocess.run(
                [go, "build", "-o", program, *sources],
                env=environment,
                check=True,
                capture_output=True,
                text=True,
            )
    return Judge(program)
