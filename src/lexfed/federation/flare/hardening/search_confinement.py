# SPDX-License-Identifier: Apache-2.0
"""The folders of a kit are its own: jobs neither bring settings nor take their place.

FLARE looks for a settings file by its name in every folder below the workspace and
takes the first that it meets. The folders of jobs are among them, and what is in those
comes from the coordinator: a job could bring a `comm_config.json` that names a folder
of drivers, which FLARE would import. So here the search is confined: what was made with
the kit is looked for in `startup/` and `local/`, which the start-up check knows by
heart, and nothing is looked for in the workspace as a whole.

A job's folder is called like the job, and what is in its place is deleted first. FLARE
takes a job called `local`; here a job has a number as servers make them, a UUID.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.flare.kit.settings import kit_settings

_NUMBER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def own_folders(kit: Kit) -> list[str]:
    """Return the folders of a kit's settings, and nothing else."""
    return [str(kit.flare_folder / name) for name in ("startup", "local")]


def confined(kit: Kit, name: str, folders: Sequence[str]) -> list[str]:
    """Return the folders in which FLARE may look for a file.

    Args:
        kit: of this process.
        name: of the file, whatever its ending and folder.
        folders: where FLARE would look, with all folders below.
    """
    made = {Path(path).stem for path in kit_settings(kit)}
    if Path(name).name.partition(".")[0] in made:
        return own_folders(kit)
    found: list[str] = []
    for folder in folders:
        # The workspace, or a folder that it is in, holds the folders of all jobs.
        whole = kit.flare_folder.resolve().is_relative_to(Path(folder).resolve())
        found += own_folders(kit) if whole else [folder]
    return found


def is_job(name: str) -> bool:
    """Return True if a folder is called like a job."""
    return _NUMBER.fullmatch(name) is not None


def job_number(job_id: object) -> str:
    """Return the number of a job.

    Raises:
        ValueError: if it is not a UUID; FLARE then refuses the job.
    """
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
