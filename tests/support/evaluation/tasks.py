# SPDX-License-Identifier: Apache-2.0
"""Tasks for the processes of an evaluation.

They have a module of their own that imports little, because every new process imports
it: the networks and the tables would take each of them four seconds of a core.
"""

import os
import signal
import time
from typing import Any

from lexfed.errors import DataError, Problem


def do(what: str, *given: Any) -> dict[str, Any]:
    """Do one of the tasks below."""
    tasks = {each.__name__: each for each in (square, threads, refuse, break_down)}
    return tasks[what](*given)


def square(number: int) -> dict[str, Any]:
    """Return a result."""
    return {"square": number * number}


def threads() -> dict[str, Any]:
    """Return how many threads libraries would use here."""
    import torch

    return {"torch": torch.get_num_threads(), "omp": os.environ["OMP_NUM_THREADS"]}


def refuse(what: str) -> dict[str, Any]:
    """Fail on purpose, in words."""
    raise DataError([Problem("table", what, "look")])


def break_down() -> dict[str, Any]:
    """Fail like a defect."""
    raise ZeroDivisionError("of ours")


def die() -> dict[str, Any]:
    """End as a process does that the kernel kills."""
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def tell_and_stay(pipe: str) -> dict[str, Any]:
    """Write this process's number, then work for as long as it is let."""
    with open(pipe, "w") as file:
        file.write(f"{os.getpid()}\n")
    while True:
        time.sleep(60)
