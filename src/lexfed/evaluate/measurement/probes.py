# SPDX-License-Identifier: Apache-2.0
"""Two probes of a process: its peak memory, and where its processor time goes.

**Peak**, as Linux counts it. `getrusage` would not do: a process begins with the peak
of the one that started it.

**Processor time.** A second thread looks every millisecond what the first one is doing,
and how much processor time that has had since the last look. The innermost frame that
belongs to a part decides whose time it is, so time in libraries counts for its caller.
Waiting takes no processor time and counts for no part.
"""

import re
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from lexfed.errors import ConfigError, Problem

_ROOT = str(Path(__file__).parents[2]) + "/"
_EVERY = 0.001
_SWITCH = 0.0002
"""Seconds until a thread that computes lets another one look.

With the usual 5 ms most looks would happen where the watched thread waits by itself,
at writes to the disk, and what it computed before would count for the log."""

Prefixes = Mapping[str, Sequence[str]]
"""Part -> how its frames begin: path inside the package, `:`, name of the function."""


class CpuSampler:
    """A block of code of which the processor time is divided.

    with CpuSampler({"noise": ("privacy/noise/",)}, rest=("other",)) as watched:
        ...
    watched.seconds("noise")

    Guarantees:
        The seconds of every division add up to the processor time of the block.
    """

    def __init__(self, *divisions: Prefixes, rest: Sequence[str]) -> None:
        """Divide the whole time by each division; the innermost frame in a part counts.

        `rest` names, for each division, the part of the time with no frame in a part.
        """
        self._divisions = tuple(zip(divisions, rest, strict=True))
        self._seen: defaultdict[str, float] = defaultdict(float)
        self._end = threading.Event()
        self.total = 0.0

    def __enter__(self) -> "CpuSampler":
        self._watched = threading.get_ident()
        self._clock = time.pthread_getcpuclockid(self._watched)
        self._last = self._begun = time.clock_gettime(self._clock)
        self._usual = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH)
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        sys.setswitchinterval(self._usual)
        self._count(None)
        self.total = self._last - self._begun

    def seconds(self, part: str) -> float:
        """Return the processor time of a part, or of a rest."""
        return self._seen[part]

    def _look(self) -> None:
        while not self._end.wait(_EVERY):
            self._count(sys._current_frames().get(self._watched))

    def _count(self, frame: FrameType | None) -> None:
        now = time.clock_gettime(self._clock)
        places = _places(frame)
        for parts, rest in self._divisions:
            self._seen[_first(places, parts) or rest] += now - self._last
        self._last = now


def _places(frame: FrameType | None) -> list[str]:
    """Return the frames of lexfed on a stack, innermost first."""
    found = []
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_ROOT):
            file = code.co_filename.removeprefix(_ROOT)
            found.append(f"{file}:{code.co_qualname}")
        frame = frame.f_back
    return found


def _first(places: Sequence[str], parts: Prefixes) -> str:
    for place in places:
        for name, beginnings in parts.items():
            if place.startswith(tuple(beginnings)):
                return name
    return ""


_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_PEAK_ONLY = "5"


def begin_peak() -> int:
    """Let the peak begin anew, and return the bytes that the process has now."""
    _CLEAR.write_text(_PEAK_ONLY)
    return peak()


def peak() -> int:
    """Return the most bytes that the process has had since its peak began."""
    [kilobytes] = re.findall(r"^VmHWM:\s+(\d+) kB$", _STATUS.read_text(), re.MULTILINE)
    return int(kilobytes) * 1024


def require_linux(status: Path = _STATUS) -> None:
    """Refuse where a process cannot read about itself."""
    if not status.is_file():
        what = f"overhead is measured on Linux only: there is no `{status}`"
        raise ConfigError([Problem("", what, "leave the table out, or use Linux")])
