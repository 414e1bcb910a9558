# SPDX-License-Identifier: Apache-2.0
"""Limits on a FLARE process: messages, commands, settings, and files that only grow.

**Messages.** FLARE makes room for a whole message when its first frame arrives. Its own
limit is gigabytes; one site could fill the coordinator's memory. Here the limit is that
of the exchange at hand: a stream that declares more is refused at its first frame, and
one that exceeds its declared length is cut.

**Commands.** FLARE's client lets the server say whether a command needs the site's
permission, so `authorization.json` binds honest servers only. A coordinator that lies
could have files of the site shown to it, or a logging configuration loaded that names
any function. A site's processes therefore keep the commands that jobs need, and no
other.

**Settings.** FLARE takes the first settings file of a name that it meets below the
workspace. The folders of jobs are there, and their content comes from the coordinator:
a job could bring a `comm_config.json` that names a folder of drivers, which FLARE would
import. So files that were made with the kit are looked for in `startup/` and `local/`,
whose content the start-up check compares, and nothing is looked for in the workspace as
a whole. What is in the place of a job's folder is deleted, so a job has a UUID for a
name, as servers make them, and is not called `local`.

**Files.** FLARE keeps the folder of every job, at the coordinator also in its store,
and appends to `audit.log` for ever.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from lexfed.errors import ConfigError, Problem
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.flare.kit.settings import kit_settings

# Messages

FRAME = 16 * 2**20
"""Longest frame; streams have frames of 1 MiB, and FLARE's own messages are shorter."""
WRAPPING = 2**16
"""Most bytes that FLARE puts around a message."""
_AT_FIRST = 64 * 2**20
"""Longest message before anything is agreed: a job with its configuration."""
_BYTES_OF_A_VALUE = 64
"""A query holds the model, and a few numbers of eight bytes beside each of its own."""


class Intake:
    """The longest message that this process takes."""

    def __init__(self) -> None:
        self.most = _AT_FIRST

    def expect(self, most: int) -> None:
        """Take messages of up to this many bytes from now on."""
        self.most = most + WRAPPING

    def expect_queries(self, dimensions: Iterable[int]) -> None:
        """Take queries of a programme with stages of these dimensions.

        Together they are no fewer than its model has numbers.
        """
        self.expect(_AT_FIRST + _BYTES_OF_A_VALUE * sum(dimensions))


intake = Intake()


def limit_intake() -> None:
    """Put the limit in force in this process, before FLARE opens a socket.

    Guarantees:
        No stream takes more memory than the limit, whatever it declares.
        No frame takes more than `FRAME`.
    """
    from nvflare.fuel.f3.drivers import aio_conn, aio_http_driver, socket_conn
    from nvflare.fuel.f3.streaming.blob_streamer import BlobHandler

    def most(_: Any) -> int:
        return intake.most

    def ignore(_: Any, __: int) -> None:
        """FLARE sets its own limit when a handler is made."""

    BlobHandler.max_blob_size = property(most, ignore)
    for driver in (aio_conn, aio_http_driver, socket_conn):
        driver.MAX_FRAME_SIZE = FRAME


# Commands

# fmt: off
PARENT = frozenset(
    {
        "AbortAppProcessor", "CancelResourceProcessor", "CheckResourceProcessor",
        "ClientStatusProcessor", "DeployProcessor", "NotifyJobStatusProcessor",
        "StartJobProcessor",
    }
)
# fmt: on
"""Commands of the server to the process that lives between jobs."""

WORKER = frozenset({"AbortCommand", "AbortTaskCommand", "ByeCommand"})
"""Commands of the server to the process of a job, beside those to `executor`."""


def limit_commands() -> None:
    """Take out of this process every command that jobs do not need.

    Guarantees:
        No command is left that reads a file, runs a program, or changes a setting.
        A FLARE without the commands that were reviewed is refused.
    """
    from nvflare.private.fed.client.admin_commands import AdminCommands
    from nvflare.private.fed.client.client_req_processors import ClientRequestProcessors

    _keep(ClientRequestProcessors.request_processors, PARENT)
    _keep(AdminCommands.commands, WORKER)


def _keep(commands: list[object], names: frozenset[str]) -> None:
    kept = [command for command in commands if type(command).__name__ in names]
    if len(kept) != len(names):
        what = "does not have the commands that lexfed knows"
        hint = (
            "install the version that lexfed was made for: "
            "`pip install 'lexfed[flare]'`"
        )
        raise ConfigError([Problem("nvflare", what, hint)])
    commands[:] = kept


# Settings

_NUMBER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def own_folders(kit: Kit) -> list[str]:
    """Return the folders of a kit's settings, and nothing else."""
    return [str(kit.flare_folder / name) for name in ("startup", "local")]


def confined(kit: Kit, name: str, folders: Sequence[str]) -> list[str]:
    """Return the folders, of those that FLARE names, where it may look for a file."""
    made = {Path(path).stem for path in kit_settings(kit)}
    if Path(name).name.partition(".")[0] in made:
        return own_folders(kit)
    allowed: list[str] = []
    for folder in folders:
        # The workspace, or a folder that it is in, holds the folders of all jobs.
        whole = kit.flare_folder.resolve().is_relative_to(Path(folder).resolve())
        allowed += own_folders(kit) if whole else [folder]
    return allowed


def is_job(name: str) -> bool:
    """Return True if a folder has the name of a job."""
    return _NUMBER.fullmatch(name) is not None


def job_number(job_id: object) -> str:
    """Return the number of a job; FLARE refuses a job on a `ValueError`."""
    if not isinstance(job_id, str) or not is_job(job_id):
        raise ValueError("a job has a UUID for a name")
    return job_id


def confine(kit: Kit) -> None:
    """Confine FLARE's reading and deleting in this process.

    Guarantees:
        After it no file of a job takes the place of a setting of the kit.
        No job's folder takes the place of another folder.
    """
    from nvflare.apis.workspace import Workspace
    from nvflare.fuel.utils import config_service
    from nvflare.fuel.utils.config_factory import ConfigFactory

    find: Callable[..., Any] = ConfigFactory.search_config_format
    seek: Callable[[str, list[str]], str | None] = config_service.search_file

    def search_config_format(
        init_file_path: str,
        search_dirs: list[str] | None = None,
        target_fmt: Any = None,
    ) -> Any:
        folders = search_dirs or [str(Path(init_file_path).parent)]
        return find(init_file_path, confined(kit, init_file_path, folders), target_fmt)

    def search_file(file_basename: str, dirs: list[str]) -> str | None:
        return seek(file_basename, confined(kit, file_basename, dirs))

    ConfigFactory.search_config_format = staticmethod(search_config_format)
    config_service.search_file = search_file
    Workspace._check_job_id = staticmethod(job_number)


# Files

KEPT_JOBS = 20
"""Folders of jobs that stay, the latest, for an investigation."""
LONG = 20_971_520
"""Bytes at which a file becomes number 1 of ten, as FLARE's own logs do."""
_FILES = 10


def forget_jobs(kit: Kit, kept: int = KEPT_JOBS) -> None:
    """Remove the folders of all but the latest jobs, none of which runs now."""
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
