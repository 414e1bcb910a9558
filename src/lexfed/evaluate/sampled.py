# SPDX-License-Identifier: Apache-2.0
"""Where time goes, by looking at the stack of a thread again and again.

A second thread notes every millisecond which part of lexfed the first one is in: the
innermost frame whose file belongs to a part decides, so that time in libraries counts
for whoever called them. Shares times wall-clock time are the seconds of a part. Unlike
a tracing profiler this hardly slows down what it watches.
"""

import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

import lexfed

_ROOT = str(Path(lexfed.__file__).parent) + "/"
_EVERY = 0.001
OTHER = "learning"
"""Where time counts that is in no other part: sums, gradients, steps."""

Prefixes = Mapping[str, Sequence[str]]
"""Part -> how paths inside the package begin that belong to it."""


class Sampled:
    """A block of code of which the time is divided into parts.

    with Sampled(parts) as watched:
        ...
    watched.seconds["noise"]
    """

    def __init__(self, parts: Prefixes, sides: Prefixes) -> None:
        """Say what to tell apart.

        Args:
            parts: the innermost one of the stack counts.
            sides: the outermost one of the stack counts.
        """
        self._parts, self._sides = parts, sides
        self._seen: Counter[str] = Counter()
        self._seen_sides: Counter[str] = Counter()
        self._end = threading.Event()
        self._wall = 0.0

    def __enter__(self) -> "Sampled":
        self._watched = threading.get_ident()
        self._begun = time.perf_counter()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._wall = time.perf_counter() - self._begun
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._end.wait(_EVERY):
            frame = sys._current_frames().get(self._watched)
            files = _files(frame)
            self._seen[_first(files, self._parts) or OTHER] += 1
            side = _first(files[::-1], self._sides)
            if side:
                self._seen_sides[side] += 1

    @property
    def total(self) -> float:
        """Seconds of the whole block."""
        return self._wall

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of every part; together they are the whole block."""
        return self._shared(self._seen, (*self._parts, OTHER))

    @property
    def sides(self) -> dict[str, float]:
        """Seconds of every side."""
        return self._shared(self._seen_sides, tuple(self._sides))

    def _shared(self, seen: Counter[str], names: Sequence[str]) -> dict[str, float]:
        looks = max(1, sum(self._seen.values()))
        return {name: self._wall * seen[name] / looks for name in names}


def _files(frame: FrameType | None) -> list[str]:
    """Return the files of lexfed on a stack, innermost first, inside the package."""
    found = []
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(_ROOT):
            found.append(name.removeprefix(_ROOT))
        frame = frame.f_back
    return found


def _first(files: Sequence[str], prefixes: Prefixes) -> str:
    for file in files:
        for name, beginnings in prefixes.items():
            if file.startswith(tuple(beginnings)):
                return name
    return ""
