# SPDX-License-Identifier: Apache-2.0
"""Processes of an evaluation: errors come back in words, nobody outlives the parent."""

import multiprocessing
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from lexfed.evaluate.harness import workers
from lexfed.evaluate.harness.workers import Failure, WorkerLost, in_parallel
from support.evaluation.tasks import die, do, square

PARENT = """
import sys
from lexfed.evaluate.harness.workers import in_parallel
from support.evaluation.tasks import tell_and_stay
if __name__ == "__main__":
    list(in_parallel(tell_and_stay, [(sys.argv[1],)], 1))
"""


def test_every_task_is_given_once_with_what_it_came_to() -> None:
    tasks = [
        *(("square", 1), ("square", 2), ("square", 3)),
        *(("threads",), ("refuse", "a class is missing"), ("break_down",)),
    ]
    found = dict(in_parallel(do, tasks, 2))
    assert [found.pop(("square", n)) for n in (1, 2, 3)] == [
        {"square": n * n} for n in (1, 2, 3)
    ]
    # One thread in each process.
    assert found.pop(("threads",)) == {"torch": 1, "omp": "1"}
    # Errors come back in words, and the others go on.
    refused = found.pop(("refuse", "a class is missing"))
    assert refused == Failure(True, "table: a class is missing")
    ((_, broken),) = found.items()
    assert isinstance(broken, Failure)
    assert not broken.expected
    assert broken.words == "ZeroDivisionError: of ours"
    assert "break_down" in broken.trace


def test_nothing_begins_after_stop() -> None:
    seen: list[int] = []
    tasks = ((number,) for number in range(100))
    for (number,), _ in in_parallel(square, tasks, 1, lambda: bool(seen)):
        seen.append(number)
    assert seen == [0]


def test_a_killed_process_is_told_as_such() -> None:
    with pytest.raises(WorkerLost, match="was killed") as caught:
        list(in_parallel(die, [()], 1))
    assert "--resume" in caught.value.hint


SCRIPT = """
import pathlib, sys
from lexfed.evaluate.harness.workers import in_parallel
from support.evaluation.tasks import square
pathlib.Path("runs").open("a").write("once ")
print(sorted(answer["square"] for _, answer in in_parallel(square, [(2,), (3,)], 2)))
print(pathlib.Path(__file__).name)
"""


def test_a_script_without_a_guard_is_not_run_again(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "[4, 9]\nscript.py\n", done.stderr
    assert (tmp_path / "runs").read_text() == "once "


def test_no_process_outlives_a_killed_parent(tmp_path: Path) -> None:
    script, pipe = tmp_path / "parent.py", tmp_path / "pipe"
    script.write_text(PARENT)
    os.mkfifo(pipe)
    path = os.pathsep.join(entry for entry in sys.path if entry)
    with subprocess.Popen(
        [sys.executable, str(script), str(pipe)],
        env={**os.environ, "PYTHONPATH": path},
    ) as parent:
        child = int(pipe.read_text())
        handle = os.pidfd_open(child)
        os.kill(parent.pid, signal.SIGKILL)
    # A pidfd is readable once its process has ended; waits no longer than needed.
    ended, _, _ = select.select([handle], [], [], 60)
    os.close(handle)
    assert ended


def test_a_process_ends_when_its_parent_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    os.close(writing)  # what a sentinel looks like once the process is gone
    gone, ended = SimpleNamespace(sentinel=reading), list[int]()
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: gone)
    workers._end_with_parent()
    os.close(reading)
    assert ended == [1]
    # A process that nobody started has no parent to wait for.
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: None)
    workers._end_with_parent()
    assert ended == [1]
