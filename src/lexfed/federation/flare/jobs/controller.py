# SPDX-License-Identifier: Apache-2.0
"""The coordinator's end of a FLARE job: one set-up epoch of a run, then the job ends.

A restarted site, new keys and a resumed run all come in at the boundary of a job, so a
job is no longer than an epoch.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from nvflare.apis.impl.controller import Controller

from lexfed.federation.engines.channel import Channel
from lexfed.federation.flare.jobs.channel import FlareChannel, Patience


class EpochController(Controller):  # type: ignore[misc]  # FLARE has no types
    """Gathers the sites of a job and hands them over."""

    def __init__(self, patience: Patience | None = None) -> None:
        super().__init__()
        self._patience = patience

    @abstractmethod
    def drive(self, channel: Channel, sites: Sequence[str], job: str) -> None:
        """Run one epoch with the sites that are ready; it must not raise."""

    def start_controller(self, fl_ctx: Any) -> None:
        """Do nothing before the job's own thread runs."""

    def control_flow(self, abort_signal: Any, fl_ctx: Any) -> None:
        """Run the epoch; when it returns FLARE ends the job at every site."""
        engine = fl_ctx.get_engine()
        channel = FlareChannel(engine, abort_signal, self._patience)
        ready = channel.gather([client.name for client in engine.get_clients()])
        self.log_info(fl_ctx, f"sites that are ready: {', '.join(ready) or 'none'}")
        self.drive(channel, ready, fl_ctx.get_job_id())

    def stop_controller(self, fl_ctx: Any) -> None:
        """Do nothing after it."""
