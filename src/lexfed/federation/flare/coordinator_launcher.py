# SPDX-License-Identifier: Apache-2.0
"""How the coordinator starts the process of a job: with our rules for TLS in force."""

from typing import Any

from nvflare.app_common.job_launcher.server_process_launcher import (
    ServerProcessJobLauncher,
)

from lexfed.federation.flare.process import through_here


class CoordinatorLauncher(ServerProcessJobLauncher):  # type: ignore[misc]
    """Starts the processes of jobs at the coordinator."""

    def get_command(self, job_meta: dict[str, Any], fl_ctx: Any) -> str:
        """Return the command line of the process."""
        return through_here(super().get_command(job_meta, fl_ctx))
