# SPDX-License-Identifier: Apache-2.0
"""A site's launcher of job processes, whose end is that site's alone.

FLARE ends a job for everybody when one site reports that its process failed, however
many sites remain. Whether enough remain is for the protocol to say: so whatever ends a
site's process, FLARE only learns that it ended. No job can change that setting.
"""

from pathlib import Path
from typing import Any

from nvflare.apis.fl_constant import FLContextKey, FLMetaKey, JobConstants
from nvflare.apis.job_launcher_spec import JobHandleSpec, JobReturnCode
from nvflare.app_common.job_launcher.client_process_launcher import (
    ClientProcessJobLauncher,
)

from lexfed.federation.flare.hardening.limits import forget_jobs
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.flare.process import through_here

TOLERANT_LAUNCHER = "lexfed.federation.flare.launcher.TolerantLauncher"
"""The path of the class, for a site's `local/resources.json`."""


class TolerantHandle(JobHandleSpec):  # type: ignore[misc]  # FLARE has no types
    """A process of a job whose failure is not reported as one.

    FLARE's handle `inner` watches it; an exit code in the file `verdict` comes before
    that.

    Guarantees: no end of the process, not by a signal, a crash or an exit code of
    FLARE's own, makes the coordinator end the job of the others.
    """

    def __init__(self, inner: JobHandleSpec, verdict: Path) -> None:
        self._inner = inner
        self._verdict = verdict

    def terminate(self) -> None:
        """End the process."""
        self._inner.terminate()

    def poll(self) -> int:
        """Return success, or that nothing is known."""
        ended_well = self._inner.poll() == JobReturnCode.SUCCESS
        return int(JobReturnCode.SUCCESS if ended_well else JobReturnCode.UNKNOWN)

    def wait(self) -> None:
        """Wait for the end, and drop the exit code that the process wrote."""
        self._inner.wait()
        self._verdict.unlink(missing_ok=True)


class TolerantLauncher(ClientProcessJobLauncher):  # type: ignore[misc]
    """Starts the processes of jobs at a site."""

    def get_command(self, job_meta: dict[str, Any], fl_ctx: Any) -> str:
        """Return the command line of the process, with our TLS rules in force."""
        return through_here(super().get_command(job_meta, fl_ctx))

    def launch_job(self, job_meta: dict[str, Any], fl_ctx: Any) -> TolerantHandle:
        """Start the process of one job; the folders of old ones go."""
        forget_jobs(Kit.of_process())
        workspace = fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT)
        folder = Path(workspace.get_run_dir(job_meta[JobConstants.JOB_ID]))
        inner = super().launch_job(job_meta, fl_ctx)
        return TolerantHandle(inner, folder / FLMetaKey.PROCESS_RC_FILE)
