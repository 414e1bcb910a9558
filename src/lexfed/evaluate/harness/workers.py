# SPDX-License-Identifier: Apache-2.0
"""Jobs on all cores: one process for each, one thread in each.

Small matrices gain nothing from several threads, and threads of several processes stand
in each other's way. Results come back as they are ready, in any order.
"""

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import wait as wait_for
from typing import Any

from lexfed.errors import LexfedError

TaskFunction = Callable[..., dict[str, Any]]
"""A function of a module, so that another process finds it, to a JSON object."""
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)


@dataclass(frozen=True)
class Failure:
    """Why a task has no result; if not `expected`, it is a defect."""

    expected: bool
    words: str
    trace: str = ""


_Answer = dict[str, Any] | Failure
_KILLED = "a process of the evaluation was killed; the machine may be out of memory"
_GO_ON = "what is finished is kept: go on with `--resume` and fewer `--jobs`"


class WorkerLost(LexfedError):
    """A process ended without an answer; most often the machine ran out of memory."""

    exit_code = 2


def in_parallel(
    measure: TaskFunction,
    tasks: Iterable[tuple[Any, ...]],
    processes: int,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any] | Failure]]:
    """Give each task with its result or failure.

    Guarantees:
        At most `processes` tasks run at once, each in a process with one thread.
        Once `stopped` says so no task begins; those under way are still given.
        The processes end when this one does, even if it is killed.
        None of them runs the script again from which this was called.

    Raises:
        WorkerLost: if a process was killed; what it had under way is not given.
    """
    left = iter(tasks)
    os.environ.update(ONE_THREAD)  # read by libraries when a process begins
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=_begin) as pool:

        def begun(count: int) -> dict[Future[_Answer], tuple[Any, ...]]:
            chosen = [] if stopped() else list(islice(left, count))
            with _script_unseen():
                return {pool.submit(_answer, measure, task): task for task in chosen}

        running = begun(processes)
        while running:
            ready = wait(running, return_when=FIRST_COMPLETED).done
            for future in ready:
                task = running.pop(future)
                try:
                    answer = future.result()
                except BrokenProcessPool as error:
                    raise WorkerLost(_KILLED, _GO_ON) from error
                yield task, answer
            running |= begun(len(ready))


@contextmanager
def _script_unseen() -> Iterator[None]:
    """Begin processes without the caller's script.

    A process that is spawned imports it first, and so would do again what stands in it
    without a guard. Nothing of it is needed: tasks are functions of modules.
    """
    script = vars(sys.modules["__main__"])
    kept = {key: script.pop(key) for key in ("__file__",) if key in script}
    try:
        yield
    finally:
        script.update(kept)


def _answer(measure: TaskFunction, task: tuple[Any, ...]) -> _Answer:
    """Do a task in its process; errors come back as words, which always travel."""
    try:
        return measure(*task)
    except LexfedError as error:
        return Failure(True, error.message)
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        return Failure(False, words, traceback.format_exc())


def _begin() -> None:
    """Make a fresh process a quiet one that does not outlive its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)
