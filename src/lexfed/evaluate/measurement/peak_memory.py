# SPDX-License-Identifier: Apache-2.0
"""The most memory that a stretch of a process took, as Linux counts it.

`getrusage` would not do: a process begins with the peak of the one that started it.
"""

import re
from pathlib import Path

from lexfed.errors import ConfigError, Problem

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
    """Refuse where a process cannot read about itself.

    Raises:
        ConfigError: if the file is not there.
    """
    if not status.is_file():
        what = f"overhead is measured on Linux only: there is no `{status}`"
        raise ConfigError([Problem("", what, "leave the table out, or use Linux")])
