# SPDX-License-Identifier: Apache-2.0
"""An end for leftovers: folders of jobs, and files that only grow.

FLARE keeps the folder of every job, at the coordinator also in its store, and appends
to `audit.log` for ever; a run asks for its job's status three times a second.
"""

import contextlib
import os
import shutil
from pathlib import Path
from typing import Any

from lexfed.federation.flare.hardening.search_confinement import is_job
from lexfed.federation.flare.kit.folder import Kit

KEPT_JOBS = 20
"""Folders of jobs that stay, the latest, for who looks for a reason."""
LONG = 20_971_520
"""Bytes at which a file becomes number 1 of ten, as FLARE's own logs do."""
_FILES = 10


def forget_jobs(kit: Kit, kept: int = KEPT_JOBS) -> None:
    """Remove the folders of all but the latest jobs.

    Args:
        kit: of the process that starts jobs; none of theirs runs now.
        kept: how many stay.
    """
    for place in (kit.flare_folder, kit.flare_folder / "storage" / "jobs"):
        with contextlib.suppress(OSError):
            jobs = [each for each in place.iterdir() if is_job(each.name)]
            jobs.sort(key=lambda each: each.lstat().st_mtime, reverse=True)
            for old in jobs[kept:]:
                shutil.rmtree(old, ignore_errors=True)


def rotate(path: Path) -> None:
    """Give a file that is long a number, and those before it higher ones."""
    if not path.exists() or path.stat().st_size < LONG:
        return
    for number in range(_FILES, 0, -1):
        later = path.with_name(f"{path.name}.{number}")
        before = path if number == 1 else path.with_name(f"{path.name}.{number - 1}")
        with contextlib.suppress(FileNotFoundError):
            os.replace(before, later)


def bound_audit() -> None:
    """Have FLARE begin its list of commands anew when it is long."""
    from nvflare.fuel.sec.audit import Auditor

    add = {name: getattr(Auditor, name) for name in ("add_event", "add_job_event")}

    def bounded(name: str) -> Any:
        def write(self: Any, *arguments: Any, **named: Any) -> str:
            with self._lock:
                if self.audit_file and self.audit_file.tell() >= LONG:
                    path = Path(self.audit_file.name)
                    self.audit_file.close()
                    rotate(path)
                    self.audit_file = open(path, "a")  # noqa: SIM115 - FLARE closes it
            return str(add[name](self, *arguments, **named))

        return write

    for name in add:
        setattr(Auditor, name, bounded(name))
