# SPDX-License-Identifier: Apache-2.0
"""Jobs as the coordinator's administrator submits, watches and ends them."""

import contextlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from lexfed.errors import RunFolderError
from lexfed.federation.flare.hardening.tls13 import enforce
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.flare.kit.settings import ADMIN

_Value = TypeVar("_Value")
_OVER = "FINISHED"
_LOGIN_S = 10.0
_REFUSALS = {
    "AuthenticationError",
    "AuthorizationError",
    "InternalError",
    "InvalidJobDefinition",
    "JobNotFound",
    "JobNotRunning",
}
"""Errors of FLARE that are answers of the coordinator."""


@dataclass(frozen=True)
class JobPart:
    """A class that takes part in a job, with its arguments."""

    path: str
    arguments: Mapping[str, str]


def write_job(
    folder: Path, name: str, least: int, coordinator: JobPart, site: JobPart
) -> Path:
    """Write the folder of a job, which is not begun with fewer than `least` sites."""
    common: dict[str, Any] = {
        "format_version": 2,
        "task_data_filters": [],
        "task_result_filters": [],
        "components": [],
    }
    driver, worker = (
        {"path": part.path, "args": dict(part.arguments)}
        for part in (coordinator, site)
    )
    files = {
        "meta.json": {
            "name": name,
            "resource_spec": {},
            "min_clients": least,
            "deploy_map": {"app": ["@ALL"]},
        },
        "app/config/config_fed_server.json": {
            **common,
            "workflows": [{"id": "epoch", **driver}],
        },
        "app/config/config_fed_client.json": {
            **common,
            # There are no tasks, but FLARE requires an executor for them.
            "executors": [{"tasks": ["none"], "executor": worker}],
        },
    }
    job = folder / name
    for path, content in files.items():
        (job / path).parent.mkdir(parents=True, exist_ok=True)
        (job / path).write_text(json.dumps(content, indent=2) + "\n")
    return job


class AdminSession:
    """The administrator's session; without an answer it raises `RunFolderError`."""

    def __init__(self, kit: Kit) -> None:
        enforce(kit)
        from nvflare.fuel.flare_api.flare_api import new_secure_session

        self._kit = kit
        with _quiet():
            self._session = self._try(
                lambda: new_secure_session(
                    ADMIN, str(kit.admin_folder), timeout=_LOGIN_S
                )
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # A coordinator that is gone needs no farewell.
        with contextlib.suppress(Exception), _quiet():
            self._session.close()

    def sites(self) -> frozenset[str]:
        """Return the sites that are connected."""
        clients = self._try(self._session.get_connected_client_list)
        return frozenset(client.name for client in clients)

    def submit(self, job: Path) -> str:
        """Submit a job's folder; return FLARE's name for the job."""
        return str(self._try(lambda: self._session.submit_job(str(job))))

    def over(self, job: str) -> bool:
        """Return True if a job has ended, however it did."""
        meta = self._try(lambda: self._session.get_job_meta(job))
        return str(meta.get("status", "")).startswith(_OVER)

    def end(self, job: str) -> None:
        """End a job, or forget one that no process works on any more."""
        from nvflare.fuel.flare_api.api_spec import InternalError, JobNotRunning

        try:
            self._try(lambda: self._session.abort_job(job))
        except RunFolderError as error:
            if not isinstance(error.__cause__, InternalError | JobNotRunning):
                raise
            _forget(self._kit, job)

    def unfinished(self, name: str) -> tuple[str, ...]:
        """Return the jobs of a name that have not ended, as the store has them.

        After a crash of the coordinator FLARE goes on listing a job as running.
        """
        jobs = self._try(self._session.list_jobs)
        return tuple(
            str(each["job_id"])
            for each in jobs
            if each.get("job_name") == name
            and not str(each.get("status", "")).startswith(_OVER)
        )

    def _try(self, ask: Callable[[], _Value]) -> _Value:
        try:
            with _quiet():
                return ask()
        except Exception as error:  # FLARE raises a score of unrelated kinds
            if type(error).__name__ in _REFUSALS:
                raise RunFolderError(
                    f"FLARE refused what was asked ({type(error).__name__})",
                    f"its log says why: `{self._kit.flare_folder / 'log.txt'}`",
                ) from error
            raise RunFolderError(
                f"the coordinator does not answer at {self._kit.address} "
                f"({type(error).__name__})",
                "start it with `lexfed coordinator start KIT`, then continue with "
                "`lexfed deploy run --resume`",
            ) from error


def _forget(kit: Kit, job: str) -> None:
    """Write that a job is over where FLARE would go on waiting for its process."""
    from nvflare.apis.job_def import RunStatus
    from nvflare.app_common.storages.filesystem_storage import FilesystemStorage

    store = FilesystemStorage(str(kit.flare_folder / "storage"), "/")
    store.update_meta(f"jobs/{job}", {"status": RunStatus.ABANDONED.value}, False)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep FLARE from speaking to people; its logs are elsewhere."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        yield
