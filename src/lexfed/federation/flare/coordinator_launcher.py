# SPDX-License-Identifier: Apache-2.0
"""The coordinator's launcher of job processes: with our rules for TLS in force."""

from typing import Any

from nvflare.app_common.job_launcher.server_process_launcher import (
    ServerProcessJobLauncher,
)

from lexfed.federation.flare.hardening.limits import forget_jobs
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.flare.process import through_here


class CoordinatorLauncher(ServerProcessJobLauncher):  # type: ignore[misc]
    """Starts the processes of jobs at the coordinator."""

    def launch_job(self, job_meta: dict[str, Any], fl_ctx: Any) -> Any:
        """Start the process of one job; the folders of old ones go."""
        forget_jobs(Kit.of_process())
        return super().launch_job(job_meta, fl_ctx)

    def get_command(self, job_meta: dict[str, Any], fl_ctx: Any) -> str:
        """Return the command line of the process."""
        return through_here(super().get_command(job_meta, fl_ctx))
